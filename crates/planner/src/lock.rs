//! A lock: by which agents, with which cards, the steps of a workflow are served until a person says otherwise.
//!
//! It keeps whole cards beside their digests, so that what has changed can be named wherever the file is read, also by
//! a directory that never saw the former card.

use std::collections::BTreeMap;

use document::{Diagnostic, Limits, Source, parse};
use protocol::signature::key_id;
use protocol::v1::{AgentCard, AgentCardSignature};
use registry::{Agent, CardDigest, Drift, DriftClass, card_changes};
use serde::{Deserialize, Serialize};

use crate::workflow::Workflow;

/// The version of the file's form.
const VERSION: u32 = 1;
/// The most differences of two cards that are named.
const MAX_NAMED: usize = 8;
/// The most characters of one difference that are shown.
const MAX_SHOWN: usize = 160;

/// Holds which agents serve the steps of a workflow, and the cards they had when a person agreed to them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The version of the file's form.
    convoke_lock: u32,
    /// The name of the workflow.
    workflow: String,
    /// For each step that chooses an agent: the agent, then those of its `fallback`, in their order.
    steps: BTreeMap<String, Vec<String>>,
    /// Each of these agents, by name.
    agents: BTreeMap<String, Locked>,
    /// What the file is called.
    #[serde(skip)]
    file: String,
}

/// One agent as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Locked {
    digest: CardDigest,
    card: AgentCard,
}

impl Lock {
    /// Makes the lock of a workflow, for now without steps; `file` is what its file will be called.
    pub(crate) fn new(workflow: &str, file: &str) -> Self {
        Self {
            convoke_lock: VERSION,
            workflow: workflow.to_owned(),
            steps: BTreeMap::new(),
            agents: BTreeMap::new(),
            file: file.to_owned(),
        }
    }

    /// Locks a step to the agents that serve it, the first choice first.
    pub(crate) fn add<'a>(&mut self, step: &str, agents: impl IntoIterator<Item = &'a Agent>) {
        let locked = self.steps.entry(step.to_owned()).or_default();
        for agent in agents {
            locked.push(agent.name.clone());
            let card = || Locked { digest: agent.digest, card: AgentCard::clone(&agent.card) };
            self.agents.entry(agent.name.clone()).or_insert_with(card);
        }
    }

    /// Bounds what reading one may cost: it holds whole cards, ten times of what a person writes.
    #[must_use]
    pub fn limits() -> Limits {
        let Limits { max_bytes, max_nodes, .. } = Limits::default();
        Limits { max_bytes: max_bytes * 10, max_nodes: max_nodes * 10, ..Limits::default() }
    }

    /// Reads the file of a lock.
    ///
    /// # Errors
    /// When it is not YAML, not a lock, or one of a form that is not known here.
    pub fn read(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        let root = parse(source, &Self::limits())?;
        let problem = |message: String| {
            let problem = Diagnostic::error("lock::invalid", message).at(root.head_span(), "");
            vec![problem.help("`convoke plan --lock` with the workflow's file writes it anew")]
        };
        let lock: Self = serde_json::from_value(root.to_json())
            .map_err(|error| problem(format!("this is not a lock: {error}")))?;
        if lock.convoke_lock != VERSION {
            return Err(problem(format!(
                "version {} of locks is not known here",
                lock.convoke_lock
            )));
        }
        let unknown = lock.steps.values().flatten().find(|it| !lock.agents.contains_key(*it));
        if let Some(agent) = unknown {
            return Err(problem(format!("the card of the agent `{agent}` is missing")));
        }
        Ok(Self { file: source.name().to_owned(), ..lock })
    }

    /// Says what is wrong when it is used for this workflow; nothing when it was made for it.
    #[must_use]
    pub fn mismatch(&self, workflow: &Workflow) -> Option<Diagnostic> {
        (self.workflow != workflow.name).then(|| {
            let (was, is) = (&self.workflow, &workflow.name);
            let message = format!("this is the lock of the workflow `{was}`, not of `{is}`");
            Diagnostic::error("lock::invalid", message).help(
                "delete it, or write it anew with `convoke plan --lock` and the workflow's file",
            )
        })
    }

    /// The text of its file.
    ///
    /// # Panics
    /// Never: a lock is made of texts, lists and maps.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let body = document::to_yaml(self).expect("a lock is made of texts, lists and maps");
        format!(
            "# Which agents serve the workflow, and their cards when somebody agreed to them. A run refuses an agent whose card\n\
             # is another now. Written by `convoke plan --lock`; delete the file to be free of it.\n{body}"
        )
    }

    /// What its file is called.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many steps and agents it holds.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.steps.len(), self.agents.len())
    }

    /// The agents of a step, the first choice first; nothing for a step that it does not know.
    pub(crate) fn agents_of(&self, step: &str) -> Option<&[String]> {
        self.steps.get(step).map(Vec::as_slice)
    }

    /// How the card of an agent differs from the one it is locked to; nothing when it is that one.
    pub(crate) fn difference(&self, agent: &Agent) -> Option<Difference> {
        let locked = self.agents.get(&agent.name)?;
        (locked.digest != agent.digest).then(|| Difference::between(&locked.card, &agent.card))
    }
}

/// In what two versions of a card differ.
pub(crate) struct Difference {
    /// The class of the change.
    pub(crate) class: &'static str,
    /// What it is about, each in words.
    pub(crate) named: Vec<String>,
}

impl Difference {
    fn between(old: &AgentCard, new: &AgentCard) -> Self {
        let drift = Drift::between(old, new);
        let mut class = drift.class();
        let mut named = match drift {
            Drift::Breaking(broken) => broken,
            Drift::Cosmetic | Drift::Additive => Vec::new(),
        };
        let (keys_before, keys) = (signed_by(old), signed_by(new));
        if keys_before != keys {
            class = DriftClass::Breaking;
            named.push(format!("it was signed by {keys_before}, and is by {keys}"));
        }
        let as_json = |card: &AgentCard| {
            serde_json::to_value(AgentCard { signatures: Vec::new(), ..card.clone() })
                .expect("a card has only text keys")
        };
        let changes = card_changes(&as_json(old), &as_json(new));
        let hidden = changes.len().saturating_sub(MAX_NAMED);
        let shown = changes.iter().take(MAX_NAMED);
        named.extend(shown.map(|it| document::brief(&it.to_string(), MAX_SHOWN)));
        if hidden > 0 {
            named.push(format!("{hidden} more differences"));
        }
        if named.is_empty() {
            named.push("only in what is not read here, such as unknown fields".to_owned());
        }
        Self { class: class.as_str(), named }
    }
}

/// The keys that a card says it is signed with.
fn signed_by(card: &AgentCard) -> String {
    let kid = |it: &AgentCardSignature| {
        key_id(&it.protected).unwrap_or_else(|| "a key without a name".to_owned())
    };
    let kids: Vec<String> = card.signatures.iter().map(kid).collect();
    if kids.is_empty() { "nobody".to_owned() } else { kids.join(", ") }
}

#[cfg(test)]
mod tests;
