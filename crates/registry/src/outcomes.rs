use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use protocol::client::Interface;
use store::Write;

use crate::evidence::{Work, tame};
use crate::registry::after;
use crate::{CardDigest, EvidenceSettings, Registry};

/// Takes down how the agents of the directory do in our own runs.
///
/// Whoever runs steps asks for the [`Write`] of an outcome, commits it together with the event that it
/// is the outcome of, and then lets it count. Cheap to clone.
#[derive(Clone)]
pub struct Outcomes {
    registry: Arc<Registry>,
    settings: EvidenceSettings,
}

/// How an attempt of a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The agent's name.
    pub agent: String,
    /// The interface that was called.
    pub interface: Interface,
    /// The card that the run was planned with.
    pub card: CardDigest,
    /// The run.
    pub run: String,
    /// The step.
    pub step: String,
    /// The skill that the step asked for, when it asked for one.
    pub skill: Option<String>,
    /// When it ended.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// Why it failed; nothing when it completed.
    pub error: Option<String>,
    /// Whether it failed for a reason on this side, such as a secret that is missing: then it says nothing of the
    /// agent.
    pub is_ours: bool,
}

/// An outcome that is about to be committed.
#[derive(Clone, Debug)]
pub struct Noted {
    agent: String,
    work: Work,
}

impl Outcomes {
    /// Makes one that counts outcomes for as long as the settings say.
    #[must_use]
    pub fn new(registry: Arc<Registry>, settings: EvidenceSettings) -> Self {
        Self { registry, settings }
    }

    /// The write that keeps an outcome; nothing for an agent that is not of the directory.
    #[must_use]
    pub fn note(&self, ended: Ended) -> Option<(Write, Noted)> {
        let agent = self.registry.called(&ended.agent, &ended.interface)?.name.clone();
        let is_unmeasured = ended.is_ours && ended.error.is_some();
        let number = if is_unmeasured { 0 } else { self.registry.ledger().next(&agent) };
        let work = Work {
            number,
            at: ended.at,
            fresh_until: after(ended.at, self.settings.stale_after),
            counts_until: after(ended.at, self.settings.window),
            run: ended.run,
            step: ended.step,
            skill: ended.skill,
            error: ended.error.as_deref().map(tame),
            took: ended.took,
            card: Some(ended.card),
            is_unmeasured,
        };
        let write = self.registry.work_write(&agent, &work);
        Some((write, Noted { agent, work }))
    }

    /// Lets outcomes count that were committed.
    pub fn count(&self, noted: impl IntoIterator<Item = Noted>) {
        for Noted { agent, work } in noted {
            self.registry.count_work(&agent, work);
        }
    }
}
