//! What goes on of an agent's artifacts to whoever follows the run, while they come. Pure.

use std::{collections::HashMap, sync::Arc};

use planner::{Origin, PassThrough, Plan, is_accepted};
use protocol::{
    artifacts::{Aggregator, Change},
    v1::{Artifact, TaskArtifactUpdateEvent},
};
use store::MAX_VALUE_BYTES;

use crate::run::{RemoteTask, StepId};

/// The artifacts of one attempt on their way to those who follow the run.
///
/// Chunks go on as they come. A Task that comes as a whole, because it is polled or was subscribed to again, is
/// compared with what has gone on, and only the difference does.
#[derive(Clone, Debug)]
pub(crate) struct Passing {
    plan: Arc<Plan>,
    step: StepId,
    through: PassThrough,
    agent: String,
    /// What has gone on.
    passed: Aggregator,
    /// Which artifact of the agent each of them is, by their ids.
    sources: HashMap<String, String>,
    /// What is about to.
    updates: Vec<TaskArtifactUpdateEvent>,
    has_begun: bool,
    /// Whether artifacts go on just as the agent made them.
    is_unchanged: bool,
    /// What the client accepts (A2A §3.2.2, `acceptedOutputModes`); empty for anything.
    accepts: Vec<String>,
    /// Whether something came that the client does not accept as it is. Then nothing more goes on: what the client
    /// gets instead is made of the whole.
    is_closed: bool,
    /// How much may still: a step's result may not be larger either.
    left_bytes: usize,
}

/// How an artifact differs from what has gone on of it.
#[derive(Debug, PartialEq)]
enum Difference {
    Nothing,
    /// This follows.
    More(Artifact),
    /// Another beginning.
    All,
}

impl Passing {
    /// Prepares an attempt of which something has gone on before; `None` when nothing passes through. `step`
    /// is the step of the plan that the attempt is of, or an item of one.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        agent: &str,
        step: StepId,
        through: &PassThrough,
        accepts: &[String],
        passed: Option<&Aggregator>,
    ) -> Option<Self> {
        (!through.is_nothing()).then(|| Self {
            plan: Arc::clone(plan),
            step,
            through: through.clone(),
            agent: agent.to_owned(),
            has_begun: passed.is_some(),
            is_unchanged: false,
            passed: passed.cloned().unwrap_or_default(),
            sources: HashMap::new(),
            updates: Vec::new(),
            accepts: accepts.to_vec(),
            is_closed: false,
            left_bytes: MAX_VALUE_BYTES,
        })
    }

    /// Lets artifacts go on just as the agent made them, all of them, for it knows what the client accepts.
    pub(crate) fn unchanged(self) -> Self {
        Self { has_begun: true, is_unchanged: true, accepts: Vec::new(), ..self }
    }

    /// Takes a chunk, once it is among the attempt's artifacts.
    pub(crate) fn piece(
        &mut self,
        task: Option<&RemoteTask>,
        artifacts: &Aggregator,
        update: &TaskArtifactUpdateEvent,
        change: Change,
    ) {
        let Some(piece) = &update.artifact else { return };
        let Some(index) = artifacts.position(&piece.artifact_id) else { return };
        let pieces = self.made_of(task, artifacts, index, piece);
        for (nth, artifact) in pieces.into_iter().enumerate() {
            let source = self.sources.get(&artifact.artifact_id);
            let is_known = source == Some(&piece.artifact_id);
            // An artifact may become an output late, by its name: then all of it goes on.
            let artifact = if change == Change::Extended && !is_known {
                let whole = &artifacts.artifacts()[index];
                self.made_of(task, artifacts, index, whole).swap_remove(nth)
            } else {
                artifact
            };
            let append = is_known && change == Change::Extended;
            self.put(&piece.artifact_id, artifact, append, update.last_chunk);
        }
    }

    /// Takes a Task as a whole, once its artifacts are the attempt's.
    pub(crate) fn snapshot(
        &mut self,
        task: Option<&RemoteTask>,
        artifacts: &Aggregator,
        is_completed: bool,
    ) {
        for (index, whole) in artifacts.artifacts().iter().enumerate() {
            for artifact in self.made_of(task, artifacts, index, whole) {
                let known = self.passed.get(&artifact.artifact_id);
                match known.map_or(Difference::All, |known| difference(known, &artifact)) {
                    Difference::Nothing => {
                        self.sources.insert(artifact.artifact_id, whole.artifact_id.clone());
                    }
                    Difference::More(rest) => {
                        self.put(&whole.artifact_id, rest, true, is_completed);
                    }
                    Difference::All => {
                        self.put(&whole.artifact_id, artifact, false, is_completed);
                    }
                }
            }
        }
    }

    /// Hands over what is to go on now. A Task that is over, or asks, when it is first seen has nothing to go on
    /// with: what it made is told as a whole in the end.
    pub(crate) fn take(&mut self, is_over: bool) -> Vec<TaskArtifactUpdateEvent> {
        let updates = std::mem::take(&mut self.updates);
        if is_over && !self.has_begun {
            return Vec::new();
        }
        self.has_begun |= !updates.is_empty();
        updates
    }

    /// Notes the size of what has gone on; false when that was the last.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.left_bytes > 0
    }

    fn made_of(
        &self,
        task: Option<&RemoteTask>,
        artifacts: &Aggregator,
        index: usize,
        piece: &Artifact,
    ) -> Vec<Artifact> {
        if self.is_unchanged {
            return vec![piece.clone()];
        }
        let workflow = &self.plan.workflow;
        let origin = Origin {
            step: self.step.as_str(),
            agent: Some(&self.agent),
            task_id: task.map(|task| task.task_id.as_str()),
        };
        self.through.pieces(workflow, origin, artifacts.artifacts(), index, piece)
    }

    fn put(&mut self, source: &str, artifact: Artifact, append: bool, last_chunk: bool) {
        self.is_closed |= !artifact.parts.iter().all(|part| is_accepted(part, &self.accepts));
        if self.is_closed {
            return;
        }
        self.sources.insert(artifact.artifact_id.clone(), source.to_owned());
        let artifact = Some(artifact);
        let update = TaskArtifactUpdateEvent { artifact, append, last_chunk, ..Default::default() };
        // It has an artifact, and that an id.
        if self.passed.apply(&update).is_ok() {
            self.updates.push(update);
        }
    }
}

fn difference(known: &Artifact, now: &Artifact) -> Difference {
    let is_headed_alike = known.name == now.name
        && known.description == now.description
        && known.metadata == now.metadata
        && known.extensions == now.extensions;
    match now.parts.strip_prefix(known.parts.as_slice()) {
        Some([]) if is_headed_alike => Difference::Nothing,
        // What a chunk leaves out stays as it was.
        Some(rest) if is_headed_alike => {
            Difference::More(Artifact::new(&now.artifact_id, &now.name, rest.to_vec()))
        }
        _ => Difference::All,
    }
}

#[cfg(test)]
mod tests;
