//! Fails a number of times before it works.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use futures_util::stream;
use protocol::{operation::Operation, v1::Message};

use super::echo;
use crate::{
    Failure, Options,
    harness::{
        Agent, Profile,
        calls::{CallLog, CallOutcome},
        skill,
        work::{Ending, Work},
    },
};

/// The largest request that is looked into; larger ones pass.
const LARGEST_BODY: usize = 8 * 1024 * 1024;

/// Fails so many times for each distinct text, then echoes.
pub(super) struct Flaky {
    /// How many FAILED Tasks each text gets; none when it fails in another way.
    failures: Failures,
}

impl Flaky {
    pub(super) fn new(options: &Options) -> Self {
        let ends_failed = options.failure == Failure::Failed;
        let times = if ends_failed { options.failures } else { 0 };
        Self { failures: Failures::new(times) }
    }
}

#[async_trait]
impl Agent for Flaky {
    fn profile(&self) -> Profile {
        Profile {
            name: "flaky",
            description: "Fails a few times, then answers with what it is sent.",
            skills: vec![skill(
                "flaky",
                "Try again",
                "Works for those who try often enough.",
                &["flaky", "failing"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        match self.failures.next(&work.text()) {
            Some(time) => {
                let times = self.failures.times;
                Ending::Failed(format!("Failure {time} of {times} for this text."))
            }
            None => {
                work.artifact("echo", echo::echo(&work.message));
                Ending::Completed
            }
        }
    }
}

/// Counts the failures of each text.
struct Failures {
    times: u32,
    had: Mutex<HashMap<String, u32>>,
}

impl Failures {
    fn new(times: u32) -> Self {
        Self { times, had: Mutex::default() }
    }

    /// Which failure it is this text's turn for; none when it has had them all.
    fn next(&self, text: &str) -> Option<u32> {
        let mut had = self.had.lock().expect("nothing panics under this lock");
        let had = had.entry(text.to_owned()).or_default();
        if *had >= self.times {
            return None;
        }
        *had += 1;
        Some(*had)
    }
}

/// Puts the failures that happen on the way, below A2A, before the routes of the agent.
pub(super) fn before(router: Router, options: &Options, calls: &CallLog) -> Router {
    if options.failure == Failure::Failed {
        return router;
    }
    let failures = Arc::new(Failures::new(options.failures));
    let (failure, calls) = (options.failure, calls.clone());
    router.layer(middleware::from_fn(move |request: Request, next: Next| {
        let (failures, calls) = (Arc::clone(&failures), calls.clone());
        async move { pass(request, next, failure, &failures, &calls).await }
    }))
}

async fn pass(
    request: Request,
    next: Next,
    failure: Failure,
    failures: &Failures,
    calls: &CallLog,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let sent = sent(head.uri.path(), &body);
    let fails = sent.filter(|(message, _)| failures.next(&message.text()).is_some());
    let content_type = head.headers.get(header::CONTENT_TYPE).cloned();
    let request = Request::from_parts(head, Body::from(body));
    let Some((message, streaming)) = fails else {
        return next.run(request).await;
    };
    if failure == Failure::Lost {
        // The agent takes the Message and works on it; only its answer is lost.
        drop(next.run(request).await);
        return broken(content_type);
    }
    calls.record(&message, streaming, CallOutcome::Refused);
    if failure == Failure::Unavailable {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    broken(content_type)
}

/// The Message of a request that sends one, by whichever binding, and whether it asks for a stream.
fn sent(path: &str, body: &[u8]) -> Option<(Message, bool)> {
    let (operation, request) = protocol::server::sent(path, body)?;
    Some((request.message?, operation == Operation::SendStreamingMessage))
}

/// A response whose body breaks off at once, which closes the connection or the HTTP/2 stream.
fn broken(content_type: Option<HeaderValue>) -> Response {
    let cut =
        stream::once(async { Err::<Bytes, _>(io::Error::from(io::ErrorKind::ConnectionReset)) });
    let json = HeaderValue::from_static("application/json");
    let headers = [
        (header::CONTENT_LENGTH, HeaderValue::from_static("1000")),
        (header::CONTENT_TYPE, content_type.unwrap_or(json)),
    ];
    (headers, Body::from_stream(cut)).into_response()
}
