//! Calling other agents.

mod call;
mod checks;
mod error;
mod events;
mod grpc;
mod http;
mod jsonrpc;
mod operations;
mod peer;
mod rest;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ::http::HeaderValue;
use serde::{Deserialize, Serialize};
use url::Url;

pub use error::{ClientError, Delivery, FailureClass, Retry};
pub use events::ClientStream;
pub use peer::{NoInterface, Peer};

pub(crate) use self::http::retry_after;

use call::Call;

use crate::{
    card::Binding,
    limits::ClientLimits,
    operation::Operation,
    outbound::{Outbound, OutboundError},
    v1::AgentInterface,
    version::{NotAVersion, Version},
};

/// Where and how an agent is called: one interface of its card, as it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interface {
    /// The interface's URL; gRPC's may be `host:port`.
    pub url: String,
    /// The protocol binding.
    pub binding: Binding,
    /// The tenant, which every request repeats unchanged; empty when the card names none.
    #[serde(default)]
    pub tenant: String,
    /// The version, Major.Minor.
    pub version: String,
}

impl Interface {
    /// Takes over an interface of a card; nothing when its binding is one of somebody's own.
    #[must_use]
    pub fn of(interface: &AgentInterface) -> Option<Interface> {
        Some(Interface {
            url: interface.url.clone(),
            binding: interface.binding()?,
            tenant: interface.tenant.clone(),
            version: interface.protocol_version.clone(),
        })
    }
}

/// Why an interface cannot be called at all.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// Its URL cannot be called.
    #[error(transparent)]
    Url(#[from] OutboundError),
    /// Its version is not spoken.
    #[error(
        "{url} speaks version {version:?} of A2A, which is not spoken here; choose a 1.0 interface of the agent"
    )]
    Version {
        /// The interface's URL.
        url: String,
        /// Its version.
        version: String,
    },
}

/// A client of one interface of one agent. Cheap to clone; all clients of one [`Outbound`] share
/// its connections.
///
/// Every call has a deadline, after which it fails with [`FailureClass::Timeout`]. Dropping a
/// call's future gives the call up; the agent may have received it all the same.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    outbound: Outbound,
    interface: Interface,
    url: Url,
    version: HeaderValue,
    extensions: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
    limits: ClientLimits,
    next_id: AtomicU64,
}

impl Client {
    /// Creates a client of an interface.
    ///
    /// # Errors
    /// When the URL may not be called, or the version is not spoken.
    pub fn new(outbound: Outbound, interface: Interface) -> Result<Client, InterfaceError> {
        Client::with_limits(outbound, interface, ClientLimits::default())
    }

    /// Creates a client with limits of its own.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn with_limits(
        outbound: Outbound,
        interface: Interface,
        limits: ClientLimits,
    ) -> Result<Client, InterfaceError> {
        let parsed: Result<Version, NotAVersion> = interface.version.parse();
        if parsed != Ok(Version::V1_0) {
            let Interface { url, version, .. } = interface;
            return Err(InterfaceError::Version { url, version });
        }
        let url = match interface.binding {
            Binding::Grpc => outbound.check(&grpc::address(&interface.url))?,
            Binding::JsonRpc | Binding::HttpJson => outbound.check(&interface.url)?,
        };
        let version = HeaderValue::from_static("1.0");
        let (extensions, authorization) = (None, None);
        let next_id = AtomicU64::new(1);
        let inner =
            Inner { outbound, interface, url, version, extensions, authorization, limits, next_id };
        Ok(Client { inner: Arc::new(inner) })
    }

    /// Declares extensions on every call of the client returned. URIs that cannot stand in a header
    /// are left out.
    #[must_use]
    pub fn with_extensions<'a>(self, uris: impl IntoIterator<Item = &'a str>) -> Client {
        let usable = |uri: &&str| !uri.contains(',') && HeaderValue::from_str(uri).is_ok();
        let list: Vec<&str> = uris.into_iter().filter(usable).collect();
        let extensions =
            if list.is_empty() { None } else { HeaderValue::from_str(&list.join(",")).ok() };
        Client { inner: Arc::new(Inner { extensions, ..self.inner.anew() }) }
    }

    /// Sends credentials with every call of the client returned: the value of the Authorization
    /// header, or of gRPC's metadata of that name. Mark it as sensitive, so that no log shows it.
    #[must_use]
    pub fn with_authorization(self, value: HeaderValue) -> Client {
        let authorization = Some(value);
        Client { inner: Arc::new(Inner { authorization, ..self.inner.anew() }) }
    }

    /// Returns the interface that is called.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.inner.interface
    }

    /// Returns the URL that is called.
    #[must_use]
    pub fn url(&self) -> &str {
        self.inner.url.as_str()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Inner {
    /// The same client, but for its count of calls.
    fn anew(&self) -> Inner {
        Inner {
            outbound: self.outbound.clone(),
            interface: self.interface.clone(),
            url: self.url.clone(),
            version: self.version.clone(),
            extensions: self.extensions.clone(),
            authorization: self.authorization.clone(),
            limits: self.limits,
            next_id: AtomicU64::new(1),
        }
    }

    /// The interface's tenant goes into every request (A2A §4.4.6); without one the request keeps
    /// what it holds.
    fn put_tenant(&self, tenant: &mut String) {
        if !self.interface.tenant.is_empty() {
            tenant.clone_from(&self.interface.tenant);
        }
    }

    fn call(self: &Arc<Inner>, operation: Operation) -> Call {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        Call { client: self.clone(), operation, id }
    }
}
