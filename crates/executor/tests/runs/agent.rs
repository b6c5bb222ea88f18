//! An agent that does as a test tells it, and remembers what it was asked.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use protocol::{
    card::Binding,
    client::Interface,
    error::Error,
    limits::ServerLimits,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Artifact, CancelTaskRequest,
        GetTaskRequest, ListTasksRequest, ListTasksResponse, Message, Part, SendMessageRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
        TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
    },
};
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::sync::CancellationToken;

/// The context that these agents put their Tasks in, whatever they are offered.
pub(crate) const CONTEXT: &str = "their-context";

/// How often a silent stream of events carries a comment.
const KEEP_ALIVE: Duration = Duration::from_millis(50);

/// What an agent is asked.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Send(Message),
    Get(String),
    Cancel(String),
    Subscribe(String),
}

impl Asked {
    fn verb(&self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Get(_) => "get",
            Self::Cancel(_) => "cancel",
            Self::Subscribe(_) => "subscribe",
        }
    }
}

/// What it answers.
pub(crate) enum Reply {
    Task(Task),
    Message(Message),
    /// These events, then the stream is closed.
    Events(Vec<StreamResponse>),
    /// These events, then nothing more.
    Open(Vec<StreamResponse>),
    /// A stream at once, its events when somebody notifies.
    Late(Arc<Notify>, Vec<StreamResponse>),
    Error(Error),
    /// No answer at all.
    Silence,
    /// Nothing until somebody notifies, then this.
    Later(Arc<Notify>, Box<Reply>),
}

/// Answers; the number says how often the same verb was asked before.
pub(crate) type Script = dyn Fn(&Asked, usize) -> Reply + Send + Sync;

/// The push configuration of each Message.
type Configs = Arc<Mutex<Vec<Option<TaskPushNotificationConfig>>>>;

/// A listening agent; dropping it stops it.
pub(crate) struct Scripted {
    pub(crate) url: String,
    router: axum::Router,
    log: Arc<Mutex<Vec<Asked>>>,
    configs: Configs,
    stop: CancellationToken,
}

impl Scripted {
    pub(crate) async fn start(
        streaming: bool,
        script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let anywhere: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = TcpListener::bind(anywhere).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound port"));
        let (log, configs) = (Arc::default(), Configs::default());
        let stop = CancellationToken::new();
        let service = Service {
            card: Arc::new(card(&url, streaming)),
            log: Arc::clone(&log),
            configs: Arc::clone(&configs),
            script: Box::new(script),
        };
        // Signs of life are frequent, so that a test can be impatient. There are none on gRPC.
        let limits = ServerLimits { keep_alive: KEEP_ALIVE, ..ServerLimits::default() };
        let router = protocol::server::router_with_limits(Arc::new(service), limits);
        tokio::spawn(protocol::server::serve(listener, router.clone(), stop.clone()));
        Self { url, router, log, configs, stop }
    }

    /// Its interface of a binding.
    pub(crate) fn interface(&self, binding: Binding) -> Interface {
        interface(binding, &self.url)
    }

    /// Listens at another port as well, until the token is canceled.
    pub(crate) async fn door(&self, binding: Binding) -> (Interface, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound port"));
        let stop = self.stop.child_token();
        tokio::spawn(protocol::server::serve(listener, self.router.clone(), stop.clone()));
        (interface(binding, &url), stop)
    }

    /// The verbs it was asked, in order.
    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        self.asked().iter().map(Asked::verb).collect()
    }

    pub(crate) fn count(&self, verb: &str) -> usize {
        self.verbs().iter().filter(|asked| **asked == verb).count()
    }

    /// The Messages it was sent.
    pub(crate) fn sent(&self) -> Vec<Message> {
        let asked = self.asked().into_iter();
        asked
            .filter_map(|asked| match asked {
                Asked::Send(message) => Some(message),
                _ => None,
            })
            .collect()
    }

    /// What each of them asked for in the way of notifications.
    pub(crate) fn configs(&self) -> Vec<Option<TaskPushNotificationConfig>> {
        self.configs.lock().expect("nothing panics under this lock").clone()
    }

    fn asked(&self) -> Vec<Asked> {
        self.log.lock().expect("nothing panics under this lock").clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn interface(binding: Binding, url: &str) -> Interface {
    Interface::of(&protocol::server::interface(binding, url)).expect("a known binding")
}

pub(crate) fn status(state: TaskState) -> TaskStatus {
    TaskStatus::new(state, Timestamp::now())
}

pub(crate) fn task(id: &str, state: TaskState) -> Task {
    Task::new(id, CONTEXT, status(state))
}

/// A completed Task with one artifact.
pub(crate) fn done(id: &str, text: &str) -> Task {
    let artifact = Artifact::new("answer", "answer", vec![Part::text(text)]);
    Task { artifacts: vec![artifact], ..task(id, TaskState::Completed) }
}

/// A status update.
pub(crate) fn enters(id: &str, state: TaskState, says: &str) -> StreamResponse {
    let said = Message::agent(vec![Part::text(says)]);
    TaskStatusUpdateEvent {
        task_id: id.to_owned(),
        context_id: CONTEXT.to_owned(),
        status: Some(status(state).with_message(said)),
        metadata: None,
    }
    .into()
}

/// A chunk of the artifact `answer`.
pub(crate) fn chunk(id: &str, text: &str) -> StreamResponse {
    TaskArtifactUpdateEvent {
        task_id: id.to_owned(),
        context_id: CONTEXT.to_owned(),
        artifact: Some(Artifact::new("answer", "answer", vec![Part::text(text)])),
        append: true,
        last_chunk: false,
        metadata: None,
    }
    .into()
}

/// Serves routes that are no A2A agent at all; lives as long as the test.
pub(crate) async fn raw(router: axum::Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("a bound port"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

struct Service {
    card: Arc<AgentCard>,
    log: Arc<Mutex<Vec<Asked>>>,
    configs: Configs,
    script: Box<Script>,
}

impl Service {
    fn sent(&self, request: SendMessageRequest) -> Asked {
        let configuration = request.configuration.unwrap_or_default();
        let mut configs = self.configs.lock().expect("nothing panics under this lock");
        configs.push(configuration.task_push_notification_config);
        Asked::Send(request.message.unwrap_or_default())
    }

    async fn reply(&self, asked: Asked) -> Reply {
        let before = {
            let mut log = self.log.lock().expect("nothing panics under this lock");
            let before = log.iter().filter(|old| old.verb() == asked.verb()).count();
            log.push(asked.clone());
            before
        };
        let mut reply = (self.script)(&asked, before);
        while let Reply::Later(when, then) = reply {
            when.notified().await;
            reply = *then;
        }
        reply
    }

    async fn stream(&self, asked: Asked) -> Result<EventStream, Error> {
        let events = match self.reply(asked).await {
            Reply::Task(task) => vec![task.into()],
            Reply::Message(message) => vec![message.into()],
            Reply::Events(events) => events,
            Reply::Open(events) => {
                let events = stream::iter(events.into_iter().map(Ok));
                return Ok(events.chain(stream::pending()).boxed());
            }
            Reply::Late(when, events) => {
                let first = stream::once(async move { when.notified().await });
                let events =
                    first.flat_map(move |()| stream::iter(events.clone().into_iter().map(Ok)));
                return Ok(events.boxed());
            }
            Reply::Error(error) => return Err(error),
            Reply::Silence | Reply::Later(..) => std::future::pending().await,
        };
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    }

    async fn task(&self, asked: Asked) -> Result<Task, Error> {
        match self.reply(asked).await {
            Reply::Task(task) => Ok(task),
            Reply::Error(error) => Err(error),
            Reply::Silence => std::future::pending().await,
            _ => panic!("the script answers with something that is no Task"),
        }
    }
}

#[async_trait]
impl A2aService for Service {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        match self.reply(self.sent(request)).await {
            Reply::Message(message) => Ok(message.into()),
            Reply::Task(task) => Ok(task.into()),
            Reply::Error(error) => Err(error),
            Reply::Silence => std::future::pending().await,
            _ => panic!("the script answers a plain call with a stream"),
        }
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        self.stream(self.sent(request)).await
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        self.task(Asked::Get(request.id)).await
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        Ok(ListTasksResponse::default())
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        self.task(Asked::Cancel(request.id)).await
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        self.stream(Asked::Subscribe(request.id)).await
    }
}

fn card(url: &str, streaming: bool) -> AgentCard {
    AgentCard {
        name: "scripted".to_owned(),
        description: "Does as a test tells it.".to_owned(),
        version: "1".to_owned(),
        supported_interfaces: vec![AgentInterface {
            url: url.to_owned(),
            protocol_binding: "JSONRPC".to_owned(),
            protocol_version: "1.0".to_owned(),
            ..AgentInterface::default()
        }],
        capabilities: Some(AgentCapabilities {
            streaming: Some(streaming),
            push_notifications: Some(true),
            ..AgentCapabilities::default()
        }),
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: vec![AgentSkill {
            id: "obey".to_owned(),
            name: "Obey".to_owned(),
            description: "Obeys.".to_owned(),
            tags: vec!["test".to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}
