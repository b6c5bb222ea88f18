//! A webhook that shows what it was sent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use protocol::v1::{StreamResponse, TaskPushNotificationConfig};
use tokio::{net::TcpListener, sync::watch, task::AbortHandle};

use crate::asking::PATIENCE;

/// A listening webhook; it ends with this value.
pub(super) struct Webhook {
    pub(super) url: String,
    received: Arc<Received>,
    server: AbortHandle,
}

struct Received {
    notifications: Mutex<Vec<(HeaderMap, StreamResponse)>>,
    /// How to answer the next ones; 204 when there is nothing left.
    answers: Mutex<VecDeque<u16>>,
    count: watch::Sender<usize>,
}

impl Webhook {
    /// Starts one that answers as told, and 204 from then on.
    pub(super) async fn answering(answers: &[u16]) -> Webhook {
        let received = Arc::new(Received {
            notifications: Mutex::default(),
            answers: Mutex::new(answers.iter().copied().collect()),
            count: watch::Sender::new(0),
        });
        let router = Router::new().route("/hook", post(take)).with_state(received.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let server = server.abort_handle();
        Webhook { url: format!("http://{address}/hook"), received, server }
    }

    /// A configuration that names it.
    pub(super) fn config(&self) -> TaskPushNotificationConfig {
        TaskPushNotificationConfig {
            url: self.url.clone(),
            ..TaskPushNotificationConfig::default()
        }
    }

    /// Waits for so many notifications and returns all there are, with their heads.
    pub(super) async fn wait_for(&self, count: usize) -> Vec<(HeaderMap, StreamResponse)> {
        let mut received = self.received.count.subscribe();
        let waited = tokio::time::timeout(PATIENCE, received.wait_for(|got| *got >= count)).await;
        waited.unwrap_or_else(|_| panic!("not {count} but {}", self.count())).expect("it counts");
        self.received.notifications.lock().expect("no test panics in here").clone()
    }

    /// Waits for so many notifications and shows all there are.
    pub(super) async fn shown(&self, count: usize) -> Vec<String> {
        self.wait_for(count).await.iter().map(|(_, event)| super::behaviour::shown(event)).collect()
    }

    /// How many notifications came so far.
    pub(super) fn count(&self) -> usize {
        *self.received.count.borrow()
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn take(State(received): State<Arc<Received>>, head: HeaderMap, body: Bytes) -> StatusCode {
    let event = serde_json::from_slice(&body).expect("a notification is a StreamResponse");
    received.notifications.lock().expect("no test panics in here").push((head, event));
    received.count.send_modify(|count| *count += 1);
    let answer = received.answers.lock().expect("no test panics in here").pop_front();
    StatusCode::from_u16(answer.unwrap_or(204)).expect("the tests name statuses")
}
