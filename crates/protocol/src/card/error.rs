//! Why there is no card.

use crate::auth::{AuthError, FetchError};
use crate::outbound::OutboundError;

/// A card that cannot be read, or that was not found.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The JSON is no object.
    #[error("an Agent Card is a JSON object, and this is {found}")]
    NotAnObject {
        /// What it is instead: `an array`.
        found: &'static str,
    },
    /// A field holds something that it cannot hold.
    #[error("its {path} cannot be read: {why}")]
    Field {
        /// Where in the card: `skills[0].tags`.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// Fields are missing without which an agent cannot be called.
    #[error("it lacks {}, without which the agent cannot be called", fields.join(", "))]
    Missing {
        /// Where each belongs: `supportedInterfaces[0].url`.
        fields: Vec<String>,
    },
    /// The card at an address cannot be read.
    #[error("the Agent Card at {url} cannot be used: {source}")]
    At {
        /// The address, after redirects.
        url: String,
        /// What is wrong with the card.
        source: Box<CardError>,
    },
    /// There is no card at the address, or the agent's host cannot be reached.
    #[error("no Agent Card: {0}")]
    Nothing(#[from] NoCard),
    /// There is no card at any of the usual places.
    #[error(
        "no Agent Card was found for {url}:{}\nIf the card is elsewhere, give its own address.",
        list(tried)
    )]
    NotFound {
        /// The address that was given.
        url: String,
        /// What was tried, in order.
        tried: Vec<NoCard>,
    },
}

/// Why an address gives no card. Every variant names the address, after redirects.
#[derive(Debug, thiserror::Error)]
pub enum NoCard {
    /// The call failed.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The card wants credentials, and those there are cannot be shown.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The server answered with a status that tells of failure.
    #[error("{url} answered with HTTP status {status}{}", hint(*status))]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// There is a web page.
    #[error("{url} is a web page (HTML), and a card is JSON")]
    Html {
        /// The address.
        url: String,
    },
    /// There is something that is no JSON.
    #[error("{url} is not JSON: {why}")]
    NotJson {
        /// The address.
        url: String,
        /// Where reading stopped, and why.
        why: String,
    },
    /// There is JSON, but nothing of a card in it.
    #[error("{url} is JSON with neither a name nor interfaces, and so no card")]
    OtherJson {
        /// The address.
        url: String,
    },
}

impl CardError {
    /// Tells whether the reason is on this side and not with who serves the card.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        match self {
            CardError::Nothing(no) => no.is_ours(),
            CardError::NotFound { tried, .. } => {
                !tried.is_empty() && tried.iter().all(NoCard::is_ours)
            }
            CardError::At { source, .. } => source.is_ours(),
            CardError::NotAnObject { .. } | CardError::Field { .. } | CardError::Missing { .. } => {
                false
            }
        }
    }
}

impl NoCard {
    fn is_ours(&self) -> bool {
        match self {
            NoCard::Outbound(error) => error.is_ours(),
            NoCard::Auth(error) => error.is_ours(),
            _ => false,
        }
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        401 | 403 => "; it wants credentials: name the agent in a catalog, with `credentials`",
        _ => "",
    }
}

impl From<FetchError> for NoCard {
    fn from(error: FetchError) -> NoCard {
        match error {
            FetchError::Auth(error) => NoCard::Auth(error),
            FetchError::Outbound(error) => NoCard::Outbound(error),
        }
    }
}

fn list(tried: &[NoCard]) -> String {
    tried.iter().map(|reason| format!("\n  {reason}")).collect()
}

impl NoCard {
    /// Whether a card may be found at another address of the same agent: not when
    /// its host cannot be reached.
    pub(super) fn leaves_hope(&self) -> bool {
        match self {
            Self::Status { .. }
            | Self::Html { .. }
            | Self::NotJson { .. }
            | Self::OtherJson { .. } => true,
            Self::Auth(_) => false,
            Self::Outbound(error) => matches!(
                error,
                OutboundError::TooLarge { .. }
                    | OutboundError::TooManyRedirects { .. }
                    | OutboundError::Redirect { .. }
                    // The first URL was checked before: this one came out of a redirect.
                    | OutboundError::Url { .. }
            ),
        }
    }
}
