//! A webhook of a client: it notes what comes, and answers as it is told.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    routing::get,
};
use protocol::v1::{StreamResponse, TaskState};
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

use crate::scene::soon;

/// One call: its head and its body.
pub(crate) type Call = (HeaderMap, Bytes);

/// A listening webhook.
pub(crate) struct Hook {
    pub(crate) url: String,
    inner: Arc<Inner>,
    serving: JoinHandle<()>,
}

struct Inner {
    calls: Mutex<Vec<Call>>,
    came: Notify,
}

impl Hook {
    /// A webhook that takes everything.
    pub(crate) async fn new() -> Self {
        Self::answering(|_| async { StatusCode::NO_CONTENT }).await
    }

    /// A webhook that decides on each call by how many came before.
    pub(crate) async fn answering<F>(answer: impl Fn(usize) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = StatusCode> + Send + 'static,
    {
        let inner = Arc::new(Inner { calls: Mutex::default(), came: Notify::new() });
        let answer = Arc::new(answer);
        let take = async move |State(inner): State<Arc<Inner>>, head: HeaderMap, body: Bytes| {
            inner.note((head, body), &*answer).await
        };
        let challenge = async |RawQuery(query): RawQuery| {
            protocol::push::challenge_answer(&query.unwrap_or_default()).unwrap_or_default()
        };
        let router =
            Router::new().route("/hook", get(challenge).post(take)).with_state(Arc::clone(&inner));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { url: format!("http://{address}/hook"), inner, serving }
    }

    /// All calls so far, whatever was answered.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.inner.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The events so far.
    pub(crate) fn events(&self) -> Vec<StreamResponse> {
        let read = |(_, body): Call| serde_json::from_slice(&body).expect("a StreamResponse");
        self.calls().into_iter().map(read).collect()
    }

    /// Waits until what came is as it should be.
    pub(crate) async fn until(&self, is_so: impl Fn(&[StreamResponse]) -> bool) {
        soon("the notifications", async {
            loop {
                let came = self.inner.came.notified();
                if is_so(&self.events()) {
                    return;
                }
                came.await;
            }
        })
        .await;
    }

    /// Waits until it was told of the end of the Task, and returns all it was told.
    pub(crate) async fn to_the_end(&self) -> Vec<StreamResponse> {
        self.until(|events| events.last().is_some_and(is_end)).await;
        self.events()
    }
}

pub(crate) fn is_end(event: &StreamResponse) -> bool {
    event.state().is_some_and(TaskState::is_terminal)
}

impl Inner {
    /// Notes a call once it is decided how it is answered: whoever sees it may change how the next one is.
    fn note<F>(&self, call: Call, answer: &(dyn Fn(usize) -> F + Send + Sync)) -> F {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer(calls.len());
        calls.push(call);
        self.came.notify_waiters();
        answer
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
