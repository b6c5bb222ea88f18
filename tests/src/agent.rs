//! Agents for tests: the examples without their pace, and scripted ones that do whatever a test
//! wants of them, right or wrong.

mod mirror;
mod scripted;

use std::time::Duration;

use examples::{Kind, Options, Running};
use serde_json::{Value, json};

pub use mirror::{AskedCall, FILE_BYTES, Mirror, file};
pub use scripted::{Answer, Request, Scripted};

/// Starts an example agent on a free port, without pace unless the options name one.
///
/// # Panics
/// When no port is free.
pub async fn example(kind: Kind, options: Options) -> Running {
    let options = Options { pace: options.pace.or(Some(Duration::ZERO)), ..options };
    examples::spawn(kind, ([127, 0, 0, 1], 0).into(), options).await.expect("a free port")
}

/// A card without a fault.
#[must_use]
pub fn card(name: &str, url: &str) -> Value {
    json!({
        "name": name,
        "description": "Does what its test says.",
        "version": "1",
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "act", "name": "Act", "description": "Acts.", "tags": ["acting"]}
        ],
    })
}

/// A Task in a state: `WORKING`, `COMPLETED`.
#[must_use]
pub fn task(id: &str, state: &str) -> Value {
    json!({
        "id": id,
        "contextId": "context",
        "status": {"state": format!("TASK_STATE_{state}")},
    })
}

/// A completed Task with one artifact `answer`.
#[must_use]
pub fn completed(id: &str, text: &str) -> Value {
    let mut task = task(id, "COMPLETED");
    task["artifacts"] =
        json!([{"artifactId": "answer", "name": "answer", "parts": [{"text": text}]}]);
    task
}

/// A workflow of one step that asks one agent, with further fields of the step.
#[must_use]
pub fn one_step(url: &str, fields: &str) -> String {
    format!(
        "convoke: 1\nname: one-step\nagents: {{it: {{url: \"{url}\"}}}}\nsteps:\n  \
         ask: {{agent: it, message: Hello.{fields}}}\n"
    )
}
