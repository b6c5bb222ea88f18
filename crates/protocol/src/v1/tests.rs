//! ProtoJSON against a table of cases, against a second implementation, and
//! against whole documents.

mod differential;
mod documents;
mod golden;
mod missing;
mod table;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads JSON as a message and writes it again.
fn rewritten<T: Serialize + DeserializeOwned>(json: &str) -> Result<String, String> {
    let message: T = serde_json::from_str(json).map_err(|error| error.to_string())?;
    serde_json::to_string(&message).map_err(|error| error.to_string())
}
