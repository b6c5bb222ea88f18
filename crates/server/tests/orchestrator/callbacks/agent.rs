//! An agent that does not stream, and sends notifications when a test has it do so.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use axum::{Json, Router, routing::get};
use jiff::Timestamp;
use protocol::{
    error::Error,
    push::{Attempt, Keyring, PushSender, Signer},
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest,
        ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState, TaskStatus,
    },
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::scene::{card, outbound, soon};

/// A listening agent. Dropping it stops it.
pub(crate) struct Teller {
    pub(crate) url: String,
    sender: PushSender,
    inner: Arc<Inner>,
    stop: CancellationToken,
}

struct Inner {
    card: AgentCard,
    config: Mutex<Option<TaskPushNotificationConfig>>,
    is_done: AtomicBool,
    looks: AtomicUsize,
}

impl Teller {
    /// One that signs, and may publish its keys.
    pub(crate) async fn new(publishes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let ring = Keyring::generate(Timestamp::now()).expect("a key");
        let keys = ring.public_keys();
        let signer = Signer::new(url.clone(), Arc::new(ring.into()));
        let tells = AgentCapabilities { push_notifications: Some(true), ..Default::default() };
        let inner = Arc::new(Inner {
            card: card("teller", &url, tells),
            config: Mutex::default(),
            is_done: AtomicBool::default(),
            looks: AtomicUsize::default(),
        });
        let mut router = protocol::server::router(inner.clone());
        if publishes {
            let answer = async || Json(keys);
            router = router.merge(Router::new().route("/.well-known/jwks.json", get(answer)));
        }
        let stop = CancellationToken::new();
        tokio::spawn(protocol::server::serve(listener, router, stop.clone()));
        Self { url, sender: PushSender::new(outbound()).with_signer(signer), inner, stop }
    }

    /// Waits until it has got a Message and was asked for its Task so often; returns where to send notifications.
    pub(crate) async fn looked_at(&self, times: usize) -> TaskPushNotificationConfig {
        soon("a look", async {
            while self.looks() < times {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let config = self.inner.config.lock().unwrap_or_else(PoisonError::into_inner).clone();
        config.expect("the Message asks for notifications")
    }

    /// How often it was asked for its Task.
    pub(crate) fn looks(&self) -> usize {
        self.inner.looks.load(Ordering::SeqCst)
    }

    /// From here on its Task is over.
    pub(crate) fn finish(&self) {
        self.inner.is_done.store(true, Ordering::SeqCst);
    }

    /// Tells of its Task, whatever is true.
    pub(crate) async fn tell(
        &self,
        config: &TaskPushNotificationConfig,
        state: TaskState,
    ) -> Attempt {
        let config = TaskPushNotificationConfig { task_id: "t".to_owned(), ..config.clone() };
        self.sender.send(&config, protocol::push::body(&event(state)).expect("JSON")).await
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

pub(crate) fn event(state: TaskState) -> StreamResponse {
    task(state).into()
}

fn task(state: TaskState) -> Task {
    Task::new("t", "c", TaskStatus::new(state, Timestamp::now()))
}

impl Inner {
    fn task(&self) -> Task {
        let is_done = self.is_done.load(Ordering::SeqCst);
        task(if is_done { TaskState::Completed } else { TaskState::Working })
    }
}

#[async_trait]
impl A2aService for Inner {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::new(self.card.clone())
    }

    async fn send_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let configuration = request.configuration.unwrap_or_default();
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        *config = configuration.task_push_notification_config;
        Ok(self.task().into())
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        _request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        Err(Error::unsupported("it does not stream"))
    }

    async fn get_task(&self, _call: &Call, _request: GetTaskRequest) -> Result<Task, Error> {
        let task = self.task();
        self.looks.fetch_add(1, Ordering::SeqCst);
        Ok(task)
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        Ok(ListTasksResponse::default())
    }

    async fn cancel_task(&self, _call: &Call, _request: CancelTaskRequest) -> Result<Task, Error> {
        Ok(task(TaskState::Canceled))
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        _request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        Err(Error::unsupported("it does not stream"))
    }
}
