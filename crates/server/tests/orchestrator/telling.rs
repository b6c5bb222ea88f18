//! An agent that answers what its test wants it to, and keeps what it was asked.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use jiff::Timestamp;
use protocol::{
    card::Binding,
    error::Error,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, AgentSkill, CancelTaskRequest, GetTaskRequest,
        ListTasksRequest, ListTasksResponse, Message, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskState, TaskStatus,
    },
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What it answers to a Message.
type Answer = dyn Fn(&Call, &Message) -> Result<SendMessageResponse, Error> + Send + Sync;

/// A Message that it got, and the extensions that came with it.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) message: Message,
    pub(crate) extensions: Vec<String>,
}

/// A listening agent that does not stream; dropping it stops it. Its Tasks stay as they were answered.
pub(crate) struct Telling {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    tasks: Arc<Mutex<Vec<Task>>>,
    stop: CancellationToken,
}

impl Telling {
    pub(crate) async fn start(
        answer: impl Fn(&Call, &Message) -> Result<SendMessageResponse, Error> + Send + Sync + 'static,
    ) -> Self {
        let anywhere: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = TcpListener::bind(anywhere).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound port"));
        let stop = CancellationToken::new();
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let tasks = Arc::<Mutex<Vec<Task>>>::default();
        let service = Service {
            card: Arc::new(card(&url)),
            answer: Box::new(answer),
            heard: Arc::clone(&heard),
            tasks: Arc::clone(&tasks),
        };
        let router = protocol::server::router(Arc::new(service));
        tokio::spawn(protocol::server::serve(listener, router, stop.clone()));
        Self { url, heard, tasks, stop }
    }

    /// Has a Task stand so from now on.
    pub(crate) fn put(&self, task: Task) {
        self.tasks.lock().expect("nobody broke down").push(task);
    }

    /// What it was sent, in the order of coming.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().expect("nobody broke down").clone()
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A Task as an agent answers it.
pub(crate) fn task(id: &str, state: TaskState, says: &str) -> Task {
    let message =
        Message::agent(vec![protocol::v1::Part::text(says)]).with_id(format!("{id} {says}"));
    let status =
        TaskStatus { message: Some(message), ..TaskStatus::new(state, Timestamp::UNIX_EPOCH) };
    Task::new(id, "theirs", status)
}

struct Service {
    card: Arc<AgentCard>,
    answer: Box<Answer>,
    heard: Arc<Mutex<Vec<Heard>>>,
    tasks: Arc<Mutex<Vec<Task>>>,
}

impl Service {
    fn task(&self, id: &str) -> Result<Task, Error> {
        let tasks = self.tasks.lock().expect("nobody broke down");
        let found = tasks.iter().rev().find(|task| task.id == id).cloned();
        found.ok_or_else(|| Error::task_not_found(id))
    }
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
        let message = request.message.expect("the binding asks for one");
        let extensions = call.extensions.clone();
        let heard = Heard { message: message.clone(), extensions };
        self.heard.lock().expect("nobody broke down").push(heard);
        let response = (self.answer)(call, &message)?;
        if let Some(protocol::v1::send_message_response::Payload::Task(task)) = &response.payload {
            self.tasks.lock().expect("nobody broke down").push(task.clone());
        }
        Ok(response)
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        _request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        Err(Error::unsupported("it does not stream"))
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        self.task(&request.id)
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        Ok(ListTasksResponse::default())
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        self.task(&request.id)
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        Err(Error::task_not_found(&request.id))
    }
}

fn card(url: &str) -> AgentCard {
    AgentCard {
        name: "telling".to_owned(),
        description: "Answers what its test wants it to.".to_owned(),
        version: "1".to_owned(),
        supported_interfaces: vec![protocol::server::interface(Binding::JsonRpc, url)],
        capabilities: Some(AgentCapabilities::default()),
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["text/plain".to_owned()],
        skills: vec![AgentSkill {
            id: "tell".to_owned(),
            name: "Tell".to_owned(),
            description: "Tells.".to_owned(),
            tags: vec!["test".to_owned()],
            ..AgentSkill::default()
        }],
        ..AgentCard::default()
    }
}
