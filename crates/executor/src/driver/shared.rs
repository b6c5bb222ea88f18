//! What all drivers of an executor have in common.

use std::sync::Arc;

use protocol::{
    auth::{Caller, Keyring},
    client::{InterfaceError, NoInterface, Peer},
    outbound::Outbound,
};
use registry::{Keyrings, Outcomes, RegistryError};
use store::{AccountId, Store};

use crate::{
    ExecutorError, Limits,
    callback::Callbacks,
    context::Contexts,
    interfaces::{self, Interfaces},
    run::{Intent, RemoteTask},
};

/// What all drivers of an executor share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) outbound: Outbound,
    /// Whose runs.
    pub(crate) account: AccountId,
    /// The account of the process itself; all others are guests.
    pub(crate) home: AccountId,
    pub(crate) limits: Limits,
    pub(crate) interfaces: Arc<Interfaces>,
    /// What agents are called with; without it they are called openly.
    pub(crate) keyrings: Option<Keyrings>,
    /// Where agents may tell of their Tasks; without it they are only asked.
    pub(crate) callbacks: Option<Callbacks>,
    /// Where it is taken down how agents of the directory do; nowhere without it.
    pub(crate) outcomes: Option<Outcomes>,
}

impl Shared {
    /// What is known of a context of the account.
    pub(crate) async fn contexts(&self, ours: &str) -> Result<Contexts, ExecutorError> {
        let contexts = Contexts::load(&*self.store, &self.account, ours).await?;
        Ok(self.as_offered(contexts))
    }

    /// A context that no agent has seen.
    pub(crate) fn fresh_context(&self, ours: &str) -> Contexts {
        self.as_offered(Contexts::fresh(&self.account, ours))
    }

    /// Whether it is taken down how agents do: only for the account of the process, whose directory they are of. What
    /// others do with an agent is not to tell for or against it.
    pub(crate) fn are_outcomes_noted(&self) -> bool {
        self.outcomes.is_some() && self.account == self.home
    }

    fn as_offered(&self, contexts: Contexts) -> Contexts {
        if self.account == self.home { contexts } else { contexts.of_guest() }
    }

    /// An agent by its interfaces, and what it is called with on behalf of a caller; see [`interfaces::peer`].
    pub(crate) fn peer(
        &self,
        intent: &Intent,
        task: Option<&RemoteTask>,
        caller: &Caller,
    ) -> Result<(Peer, Option<Keyring>), Uncallable> {
        let peer = interfaces::peer(&self.outbound, intent, task, self.limits.client);
        let peer = peer.map_err(|NoInterface { causes }| Uncallable::of(&causes))?;
        match &self.keyrings {
            Some(keyrings) => {
                let keyring = keyrings.of(&intent.agent, &intent.interface)?.on_behalf_of(caller);
                Ok((peer.with_keyring(&keyring), Some(keyring)))
            }
            None => Ok((peer, None)),
        }
    }
}

/// Why an agent cannot be called at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Uncallable {
    /// Why not, for each of its interfaces.
    #[error("{why}")]
    Interfaces {
        why: String,
        /// Whether the reason is on this side, for all of them.
        is_ours: bool,
    },
    #[error(transparent)]
    Credentials(#[from] RegistryError),
}

impl Uncallable {
    fn of(causes: &[InterfaceError]) -> Self {
        let why: Vec<String> = causes.iter().map(ToString::to_string).collect();
        let is_ours = !causes.is_empty() && causes.iter().all(InterfaceError::is_ours);
        Self::Interfaces { why: why.join("; "), is_ours }
    }
}
