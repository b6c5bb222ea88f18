//! An agent by all its interfaces: the first that answers is the one that is used.

mod push;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ::http::HeaderMap;
use tokio::time::Instant;

use super::{Client, ClientError, ClientStream, Delivery, FailureClass, Interface, InterfaceError};
use crate::{
    auth::Keyring,
    card::Binding,
    error::ErrorKind,
    limits::ClientLimits,
    operation::Operation,
    outbound::Outbound,
    v1::{
        AgentCard, CancelTaskRequest, GetTaskRequest, ListTasksRequest, ListTasksResponse,
        SendMessageRequest, SendMessageResponse, SubscribeToTaskRequest, Task,
    },
    version::Version,
};

/// None of an agent's interfaces can be called.
#[derive(Debug, thiserror::Error)]
#[error("none of the agent's interfaces can be called: {}", reasons(.causes))]
pub struct NoInterface {
    /// Why not, for each of those that are spoken here.
    pub causes: Vec<InterfaceError>,
}

fn reasons(causes: &[InterfaceError]) -> String {
    if causes.is_empty() {
        return "it lists none of A2A 1.0 by JSONRPC, HTTP+JSON or GRPC, nor an older one that is \
                spoken"
            .to_owned();
    }
    causes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A client of an agent that has several interfaces, in the order in which the agent prefers them.
///
/// A call goes to the interface that answered last, at first to the first. When no connection comes
/// about, or what is there speaks another version or binding, nothing has happened yet, and the call
/// goes on to the next (A2A §5.2). Questions, which can do no harm twice, go on as well when the
/// interface cannot answer now. Any other failure is the call's own: a Message that may have arrived
/// is not sent twice.
///
/// A card may be wrong about the version. An agent that refuses ours, or does not know a method that
/// every agent has, is tried at the same address in the other versions spoken here, after all that
/// the card lists. Cheap to clone; clones remember together.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Those that are listed, then the same addresses in other versions.
    clients: Arc<[Client]>,
    /// How many are listed.
    listed: usize,
    /// The index of the interface that answered last.
    preferred: Arc<AtomicUsize>,
    /// Whether a Message may go out over another interface although it may have arrived.
    sends_anywhere: bool,
}

impl Peer {
    /// Creates a client of an agent by its card.
    ///
    /// # Errors
    /// As [`Peer::new`].
    pub fn of_card(outbound: &Outbound, card: &AgentCard) -> Result<Peer, NoInterface> {
        let spoken = crate::card::interfaces_spoken(card);
        let interfaces = spoken.into_iter().filter_map(Interface::of).collect();
        Peer::new(outbound, interfaces, ClientLimits::default())
    }

    /// Creates a client of interfaces, the preferred one first. Those that cannot be called are
    /// left out.
    ///
    /// # Errors
    /// When none is left.
    pub fn new(
        outbound: &Outbound,
        interfaces: Vec<Interface>,
        limits: ClientLimits,
    ) -> Result<Peer, NoInterface> {
        let mut causes = Vec::new();
        let mut clients = Vec::new();
        let client = |interface| Client::with_limits(outbound.clone(), interface, limits);
        for interface in interfaces {
            match client(interface) {
                Ok(client) => clients.push(client),
                Err(cause) => causes.push(cause),
            }
        }
        if clients.is_empty() {
            return Err(NoInterface { causes });
        }
        let listed = clients.len();
        let guesses = guesses(clients.iter().map(Client::interface));
        clients.extend(guesses.into_iter().filter_map(|guess| client(guess).ok()));
        let (clients, preferred) = (clients.into(), Arc::default());
        Ok(Peer { clients, listed, preferred, sends_anywhere: false })
    }

    /// Lets Messages go on to the next interface as questions do, also when they may have arrived: they do no harm
    /// twice, and keep their messageId.
    #[must_use]
    pub fn sending_anywhere(self) -> Peer {
        Peer { sends_anywhere: true, ..self }
    }

    /// Declares extensions on every call; see [`Client::with_extensions`].
    #[must_use]
    pub fn with_extensions(self, uris: &[&str]) -> Peer {
        let clients = self.clients.iter().cloned();
        let clients = clients.map(|client| client.with_extensions(uris.iter().copied())).collect();
        Peer { clients, ..self }
    }

    /// Authenticates every call; see [`Client::with_keyring`].
    #[must_use]
    pub fn with_keyring(self, keyring: &Keyring) -> Peer {
        let clients = self.clients.iter().cloned();
        let clients = clients.map(|client| client.with_keyring(keyring.clone())).collect();
        Peer { clients, ..self }
    }

    /// Sends further headers with every call of those interfaces that they are meant for; see
    /// [`Client::with_headers`].
    #[must_use]
    pub fn with_headers(
        self,
        headers: &HeaderMap,
        are_meant_for: impl Fn(&Interface) -> bool,
    ) -> Peer {
        let clients = self.clients.iter().cloned();
        let clients = clients.map(|client| {
            let is_meant = are_meant_for(client.interface());
            if is_meant { client.with_headers(headers.clone()) } else { client }
        });
        Peer { clients: clients.collect(), ..self }
    }

    /// Returns the interfaces that can be called, in the agent's order.
    pub fn interfaces(&self) -> impl Iterator<Item = &Interface> {
        self.clients[..self.listed].iter().map(Client::interface)
    }

    /// Returns the client of the interface that answered last, or of the first.
    #[must_use]
    pub fn preferred(&self) -> &Client {
        &self.clients[self.preferred.load(Ordering::Relaxed)]
    }

    /// See [`Client::send_message`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn send_message(
        &self,
        request: SendMessageRequest,
        timeout: Duration,
    ) -> Result<SendMessageResponse, ClientError> {
        self.first(self.leaves_hope(), request, timeout, async |client, request, left| {
            client.send_message(request, left).await
        })
        .await
    }

    /// See [`Client::send_streaming_message`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn send_streaming_message(
        &self,
        request: SendMessageRequest,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        self.first(self.leaves_hope(), request, timeout, async |client, request, left| {
            client.send_streaming_message(request, left).await
        })
        .await
    }

    /// See [`Client::get_task`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn get_task(
        &self,
        request: GetTaskRequest,
        timeout: Duration,
    ) -> Result<Task, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.get_task(request, left).await
        })
        .await
    }

    /// See [`Client::list_tasks`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn list_tasks(
        &self,
        request: ListTasksRequest,
        timeout: Duration,
    ) -> Result<ListTasksResponse, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.list_tasks(request, left).await
        })
        .await
    }

    /// See [`Client::cancel_task`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn cancel_task(
        &self,
        request: CancelTaskRequest,
        timeout: Duration,
    ) -> Result<Task, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.cancel_task(request, left).await
        })
        .await
    }

    /// See [`Client::subscribe_to_task`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn subscribe_to_task(
        &self,
        request: SubscribeToTaskRequest,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.subscribe_to_task(request, left).await
        })
        .await
    }

    /// After which failures a Message goes on to the next interface.
    fn leaves_hope(&self) -> fn(&ClientError) -> bool {
        if self.sends_anywhere { may_ask_elsewhere } else { ClientError::is_untaken }
    }

    /// Calls one interface after the other until one answers.
    async fn first<R: Clone, T>(
        &self,
        leaves_hope: fn(&ClientError) -> bool,
        request: R,
        timeout: Duration,
        call: impl AsyncFn(Client, R, Duration) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let started = Instant::now();
        let preferred = self.preferred.load(Ordering::Relaxed);
        let mut failed = Vec::new();
        let mut is_another_version = false;
        for index in self.order(preferred) {
            let is_guess = index >= self.listed && index != preferred;
            if is_guess && !is_another_version {
                continue;
            }
            // Whoever is called first has all of it, to the letter of what an error then says.
            let left = match failed.is_empty() {
                true => timeout,
                false => timeout.saturating_sub(started.elapsed()),
            };
            let answer = call(self.clients[index].clone(), request.clone(), left).await;
            match answer {
                // Of a guess that was wrong there is nothing to tell.
                Err(error) if is_guess && leaves_hope(&error) => {}
                Err(error) if leaves_hope(&error) => {
                    is_another_version |= is_of_another_version(&error);
                    failed.push((index, error));
                }
                answer => {
                    // What answers an error to a guess may speak yet another version.
                    if answer.is_ok() || !is_guess {
                        self.preferred.store(index, Ordering::Relaxed);
                    }
                    return answer.map_err(|error| after(&failed, error));
                }
            }
        }
        Err(self.all_failed(failed))
    }

    /// The failure of a call that no interface took: the first that may pass decides, else the last. Its
    /// message tells of the others.
    fn all_failed(&self, mut failed: Vec<(usize, ClientError)>) -> ClientError {
        let decisive = failed.iter().position(|(_, error)| error.is_retryable());
        let (_, mut error) = failed.remove(decisive.unwrap_or(failed.len() - 1));
        let (gone, rest): (Vec<_>, Vec<_>) =
            failed.into_iter().partition(|(_, other)| is_gone(&error) && is_gone(other));
        if !gone.is_empty() {
            let places: Vec<String> = gone
                .iter()
                .map(|(index, _)| &self.clients[*index])
                .map(|client| format!("{} ({})", client.url(), client.interface().binding))
                .collect();
            error.message =
                format!("{}; nor can {} be reached", error.message, places.join(" and "));
        }
        for (index, other) in rest {
            let binding = self.clients[index].interface().binding;
            error.message = format!("{}; over {binding}, {}", error.message, other.message);
        }
        error
    }

    /// The preferred interface, then the others in their order.
    fn order(&self, first: usize) -> impl Iterator<Item = usize> {
        std::iter::once(first).chain((0..self.clients.len()).filter(move |index| *index != first))
    }
}

/// Tells whether a question may be asked over another interface: nothing is changed by asking twice.
fn may_ask_elsewhere(error: &ClientError) -> bool {
    error.is_untaken() || error.class == FailureClass::Unavailable
}

/// Tells whether a failure says that the agent speaks another version than it was called in.
fn is_of_another_version(error: &ClientError) -> bool {
    let is_everywhere = matches!(
        error.operation,
        Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::GetTask
            | Operation::CancelTask
    );
    match error.kind {
        Some(ErrorKind::VersionNotSupported) => true,
        Some(ErrorKind::MethodNotFound) => is_everywhere,
        _ => false,
    }
}

/// The same addresses in the versions in which they are not listed, the newest first.
fn guesses<'a>(listed: impl Iterator<Item = &'a Interface>) -> Vec<Interface> {
    let mut guesses = Vec::new();
    let listed: Vec<&Interface> = listed.collect();
    for version in [Version::V1_0, Version::V0_3, Version::V0_1] {
        for interface in &listed {
            let guess = Interface { version: version.to_string(), ..(*interface).clone() };
            let is_listed = listed.iter().any(|one| {
                (&one.url, one.binding) == (&guess.url, guess.binding) && speaks(one, version)
            });
            if !is_listed && interface.binding != Binding::Grpc && !guesses.contains(&guess) {
                guesses.push(guess);
            }
        }
    }
    guesses
}

/// Whether an interface is called as one of this version would be.
fn speaks(interface: &Interface, version: Version) -> bool {
    let own: Option<Version> = interface.version.parse().ok();
    own == Some(version) || own == Some(Version::V0_2) && version == Version::V0_3
}

/// Nobody was there.
fn is_gone(error: &ClientError) -> bool {
    error.delivery == Delivery::NotSent && error.class == FailureClass::Unavailable
}

/// The failure of the interface that answered; its message tells of those before it.
fn after(earlier: &[(usize, ClientError)], error: ClientError) -> ClientError {
    let message = earlier.iter().fold(error.message, |message, (_, earlier)| {
        format!("{message}; before that, {}", earlier.message)
    });
    ClientError { message, ..error }
}
