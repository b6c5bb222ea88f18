//! A workflow with an agent bound to every step: what a run executes.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Diagnostic;
use protocol::client::Interface;
use registry::CardDigest;
use serde::{Deserialize, Serialize};

use crate::dag::Edge;
use crate::workflow::Workflow;

/// Holds a workflow whose every step has an agent. Steps go by their index in [`Workflow::steps`]
/// everywhere.
///
/// A run journals it and is pinned to it: what explains the choice of agents is shown when it is
/// made, not stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// For each step, the steps it waits for, in ascending order.
    pub dependencies: Vec<Vec<usize>>,
    /// For each step, the steps that wait for it, in ascending order.
    pub dependents: Vec<Vec<usize>>,
    /// For each step, the agent that serves it; nothing for a step without.
    pub bindings: Vec<Option<Binding>>,
    /// For each step, and each of `on_failure` and `finally` after them, the agents of its `fallback`, in the order in
    /// which they are tried; empty where no step has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Vec<Binding>>,
    /// For each step, its nearest ancestors on the same agent: their remote Tasks are what its
    /// Message refers to.
    pub references: Vec<Vec<usize>>,
    /// The Tasks that steps of the run which is cleaned up after have left with agents, as far as they are referred to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<usize, Vec<Left>>,
    /// For each step, when it is its turn: those of a number begin when all before have ended. Empty for a plan whose steps
    /// wait for their dependencies alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<u32>,
    /// For each step of `on_failure` and `finally`, the agent that serves it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clean_up_bindings: Vec<Option<Binding>>,
    /// The plans of the workflows that its steps are, and of those that theirs are, by name. These themselves hold none:
    /// a run of one is given all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, Arc<Plan>>,
    /// What works but should be known, such as a deprecated agent.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
}

impl Plan {
    /// The agents of a step's `fallback`, in the order in which they are tried.
    #[must_use]
    pub fn fallbacks(&self, step: usize) -> &[Binding] {
        self.fallbacks.get(step).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether who serves a step may be known only when it has run.
    #[must_use]
    pub fn has_fallbacks(&self) -> bool {
        !self.fallbacks.is_empty()
    }

    /// Why steps wait for each other.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.workflow.edges
    }
}

/// Says which agent serves a step, and how it is called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// The name of the agent.
    pub agent: String,
    /// The version of its card that was planned with.
    pub digest: CardDigest,
    /// The interface to call: the first of its card that is spoken here.
    pub interface: Interface,
    /// The others of its card that are spoken here, in the card's order: what is called when the first
    /// cannot be reached or does not speak as the card says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Interface>,
    /// Whether its card says that it streams.
    pub streaming: bool,
    /// Whether its card says that it sends push notifications.
    #[serde(default, skip_serializing_if = "is_false")]
    pub push: bool,
    /// Why the other candidates were not chosen; shared by steps with the same selector.
    #[serde(skip, default = "no_one")]
    pub lost: Arc<[Lost]>,
}

impl Binding {
    /// Whether another binding is to the same agent, whatever its name is there: they have an interface in common.
    #[must_use]
    pub fn is_same_agent(&self, other: &Binding) -> bool {
        self.interfaces().any(|one| other.interfaces().any(|it| it.is_at(one)))
    }

    /// All its interfaces, the one to call first.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        [&self.interface].into_iter().chain(&self.fallbacks)
    }
}

/// Names a Task that a step has left with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The name of the agent.
    pub agent: String,
    /// The tenant of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The id of the Task there.
    pub task_id: String,
}

impl Left {
    /// Whether an agent of the same plan knows the Task.
    #[must_use]
    pub fn is_with(&self, binding: &Binding) -> bool {
        (&self.agent, &self.tenant) == (&binding.agent, &binding.interface.tenant)
    }
}

/// The agents, by name and tenant, whose Tasks steps with these bindings leave behind.
pub(crate) fn served_by(bindings: &[Option<Binding>]) -> Vec<Option<(&str, &str)>> {
    let bindings = bindings.iter().map(Option::as_ref);
    bindings
        .map(|binding| binding.map(|it| (it.agent.as_str(), it.interface.tenant.as_str())))
        .collect()
}

/// Says why a candidate was not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The name of the agent.
    pub agent: String,
    /// Why, to be read after its name.
    pub why: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn no_one() -> Arc<[Lost]> {
    Arc::from([])
}
