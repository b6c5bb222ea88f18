//! SendMessage as a bare POST.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Uri, header};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::Deserialize;
use serde_json::json;

/// A connection pool and the agent's URL.
pub(super) struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    url: Uri,
}

/// A completed Task.
pub(super) struct Reply {
    /// As it came.
    pub(super) body: Bytes,
    /// What it says.
    pub(super) text: String,
}

impl Caller {
    pub(super) fn new(url: &str) -> Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, url: url.parse()? })
    }

    pub(super) async fn call(&self, request: Vec<u8>) -> Result<Reply> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("A2A-Version", "1.0")
            .body(Full::from(request))?;
        let response = self.client.request(request).await?;
        ensure!(response.status().is_success(), "the agent answered {}", response.status());
        let body = response.into_body().collect().await?.to_bytes();
        let task = serde_json::from_slice::<Answer<'_>>(&body)?.result.task;
        ensure!(task.status.state == "TASK_STATE_COMPLETED", "a Task is {}", task.status.state);
        let part = task.artifacts.first().and_then(|artifact| artifact.parts.first());
        let text = part.context("a Task without an artifact")?.text.to_owned();
        Ok(Reply { body, text })
    }
}

/// Writes a request.
pub(super) fn request(id: &str, context: &str, text: &str) -> Result<Vec<u8>> {
    let message = json!({
        "messageId": id,
        "contextId": context,
        "role": "ROLE_USER",
        "parts": [{"text": text}],
    });
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": message},
    });
    Ok(serde_json::to_vec(&request)?)
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Outcome<'a>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow)]
    task: Task<'a>,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(borrow)]
    status: Status<'a>,
    #[serde(borrow)]
    artifacts: Vec<Artifact<'a>>,
}

#[derive(Deserialize)]
struct Status<'a> {
    state: &'a str,
}

#[derive(Deserialize)]
struct Artifact<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    text: &'a str,
}
