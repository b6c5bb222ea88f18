//! An agent by all three bindings that keeps what it is asked, whichever operation it is, and answers
//! as the first text of a Message says.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use axum::{Router, routing};
use futures_util::{StreamExt as _, stream};
use protocol::{
    card::Binding,
    error::Error,
    operation::Operation,
    server,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, AgentExtension, AgentSkill, Artifact, CancelTaskRequest,
        DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Message, Part, SendMessageRequest,
        SendMessageResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
        TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent,
    },
};
use serde::Serialize;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// How large the file is that it answers with: ten megabytes.
pub const FILE_BYTES: usize = 10_000_000;

/// The file that it answers with, in which no two neighbours are equal.
#[must_use]
pub fn file() -> Vec<u8> {
    let pattern: Vec<u8> = (0..250).collect();
    pattern.repeat(FILE_BYTES / pattern.len())
}

/// An agent that keeps what it is asked. Dropping it stops it.
pub struct Mirror {
    /// Its address: `http://127.0.0.1:port`.
    pub url: String,
    asked: Asked,
    stop: CancellationToken,
    _server: JoinHandle<std::io::Result<()>>,
}

/// One request, as the agent had it after its binding.
#[derive(Clone, Debug)]
pub struct AskedCall {
    /// The operation.
    pub operation: Operation,
    /// The request as ProtoJSON.
    pub request: Value,
    /// The tenant of the call.
    pub tenant: String,
    /// The extensions asked for.
    pub extensions: Vec<String>,
    /// The value of the header `x-key`.
    pub key: Option<String>,
    /// Whether it came by gRPC.
    pub is_grpc: bool,
}

type Asked = Arc<Mutex<Vec<AskedCall>>>;

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mirror").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Mirror {
    /// Starts it on a free port.
    ///
    /// # Panics
    /// When there is none.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let asked = Asked::default();
        let service =
            Service { card: Arc::new(card(&url)), url: url.clone(), asked: asked.clone() };
        let files = Router::new().route("/files/big.bin", routing::get(async || file()));
        let router = server::router(Arc::new(service)).merge(files);
        let stop = CancellationToken::new();
        let server = tokio::spawn(server::serve(listener, router, stop.clone()));
        Self { url, asked, stop, _server: server }
    }

    /// What it was asked last.
    ///
    /// # Panics
    /// When it was asked nothing.
    #[must_use]
    pub fn last(&self) -> AskedCall {
        self.all().pop().expect("it was asked something")
    }

    /// All it was asked.
    ///
    /// # Panics
    /// Never: nothing panics under the lock.
    #[must_use]
    pub fn all(&self) -> Vec<AskedCall> {
        self.asked.lock().expect("nothing panics under this lock").clone()
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn card(url: &str) -> AgentCard {
    let skill = AgentSkill {
        id: "mirror".to_owned(),
        name: "Mirror".to_owned(),
        description: "Keeps what it is asked.".to_owned(),
        tags: vec!["mirror".to_owned()],
        ..AgentSkill::default()
    };
    AgentCard {
        name: "mirror".to_owned(),
        description: "Keeps what it is asked.".to_owned(),
        version: "1".to_owned(),
        supported_interfaces: Binding::ALL.map(|it| server::interface(it, url)).into(),
        capabilities: Some(AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(true),
            extended_agent_card: Some(true),
            extensions: ["urn:test:a", "urn:test:b"]
                .map(|uri| AgentExtension { uri: uri.to_owned(), ..AgentExtension::default() })
                .into(),
        }),
        default_input_modes: vec!["*/*".to_owned()],
        default_output_modes: vec!["*/*".to_owned()],
        skills: vec![skill],
        ..AgentCard::default()
    }
}

struct Service {
    card: Arc<AgentCard>,
    url: String,
    asked: Asked,
}

impl Service {
    fn note(&self, call: &Call, operation: Operation, request: &impl Serialize) {
        let text = |name: &str| Some(call.headers.get(name)?.to_str().ok()?.to_owned());
        let asked = AskedCall {
            operation,
            request: serde_json::to_value(request).expect("requests are JSON"),
            tenant: call.tenant.clone(),
            extensions: call.extensions.clone(),
            key: text("x-key"),
            is_grpc: text("content-type").is_some_and(|kind| kind.starts_with("application/grpc")),
        };
        self.asked.lock().expect("nothing panics under this lock").push(asked);
    }

    /// The Task of a Message: its artifact, and the state its text names.
    fn task(&self, text: &str) -> Task {
        let bytes = || Part::raw(file()).with_media_type("application/octet-stream");
        let parts = match text {
            "bytes" => vec![bytes().with_filename("big.bin")],
            "url" => vec![Part::url(format!("{}/files/big.bin", self.url))],
            "nowhere" => vec![Part::url(format!("{}/files/none.bin", self.url))],
            said => vec![Part::text(said)],
        };
        let state = match text {
            "ask" => TaskState::InputRequired,
            "authorize" => TaskState::AuthRequired,
            "fail" => TaskState::Failed,
            "reject" => TaskState::Rejected,
            _ => TaskState::Completed,
        };
        let mut task = task("task", state);
        if let Some(status) = task.status.as_mut().filter(|_| state != TaskState::Completed) {
            status.message = Some(Message::agent(vec![Part::text("Why not.")]));
        } else {
            task.artifacts = vec![Artifact::new("a", "answer", parts)];
        }
        task.history = vec![Message::user(vec![Part::text(text)])];
        task
    }
}

fn task(id: &str, state: TaskState) -> Task {
    let since: protocol::wkt::Timestamp =
        serde_json::from_str("\"2026-01-02T03:04:05Z\"").expect("a time");
    let status = TaskStatus { state: state.into(), message: None, timestamp: Some(since) };
    Task::new(id, "context", status)
}

fn first_text(request: &SendMessageRequest) -> String {
    let message = request.message.as_ref();
    let parts = message.map(|message| message.parts.as_slice()).unwrap_or_default();
    parts.iter().find_map(Part::as_text).unwrap_or_default().to_owned()
}

/// A text in three pieces, or the file in two.
fn pieces(text: &str) -> Vec<Vec<Part>> {
    if text == "bytes" {
        let bytes = file();
        let (first, second) = bytes.split_at(FILE_BYTES / 2);
        return [first, second].map(|half| vec![Part::raw(half).with_filename("big.bin")]).into();
    }
    ["Grüße, ", "世界 ", "🌍"].map(|piece| vec![Part::text(piece)]).into()
}

#[async_trait]
impl A2aService for Service {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        self.note(call, Operation::SendMessage, &request);
        let text = first_text(&request);
        Ok(match text.as_str() {
            "direct" => Message::agent(vec![Part::text("Grüße, 世界 🌍")]).into(),
            text => self.task(text).into(),
        })
    }

    async fn send_streaming_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        self.note(call, Operation::SendStreamingMessage, &request);
        let ids = || ("task".to_owned(), "context".to_owned());
        let mut events = vec![task("task", TaskState::Working).into()];
        for (number, parts) in pieces(&first_text(&request)).into_iter().enumerate() {
            let (task_id, context_id) = ids();
            let artifact = Some(Artifact::new("a", "answer", parts));
            let append = number > 0;
            let update = TaskArtifactUpdateEvent {
                task_id,
                context_id,
                artifact,
                append,
                ..Default::default()
            };
            events.push(update.into());
        }
        let (task_id, context_id) = ids();
        let status = task("task", TaskState::Completed).status;
        events.push(
            TaskStatusUpdateEvent { task_id, context_id, status, ..Default::default() }.into(),
        );
        Ok(stream::iter(events).map(Ok).boxed())
    }

    async fn get_task(&self, call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        self.note(call, Operation::GetTask, &request);
        if request.id == "none" {
            return Err(Error::task_not_found("none"));
        }
        let mut task = self.task(if request.id == "file" { "bytes" } else { "Hello." });
        task.id = request.id;
        Ok(task)
    }

    /// Three Tasks, one a page.
    async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        self.note(call, Operation::ListTasks, &request);
        let page: usize = request.page_token.parse().unwrap_or(1);
        let next_page_token = if page < 3 { (page + 1).to_string() } else { String::new() };
        let tasks = vec![task(&format!("t{page}"), TaskState::Working)];
        Ok(ListTasksResponse { tasks, next_page_token, page_size: 1, total_size: 3 })
    }

    async fn cancel_task(&self, call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        self.note(call, Operation::CancelTask, &request);
        Ok(task(&request.id, TaskState::Canceled))
    }

    async fn subscribe_to_task(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        self.note(call, Operation::SubscribeToTask, &request);
        if request.id == "ended" {
            return Err(Error::unsupported("it has ended"));
        }
        let mut ended = self.task("Hello.");
        ended.id = request.id;
        Ok(stream::iter([Ok(ended.into())]).boxed())
    }

    async fn create_task_push_notification_config(
        &self,
        call: &Call,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        self.note(call, Operation::CreateTaskPushNotificationConfig, &request);
        Ok(request)
    }

    async fn get_task_push_notification_config(
        &self,
        call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        self.note(call, Operation::GetTaskPushNotificationConfig, &request);
        Ok(config(&request.id))
    }

    /// Three registrations, one a page.
    async fn list_task_push_notification_configs(
        &self,
        call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        self.note(call, Operation::ListTaskPushNotificationConfigs, &request);
        let page: usize = request.page_token.parse().unwrap_or(1);
        let next_page_token = if page < 3 { (page + 1).to_string() } else { String::new() };
        let configs = vec![config(&format!("w{page}"))];
        Ok(ListTaskPushNotificationConfigsResponse { configs, next_page_token })
    }

    async fn delete_task_push_notification_config(
        &self,
        call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        self.note(call, Operation::DeleteTaskPushNotificationConfig, &request);
        Ok(())
    }

    async fn get_extended_agent_card(
        &self,
        call: &Call,
        request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        self.note(call, Operation::GetExtendedAgentCard, &request);
        let description = "For those who may see it.".to_owned();
        Ok(AgentCard { description, ..(*self.card).clone() })
    }
}

fn config(id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        id: id.to_owned(),
        task_id: "task".to_owned(),
        url: "https://hook.test/".to_owned(),
        token: "secret".to_owned(),
        ..TaskPushNotificationConfig::default()
    }
}
