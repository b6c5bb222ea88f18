//! Calling other agents.

mod access;
mod call;
mod checks;
mod error;
mod events;
mod grpc;
mod http;
mod jsonrpc;
mod older;
mod operations;
mod peer;
mod rest;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use ::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use url::Url;

pub use error::{ClientError, Delivery, FailureClass, Retry};
pub use events::ClientStream;
pub use peer::{NoInterface, Peer};

pub(crate) use self::http::retry_after;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use rest::written as written_for_rest;

use call::Call;

use crate::{
    auth::{Hidden, Keyring},
    card::Binding,
    dialect::Dialect,
    limits::ClientLimits,
    operation::Operation,
    outbound::{Outbound, OutboundError},
    v1::AgentInterface,
    version::Version,
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
    /// Tells whether another interface is this one, perhaps in another version of A2A.
    #[must_use]
    pub fn is_at(&self, other: &Interface) -> bool {
        (&self.url, self.binding, &self.tenant) == (&other.url, other.binding, &other.tenant)
    }

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

    /// Returns the URL that is connected to: as it stands, or what gRPC's `host:port` means.
    #[must_use]
    pub fn address(&self) -> String {
        match self.binding {
            Binding::Grpc => grpc::address(&self.url),
            Binding::JsonRpc | Binding::HttpJson => self.url.clone(),
        }
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
        "{url} speaks version {version:?} of A2A by {binding}, which is not spoken here; choose another interface of the agent, such as one of 1.0"
    )]
    Version {
        /// The interface's URL.
        url: String,
        /// Its version.
        version: String,
        /// Its binding.
        binding: Binding,
    },
}

impl InterfaceError {
    /// Tells whether the reason is on this side and not with the interface.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(self, InterfaceError::Url(error) if error.is_ours())
    }
}

/// A client of one interface of one agent. Cheap to clone; all clients of one [`Outbound`] share
/// its connections.
///
/// An interface of A2A 0.3, 0.2 or 0.1 is called in its own words; what is asked and answered is 1.0
/// all the same. What the older version does not have, such as listing Tasks, fails without a call
/// with [`FailureClass::Unsupported`].
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
    /// The dialect of a version older than 1.0.
    dialect: Option<Dialect>,
    version: HeaderValue,
    extensions: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
    keyring: Option<Keyring>,
    headers: HeaderMap,
    limits: ClientLimits,
    next_id: AtomicU64,
    /// What its answers are searched for.
    hidden: Mutex<Option<Sought>>,
}

/// What answers are searched for, and how many secrets there were when that was put together.
type Sought = ((u64, u64), Arc<Hidden>);

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
        let Some((version, dialect)) = spoken(&interface) else {
            let Interface { url, version, binding, .. } = interface;
            return Err(InterfaceError::Version { url, version, binding });
        };
        let url = outbound.check(&interface.address())?;
        let inner = Inner {
            outbound,
            interface,
            url,
            dialect,
            version,
            extensions: None,
            authorization: None,
            keyring: None,
            headers: HeaderMap::new(),
            limits,
            next_id: AtomicU64::new(1),
            hidden: Mutex::default(),
        };
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

    /// Authenticates every call of the client returned with an agent's keyring: the call fails unsent
    /// when there is no proof for it, and is made once more when one is refused that can be renewed
    /// (HTTP 401, or gRPC's UNAUTHENTICATED). Its connections may be of the keyring's own. Where the
    /// proof has a header of its own, that counts before [`Client::with_headers`].
    #[must_use]
    pub fn with_keyring(self, keyring: Keyring) -> Client {
        let keyring = Some(keyring);
        Client { inner: Arc::new(Inner { keyring, ..self.inner.anew() }) }
    }

    /// Sends further headers with every call of the client returned, or metadata of these names by
    /// gRPC. What the binding says itself counts before them. Mark values that are secret as
    /// sensitive, so that no log shows them.
    #[must_use]
    pub fn with_headers(self, headers: HeaderMap) -> Client {
        Client { inner: Arc::new(Inner { headers, ..self.inner.anew() }) }
    }

    /// Says with every call of the client returned that this version is spoken, while it goes on to
    /// speak that of the interface: an agent that does not have the version refuses the call
    /// (A2A §3.6.2), which is how one finds out whether it looks. Interfaces older than 1.0 have no
    /// such refusal.
    #[must_use]
    pub fn claiming(self, version: Version) -> Client {
        let version = HeaderValue::from_str(&version.to_string()).expect("digits and a dot");
        Client { inner: Arc::new(Inner { version, ..self.inner.anew() }) }
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

/// How an interface is spoken to, if it can be: what the version header says, and the dialect.
fn spoken(interface: &Interface) -> Option<(HeaderValue, Option<Dialect>)> {
    match interface.version.parse().ok()? {
        Version::V1_0 => Some((HeaderValue::from_static("1.0"), None)),
        older => {
            let dialect = Dialect::of(older, interface.binding)?;
            let version = match dialect {
                // What 0.2 is to those who look for a version at all.
                Dialect::V0_3 | Dialect::V0_3Proto => "0.3",
                Dialect::V0_1 => "0.1",
            };
            Some((HeaderValue::from_static(version), Some(dialect)))
        }
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
            dialect: self.dialect,
            version: self.version.clone(),
            extensions: self.extensions.clone(),
            authorization: self.authorization.clone(),
            keyring: self.keyring.clone(),
            headers: self.headers.clone(),
            limits: self.limits,
            next_id: AtomicU64::new(1),
            hidden: Mutex::default(),
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
        Call { client: self.clone(), operation, id, context: String::new() }
    }
}
