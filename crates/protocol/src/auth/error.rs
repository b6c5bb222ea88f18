//! Why a call cannot carry what it should.

use std::path::PathBuf;

use super::{Hidden, Origin, Secret};
use crate::outbound::OutboundError;

/// Why there is no proof for a call. No variant holds anything secret.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AuthError {
    /// A secret is not where it should be.
    #[error("the {what} for the agent `{agent}` cannot be had: {why}")]
    Secret {
        /// The agent.
        agent: String,
        /// Which secret: `API key`.
        what: &'static str,
        /// Why not, and what to do.
        why: String,
    },
    /// The call goes to an origin that the operator did not approve.
    #[error(
        "the credentials for the agent `{agent}` do not go to {origin}, which was not approved; \
         they go to {}. If it is meant, add it to `origins` of the agent in the catalog",
        list(approved)
    )]
    Origin {
        /// The agent.
        agent: String,
        /// Where the call goes.
        origin: String,
        /// Where credentials may go.
        approved: Vec<Origin>,
    },
    /// No credential is of a kind that the card wants.
    #[error("the credentials for the agent `{agent}` ({given}) do not fit. {wanted}")]
    Unfit {
        /// The agent.
        agent: String,
        /// What there is.
        given: String,
        /// What the card wants, and how to give it.
        wanted: String,
    },
    /// The card or the authorization server says something that cannot be followed.
    #[error("the agent `{agent}` cannot be authenticated with: {why}")]
    Unusable {
        /// The agent.
        agent: String,
        /// What is wrong, and with what.
        why: String,
    },
    /// An authorization server that the operator did not approve would get credentials.
    #[error(
        "the credentials for the agent `{agent}` do not go to the authorization server at {origin}, \
         which was not approved; if it is meant, write `issuer: {origin}` beside its `client_id`"
    )]
    Server {
        /// The agent.
        agent: String,
        /// Where the card or a discovery document points.
        origin: String,
    },
    /// The authorization server cannot be reached.
    #[error("no token for the agent `{agent}`: {source}")]
    Unreachable {
        /// The agent.
        agent: String,
        /// What happened.
        source: std::sync::Arc<OutboundError>,
    },
    /// The authorization server refuses, or does not answer as it should.
    #[error("no token for the agent `{agent}`: {url} answered {said}")]
    Refused {
        /// The agent.
        agent: String,
        /// Where.
        url: String,
        /// What it said.
        said: String,
        /// The code of its error, such as `invalid_grant`; empty when it gave none.
        code: String,
        /// Whether it may say otherwise later.
        is_passing: bool,
    },
    /// A person has to log in.
    #[error("the agent `{agent}` needs somebody to log in: run `convoke agents login {agent}`")]
    LoginNeeded {
        /// The agent.
        agent: String,
    },
    /// The agent is called on behalf of a caller, and there is none whose token may be exchanged.
    #[error(
        "the agent `{agent}` is called with a token in exchange for that of the caller, and there is none to exchange: \
         have `convoke serve` call it, with `auth.jwt.exchange: true`, for a caller who shows a bearer token; the command \
         line, API keys and schedules have none"
    )]
    NoCaller {
        /// The agent.
        agent: String,
    },
    /// The agent is called on behalf of a caller, whose token has ended or was not kept.
    #[error(
        "the agent `{agent}` is called with a token in exchange for that of the caller, which has ended or was not kept \
         over a restart"
    )]
    CallerAway {
        /// The agent.
        agent: String,
    },
    /// A login did not come to its end.
    #[error("the login for the agent `{agent}` failed: {why}")]
    Login {
        /// The agent.
        agent: String,
        /// Why.
        why: String,
    },
    /// Tokens cannot be kept.
    #[error("tokens cannot be kept in {}: {why}", path.display())]
    Vault {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl AuthError {
    /// Tells whether the reason is on this side, or at an authorization server, and not with the agent or its card.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        !matches!(self, AuthError::Unusable { .. })
    }

    /// The same without secrets, where the words of a server repeat them.
    pub(super) fn without(self, secrets: &[Secret]) -> AuthError {
        let hidden = Hidden::new(secrets.iter().cloned());
        let hide = |text: String| hidden.text(&text).into_owned();
        match self {
            AuthError::Refused { agent, url, said, code, is_passing } => {
                AuthError::Refused { agent, url, said: hide(said), code: hide(code), is_passing }
            }
            other => other,
        }
    }

    /// Tells whether the same may succeed later without anybody doing anything.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            AuthError::Unreachable { source, .. } => matches!(
                **source,
                OutboundError::Unresolved { .. }
                    | OutboundError::Connect { .. }
                    | OutboundError::Timeout { .. }
                    | OutboundError::Broken { .. }
            ),
            AuthError::Refused { is_passing, .. } => *is_passing,
            _ => false,
        }
    }
}

fn list(origins: &[Origin]) -> String {
    if origins.is_empty() {
        return "none".to_owned();
    }
    origins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
