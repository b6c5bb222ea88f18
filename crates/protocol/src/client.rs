//! Calling other agents.

mod checks;
mod error;
mod events;
mod jsonrpc;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use url::Url;

pub use error::{ClientError, Delivery, FailureClass, Retry};
pub use events::ClientStream;

use crate::{
    card::Binding,
    limits::ClientLimits,
    operation::Operation,
    outbound::{Outbound, OutboundError},
    v1::{
        AgentInterface, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task,
    },
    version::{NotAVersion, Version},
};

/// Where and how an agent is called: one interface of its card, as it was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Interface {
    /// The interface's URL.
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
    /// Its binding is not spoken.
    #[error(
        "{url} is called by {binding}, which is not spoken here; choose a JSONRPC interface of the agent"
    )]
    Binding {
        /// The interface's URL.
        url: String,
        /// Its binding.
        binding: Binding,
    },
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
    url: Url,
    tenant: String,
    version: HeaderValue,
    extensions: Option<HeaderValue>,
    limits: ClientLimits,
    next_id: AtomicU64,
}

impl Client {
    /// Creates a client of an interface.
    ///
    /// # Errors
    /// When the URL may not be called, or binding or version are not spoken.
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
        let Interface { url, binding, tenant, version } = interface;
        if !binding.is_spoken() {
            return Err(InterfaceError::Binding { url, binding });
        }
        let parsed: Result<Version, NotAVersion> = version.parse();
        if parsed != Ok(Version::V1_0) {
            return Err(InterfaceError::Version { url, version });
        }
        let url = outbound.check(&url)?;
        let version = HeaderValue::from_static("1.0");
        let next_id = AtomicU64::new(1);
        let inner = Inner { outbound, url, tenant, version, extensions: None, limits, next_id };
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
        let old = &self.inner;
        let inner = Inner {
            outbound: old.outbound.clone(),
            url: old.url.clone(),
            tenant: old.tenant.clone(),
            version: old.version.clone(),
            extensions,
            limits: old.limits,
            next_id: AtomicU64::new(1),
        };
        Client { inner: Arc::new(inner) }
    }

    /// Returns the URL that is called.
    #[must_use]
    pub fn url(&self) -> &str {
        self.inner.url.as_str()
    }

    /// Sends a Message; the agent answers at a terminal or interrupted state, or at once when
    /// `returnImmediately` is set.
    ///
    /// # Errors
    /// A [`ClientError`], also when the answer is about another Task than the one the Message named.
    pub async fn send_message(
        &self,
        request: SendMessageRequest,
        timeout: Duration,
    ) -> Result<SendMessageResponse, ClientError> {
        let mut request = request;
        self.inner.put_tenant(&mut request.tenant);
        let named = checks::named_task(&request);
        let call = self.inner.call(Operation::SendMessage);
        let response = call.unary(&request, timeout).await?;
        checks::sent(&response, &named).map_err(|why| call.invalid(&why))?;
        Ok(response)
    }

    /// Sends a Message and follows what comes of it. `timeout` bounds the wait for the answer to
    /// begin; after that the stream may be silent for [`ClientLimits::stream_idle`]. An agent that
    /// answers without a stream yields a stream of that one event.
    ///
    /// # Errors
    /// A [`ClientError`]; once the stream has begun, as its last item.
    pub async fn send_streaming_message(
        &self,
        request: SendMessageRequest,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        let mut request = request;
        self.inner.put_tenant(&mut request.tenant);
        let named = checks::named_task(&request);
        self.inner.call(Operation::SendStreamingMessage).stream(&request, named, timeout).await
    }

    /// Reads a Task.
    ///
    /// # Errors
    /// A [`ClientError`], also when another Task is answered.
    pub async fn get_task(
        &self,
        request: GetTaskRequest,
        timeout: Duration,
    ) -> Result<Task, ClientError> {
        let mut request = request;
        self.inner.put_tenant(&mut request.tenant);
        let call = self.inner.call(Operation::GetTask);
        let task = call.unary(&request, timeout).await?;
        checks::task(&task, &request.id).map_err(|why| call.invalid(&why))?;
        Ok(task)
    }

    /// Lists Tasks, one page.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn list_tasks(
        &self,
        request: ListTasksRequest,
        timeout: Duration,
    ) -> Result<ListTasksResponse, ClientError> {
        let mut request = request;
        self.inner.put_tenant(&mut request.tenant);
        self.inner.call(Operation::ListTasks).unary(&request, timeout).await
    }

    /// Asks for a Task to be canceled.
    ///
    /// # Errors
    /// A [`ClientError`], also when another Task is answered.
    pub async fn cancel_task(
        &self,
        request: CancelTaskRequest,
        timeout: Duration,
    ) -> Result<Task, ClientError> {
        let mut request = request;
        self.inner.put_tenant(&mut request.tenant);
        let call = self.inner.call(Operation::CancelTask);
        let task = call.unary(&request, timeout).await?;
        checks::task(&task, &request.id).map_err(|why| call.invalid(&why))?;
        Ok(task)
    }

    /// Follows a Task that exists already, beginning with the Task as it is. `timeout` as for
    /// [`Client::send_streaming_message`].
    ///
    /// # Errors
    /// A [`ClientError`]; once the stream has begun, as its last item.
    pub async fn subscribe_to_task(
        &self,
        request: SubscribeToTaskRequest,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        let mut request = request;
        self.inner.put_tenant(&mut request.tenant);
        self.inner
            .call(Operation::SubscribeToTask)
            .stream(&request, request.id.clone(), timeout)
            .await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Client").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Inner {
    /// The interface's tenant goes into every request (A2A §4.4.6); without one the request keeps
    /// what it holds.
    fn put_tenant(&self, tenant: &mut String) {
        if !self.tenant.is_empty() {
            tenant.clone_from(&self.tenant);
        }
    }

    fn call(self: &Arc<Inner>, operation: Operation) -> jsonrpc::Call {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        jsonrpc::Call { client: self.clone(), operation, id }
    }
}
