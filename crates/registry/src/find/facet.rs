//! What agents can be filtered by and counted.

use std::fmt;

/// A property of agents that has exact values: what can be filtered by and counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Facet {
    /// A tag, of a skill or the curator's; synonyms are found as well.
    Tag,
    /// The curator's category.
    Category,
    /// A skill's id, exactly as it is written.
    Skill,
    /// The provider's organization.
    Provider,
    /// A media type that a skill takes.
    InputMode,
    /// A media type that a skill gives.
    OutputMode,
    /// The binding of an interface: `JSONRPC`, `GRPC`, `HTTP+JSON` or another.
    Binding,
    /// The A2A version of an interface.
    Version,
    /// `streaming`, `push_notifications` or `extended_card`.
    Capability,
    /// How the agent stands ([`crate::Curation`]).
    State,
    /// What its card's signatures are worth ([`crate::Signed`]).
    Signed,
    /// What was seen of it ([`crate::Tier`]). A filter lets through what was seen more of as well.
    Evidence,
}

impl Facet {
    /// Every facet.
    pub const ALL: [Self; 12] = [
        Self::Tag,
        Self::Category,
        Self::Skill,
        Self::Provider,
        Self::InputMode,
        Self::OutputMode,
        Self::Binding,
        Self::Version,
        Self::Capability,
        Self::State,
        Self::Signed,
        Self::Evidence,
    ];

    /// Reads the word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.as_str() == word)
    }

    /// Whether it changes without a change of the card.
    pub(super) fn is_volatile(self) -> bool {
        matches!(self, Self::State | Self::Signed | Self::Evidence)
    }

    /// The word people and programs write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Category => "category",
            Self::Skill => "skill",
            Self::Provider => "provider",
            Self::InputMode => "input_mode",
            Self::OutputMode => "output_mode",
            Self::Binding => "binding",
            Self::Version => "version",
            Self::Capability => "capability",
            Self::State => "state",
            Self::Signed => "signed",
            Self::Evidence => "evidence",
        }
    }
}

impl fmt::Display for Facet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Asks for agents that have one of some values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The property.
    pub facet: Facet,
    /// One of these is enough. None at all excludes every agent.
    pub any: Vec<String>,
}

impl Filter {
    /// Asks for one value.
    #[must_use]
    pub fn one(facet: Facet, value: &str) -> Self {
        Self { facet, any: vec![value.to_owned()] }
    }
}
