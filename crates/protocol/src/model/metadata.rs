//! Metadata: the keys Convoke uses, and access by key.
//!
//! A key is a URN with a version, so that no other party's key can be mistaken
//! for it. What stands under one is documented here and nowhere else.

use serde_json::Value as Json;

use crate::v1::{Artifact, Message, Part, Task};
use crate::wkt::Struct;

/// On every Message sent to an agent: the messageId once more, as a string.
/// Agents that rename messages keep metadata; after a crash the Task that this
/// Message began is found by it.
pub const ATTEMPT: &str = "urn:convoke:attempt:v1";

/// On every Message sent to an agent: the id of the Message that started the run,
/// as a string.
pub const ORIGIN: &str = "urn:convoke:origin:v1";

/// On a Part of a status message: the address of the paused step that asks it.
/// On a Message: the address of the paused step that it answers. On a status update
/// of a stream: the step it is about, `{step, state, attempt, agent}`.
pub const STEP: &str = "urn:convoke:step:v1";

/// On a Message to Convoke, or its request: the name of the workflow to run, as a
/// string. On a Task of Convoke: the workflow that it runs.
pub const WORKFLOW: &str = "urn:convoke:workflow:v1";

/// On a Message to Convoke, or its request: the agent that it is passed on to, as
/// its name in the directory or a selector like those of workflow files.
pub const AGENT: &str = "urn:convoke:agent:v1";

fn get<'a>(metadata: Option<&'a Struct>, key: &str) -> Option<&'a Json> {
    metadata?.0.get(key)
}

fn set(metadata: &mut Option<Struct>, key: &str, value: impl Into<Json>) {
    let Struct(map) = metadata.get_or_insert_default();
    map.insert(key.to_owned(), value.into());
}

impl Message {
    /// Returns what the Message's metadata holds under the key.
    pub fn metadata(&self, key: &str) -> Option<&Json> {
        get(self.metadata.as_ref(), key)
    }

    /// Puts a value under a key of the Message's metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        set(&mut self.metadata, key, value);
        self
    }
}

impl Part {
    /// Returns what the Part's metadata holds under the key.
    pub fn metadata(&self, key: &str) -> Option<&Json> {
        get(self.metadata.as_ref(), key)
    }

    /// Puts a value under a key of the Part's metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        set(&mut self.metadata, key, value);
        self
    }
}

impl Artifact {
    /// Returns what the Artifact's metadata holds under the key.
    pub fn metadata(&self, key: &str) -> Option<&Json> {
        get(self.metadata.as_ref(), key)
    }

    /// Puts a value under a key of the Artifact's metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        set(&mut self.metadata, key, value);
        self
    }
}

impl Task {
    /// Returns what the Task's metadata holds under the key.
    pub fn metadata(&self, key: &str) -> Option<&Json> {
        get(self.metadata.as_ref(), key)
    }

    /// Puts a value under a key of the Task's metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Json>) -> Self {
        set(&mut self.metadata, key, value);
        self
    }
}
