use std::fmt;

use serde::{Deserialize, Serialize};

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
