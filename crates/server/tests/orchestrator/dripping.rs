//! An agent that says its next word when its test wants it to.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use protocol::{
    error::Error,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, Artifact, CancelTaskRequest, GetTaskRequest,
        ListTasksRequest, ListTasksResponse, Part, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent, TaskState,
        TaskStatus, TaskStatusUpdateEvent,
    },
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
};
use tokio_util::sync::CancellationToken;

use crate::scene::card;

/// A listening agent; dropping it stops it. Each Message makes a Task, `t1` first, that lives until its end is
/// said; what is said goes to one Task after the other.
pub(crate) struct Dripping {
    pub(crate) url: String,
    says: mpsc::UnboundedSender<Word>,
    stop: CancellationToken,
}

enum Word {
    Chunk(Artifact),
    End(TaskState),
}

impl Dripping {
    pub(crate) async fn start() -> Self {
        let anywhere: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = TcpListener::bind(anywhere).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound port"));
        let (says, words) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let words = Arc::new(Mutex::new(words));
        let streams = AgentCapabilities { streaming: Some(true), ..Default::default() };
        let service = Service {
            card: Arc::new(card("dripping", &url, streams)),
            tasks: AtomicUsize::new(0),
            words,
        };
        let router = protocol::server::router(Arc::new(service));
        tokio::spawn(protocol::server::serve(listener, router, stop.clone()));
        Self { url, says, stop }
    }

    /// Appends to an artifact.
    pub(crate) fn chunk(&self, id: &str, name: &str, text: &str) {
        self.say(Word::Chunk(Artifact::new(id, name, vec![Part::text(text)])));
    }

    /// Ends the Task.
    pub(crate) fn end(&self, state: TaskState) {
        self.say(Word::End(state));
    }

    fn say(&self, word: Word) {
        assert!(self.says.send(word).is_ok(), "the agent listens");
    }
}

impl Drop for Dripping {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Service {
    card: Arc<AgentCard>,
    tasks: AtomicUsize,
    words: Arc<Mutex<mpsc::UnboundedReceiver<Word>>>,
}

#[async_trait]
impl A2aService for Service {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        _request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        let id = format!("t{}", self.tasks.fetch_add(1, Ordering::Relaxed) + 1);
        let first = Task::new(id.as_str(), "theirs", status(TaskState::Working));
        let state = (id, Some(Arc::clone(&self.words)));
        let rest = stream::unfold(state, async |(id, words)| {
            let words = words?;
            let word = words.lock().await.recv().await?;
            let words = matches!(word, Word::Chunk(_)).then_some(words);
            Some((event(&id, word), (id, words)))
        });
        Ok(stream::iter([first.into()]).chain(rest).map(Ok).boxed())
    }

    async fn send_message(
        &self,
        _call: &Call,
        _request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        Err(Error::unsupported("it only streams"))
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        Err(Error::task_not_found(&request.id))
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        Ok(ListTasksResponse::default())
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        Ok(Task::new(request.id, "theirs", status(TaskState::Canceled)))
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        Err(Error::task_not_found(&request.id))
    }
}

fn event(id: &str, word: Word) -> StreamResponse {
    let (task_id, context_id) = (id.to_owned(), "theirs".to_owned());
    match word {
        Word::Chunk(artifact) => TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact: Some(artifact),
            append: true,
            ..Default::default()
        }
        .into(),
        Word::End(state) => {
            let status = Some(status(state));
            TaskStatusUpdateEvent { task_id, context_id, status, metadata: None }.into()
        }
    }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus::new(state, Timestamp::now())
}
