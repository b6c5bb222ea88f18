//! What was seen of agents: by probes, and in our own runs.
//!
//! Everything here is a function of what was observed and of the time. A tier is never stored: it
//! follows from the observations, so it cannot contradict them, and it ends when they are too old. Which of them
//! count says [`Grounds`]: those of the card as it is.

mod grounds;
mod ledger;
mod observed;
mod seen;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use grounds::Grounds;
pub(crate) use ledger::Ledger;
pub(crate) use observed::{EVIDENCE, OUTCOMES, Probes, forget_outcomes, tame};
pub use observed::{MOST_OUTCOMES, MOST_PROBES, Probed, Shortfall, Work};
pub use seen::{FAILURES, Rung, Seen, Service};

/// How much was seen of an agent, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Its card was fetched.
    Reachable,
    /// Its card has no errors.
    Valid,
    /// Its interfaces answer as A2A says, to questions that ask for no work.
    Conformant,
    /// It completed work for our own runs.
    Proven,
}

impl Tier {
    /// Every tier, least first.
    pub const ALL: [Self; 4] = [Self::Reachable, Self::Valid, Self::Conformant, Self::Proven];

    /// The word people and programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reachable => "reachable",
            Self::Valid => "valid",
            Self::Conformant => "conformant",
            Self::Proven => "proven",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.as_str() == word)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Says how evidence is gathered, and for how long it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvidenceSettings {
    /// How often each agent is probed; never by itself without. Default 5 min.
    pub interval: Option<Duration>,
    /// How long an observation counts when no other follows. Default 15 min.
    pub stale_after: Duration,
    /// How long completed work proves something. Default 30 days.
    pub window: Duration,
    /// Agents probed at once. Default 16.
    pub at_once: usize,
}

impl Default for EvidenceSettings {
    fn default() -> Self {
        Self {
            interval: Some(Duration::from_secs(5 * 60)),
            stale_after: Duration::from_secs(15 * 60),
            window: Duration::from_secs(30 * 24 * 60 * 60),
            at_once: 16,
        }
    }
}
