use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Says how an agent stands in the directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Curation {
    /// Known, waiting for a decision.
    Proposed,
    /// May be bound to steps.
    Approved,
    /// May still be bound, with a warning: something better exists.
    Deprecated,
    /// Out of use.
    Retired,
    /// Not wanted.
    Rejected,
    /// Taken out at once, until the matter is cleared.
    Suspended,
}

impl Curation {
    /// Every standing, in the order of a life.
    pub const ALL: [Self; 6] = [
        Self::Proposed,
        Self::Approved,
        Self::Deprecated,
        Self::Retired,
        Self::Rejected,
        Self::Suspended,
    ];

    /// Where a curator may move an agent from here. This is the whole table.
    #[must_use]
    pub fn next(self) -> &'static [Self] {
        use Curation::{Approved, Deprecated, Proposed, Rejected, Retired, Suspended};
        match self {
            Proposed => &[Approved, Rejected, Suspended],
            Approved => &[Deprecated, Proposed, Rejected, Suspended],
            Deprecated => &[Retired, Approved, Proposed, Rejected, Suspended],
            Retired => &[Proposed, Rejected, Suspended],
            Rejected => &[Proposed, Approved, Suspended],
            Suspended => &[Proposed, Approved, Rejected],
        }
    }

    /// The verb that moves an agent here: what people type and programs call.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Proposed => "propose",
            Self::Approved => "approve",
            Self::Deprecated => "deprecate",
            Self::Retired => "retire",
            Self::Rejected => "reject",
            Self::Suspended => "suspend",
        }
    }

    /// Reads the verb.
    #[must_use]
    pub fn of_verb(verb: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.verb() == verb)
    }

    /// Whether the planner may bind a step to the agent.
    #[must_use]
    pub fn is_bindable(self) -> bool {
        matches!(self, Self::Approved | Self::Deprecated)
    }

    /// What of this is left at a moment: an approval whose review is due is none, whether or not
    /// [`Registry::review`](crate::Registry::review) has taken it back.
    #[must_use]
    pub fn at(self, review_by: Option<Timestamp>, now: Timestamp) -> Self {
        let is_over = review_by.is_some_and(|due| due <= now);
        if is_over && self.is_bindable() { Self::Proposed } else { self }
    }

    /// The word people read and write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Deprecated => "deprecated",
            Self::Retired => "retired",
            Self::Rejected => "rejected",
            Self::Suspended => "suspended",
        }
    }
}

impl fmt::Display for Curation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Says who decided something, when, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The curator, or the part of Convoke that acted for one.
    pub who: String,
    /// The reason in the curator's words; may be empty.
    pub why: String,
    /// The moment.
    pub at: Timestamp,
}

/// Records one change of an agent's standing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The standing before; none when the agent came into the directory.
    pub from: Option<Curation>,
    /// The standing after.
    pub to: Curation,
    /// Who, when, why.
    #[serde(flatten)]
    pub by: Decision,
}

/// Holds an agent's standing and how it came about; never empty.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct History(Vec<Change>);

impl History {
    /// Begins with a proposal.
    #[must_use]
    pub fn proposed(by: Decision) -> Self {
        Self(vec![Change { from: None, to: Curation::Proposed, by }])
    }

    /// The present standing.
    #[must_use]
    pub fn standing(&self) -> Curation {
        self.0.last().map_or(Curation::Proposed, |change| change.to)
    }

    /// The same moves at the same times, without who made them and why.
    pub(crate) fn without_reasons(self) -> Self {
        let bare = |Change { from, to, by }| Change {
            from,
            to,
            by: Decision { who: String::new(), why: String::new(), at: by.at },
        };
        Self(self.0.into_iter().map(bare).collect())
    }

    /// Every change, oldest first.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.0
    }

    /// Moves the agent to another standing and records it; a move to where it stands already
    /// changes nothing. Returns whether anything changed.
    ///
    /// # Errors
    /// When the table has no such move; nothing is changed.
    pub fn transition(&mut self, to: Curation, by: Decision) -> Result<bool, TransitionError> {
        let from = self.standing();
        if from == to {
            return Ok(false);
        }
        if !from.next().contains(&to) {
            return Err(TransitionError { from, to });
        }
        self.0.push(Change { from: Some(from), to, by });
        Ok(true)
    }
}

/// Says that a standing cannot follow another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("an agent that is {from} cannot become {to}; it can become {}", list(from.next()))]
pub struct TransitionError {
    /// The standing it has.
    pub from: Curation,
    /// The standing that was asked for.
    pub to: Curation,
}

fn list(standings: &[Curation]) -> String {
    let words: Vec<_> = standings.iter().map(|standing| standing.as_str()).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.join(""),
    }
}

#[cfg(test)]
mod tests;
