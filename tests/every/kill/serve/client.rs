//! A client that wants one thing done, whatever becomes of the server meanwhile.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use protocol::{
    client::{Client, ClientError},
    error::ErrorKind,
    model::metadata,
    v1::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part,
        SendMessageConfiguration, SendMessageRequest, StreamResponse, SubscribeToTaskRequest, Task,
        TaskState, send_message_response::Payload, stream_response,
    },
};
use serde_json::{Value, json};
use tests::{PATIENCE, journal::Journal};
use tokio::time::{sleep, timeout};

use crate::kill::{
    draw::Draw,
    scene::{Scene, Shape, answer, client},
};

/// Between two calls of a server that does not answer.
const BACK_OFF: Duration = Duration::from_millis(10);
/// How long a Task is followed at most before it is canceled.
const BEFORE_CANCEL: Duration = Duration::from_millis(150);

/// What the client was told. All of it has to be on disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Told(Arc<Mutex<Facts>>);

#[derive(Debug, Default)]
struct Facts {
    task: Option<String>,
    completed: BTreeSet<String>,
    /// Steps whose question was answered, and that question.
    answered: BTreeSet<(String, String)>,
    is_over: bool,
}

impl Told {
    fn note(&self, note: impl FnOnce(&mut Facts)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn hear(&self, event: &StreamResponse) {
        let Some(stream_response::Payload::StatusUpdate(update)) = &event.payload else { return };
        let about = update.metadata.as_ref().and_then(|it| it.0.get(metadata::STEP));
        let about = about.unwrap_or(&Value::Null);
        let is_over = event.state().is_some_and(TaskState::is_terminal);
        self.note(|facts| {
            facts.is_over |= is_over;
            if about["state"] == "completed" {
                facts.completed.extend(about["step"].as_str().map(str::to_owned));
            }
        });
    }

    /// Panics unless a journal, read when its server was gone, holds all of it.
    pub(super) fn judge(&self, journal: Option<&Journal>, about: &str) {
        let facts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(journal) = journal else {
            assert_eq!(facts.task, None, "{about}: a Task was told that is not on disk");
            return;
        };
        if let Some(task) = &facts.task {
            assert_eq!(*task, journal.run, "{about}: another Task was told");
        }
        let completed = journal.completed();
        assert!(
            facts.completed.is_subset(&completed),
            "{about}: told {facts:?}, not {completed:?}"
        );
        let answered = journal.count("attempt_answered");
        assert!(
            facts.answered.len() <= answered,
            "{about}: told {facts:?}, not {answered} answers"
        );
        let is_over = journal.count("run_finished") == 1;
        assert!(is_over || !facts.is_over, "{about}: an end was told that is not on disk");
    }
}

/// A client, and what it was told.
pub(super) struct Caller {
    client: Client,
    scene: Scene,
    draw: Draw,
    about: String,
    pub(super) told: Told,
}

impl Caller {
    pub(super) fn new(port: u16, scene: Scene, draw: Draw, about: &str) -> Self {
        let client = client(&format!("http://127.0.0.1:{port}"));
        Self { client, scene, draw, about: about.to_owned(), told: Told::default() }
    }

    /// Sends, and does what is asked of it until the Task has ended. Returns what it has come to.
    pub(super) async fn play(mut self) -> Value {
        let id = self.begin().await;
        self.told.note(|facts| facts.task = Some(id.clone()));
        if self.scene.shape == Shape::Endless {
            let a_while = self.draw.within(BEFORE_CANCEL);
            // It goes on until it is canceled.
            drop(timeout(a_while, self.follow(&id)).await);
        }
        loop {
            let task = self.get(&id).await;
            if task.state().is_terminal() {
                return result(self.scene.shape, &task);
            }
            let questions = questions(&task);
            match self.draw.pick(&questions) {
                _ if self.scene.shape == Shape::Endless => self.cancel(&id).await,
                Some((step, question)) => self.answer(&id, step, question).await,
                None => self.follow(&id).await,
            }
        }
    }

    /// Begins a Task in one of three ways. When no answer comes, the Task may be there all the same.
    async fn begin(&mut self) -> String {
        loop {
            let message = Message::user(vec![Part::text("go")]);
            let way = self.draw.within(Duration::from_micros(3)).as_micros();
            let begun = match way {
                0 => self.stream(message).await,
                way => self.send(message, way == 1).await.map(|task| Some(task.id)),
            };
            match begun {
                Ok(Some(id)) => return id,
                Ok(None) => (),
                Err(error) => self.expect_retryable(&error),
            }
            let known = loop {
                let request = ListTasksRequest::default();
                match self.client.list_tasks(request, PATIENCE).await {
                    Ok(page) => break page.tasks,
                    Err(error) => self.back_off(&error).await,
                }
            };
            match known.as_slice() {
                [] => (),
                [task] => return task.id.clone(),
                tasks => panic!("{}: one Message, several Tasks: {tasks:?}", self.about),
            }
        }
    }

    async fn send(&self, message: Message, return_immediately: bool) -> Result<Task, ClientError> {
        let configuration = SendMessageConfiguration { return_immediately, ..Default::default() };
        let request = SendMessageRequest { configuration: Some(configuration), ..message.into() };
        match self.client.send_message(request, PATIENCE).await?.payload {
            Some(Payload::Task(task)) => Ok(task),
            other => panic!("{}: no Task: {other:?}", self.about),
        }
    }

    /// Sends and hears the first event alone, which names the Task.
    async fn stream(&self, message: Message) -> Result<Option<String>, ClientError> {
        let mut stream = self.client.send_streaming_message(message.into(), PATIENCE).await?;
        let first = stream.next().await.transpose()?;
        Ok(first.map(|event| event.task_id().to_owned()))
    }

    async fn get(&self, id: &str) -> Task {
        loop {
            let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
            match self.client.get_task(request, PATIENCE).await {
                Ok(task) => return task,
                Err(error) => self.back_off(&error).await,
            }
        }
    }

    /// Follows the Task until it asks, ends, or the stream is cut.
    async fn follow(&self, id: &str) {
        let request = SubscribeToTaskRequest { id: id.to_owned(), ..Default::default() };
        let mut stream = match self.client.subscribe_to_task(request, PATIENCE).await {
            Ok(stream) => stream,
            // It has ended meanwhile.
            Err(error) if error.kind == Some(ErrorKind::UnsupportedOperation) => return,
            Err(error) => return self.back_off(&error).await,
        };
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    self.told.hear(&event);
                    let is_asked = event.state().is_some_and(TaskState::is_interrupted);
                    if is_asked && self.scene.shape != Shape::Endless {
                        return;
                    }
                }
                Err(error) => return self.back_off(&error).await,
            }
        }
    }

    async fn answer(&mut self, id: &str, step: &str, question: &str) {
        let message = Message::user(vec![Part::text(answer(step, question))]);
        let message = message.with_task(id).with_metadata(metadata::STEP, step);
        let return_immediately = self.draw.one_in(2);
        match self.send(message, return_immediately).await {
            Ok(_) => self.told.note(|facts| {
                facts.answered.insert((step.to_owned(), question.to_owned()));
            }),
            Err(error) => self.back_off(&error).await,
        }
    }

    async fn cancel(&self, id: &str) {
        let request = CancelTaskRequest { id: id.to_owned(), ..Default::default() };
        match self.client.cancel_task(request, PATIENCE).await {
            Ok(task) => self.told.note(|facts| facts.is_over |= task.state().is_terminal()),
            // It has ended meanwhile.
            Err(error) if error.kind == Some(ErrorKind::TaskNotCancelable) => (),
            Err(error) => self.back_off(&error).await,
        }
    }

    /// A server that is gone comes back; nothing else may go wrong.
    async fn back_off(&self, error: &ClientError) {
        self.expect_retryable(error);
        sleep(BACK_OFF).await;
    }

    fn expect_retryable(&self, error: &ClientError) {
        assert!(error.is_retryable(), "{}: {error:?}", self.about);
    }
}

/// What the Task waits for: steps and their questions.
fn questions(task: &Task) -> Vec<(String, String)> {
    let message = task.status.as_ref().and_then(|status| status.message.as_ref());
    let parts = message.map(|message| message.parts.as_slice()).unwrap_or_default();
    let question = |part: &Part| {
        let step = part.metadata(metadata::STEP)?.as_str()?.to_owned();
        Some((step, part.as_text()?.to_owned()))
    };
    parts.iter().filter_map(question).collect()
}

/// What two Tasks of one workflow have in common: everything but ids, and the order of answers.
fn result(shape: Shape, task: &Task) -> Value {
    let artifacts = task.artifacts.iter().map(|it| json!([it.name, it.parts])).collect::<Vec<_>>();
    let mut said: Vec<String> = task.history.iter().map(Message::text).collect();
    said.sort();
    let state = task.state().word();
    match shape {
        Shape::Endless => json!({"state": state}),
        _ => json!({"state": state, "artifacts": artifacts, "said": said}),
    }
}
