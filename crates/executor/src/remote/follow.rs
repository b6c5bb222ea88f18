//! What an agent's answers add up to. Pure: absorbs events, says when the attempt is over.

use planner::ErrorClass;
use protocol::{
    artifacts::Aggregator,
    client::Interface,
    v1::{
        Artifact, Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
        stream_response::Payload,
    },
};

use super::Passing;
use crate::run::{PauseKind, Refusal, RemoteTask};

/// Follows one attempt's Task through snapshots and updates.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    task: Option<RemoteTask>,
    status: Option<TaskStatus>,
    artifacts: Aggregator,
    /// A pause that is known: seeing it again is no news, seeing the Task go on is.
    known: Option<KnownPause>,
    /// The interface that took the Message, where the intent names another.
    interface: Option<Box<Interface>>,
    /// What goes on to those who follow the run.
    passing: Option<Passing>,
    /// Each status as it comes, where the run is a relay.
    relaying: Option<Relaying>,
}

/// Statuses on their way to those who follow a relay.
#[derive(Debug, Default)]
struct Relaying {
    last: Option<TaskStatus>,
    news: Option<TaskStatus>,
}

impl Relaying {
    fn note(&mut self, status: &TaskStatus) {
        if self.last.as_ref() != Some(status) {
            self.last = Some(status.clone());
            self.news = Some(status.clone());
        }
    }
}

/// How a pause is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownPause {
    pub(crate) kind: PauseKind,
    /// The messageId of its question. A pause without a question is never taken for a known one, except while
    /// waiting for authorization.
    pub(crate) message_id: Option<String>,
    /// Whether the end of the pause is to be told.
    pub(crate) is_awaited: bool,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Ending {
    /// A direct Message: an answer without a Task.
    Answered(Box<Message>),
    /// The Task is COMPLETED.
    Completed(Box<Finished>),
    /// The Task waits for somebody.
    Paused(Box<Question>),
    /// The agent can be called only once the caller has come again.
    Withheld,
    /// The Task goes on after a pause.
    WentOn,
    /// The agent does not take the answer of this number, and still waits for one.
    AnswerRefused(u32, Box<Refusal>),
    /// Anything else.
    Failed(Defeat),
}

/// A completed Task.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Its ids.
    pub(crate) task: RemoteTask,
    /// Everything it made.
    pub(crate) artifacts: Vec<Artifact>,
    /// The last word.
    pub(crate) status_message: Option<Message>,
}

/// What a Task waits for.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) task: RemoteTask,
    pub(crate) kind: PauseKind,
    pub(crate) message: Option<Message>,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Defeat {
    pub(crate) class: ErrorClass,
    pub(crate) message: String,
    /// Whether the remote Task is known to be over.
    pub(crate) remote_ended: bool,
    /// Whether the agent has certainly not acted on the Message.
    pub(crate) is_untaken: bool,
    /// How long the agent asks to be left alone.
    pub(crate) retry_after: Option<std::time::Duration>,
    /// Whether the agent answered the Message itself in a way that may mean our contextId.
    pub(crate) may_be_about_context: bool,
    /// The agent's error, where it goes on to the client of a relay.
    pub(crate) refusal: Option<Box<Refusal>>,
    /// Whether it says that it does not send notifications, or not there.
    pub(crate) is_about_callback: bool,
    /// Whether the reason is on this side, so that it says nothing of the agent.
    pub(crate) is_ours: bool,
}

impl Defeat {
    pub(crate) fn new(class: ErrorClass, message: String) -> Self {
        Self {
            class,
            message,
            remote_ended: false,
            is_untaken: false,
            retry_after: None,
            may_be_about_context: false,
            refusal: None,
            is_about_callback: false,
            is_ours: false,
        }
    }

    fn by_agent(class: ErrorClass, message: String) -> Self {
        Self { remote_ended: true, ..Self::new(class, message) }
    }
}

impl Follower {
    /// Goes on with a Task that is known from the journal.
    pub(crate) fn of(task: RemoteTask) -> Self {
        Self { task: Some(task), ..Self::default() }
    }

    /// Does not take this pause for news.
    pub(crate) fn knowing(self, known: KnownPause) -> Self {
        Self { known: Some(known), ..self }
    }

    /// Notes the interface that took the Message along with the Task.
    pub(crate) fn over(self, interface: Option<Box<Interface>>) -> Self {
        Self { interface, ..self }
    }

    /// Hands artifacts on while they come.
    pub(crate) fn passing(self, passing: Option<Passing>) -> Self {
        Self { passing, ..self }
    }

    /// Hands each status on.
    pub(crate) fn relaying(self, relays: bool) -> Self {
        Self { relaying: relays.then(Relaying::default), ..self }
    }

    /// The status, when it is not what was handed on last.
    pub(crate) fn take_status(&mut self) -> Option<TaskStatus> {
        self.relaying.as_mut()?.news.take()
    }

    /// What is to go on now.
    pub(crate) fn take_chunks(&mut self, ending: Option<&Ending>) -> Vec<TaskArtifactUpdateEvent> {
        self.passing.as_mut().map(|passing| passing.take(ending.is_some())).unwrap_or_default()
    }

    /// Notes the size of a chunk that has gone on, and stops when it was too much.
    pub(crate) fn spend(&mut self, bytes: usize) {
        if self.passing.as_mut().is_some_and(|passing| !passing.spend(bytes)) {
            self.passing = None;
        }
    }

    /// The Task, once one is known.
    pub(crate) fn task(&self) -> Option<&RemoteTask> {
        self.task.as_ref()
    }

    /// Takes one event of a stream; `Some` when the attempt is over.
    pub(crate) fn absorb(&mut self, event: StreamResponse) -> Option<Ending> {
        match event.payload {
            Some(Payload::Task(task)) => self.snapshot(task),
            Some(Payload::Message(message)) => Some(Ending::Answered(Box::new(message))),
            Some(Payload::StatusUpdate(update)) => {
                if let Some(mix_up) = self.check(&update.task_id) {
                    return Some(mix_up);
                }
                self.note_task(&update.task_id, &update.context_id);
                self.note_status(update.status);
                self.ending()
            }
            Some(Payload::ArtifactUpdate(update)) => {
                if let Some(mix_up) = self.check(&update.task_id) {
                    return Some(mix_up);
                }
                self.note_task(&update.task_id, &update.context_id);
                match self.artifacts.apply(&update) {
                    Ok(change) => {
                        if let Some(passing) = &mut self.passing {
                            passing.piece(self.task.as_ref(), &self.artifacts, &update, change);
                        }
                        None
                    }
                    Err(unusable) => {
                        let defeat = Defeat::new(ErrorClass::Failed, unusable.to_string());
                        Some(Ending::Failed(defeat))
                    }
                }
            }
            None => None,
        }
    }

    /// Takes a Task as a whole: it replaces all that was known.
    pub(crate) fn snapshot(&mut self, task: Task) -> Option<Ending> {
        if let Some(mix_up) = self.check(&task.id) {
            return Some(mix_up);
        }
        self.note_task(&task.id, &task.context_id);
        self.artifacts.replace_all(task.artifacts);
        if let Some(passing) = &mut self.passing {
            let is_completed =
                task.status.as_ref().is_some_and(|status| status.state() == TaskState::Completed);
            passing.snapshot(self.task.as_ref(), &self.artifacts, is_completed);
        }
        self.note_status(task.status);
        self.ending()
    }

    fn check(&self, task_id: &str) -> Option<Ending> {
        let known = &self.task.as_ref()?.task_id;
        (known != task_id).then(|| {
            Ending::Failed(Defeat::new(
                ErrorClass::Failed,
                format!(
                    "the agent answered about Task `{task_id}`, but the attempt follows `{known}`"
                ),
            ))
        })
    }

    fn note_task(&mut self, task_id: &str, context_id: &str) {
        if self.task.is_none() {
            self.task = Some(RemoteTask {
                task_id: task_id.to_owned(),
                context_id: context_id.to_owned(),
                interface: self.interface.take(),
            });
        }
    }

    fn note_status(&mut self, status: Option<TaskStatus>) {
        if let (Some(relaying), Some(status)) = (&mut self.relaying, &status) {
            relaying.note(status);
        }
        self.status = status;
    }

    fn ending(&mut self) -> Option<Ending> {
        let status = self.status.as_ref()?;
        let said = |what: &str| match status.text() {
            Some(text) => format!("{what}: {text}"),
            None => format!("{what} without saying why"),
        };
        let defeat = match status.state() {
            TaskState::Completed => return Some(self.finished()),
            TaskState::Failed => {
                Defeat::by_agent(ErrorClass::Failed, said("the agent's Task failed"))
            }
            TaskState::Rejected => {
                Defeat::by_agent(ErrorClass::Rejected, said("the agent rejected the Message"))
            }
            TaskState::Canceled => {
                Defeat::by_agent(ErrorClass::Failed, said("the agent canceled its Task"))
            }
            TaskState::InputRequired => return self.paused(PauseKind::Input),
            TaskState::AuthRequired => return self.paused(PauseKind::Auth),
            TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
                let known = self.known.take()?;
                return known.is_awaited.then_some(Ending::WentOn);
            }
        };
        Some(Ending::Failed(defeat))
    }

    fn paused(&self, kind: PauseKind) -> Option<Ending> {
        let message = self.status.as_ref().and_then(|status| status.message.clone());
        let message_id = message.as_ref().map(|message| message.message_id.clone());
        let is_known = self.known.as_ref().is_some_and(|known| match &known.message_id {
            Some(_) => known.message_id == message_id,
            None => known.is_awaited && known.kind == kind && message_id.is_none(),
        });
        let task = self.task.clone()?;
        (!is_known).then(|| Ending::Paused(Box::new(Question { task, kind, message })))
    }

    fn finished(&mut self) -> Ending {
        Ending::Completed(Box::new(Finished {
            task: self.task.clone().unwrap_or_default(),
            artifacts: std::mem::take(&mut self.artifacts).into_artifacts(),
            status_message: self.status.take().and_then(|status| status.message),
        }))
    }
}
