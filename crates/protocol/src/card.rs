//! Agent Cards: reading them, fetching them, and choosing an interface.
//!
//! What reading demands is what a caller cannot do without: a name, and for every
//! interface where it is and what it speaks. What else a card has to say (A2A
//! §4.4.1) is for the registry's lint, which lists it all by
//! [`Required::missing_required`].

mod error;
mod fetch;
mod freshness;
mod read;
mod requirements;

use std::fmt;

pub use error::{CardError, NoCard};
pub use fetch::{
    FetchedCard, MAX_BYTES, fetch, fetch_again, fetch_with_headers, fetch_with_keyring, own_places,
};
pub use freshness::Freshness;
pub use read::read;
pub use requirements::older_security;

use crate::{
    dialect::Dialect,
    v1::{AgentCard, AgentInterface},
    version::Version,
};

#[cfg(doc)]
use crate::v1::Required;

/// The A2A version of the model, and of the cards made here, major and minor.
pub const VERSION: &str = "1.0";

/// The protocol bindings of A2A (§5.8 lets anybody add more).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP, with server-sent events.
    #[serde(rename = "JSONRPC")]
    JsonRpc,
    /// Plain HTTP paths and JSON.
    #[serde(rename = "HTTP+JSON")]
    HttpJson,
    /// gRPC.
    #[serde(rename = "GRPC")]
    Grpc,
}

impl Binding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::HttpJson, Self::Grpc];

    /// Returns the name that cards use.
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// Reads the name that cards use, in any case; nothing for other bindings.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.name().eq_ignore_ascii_case(name))
    }

    /// Whether the client here speaks it.
    pub fn is_spoken(self) -> bool {
        match self {
            Self::JsonRpc | Self::HttpJson | Self::Grpc => true,
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl AgentInterface {
    /// Returns its binding, unless it is one of somebody's own.
    pub fn binding(&self) -> Option<Binding> {
        Binding::from_name(&self.protocol_binding)
    }

    /// Whether it can be called from here: version 1.0 by any binding of A2A, 0.3 and
    /// 0.2 by JSON-RPC and HTTP+JSON, 0.1 by JSON-RPC. A patch number says nothing about
    /// the dialect (A2A §3.6).
    pub fn is_spoken(&self) -> bool {
        let Some(binding) = self.binding().filter(|binding| binding.is_spoken()) else {
            return false;
        };
        match self.protocol_version.parse() {
            // Without a version an interface is not known to be of any.
            Ok(_) if self.protocol_version.trim().is_empty() => false,
            Ok(Version::V1_0) => true,
            Ok(older) => Dialect::of(older, binding).is_some(),
            Err(_) => false,
        }
    }
}

/// Returns the interfaces that can be called from here, in the card's order: the
/// agent prefers the first.
pub fn interfaces_spoken(card: &AgentCard) -> Vec<&AgentInterface> {
    card.supported_interfaces.iter().filter(|interface| interface.is_spoken()).collect()
}

#[cfg(test)]
mod tests;
