use std::fmt;

use serde::{Deserialize, Serialize};

/// Says where an agent was heard of that nobody here named: a catalog that somebody publishes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Provenance {
    /// The address of the catalog as it was asked for.
    pub asked: String,
    /// The documents from that one to the one that lists the agent, after redirects.
    pub via: Vec<String>,
    /// What the catalog calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
}

impl Provenance {
    /// Whether the catalog is on another machine.
    pub(crate) fn is_elsewhere(&self) -> bool {
        let first = self.via.first().unwrap_or(&self.asked);
        !protocol::outbound::is_on_this_machine(&self.asked)
            || !protocol::outbound::is_on_this_machine(first)
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", if self.via.is_empty() { &self.asked } else { &self.via[0] })?;
        for nested in self.via.iter().skip(1) {
            write!(f, " → {nested}")?;
        }
        match &self.identifier {
            Some(identifier) => write!(f, " as {identifier}"),
            None => Ok(()),
        }
    }
}
