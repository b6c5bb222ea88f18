//! Our side: an echo agent in memory on `protocol`, as somebody would write one.
//!
//! It keeps every Task and all its events, so that a Task can be read and followed at any time, and
//! its followers read the log: a slow one misses nothing, and an agent that never waits loses nothing.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use protocol::{
    artifacts::Aggregator,
    card::Binding,
    error::Error,
    server,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, AgentSkill, Artifact, CancelTaskRequest, GetTaskRequest,
        ListTasksRequest, ListTasksResponse, Message, Part, SendMessageRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
        TaskState, TaskStatus, TaskStatusUpdateEvent, stream_response::Payload,
    },
};
use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::asked::{Ask, chunk};

/// Serves until the future is dropped.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let url = format!("http://{}/", listener.local_addr()?);
    let echo = Arc::new(Echo { card: Arc::new(card(&url, true)), tasks: Mutex::default() });
    server::serve(listener, server::router(echo), CancellationToken::new()).await
}

struct Echo {
    card: Arc<AgentCard>,
    tasks: Mutex<HashMap<String, Arc<Kept>>>,
}

/// A Task, as the events that made it.
struct Kept {
    log: Mutex<Vec<StreamResponse>>,
    /// Length of the log.
    length: watch::Sender<usize>,
}

impl Kept {
    fn new(first: Task) -> Arc<Self> {
        Arc::new(Self { log: Mutex::new(vec![first.into()]), length: watch::Sender::new(1) })
    }

    fn add(&self, event: impl Into<StreamResponse>) {
        let mut log = lock(&self.log);
        log.push(event.into());
        self.length.send_replace(log.len());
    }

    /// Puts the Task together.
    fn task(&self) -> Task {
        let mut task = Task::default();
        let mut artifacts = Aggregator::default();
        for event in &*lock(&self.log) {
            match &event.payload {
                Some(Payload::Task(whole)) => {
                    task = whole.clone();
                    artifacts.replace_all(std::mem::take(&mut task.artifacts));
                }
                Some(Payload::StatusUpdate(update)) => task.status.clone_from(&update.status),
                Some(Payload::ArtifactUpdate(update)) => {
                    artifacts.apply(update).expect("the agent names its artifact");
                }
                Some(Payload::Message(_)) | None => {}
            }
        }
        Task { artifacts: artifacts.into_artifacts(), ..task }
    }

    /// Every event from an index on, until the last.
    fn events(self: Arc<Self>, next: usize) -> EventStream {
        let follower = Some((self.length.subscribe(), self, next));
        let events = stream::unfold(follower, async |follower| {
            let (mut length, kept, next) = follower?;
            // Fails only when the sender is gone, and the sender is part of what is kept.
            length.wait_for(|length| *length > next).await.ok()?;
            let event = lock(&kept.log)[next].clone();
            let goes_on = !event.ends_stream();
            Some((Ok(event), goes_on.then_some((length, kept, next + 1))))
        });
        events.boxed()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Echo {
    fn keep(&self, task: Task) -> Arc<Kept> {
        let id = task.id.clone();
        let kept = Kept::new(task);
        lock(&self.tasks).insert(id, Arc::clone(&kept));
        kept
    }

    fn find(&self, id: &str) -> Result<Arc<Kept>, Error> {
        lock(&self.tasks).get(id).cloned().ok_or_else(|| Error::task_not_found(id))
    }
}

fn taken(request: SendMessageRequest) -> (Message, String) {
    let message = request.message.unwrap_or_default();
    let text = message.text();
    (message, text)
}

/// The Task that answers a Message by saying it once more.
pub(super) fn echoed(request: SendMessageRequest) -> Task {
    let (message, text) = taken(request);
    let artifacts = vec![Artifact::new("echo", "", vec![Part::text(text)])];
    Task { artifacts, ..task(&message, TaskState::Completed) }
}

fn task(message: &Message, state: TaskState) -> Task {
    let context = match message.context_id.as_str() {
        "" => Uuid::new_v4().to_string(),
        context => context.to_owned(),
    };
    Task::new(Uuid::new_v4().to_string(), context, status(state))
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus::new(state, jiff::Timestamp::now())
}

/// Works on a Task in a task of its own, which ends by itself.
async fn stream_chunks(kept: Arc<Kept>, first: Task, count: usize, yields: bool) {
    let Task { id: task_id, context_id, .. } = first;
    for index in 0..count {
        kept.add(TaskArtifactUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            artifact: Some(Artifact::new("echo", "", vec![Part::text(chunk(index))])),
            append: index > 0,
            last_chunk: index + 1 == count,
            metadata: None,
        });
        if yields {
            tokio::task::yield_now().await;
        }
    }
    let status = Some(status(TaskState::Completed));
    kept.add(TaskStatusUpdateEvent { task_id, context_id, status, metadata: None });
}

#[async_trait]
impl A2aService for Echo {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let task = echoed(request);
        self.keep(task.clone());
        Ok(task.into())
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        let (message, text) = taken(request);
        let ask = Ask::read(&text);
        let task = task(&message, TaskState::Working);
        let kept = self.keep(task.clone());
        let yields = matches!(ask, Ask::Chunks(_));
        tokio::spawn(stream_chunks(Arc::clone(&kept), task, ask.chunks(), yields));
        Ok(kept.events(0))
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        Ok(self.find(&request.id)?.task())
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        Err(Error::unsupported("this agent finds Tasks by their ids alone"))
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        let state = self.find(&request.id)?.task().state();
        Err(Error::task_not_cancelable(&request.id, state.word()))
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        let kept = self.find(&request.id)?;
        Ok(kept.events(0))
    }
}

pub(super) fn card(url: &str, streams: bool) -> AgentCard {
    let modes = vec!["text/plain".to_owned()];
    AgentCard {
        name: "echo".to_owned(),
        description: "Says what it hears.".to_owned(),
        version: "1.0.0".to_owned(),
        supported_interfaces: vec![server::interface(Binding::JsonRpc, url)],
        capabilities: Some(AgentCapabilities {
            streaming: Some(streams),
            ..AgentCapabilities::default()
        }),
        default_input_modes: modes.clone(),
        default_output_modes: modes,
        skills: vec![AgentSkill {
            id: "echo".to_owned(),
            name: "Echo".to_owned(),
            description: "Says what it hears.".to_owned(),
            tags: vec!["echo".to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_holds_all_that_its_followers_were_told() {
        let first = task(&Message::default(), TaskState::Working);
        let kept = Kept::new(first.clone());
        stream_chunks(Arc::clone(&kept), first.clone(), 3, false).await;
        let told: Vec<_> = Arc::clone(&kept).events(0).collect().await;
        assert_eq!(told.len(), 5);
        let task = kept.task();
        assert_eq!((&task.id, task.state()), (&first.id, TaskState::Completed));
        assert_eq!(task.artifacts[0].text(), "chunk 0 chunk 1 chunk 2 ");
    }
}
