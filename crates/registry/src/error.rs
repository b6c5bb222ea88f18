use std::sync::Arc;

use document::Problems;
use protocol::card::CardError;
use store::StoreError;

use crate::{Curation, TransitionError};

/// Says why the directory did not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RegistryError {
    /// A card was not found or cannot be read.
    #[error(transparent)]
    Card(#[from] Arc<CardError>),

    /// A catalog that somebody publishes was not found or cannot be read.
    #[error("the catalog at {url} cannot be used: {why}")]
    AiCatalog {
        /// The address.
        url: String,
        /// What is wrong.
        why: String,
        /// Whether the reason is on this side: the address may not be called.
        is_ours: bool,
    },

    /// A file is wrong.
    #[error(transparent)]
    File(#[from] Problems),

    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// The standing that was asked for cannot follow the present one.
    #[error("`{name}` stays as it is: {cause}")]
    Transition {
        /// The agent.
        name: String,
        /// Which move it was.
        #[source]
        cause: TransitionError,
    },

    /// There is no such agent.
    #[error(
        "there is no agent `{name}`{}",
        nearest.as_ref().map_or_else(
            || "; `convoke agents list` shows all there are".to_owned(),
            |nearest| format!("; did you mean `{nearest}`?"),
        )
    )]
    UnknownAgent {
        /// The name that was asked for.
        name: String,
        /// The name that may have been meant.
        nearest: Option<String>,
    },

    /// The agent was there a moment ago.
    #[error(
        "the agent `{name}` was removed meanwhile; `convoke agents list` shows those that are there"
    )]
    Gone {
        /// The agent.
        name: String,
    },

    /// The text cannot be a name.
    #[error("{problem}")]
    Name {
        /// What is wrong with it.
        problem: String,
    },

    /// What is stored of an agent cannot be read.
    #[error(
        "what is stored of the agent `{name}` cannot be read: {why}. Remove and add it again, or use the version of Convoke that wrote it"
    )]
    Damaged {
        /// The agent.
        name: String,
        /// What is wrong.
        why: String,
    },

    /// Credentials are for approved agents alone.
    #[error(
        "the credentials of `{name}` are withheld, because it is {standing}; \
         `convoke agents approve {name}` lets it be called"
    )]
    Withheld {
        /// The agent.
        name: String,
        /// How it stands.
        standing: Curation,
    },

    /// An agent that was asked did not answer as it should.
    #[error("{name}: {why}")]
    Unanswered {
        /// The agent.
        name: String,
        /// What came instead.
        why: String,
    },

    /// The version of a card is not kept.
    #[error("version {number} of the card of `{name}` is not kept; there {}", which(.kept))]
    NoVersion {
        /// The agent.
        name: String,
        /// Which version.
        number: u32,
        /// Those that are.
        kept: Vec<u32>,
    },

    /// Others kept changing the same agents.
    #[error("the directory was changed by others at the same time, several times over; try again")]
    Contended,
}

impl RegistryError {
    /// Tells whether a look at an agent failed for a reason on this side, so that it says nothing of the agent.
    pub(crate) fn is_ours(&self) -> bool {
        match self {
            Self::Card(error) => error.is_ours(),
            Self::AiCatalog { is_ours, .. } => *is_ours,
            _ => false,
        }
    }
}

impl From<CardError> for RegistryError {
    fn from(error: CardError) -> Self {
        Self::Card(Arc::new(error))
    }
}

fn which(kept: &[u32]) -> String {
    match kept {
        [] => "are none".to_owned(),
        [one] => format!("is only version {one}"),
        [first, .., last] => format!("are versions {first} to {last}"),
    }
}
