//! What an agent sees of a Task while it works on it.

use std::{future::Future, sync::Arc, time::Duration};

use protocol::v1::{Artifact, Message, Part, Task, TaskState};

use super::{record::Record, tasks::Tasks};

/// A Task to work on.
pub(crate) struct Work {
    /// The Message as it came.
    pub(crate) message: Message,
    pub(super) record: Arc<Record>,
    pub(super) tasks: Arc<Tasks>,
    /// How long visible progress lasts in all.
    pub(crate) pace: Duration,
}

/// How a Task ended, with what the agent says of it.
pub(crate) enum Ending {
    Completed,
    /// Completed, with a word on it.
    CompletedSaying(String),
    Failed(String),
    Rejected(String),
}

impl Work {
    /// The texts of the Message, joined by newline.
    pub(crate) fn text(&self) -> String {
        self.message.text()
    }

    /// The Tasks of this agent that the Message refers to, in its order; others are unknown here.
    pub(crate) fn referenced(&self) -> Vec<Task> {
        let ids = &self.message.reference_task_ids;
        let records = ids.iter().filter_map(|id| self.tasks.get(id).ok());
        records.map(|record| record.task()).collect()
    }

    /// Says what is being done, one line after the other, over the agent's pace.
    pub(crate) async fn show(&self, lines: &[&str]) {
        let share = self.pace / u32::try_from(lines.len()).unwrap_or(u32::MAX).max(1);
        for line in lines {
            self.say(line);
            self.pause(share).await;
        }
    }

    /// Says what is being done now.
    pub(crate) fn say(&self, line: &str) {
        let message = self.said(line);
        self.record.enter(TaskState::Working, Some(message));
    }

    /// Asks a question and waits for the Message that answers it (INPUT_REQUIRED).
    pub(crate) async fn ask(&self, question: &str) -> Message {
        self.record.enter(TaskState::InputRequired, Some(self.said(question)));
        self.record.answered().await
    }

    /// Asks for authorization elsewhere and waits for the Message that says it was given
    /// (AUTH_REQUIRED).
    pub(crate) async fn ask_authorization(&self, text: &str) -> Message {
        self.record.enter(TaskState::AuthRequired, Some(self.said(text)));
        self.record.answered().await
    }

    /// Asks for authorization elsewhere and waits until `granted` ends or a Message says so
    /// (AUTH_REQUIRED).
    pub(crate) async fn await_authorization(&self, text: &str, granted: impl Future<Output = ()>) {
        tokio::select! {
            // In this order, so that the Task says what it waits for also when that is there already.
            biased;
            _ = self.ask_authorization(text) => (),
            () = granted => self.say("Authorized"),
        }
    }

    /// The id of the Task.
    pub(crate) fn task_id(&self) -> String {
        self.record.read(|task| task.id.clone())
    }

    /// Publishes an artifact under an id of its own, as another version of the one of this name.
    pub(crate) fn version(&self, id: &str, name: &str, parts: Vec<Part>) {
        self.record.put_artifact(Artifact::new(id, name, parts), false, true);
    }

    /// Lets time pass; nothing at all for a pace of nothing.
    pub(crate) async fn pause(&self, time: Duration) {
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
    }

    /// Publishes a whole artifact. Its name is its id too: each agent uses a name once per Task.
    pub(crate) fn artifact(&self, name: &str, parts: Vec<Part>) {
        let artifact = Artifact::new(name, name, parts);
        self.record.put_artifact(artifact, false, true);
    }

    /// Publishes a piece of an artifact: the first one replaces, later ones are appended.
    pub(crate) fn piece(&self, name: &str, parts: Vec<Part>, is_first: bool, is_last: bool) {
        let artifact = Artifact::new(name, name, parts);
        self.record.put_artifact(artifact, !is_first, is_last);
    }

    pub(super) fn end(&self, ending: Ending) {
        let (state, text) = match ending {
            Ending::Completed => (TaskState::Completed, None),
            Ending::CompletedSaying(text) => (TaskState::Completed, Some(text)),
            Ending::Failed(text) => (TaskState::Failed, Some(text)),
            Ending::Rejected(text) => (TaskState::Rejected, Some(text)),
        };
        let message = text.map(|text| self.said(&text));
        self.record.enter(state, message);
    }

    fn said(&self, text: &str) -> Message {
        let (task_id, context_id) =
            self.record.read(|task| (task.id.clone(), task.context_id.clone()));
        let message = Message::agent(vec![Part::text(text)]);
        message.with_task(task_id).with_context(context_id)
    }
}
