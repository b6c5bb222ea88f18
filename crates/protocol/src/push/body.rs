//! What a notification says: an event of the Task, or before 1.0 the Task.

use bytes::Bytes;
use http::HeaderValue;

use super::PushError;
use crate::{
    dialect::{self, Dialect},
    operation::Operation,
    server::as_named,
    v1::{StreamResponse, Task},
    version::Version,
};

const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");
/// Receivers before 1.0 know no other, and some pass over a body of another type.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The body of a notification.
#[derive(Clone, Debug)]
pub struct Body {
    pub(super) bytes: Bytes,
    pub(super) media_type: HeaderValue,
    /// What its receiver calls the Task, when that is not the configuration's word.
    pub(super) task_id: Option<String>,
}

/// Writes an event as the body of a notification: a StreamResponse as JSON (A2A §4.3.3).
///
/// # Errors
/// [`PushError::Body`] when it cannot be written as JSON.
pub fn body(event: &StreamResponse) -> Result<Body, PushError> {
    let bytes = serde_json::to_vec(event).map_err(|error| unwritable(&error))?;
    Ok(Body { bytes: bytes.into(), media_type: A2A_JSON, task_id: None })
}

/// Writes a Task as the body of a notification to a webhook that was registered in a version before
/// 1.0: the Task by itself, in the JSON of that version's JSON-RPC whatever the binding (A2A 0.3
/// §9.5). In 0.1 it goes by the id that its client made.
///
/// # Errors
/// [`PushError::Body`] when it cannot be written as JSON.
pub fn older_body(version: Version, task: Task) -> Result<Body, PushError> {
    let (dialect, task) = match version {
        Version::V0_1 => (Dialect::V0_1, as_named(task)),
        _ => (Dialect::V0_3, task),
    };
    let task_id = Some(task.id.clone());
    let task = serde_json::to_value(&task).map_err(|error| unwritable(&error))?;
    let task = dialect::write_result(dialect, Operation::GetTask, task);
    let bytes = serde_json::to_vec(&task).map_err(|error| unwritable(&error))?;
    Ok(Body { bytes: bytes.into(), media_type: JSON, task_id })
}

fn unwritable(error: &serde_json::Error) -> PushError {
    PushError::Body { why: error.to_string() }
}
