//! The agent of the tests: answers by the text of the Message, and shows what it was called with.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{
    StreamExt,
    stream::{self},
};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    error::{Error, ErrorKind},
    limits::ServerLimits,
    operation::Operation,
    server,
    service::{A2aService, Call, EventStream, no_extended_card, no_push},
    v1::{
        AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill, Artifact,
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Message, Part, SendMessageRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
        TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
        send_message_response, stream_response,
    },
    wkt::Timestamp,
};

/// The one Task the agent knows.
pub(crate) const TASK: &str = "task-1";

pub(crate) struct Echo {
    pub(crate) card: Arc<AgentCard>,
    /// What the last call brought.
    pub(crate) last: Mutex<Option<Call>>,
    request: Mutex<String>,
    /// Whether it has what the optional operations ask for, besides declaring it.
    is_whole: bool,
    /// The credentials it asks for, if any.
    only_for: Option<&'static str>,
    /// Alive as long as some stream is; tells tests when the agent has noticed a client leave.
    pub(crate) streams: Arc<()>,
}

impl Default for Echo {
    fn default() -> Echo {
        Echo::with(AgentCapabilities { streaming: Some(true), ..AgentCapabilities::default() })
    }
}

impl Echo {
    pub(crate) fn with(capabilities: AgentCapabilities) -> Echo {
        let (card, last) = (Arc::new(card(capabilities)), Mutex::new(None));
        let (request, streams) = (Mutex::default(), Arc::default());
        Echo { card, last, request, is_whole: false, only_for: None, streams }
    }

    /// Declares and does everything there is.
    pub(crate) fn whole() -> Echo {
        let all = AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(true),
            extended_agent_card: Some(true),
            ..AgentCapabilities::default()
        };
        Echo { is_whole: true, ..Echo::with(all) }
    }

    /// Lets in only those with these credentials.
    pub(crate) fn only_for(credentials: &'static str) -> Echo {
        Echo { only_for: Some(credentials), ..Echo::default() }
    }

    /// The webhook of the one Task.
    fn hook(
        &self,
        operation: Operation,
        task_id: &str,
    ) -> Result<TaskPushNotificationConfig, Error> {
        match task_id {
            _ if !self.is_whole => Err(no_push(operation)),
            TASK => Ok(TaskPushNotificationConfig {
                id: "hook".to_owned(),
                task_id: TASK.to_owned(),
                url: "http://127.0.0.1:1/hook".to_owned(),
                ..TaskPushNotificationConfig::default()
            }),
            other => Err(Error::task_not_found(other)),
        }
    }

    /// Declares one extension, which callers must know or may.
    pub(crate) fn with_extension(uri: &str, required: bool) -> Echo {
        let extension =
            AgentExtension { uri: uri.to_owned(), required, ..AgentExtension::default() };
        Echo::with(AgentCapabilities {
            streaming: Some(true),
            extensions: vec![extension],
            ..AgentCapabilities::default()
        })
    }

    fn note<R: serde::Serialize>(&self, call: &Call, request: &R) {
        let request = serde_json::to_string(request).expect("requests are JSON");
        *self.request.lock().expect("no test panics in here") = request;
        *self.last.lock().expect("no test panics in here") = Some(call.clone());
    }

    /// Takes the last request, as JSON; empty when none has come since.
    pub(crate) fn take_request(&self) -> String {
        std::mem::take(&mut *self.request.lock().expect("no test panics in here"))
    }

    pub(crate) fn last(&self) -> Call {
        self.last.lock().expect("no test panics in here").clone().expect("the agent was called")
    }
}

/// An agent that is listening; it ends with this value.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) address: String,
    _guard: DropGuard,
}

/// Serves an agent on loopback.
pub(crate) async fn serve(service: Arc<dyn A2aService>, limits: ServerLimits) -> Running {
    serve_router(server::router_with_limits(service, limits)).await
}

/// Serves an agent that speaks the versions before 1.0 as well.
pub(crate) async fn serve_older(service: Arc<dyn A2aService>) -> Running {
    serve_router(server::router_with_older_versions(service, ServerLimits::default())).await
}

async fn serve_router(router: axum::Router) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    let shutdown = CancellationToken::new();
    tokio::spawn(server::serve(listener, router, shutdown.clone()));
    Running { url: format!("http://{address}/"), address, _guard: shutdown.drop_guard() }
}

pub(crate) fn quick() -> ServerLimits {
    ServerLimits { keep_alive: Duration::from_millis(40), ..ServerLimits::default() }
}

fn card(capabilities: AgentCapabilities) -> AgentCard {
    let text = || vec!["text/plain".to_owned()];
    AgentCard {
        name: "echo".to_owned(),
        description: "Says what it hears.".to_owned(),
        version: "1.2.3".to_owned(),
        supported_interfaces: vec![AgentInterface {
            url: "http://127.0.0.1:1/".to_owned(),
            protocol_binding: "JSONRPC".to_owned(),
            protocol_version: "1.0".to_owned(),
            ..AgentInterface::default()
        }],
        capabilities: Some(capabilities),
        default_input_modes: text(),
        default_output_modes: text(),
        skills: vec![AgentSkill {
            id: "echo".to_owned(),
            name: "Echo".to_owned(),
            description: "Says what it hears.".to_owned(),
            tags: vec!["test".to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}

/// A request whose Message says a text.
pub(crate) fn says(text: &str) -> SendMessageRequest {
    let message = Message::user(vec![Part::text(text)]).with_id("m-1");
    SendMessageRequest { message: Some(message), ..SendMessageRequest::default() }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus::new(state, Timestamp { seconds: 1_767_323_045, nanos: 678_000_000 })
}

pub(crate) fn task(state: TaskState) -> Task {
    Task::new(TASK, "context-1", status(state))
}

fn event(payload: stream_response::Payload) -> StreamResponse {
    StreamResponse { payload: Some(payload) }
}

fn snapshot(state: TaskState) -> StreamResponse {
    event(stream_response::Payload::Task(task(state)))
}

fn update(state: TaskState) -> StreamResponse {
    event(stream_response::Payload::StatusUpdate(TaskStatusUpdateEvent {
        task_id: TASK.to_owned(),
        context_id: "context-1".to_owned(),
        status: Some(status(state)),
        ..TaskStatusUpdateEvent::default()
    }))
}

fn artifact(text: &str) -> Artifact {
    Artifact::new("artifact-1", "", vec![Part::text(text)])
}

fn artifact_update(text: &str) -> StreamResponse {
    event(stream_response::Payload::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: TASK.to_owned(),
        context_id: "context-1".to_owned(),
        artifact: Some(artifact(text)),
        last_chunk: true,
        ..TaskArtifactUpdateEvent::default()
    }))
}

/// The errors the agent answers when it is told their reason.
fn told_error(text: &str) -> Option<Error> {
    let kind = ErrorKind::from_reason(text)?;
    let retry_after = matches!(kind, ErrorKind::ResourceExhausted | ErrorKind::Unavailable)
        .then_some(Duration::from_millis(1500));
    Some(Error {
        retry_after,
        metadata: BTreeMap::from([("taskId".to_owned(), TASK.to_owned())]),
        ..Error::new(kind, "as you wish")
    })
}

#[async_trait]
impl A2aService for Echo {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        self.card.clone()
    }

    fn authorize(&self, call: &Call, _operation: Operation) -> Result<(), Error> {
        let given = call.headers.get("authorization");
        if self.only_for.is_none_or(|wanted| given.is_some_and(|given| given == wanted)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unauthenticated, "who are you?"))
    }

    async fn send_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        self.note(call, &request);
        let text = request.message.as_ref().map(Message::text).unwrap_or_default();
        if let Some(error) = told_error(&text) {
            return Err(error);
        }
        let payload = match text.as_str() {
            "pending" => std::future::pending().await,
            "message" => send_message_response::Payload::Message(
                Message::agent(vec![Part::text("hello")]).with_id("m-2"),
            ),
            text => {
                let artifacts = vec![artifact(text)];
                send_message_response::Payload::Task(Task {
                    artifacts,
                    ..task(TaskState::Completed)
                })
            }
        };
        Ok(SendMessageResponse { payload: Some(payload) })
    }

    async fn send_streaming_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        self.note(call, &request);
        let text = request.message.as_ref().map(Message::text).unwrap_or_default();
        if let Some(error) = told_error(&text) {
            return Err(error);
        }
        let working = || Ok(snapshot(TaskState::Working));
        let events = match text.as_str() {
            "early error" => vec![Err(Error::task_not_found(TASK))],
            "late error" => vec![working(), Err(Error::unavailable("gone", None)), working()],
            "nothing" => vec![],
            "silent" => vec![working()],
            "asks" => vec![working(), Ok(update(TaskState::InputRequired))],
            "mute" => vec![],
            text => vec![working(), Ok(artifact_update(text)), Ok(update(TaskState::Completed))],
        };
        let events = stream::iter(events);
        let alive = self.streams.clone();
        Ok(match text.as_str() {
            "silent" | "mute" | "asks" => {
                events.chain(stream::pending()).inspect(move |_| _ = &alive).boxed()
            }
            _ => events.boxed(),
        })
    }

    async fn get_task(&self, call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        self.note(call, &request);
        if request.id == TASK {
            Ok(task(TaskState::Working))
        } else {
            Err(Error::task_not_found(&request.id))
        }
    }

    async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        self.note(call, &request);
        let page_size = request.page_size.unwrap_or(50);
        let is_of_0_1 = request.context_id.strip_prefix("urn:convoke:task:v0.1:") == Some(TASK);
        let tasks = if is_of_0_1 { vec![task(TaskState::Working)] } else { Vec::new() };
        Ok(ListTasksResponse { tasks, page_size, ..ListTasksResponse::default() })
    }

    async fn cancel_task(&self, call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        self.note(call, &request);
        if request.id == TASK {
            Ok(task(TaskState::Canceled))
        } else {
            Err(Error::task_not_cancelable(&request.id, "completed"))
        }
    }

    async fn subscribe_to_task(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        self.note(call, &request);
        if request.id != TASK {
            return Err(Error::task_not_found(&request.id));
        }
        Ok(stream::iter([Ok(snapshot(TaskState::Working)), Ok(update(TaskState::InputRequired))])
            .boxed())
    }

    async fn create_task_push_notification_config(
        &self,
        call: &Call,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        self.note(call, &request);
        let hook = self.hook(Operation::CreateTaskPushNotificationConfig, &request.task_id)?;
        Ok(TaskPushNotificationConfig { id: hook.id, ..request })
    }

    async fn get_task_push_notification_config(
        &self,
        call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        self.note(call, &request);
        let hook = self.hook(Operation::GetTaskPushNotificationConfig, &request.task_id)?;
        if hook.id == request.id { Ok(hook) } else { Err(Error::task_not_found(&request.id)) }
    }

    async fn list_task_push_notification_configs(
        &self,
        call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        self.note(call, &request);
        let hook = self.hook(Operation::ListTaskPushNotificationConfigs, &request.task_id)?;
        let next_page_token = format!("{}+{}", request.page_size, request.page_token);
        Ok(ListTaskPushNotificationConfigsResponse { configs: vec![hook], next_page_token })
    }

    async fn delete_task_push_notification_config(
        &self,
        call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        self.note(call, &request);
        self.hook(Operation::DeleteTaskPushNotificationConfig, &request.task_id).map(drop)
    }

    async fn get_extended_agent_card(
        &self,
        call: &Call,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        self.note(call, &request);
        if self.is_whole { Ok((*self.card).clone()) } else { Err(no_extended_card()) }
    }
}
