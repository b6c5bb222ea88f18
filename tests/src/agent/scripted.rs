//! An HTTP server that answers each JSON-RPC request as a script says.

use std::{
    fmt,
    io::{self, ErrorKind},
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse as _, Response},
    routing,
};
use futures_util::{StreamExt as _, future, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::PATIENCE;

/// A scripted agent. Dropping it stops it.
pub struct Scripted {
    /// Its address, which is also where its card is found.
    pub url: String,
    received: Arc<Received>,
    server: JoinHandle<io::Result<()>>,
}

/// One JSON-RPC request.
#[derive(Clone, Debug)]
pub struct Request {
    /// `SendMessage` and so on.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// How many requests of this method came before it.
    pub before: usize,
    id: Value,
}

/// What a script does with a request.
#[derive(Debug)]
pub enum Answer {
    /// Answers.
    With(Response),
    /// Keeps the connection and says nothing.
    Never,
}

type Script = dyn Fn(&Request) -> Answer + Send + Sync;

struct Received {
    requests: Mutex<Vec<Request>>,
    count: watch::Sender<usize>,
    script: Box<Script>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Scripted {
    /// Starts an agent with a faultless card.
    pub async fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let card = |url: &str| Json(super::card("scripted", url)).into_response();
        Self::serve(card, script).await
    }

    /// Starts an agent that does not stream, and says so in its card.
    pub async fn polled(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let card = |url: &str| {
            let mut card = super::card("polled", url);
            card["capabilities"] = json!({});
            Json(card).into_response()
        };
        Self::serve(card, script).await
    }

    /// Starts an agent that does not stream, and says in its card that it sends push notifications.
    pub async fn telling(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let card = |url: &str| {
            let mut card = super::card("telling", url);
            card["capabilities"] = json!({"pushNotifications": true});
            Json(card).into_response()
        };
        Self::serve(card, script).await
    }

    /// Starts a host that gives this for a card, at every usual place, and serves nothing else.
    pub async fn with_card(
        card: impl Fn(&str) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::serve(card, |_| Answer::Never).await
    }

    async fn serve(
        card: impl Fn(&str) -> Response + Clone + Send + Sync + 'static,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let url = format!("http://{address}");
        let received = Arc::new(Received {
            requests: Mutex::default(),
            count: watch::Sender::new(0),
            script: Box::new(script),
        });
        let base = url.clone();
        let card = routing::get(async move || card(&base));
        let router = Router::new()
            .route("/", routing::post(answer).merge(card.clone()))
            .route("/{*elsewhere}", card)
            .with_state(Arc::clone(&received));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, received, server }
    }

    /// The requests of a method so far.
    #[must_use]
    pub fn received(&self, method: &str) -> Vec<Request> {
        let requests = self.received.lock();
        requests.iter().filter(|request| request.method == method).cloned().collect()
    }

    /// Waits until that many requests of a method have come.
    ///
    /// # Panics
    /// When they do not come in time.
    pub async fn until(&self, method: &str, count: usize) {
        let mut news = self.received.count.subscribe();
        let has_come = news.wait_for(|_| self.received(method).len() >= count);
        let waited = tokio::time::timeout(PATIENCE, has_come).await;
        let waited = waited.is_ok_and(|waited| waited.is_ok());
        assert!(waited, "{count} {method} did not come: {:?}", self.received.lock());
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Received {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().expect("nothing panics under this lock")
    }

    fn note(&self, call: &Value) -> Request {
        let mut requests = self.lock();
        let method = call["method"].as_str().unwrap_or_default().to_owned();
        let before = requests.iter().filter(|request| request.method == method).count();
        let (params, id) = (call["params"].clone(), call["id"].clone());
        let request = Request { method, params, before, id };
        requests.push(request.clone());
        request
    }
}

async fn answer(State(received): State<Arc<Received>>, Json(call): Json<Value>) -> Response {
    let request = received.note(&call);
    let answer = (received.script)(&request);
    received.count.send_modify(|count| *count += 1);
    match answer {
        Answer::With(response) => response,
        Answer::Never => future::pending().await,
    }
}

impl Request {
    /// `messageId` of the Message that it sends.
    #[must_use]
    pub fn message_id(&self) -> String {
        self.params["message"]["messageId"].as_str().unwrap_or_default().to_owned()
    }

    /// Answers with a result.
    #[must_use]
    pub fn result(&self, result: &Value) -> Answer {
        Answer::With(Json(self.reply(result)).into_response())
    }

    /// Answers with an error.
    #[must_use]
    pub fn error(&self, code: i32, message: &str) -> Answer {
        let error = json!({"code": code, "message": message});
        let reply = json!({"jsonrpc": "2.0", "id": self.id, "error": error});
        Answer::With(Json(reply).into_response())
    }

    /// Answers with a stream of these events, which then ends in good order.
    #[must_use]
    pub fn events(&self, events: &[Value]) -> Answer {
        Answer::With(stream_of(self.frames(events)))
    }

    /// Answers with a stream of these events, whose connection then breaks.
    #[must_use]
    pub fn events_then_cut(&self, events: &[Value]) -> Answer {
        let mut frames = self.frames(events);
        frames.push(Err(io::Error::from(ErrorKind::ConnectionReset)));
        Answer::With(stream_of(frames))
    }

    /// Answers with a stream of these events, which then stays open in silence.
    #[must_use]
    pub fn events_then_silence(&self, events: &[Value]) -> Answer {
        let frames = stream::iter(self.frames(events)).chain(stream::pending());
        Answer::With(event_stream(Body::from_stream(frames)))
    }

    fn frames(&self, events: &[Value]) -> Vec<io::Result<Bytes>> {
        let frame = |event| Ok(Bytes::from(format!("data: {}\n\n", self.reply(event))));
        events.iter().map(frame).collect()
    }

    fn reply(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }
}

fn stream_of(frames: Vec<io::Result<Bytes>>) -> Response {
    // Each frame gets a turn of its own, so that what is sent before a cut is on the wire by then.
    let frames = stream::iter(frames).then(async |frame| {
        tokio::task::yield_now().await;
        frame
    });
    event_stream(Body::from_stream(frames))
}

fn event_stream(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
