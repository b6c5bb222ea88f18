//! Puts artifacts together out of the events of a stream.

use std::collections::HashMap;

use crate::v1::{Artifact, TaskArtifactUpdateEvent};
use crate::wkt::Struct;

/// The artifacts of one Task, as its events and snapshots make them.
///
/// An event with `append` extends the artifact of its id by its Parts; an append
/// to an artifact not seen before begins it. An event without replaces the
/// artifact. A snapshot replaces all of them. Parts stay as they came: chunks of
/// text are not run together. Artifacts keep the order in which they first came.
/// Applying an event costs what the event holds, however much came before.
///
/// An append is no idempotent thing, so an event must not be applied twice. After
/// a stream was cut, the first event of SubscribeToTask is the Task with all that
/// the lost events had brought: give it to [`Aggregator::replace_all`], then apply
/// what follows it on that same stream. Never go on with events of an older stream
/// after a snapshot, and do not take snapshots by GetTask beside a stream that is
/// being applied. A Task out of ListTasks may lack its artifacts (A2A §3.1.4) and
/// is no snapshot.
#[derive(Clone, Debug, Default)]
pub struct Aggregator {
    artifacts: Vec<Artifact>,
    /// Where each artifact lies, by its id.
    positions: HashMap<String, usize>,
}

/// What an event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// There is an artifact that was not there before.
    Added,
    /// An artifact has more Parts than before.
    Extended,
    /// An artifact has other Parts than before.
    Replaced,
}

/// An artifact event that no artifact can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableEvent {
    /// `artifact` is missing.
    #[error("an artifact update holds no artifact")]
    NoArtifact,
    /// `artifact.artifactId` is missing.
    #[error("an artifact update names no artifactId, so that its chunks cannot be put together")]
    NoId,
}

impl Aggregator {
    /// Applies an event. On an error nothing has changed.
    pub fn apply(&mut self, event: &TaskArtifactUpdateEvent) -> Result<Change, UnusableEvent> {
        let artifact = event.artifact.as_ref().ok_or(UnusableEvent::NoArtifact)?;
        if artifact.artifact_id.is_empty() {
            return Err(UnusableEvent::NoId);
        }
        match self.positions.get(&artifact.artifact_id) {
            None => {
                self.add(artifact.clone());
                Ok(Change::Added)
            }
            Some(&position) if event.append => {
                extend(&mut self.artifacts[position], artifact);
                Ok(Change::Extended)
            }
            Some(&position) => {
                self.artifacts[position] = artifact.clone();
                Ok(Change::Replaced)
            }
        }
    }

    /// Forgets what came before and takes the artifacts of a Task snapshot. Of
    /// two with the same id the later one counts.
    pub fn replace_all(&mut self, artifacts: Vec<Artifact>) {
        self.artifacts.clear();
        self.positions.clear();
        for artifact in artifacts {
            match self.positions.get(&artifact.artifact_id) {
                Some(&position) => self.artifacts[position] = artifact,
                None => self.add(artifact),
            }
        }
    }

    /// Returns the artifacts in the order in which they first came.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// Returns the artifact with the id.
    pub fn get(&self, artifact_id: &str) -> Option<&Artifact> {
        self.artifacts.get(self.position(artifact_id)?)
    }

    /// Returns where among [`Aggregator::artifacts`] the artifact with the id lies.
    pub fn position(&self, artifact_id: &str) -> Option<usize> {
        self.positions.get(artifact_id).copied()
    }

    /// Hands the artifacts over.
    pub fn into_artifacts(self) -> Vec<Artifact> {
        self.artifacts
    }

    fn add(&mut self, artifact: Artifact) {
        self.positions.insert(artifact.artifact_id.clone(), self.artifacts.len());
        self.artifacts.push(artifact);
    }
}

/// Adds a chunk's Parts. What the chunk says about the artifact as a whole counts
/// for the whole; what it leaves out stays as it was.
fn extend(artifact: &mut Artifact, chunk: &Artifact) {
    artifact.parts.extend_from_slice(&chunk.parts);
    if !chunk.name.is_empty() {
        artifact.name.clone_from(&chunk.name);
    }
    if !chunk.description.is_empty() {
        artifact.description.clone_from(&chunk.description);
    }
    if let Some(Struct(added)) = &chunk.metadata {
        let Struct(metadata) = artifact.metadata.get_or_insert_default();
        metadata.extend(added.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    for extension in &chunk.extensions {
        if !artifact.extensions.contains(extension) {
            artifact.extensions.push(extension.clone());
        }
    }
}

#[cfg(test)]
mod tests;
