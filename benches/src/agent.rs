//! The agent both sides call: in memory, as little as A2A over JSON-RPC allows.
//!
//! `/plain` answers SendMessage with a completed Task in one response, `/streaming` answers
//! SendStreamingMessage with three events. A GET of either is its Agent Card.

mod process;

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tokio::net::TcpListener;

pub use process::{AgentProcess, serve_until_orphaned, until_orphaned};

/// How often each Message was received, by messageId.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<HashMap<String, u64>>>);

impl Calls {
    /// Counts all calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.lock().values().sum()
    }

    /// Counts Messages, each once however often it came.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.lock().len()
    }

    fn note(&self, message: &str) {
        *self.lock().entry(message.to_owned()).or_default() += 1;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone)]
struct Served {
    base: Arc<str>,
    calls: Calls,
}

/// Serves until the future is dropped.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener, calls: Calls) -> io::Result<()> {
    let base = format!("http://{}", listener.local_addr()?).into();
    let router = Router::new()
        .route("/plain", get(plain_card).post(send_message))
        .route("/streaming", get(streaming_card).post(send_streaming_message))
        .with_state(Served { base, calls });
    let listener = axum::serve::ListenerExt::tap_io(listener, |socket| {
        // A socket that cannot be set so is slower, not wrong.
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

async fn plain_card(State(served): State<Served>) -> Response {
    card(&format!("{}/plain", served.base), false)
}

async fn streaming_card(State(served): State<Served>) -> Response {
    card(&format!("{}/streaming", served.base), true)
}

fn card(url: &str, streaming: bool) -> Response {
    let card = json!({
        "name": "bench",
        "description": "Answers at once.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "answer", "name": "Answer", "description": "Answers.", "tags": ["bench"]}
        ],
    });
    ([(header::CONTENT_TYPE, "application/json")], card.to_string()).into_response()
}

async fn send_message(State(served): State<Served>, body: Bytes) -> Response {
    let Some(asked) = served.receive(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let answer = asked.reply(&format!(
        r#"{{"task":{{{},"status":{{"state":"TASK_STATE_COMPLETED"}},"artifacts":[{}]}}}}"#,
        asked.task_fields("id"),
        asked.artifact(),
    ));
    ([(header::CONTENT_TYPE, "application/json")], answer).into_response()
}

async fn send_streaming_message(State(served): State<Served>, body: Bytes) -> Response {
    let Some(asked) = served.receive(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let ids = asked.task_fields("taskId");
    let events = [
        format!(
            r#"{{"task":{{{},"status":{{"state":"TASK_STATE_WORKING"}}}}}}"#,
            asked.task_fields("id")
        ),
        format!(
            r#"{{"artifactUpdate":{{{ids},"artifact":{},"lastChunk":true}}}}"#,
            asked.artifact()
        ),
        format!(r#"{{"statusUpdate":{{{ids},"status":{{"state":"TASK_STATE_COMPLETED"}}}}}}"#),
    ]
    .map(|event| format!("data: {}\n\n", asked.reply(&event)));
    // A real agent does something between two events, and its server writes each by itself.
    let events = stream::iter(events).then(async |event| {
        tokio::task::yield_now().await;
        io::Result::Ok(event)
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    message_id: &'a str,
    context_id: &'a str,
}

/// What an answer has to name.
struct Asked {
    request: String,
    message: String,
    context: String,
}

impl Served {
    fn receive(&self, body: &[u8]) -> Option<Asked> {
        let request: Request<'_> = serde_json::from_slice(body).ok()?;
        let message = request.params.message;
        self.calls.note(message.message_id);
        Some(Asked {
            request: request.id.get().to_owned(),
            message: message.message_id.to_owned(),
            context: message.context_id.to_owned(),
        })
    }
}

impl Asked {
    fn reply(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.request)
    }

    /// Ids need no escaping: they were read without any.
    fn task_fields(&self, id: &str) -> String {
        format!(r#""{id}":"task-{}","contextId":"{}""#, self.message, self.context)
    }

    fn artifact(&self) -> String {
        format!(
            r#"{{"artifactId":"answer","parts":[{{"text":"Done what {} asked for."}}]}}"#,
            self.message
        )
    }
}
