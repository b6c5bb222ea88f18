//! What a step yields.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::v1::{self, part::Content};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::step::ErrorClass;

/// Says where a step of a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Its dependencies are not settled, or no slot is free.
    Waiting,
    /// An attempt is under way, or the next one is due.
    Running,
    /// It waits for a person or for authorization.
    Paused,
    /// It has a result.
    Completed,
    /// Its last attempt failed.
    Failed,
    /// It was canceled.
    Canceled,
    /// It was not run: its `when` was false, or a dependency failed with `on_error:
    /// skip_dependents`.
    Skipped,
}

impl StepState {
    /// The state as workflows and people write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StepState::Waiting => "waiting",
            StepState::Running => "running",
            StepState::Paused => "paused",
            StepState::Completed => "completed",
            StepState::Failed => "failed",
            StepState::Canceled => "canceled",
            StepState::Skipped => "skipped",
        }
    }

    /// Whether the step will not change any more.
    #[must_use]
    pub fn is_settled(self) -> bool {
        matches!(
            self,
            StepState::Completed | StepState::Failed | StepState::Canceled | StepState::Skipped
        )
    }
}

/// Says why a step failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepError {
    /// The step that failed.
    #[serde(default)]
    pub step: String,
    /// The kind of failure.
    pub class: ErrorClass,
    /// What happened, for people.
    pub message: String,
    /// The attempt that failed, counted from 1.
    pub attempt: u32,
}

/// Holds what a step yielded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// Where the step stands; a settled state in every result an expression sees.
    pub state: StepState,
    /// The agent that served it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The id of the remote Task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The context in which the agent put it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The artifacts of the successful attempt, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<v1::Artifact>,
    /// The artifacts of earlier rounds of `repeat`, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Version>,
    /// The direct Message of an agent that made no Task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<v1::Message>,
    /// The Message of the terminal status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<v1::Message>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<StepError>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a step with `set` computed: an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computed: Option<Json>,
    /// What its `outputs` made of this.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub outputs: Map<String, Json>,
    /// What each item of its `for_each` yielded, in order; absent for a step without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Arc<StepResult>>>,
}

/// Holds an artifact of an earlier round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// The round, counted from 1.
    pub round: u32,
    /// The id of the remote Task that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The artifact.
    pub artifact: v1::Artifact,
}

impl StepResult {
    /// A result that holds a state and nothing else yet.
    #[must_use]
    pub fn new(state: StepState) -> StepResult {
        StepResult {
            state,
            agent: None,
            task_id: None,
            context_id: None,
            artifacts: Vec::new(),
            earlier: Vec::new(),
            message: None,
            status_message: None,
            error: None,
            reason: None,
            computed: None,
            outputs: Map::new(),
            items: None,
        }
    }

    /// The result of a step that was not run, and why.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> StepResult {
        StepResult { reason: Some(reason.into()), ..StepResult::new(StepState::Skipped) }
    }

    /// What a step yielded whose items yielded this: their agent, and the error of the first that failed.
    #[must_use]
    pub fn of_items(state: StepState, items: Vec<Arc<StepResult>>) -> StepResult {
        StepResult {
            agent: items.iter().find_map(|item| item.agent.clone()),
            error: items.iter().find_map(|item| item.error.clone()),
            items: Some(items),
            ..StepResult::new(state)
        }
    }

    /// The results in which its artifacts are: its own, or that of each item, with the item's number.
    pub(crate) fn leaves(&self) -> impl DoubleEndedIterator<Item = (Option<usize>, &StepResult)> {
        let own = self.items.is_none().then_some((None, self));
        let items = self.items.as_deref().unwrap_or_default().iter().enumerate();
        own.into_iter().chain(items.map(|(at, item)| (Some(at), &**item)))
    }

    pub(crate) fn is_skipped(&self) -> bool {
        self.state == StepState::Skipped
    }

    /// The texts of the newest artifacts joined by newlines, else the text of the direct Message,
    /// else that of the terminal status. The text Parts of one artifact belong together as they
    /// are: they may be streamed chunks. With `for_each`, the texts of all items joined by newlines.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        if let Some(items) = &self.items {
            let texts: Vec<String> = items.iter().filter_map(|item| item.text()).collect();
            return Some(texts.join("\n"));
        }
        let texts: Vec<String> =
            self.newest().filter_map(|(_, artifact)| artifact_text(artifact)).collect();
        if !texts.is_empty() {
            return Some(texts.join("\n"));
        }
        [&self.message, &self.status_message].into_iter().flatten().find_map(message_text)
    }

    /// What it computed, else the first data Part of the newest artifacts, else of the direct Message, else of the
    /// terminal status. None with `for_each`, each of whose items has its own.
    #[must_use]
    pub fn data(&self) -> Option<&Json> {
        if self.computed.is_some() {
            return self.computed.as_ref();
        }
        let messages = [&self.message, &self.status_message].into_iter().flatten();
        let of_artifacts = self.newest().find_map(|(_, artifact)| artifact_data(artifact));
        of_artifacts.or_else(|| messages.into_iter().find_map(|message| first_data(&message.parts)))
    }

    /// The newest version of each named artifact, and every unnamed one, in order, with their
    /// indexes.
    pub fn newest(&self) -> impl Iterator<Item = (usize, &v1::Artifact)> {
        let mut last: HashMap<&str, usize> = HashMap::new();
        for (index, artifact) in self.artifacts.iter().enumerate() {
            last.insert(&artifact.name, index);
        }
        let is_newest = move |(index, artifact): &(usize, &v1::Artifact)| {
            artifact.name.is_empty() || last.get(artifact.name.as_str()) == Some(index)
        };
        self.artifacts.iter().enumerate().filter(is_newest)
    }

    /// What a step yielded in a round that came after one that yielded `before`: the artifacts of that are older
    /// versions of these.
    #[must_use]
    pub fn after_round(self, before: &StepResult, round: u32) -> StepResult {
        let version = |artifact: &v1::Artifact| Version {
            round,
            task_id: before.task_id.clone(),
            artifact: artifact.clone(),
        };
        let earlier = before.earlier.iter().cloned();
        let earlier = earlier.chain(before.artifacts.iter().map(version)).collect();
        StepResult { earlier, ..self }
    }

    /// All artifacts, those of earlier rounds first, each with the id of the Task that made it.
    pub(crate) fn all_artifacts(
        &self,
    ) -> impl DoubleEndedIterator<Item = (Option<&str>, &v1::Artifact)> + ExactSizeIterator {
        let count = self.earlier.len() + self.artifacts.len();
        (0..count).map(|index| self.artifact(index))
    }

    /// One of [`StepResult::all_artifacts`].
    pub(crate) fn artifact(&self, index: usize) -> (Option<&str>, &v1::Artifact) {
        match self.earlier.get(index) {
            Some(version) => (version.task_id.as_deref(), &version.artifact),
            None => (self.task_id.as_deref(), &self.artifacts[index - self.earlier.len()]),
        }
    }

    /// The position in [`StepResult::all_artifacts`] of the newest of a name; an artifact without a name goes by its
    /// id.
    pub(crate) fn newest_named(&self, name: &str) -> Option<usize> {
        let of_last_round = newest_named(self.artifacts.iter(), name);
        let of_last_round = of_last_round.map(|index| self.earlier.len() + index);
        let earlier = || newest_named(self.earlier.iter().map(|version| &version.artifact), name);
        of_last_round.or_else(earlier)
    }
}

/// The index of the newest artifact of a name; an artifact without a name goes by its id.
pub(crate) fn newest_named<'a>(
    mut artifacts: impl DoubleEndedIterator<Item = &'a v1::Artifact> + ExactSizeIterator + Clone,
    name: &str,
) -> Option<usize> {
    let named = |artifact: &v1::Artifact| artifact.name == name;
    let unnamed =
        |artifact: &v1::Artifact| artifact.name.is_empty() && artifact.artifact_id == name;
    artifacts.clone().rposition(named).or_else(|| artifacts.rposition(unnamed))
}

/// The text Parts of an artifact, one after the other; none when it has none.
pub(crate) fn artifact_text(artifact: &v1::Artifact) -> Option<String> {
    joined(&artifact.parts, "")
}

/// The first data Part of an artifact.
pub(crate) fn artifact_data(artifact: &v1::Artifact) -> Option<&Json> {
    first_data(&artifact.parts)
}

/// The text Parts of a Message joined by newlines; none when it has none.
pub(crate) fn message_text(message: &v1::Message) -> Option<String> {
    joined(&message.parts, "\n")
}

pub(crate) fn first_data(parts: &[v1::Part]) -> Option<&Json> {
    parts.iter().find_map(|part| match &part.content {
        Some(Content::Data(data)) => Some(&data.0),
        _ => None,
    })
}

fn joined(parts: &[v1::Part], separator: &str) -> Option<String> {
    let texts = parts.iter().filter_map(|part| match &part.content {
        Some(Content::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(separator))
}
