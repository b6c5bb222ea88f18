use protocol::auth::{Credential, Keyring, Origin, Vault};
use protocol::client::Interface;
use protocol::outbound::Outbound;
use protocol::v1::AgentCard;
use url::Url;

use crate::Details;

/// Holds what an agent is called with, and the origins that may get it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Access {
    /// The credentials, by where their secrets are kept.
    pub credentials: Vec<Credential>,
    /// The origins the operator approved.
    pub origins: Vec<Origin>,
}

impl Access {
    /// Approved is what the operator wrote: the origin of the URL, and those listed. A card that came
    /// from a file was placed by the operator, and so are the origins of its interfaces; those of a
    /// card that was fetched are somebody else's word.
    pub(crate) fn of(details: &Details, asked_url: &str, card: Option<&AgentCard>) -> Self {
        let mut origins = details.origins.clone();
        let own: Vec<Origin> = match (asked_url, card) {
            ("", Some(card)) => card
                .supported_interfaces
                .iter()
                .filter_map(|interface| origin_of(&Interface::of(interface)?))
                .collect(),
            (url, _) => url.parse().into_iter().collect(),
        };
        for origin in own {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        Self { credentials: details.credentials.clone(), origins }
    }

    /// Tells whether credentials may go to an interface.
    pub(crate) fn covers(&self, interface: &Interface) -> bool {
        origin_of(interface).is_some_and(|origin| self.origins.contains(&origin))
    }

    /// Makes the keyring of the agent that people know by this name.
    pub(crate) fn keyring(
        &self,
        outbound: &Outbound,
        name: &str,
        card: Option<&AgentCard>,
        vault: Vault,
    ) -> Keyring {
        let given = (self.credentials.clone(), self.origins.clone());
        Keyring::new(outbound, name, given, card, vault)
    }
}

fn origin_of(interface: &Interface) -> Option<Origin> {
    Origin::of(&Url::parse(&interface.address()).ok()?).ok()
}
