use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protocol::auth::{Keyring, Vault};
use protocol::card;
use protocol::client::{Interface, Peer};
use protocol::outbound::Outbound;
use protocol::v1::{AgentCard, GetExtendedAgentCardRequest};

use crate::{Access, Agent, Registry, RegistryError};

/// How long an agent may take to show its extended card.
const EXTENDED_PATIENCE: Duration = Duration::from_secs(30);

/// Gives out the keyrings of the directory's agents, as the directory is at that moment.
///
/// Cheap to clone; clones share what was made, so that tokens are gotten once.
#[derive(Clone)]
pub struct Keyrings {
    registry: Arc<Registry>,
    outbound: Outbound,
    vault: Vault,
    made: Arc<Mutex<Made>>,
}

/// Keyrings by the name of their agent, with the agent as it was.
type Made = HashMap<String, (Arc<Agent>, Keyring)>;

impl Keyrings {
    /// Gives out the keyrings of a directory; tokens of people who logged in are kept in the vault.
    #[must_use]
    pub fn new(registry: Arc<Registry>, outbound: Outbound, vault: Vault) -> Self {
        Self { registry, outbound, vault, made: Arc::default() }
    }

    /// The keyring for calling an agent over an interface. It is empty for one that is not of the
    /// directory, as a workflow's own are: also when the directory knows another one by its name.
    ///
    /// # Errors
    /// [`RegistryError::Withheld`] when there are credentials and the agent is not approved.
    pub fn of(&self, name: &str, interface: &Interface) -> Result<Keyring, RegistryError> {
        let index = self.registry.index();
        let Some(agent) = index.by_name(name).filter(|agent| is_its(agent, interface)) else {
            return Ok(Access::default().keyring(&self.outbound, name, None, Vault::none()));
        };
        if !agent.access.credentials.is_empty() && !agent.curation.is_bindable() {
            let (name, standing) = (agent.name.clone(), agent.curation);
            return Err(RegistryError::Withheld { name, standing });
        }
        Ok(self.keyring(agent))
    }

    /// The keyring of an agent of the directory, whatever its standing; for the operator's own hand.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`].
    pub fn by_name(&self, name: &str) -> Result<(Arc<Agent>, Keyring), RegistryError> {
        let agent = self.registry.get(name)?;
        let keyring = self.keyring(&agent);
        Ok((agent, keyring))
    }

    /// The approved agent of the directory at the URL of its card or the one before `/.well-known/`,
    /// and its keyring; `None` when there are no credentials for it.
    #[must_use]
    pub fn by_url(&self, url: &str) -> Option<(Arc<Agent>, Keyring)> {
        let index = self.registry.index();
        let places = card::own_places(url);
        let agent = places.iter().find_map(|place| index.by_url(place))?;
        let is_given = !agent.access.credentials.is_empty() && agent.curation.is_bindable();
        is_given.then(|| (Arc::clone(agent), self.keyring(agent)))
    }

    /// The card that an agent of the directory has for those it knows (A2A §3.1.11), whatever its standing; for the
    /// operator's own hand. It is asked for each time and kept nowhere: it may say what not everybody should know.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Unanswered`].
    pub async fn extended_card(&self, name: &str) -> Result<AgentCard, RegistryError> {
        let (agent, keyring) = self.by_name(name)?;
        let unanswered = |why: String| RegistryError::Unanswered { name: agent.name.clone(), why };
        let peer = Peer::of_card(keyring.outbound(), &agent.card);
        let peer = peer.map_err(|error| unanswered(error.to_string()))?.with_keyring(&keyring);
        let request = GetExtendedAgentCardRequest::default();
        let card = peer.preferred().get_extended_card(request, EXTENDED_PATIENCE).await;
        card.map_err(|error| unanswered(error.to_string()))
    }

    fn keyring(&self, agent: &Arc<Agent>) -> Keyring {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, keyring)) = made.get(&agent.name)
            && (Arc::ptr_eq(of, agent) || calls_the_same(of, agent))
        {
            return keyring.clone();
        }
        let (card, vault) = (Some(&*agent.card), self.vault.clone());
        let keyring = agent.access.keyring(&self.outbound, &agent.name, card, vault);
        made.insert(agent.name.clone(), (Arc::clone(agent), keyring.clone()));
        keyring
    }
}

/// Whether a keyring for the one is right for the other: also when it stands elsewhere meanwhile, or
/// more was seen of it, so that tokens are not gotten anew for that.
fn calls_the_same(one: &Agent, other: &Agent) -> bool {
    one.access == other.access && one.digest == other.digest
}

/// Whether an interface is one that the directory knows the agent by, or one where its credentials
/// may go: that of a run which was planned with an older card.
pub(crate) fn is_its(agent: &Agent, interface: &Interface) -> bool {
    let is_listed = agent
        .card
        .supported_interfaces
        .iter()
        .any(|listed| Interface::of(listed).is_some_and(|listed| listed.url == interface.url));
    is_listed || agent.access.covers(interface)
}

#[cfg(test)]
mod tests;
