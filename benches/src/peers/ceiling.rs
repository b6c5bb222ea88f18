//! The ceiling: what is left when the protocol is taken away. Bare axum that reads two fields and
//! writes an answer of the same form, and keeps nothing.

use std::{convert::Infallible, io};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use tokio::net::TcpListener;

use super::asked::{Ask, chunk};

/// Serves until the future is dropped.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let listener = axum::serve::ListenerExt::tap_io(listener, |socket| {
        // A socket that cannot be set so is slower, not wrong.
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/", post(answer))).await
}

#[derive(Deserialize)]
struct Request<'a> {
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
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    text: &'a str,
}

async fn answer(body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Request<'_>>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let Message { message_id, parts } = request.params.message;
    let text = parts.first().map(|part| part.text).unwrap_or_default();
    match Ask::read(text) {
        Ask::Echo => {
            let task = format!(
                r#"{{"task":{{{},"status":{{"state":"TASK_STATE_COMPLETED"}},"artifacts":[{}]}}}}"#,
                ids("id", message_id),
                artifact(text)
            );
            ([(header::CONTENT_TYPE, "application/json")], reply(&task)).into_response()
        }
        Ask::Chunks(count) => events(message_id, count, true),
        Ask::Burst(count) => events(message_id, count, false),
    }
}

fn events(message: &str, count: usize, yields: bool) -> Response {
    let message = message.to_owned();
    let events = (0..count + 2).map(move |at| {
        let state = |id: &str, state: &str| {
            format!(r#"{{{},"status":{{"state":"TASK_STATE_{state}"}}}}"#, ids(id, &message))
        };
        let event = match at {
            0 => format!(r#"{{"task":{}}}"#, state("id", "WORKING")),
            at if at <= count => format!(
                r#"{{"artifactUpdate":{{{},"artifact":{},"append":true}}}}"#,
                ids("taskId", &message),
                artifact(&chunk(at - 1))
            ),
            _ => format!(r#"{{"statusUpdate":{}}}"#, state("taskId", "COMPLETED")),
        };
        Ok::<_, Infallible>(format!("data: {}\n\n", reply(&event)))
    });
    let events = stream::iter(events).then(move |event| async move {
        if yields {
            tokio::task::yield_now().await;
        }
        event
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn reply(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}

/// Ids and texts need no escaping: they are those of the load.
fn ids(name: &str, message: &str) -> String {
    format!(r#""{name}":"task-{message}","contextId":"context-{message}""#)
}

fn artifact(text: &str) -> String {
    format!(r#"{{"artifactId":"echo","parts":[{{"text":"{text}"}}]}}"#)
}
