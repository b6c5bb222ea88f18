//! Agents that ask for credentials, over real sockets.

mod binding;
mod certificate;
mod exchange;
mod issuer;
mod login;
mod origins;
mod schemes;
mod secrets;
mod tokens;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use futures_util::StreamExt as _;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{AuthError, Credential, Keyring, Method, Origin, Secret, SecretSource, Vault};
use crate::{
    card::Binding,
    client::{Client, ClientError, Interface},
    echo::{Echo, says},
    outbound::{Outbound, Policy},
    server,
    v1::{AgentCard, SecurityRequirement, SecurityScheme, StringList, security_scheme::Scheme},
};

/// How long a test waits for what must come.
const SOON: Duration = Duration::from_secs(20);

/// What arrived at a server: headers and the URI of each request.
type Seen = Arc<Mutex<Vec<(HeaderMap, Uri)>>>;

/// Says whether a request may pass.
type LetsIn = Arc<dyn Fn(&HeaderMap, &Uri) -> bool + Send + Sync>;

/// An agent behind a door.
struct Guarded {
    url: String,
    seen: Seen,
    _guard: DropGuard,
}

#[derive(Clone)]
struct Door {
    seen: Seen,
    lets_in: LetsIn,
}

async fn door(State(door): State<Door>, request: Request, next: Next) -> Response {
    let (headers, uri) = (request.headers().clone(), request.uri().clone());
    let is_in = (door.lets_in)(&headers, &uri);
    door.seen.lock().expect("no test panics in here").push((headers, uri));
    if is_in { next.run(request).await } else { StatusCode::UNAUTHORIZED.into_response() }
}

impl Guarded {
    async fn start(lets_in: impl Fn(&HeaderMap, &Uri) -> bool + Send + Sync + 'static) -> Guarded {
        Guarded::serve(server::router(Arc::new(Echo::default())), lets_in).await
    }

    async fn serve(
        router: Router,
        lets_in: impl Fn(&HeaderMap, &Uri) -> bool + Send + Sync + 'static,
    ) -> Guarded {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (seen, stop) = (Seen::default(), CancellationToken::new());
        let state = Door { seen: seen.clone(), lets_in: Arc::new(lets_in) };
        let router = router.layer(middleware::from_fn_with_state(state, door));
        tokio::spawn(server::serve(listener, router, stop.clone()));
        Guarded { url: format!("http://{address}/"), seen, _guard: stop.drop_guard() }
    }

    /// Lets everybody in, and only looks.
    async fn open() -> Guarded {
        Guarded::start(|_, _| true).await
    }

    fn count(&self) -> usize {
        self.seen.lock().expect("no test panics in here").len()
    }

    fn interface(&self, binding: Binding) -> Interface {
        Interface::of(&server::interface(binding, &self.url)).expect("a known binding")
    }

    fn client(&self, binding: Binding, keyring: &Keyring) -> Client {
        let client = Client::new(outbound(), self.interface(binding)).expect("it can be called");
        client.with_keyring(keyring.clone())
    }

    fn origin(&self) -> Origin {
        self.url.parse().expect("a URL has an origin")
    }

    /// The keyring of these credentials, for this agent alone.
    fn keyring(&self, credentials: Vec<Credential>, card: &AgentCard) -> Keyring {
        let given = (credentials, vec![self.origin()]);
        Keyring::new(&outbound(), "guarded", given, Some(card), Vault::none())
    }
}

fn outbound() -> Outbound {
    Outbound::new(Policy::loopback()).expect("a client can be built")
}

/// A card with these schemes, each of which is enough.
fn card(schemes: Vec<(&str, Scheme)>) -> AgentCard {
    let requirements = schemes.iter().map(|(name, _)| requirement(&[(name, &[])])).collect();
    let schemes = schemes
        .into_iter()
        .map(|(name, scheme)| (name.to_owned(), SecurityScheme { scheme: Some(scheme) }));
    AgentCard {
        security_schemes: schemes.collect(),
        security_requirements: requirements,
        ..AgentCard::default()
    }
}

fn requirement(schemes: &[(&str, &[&str])]) -> SecurityRequirement {
    let list =
        |scopes: &[&str]| StringList { list: scopes.iter().map(ToString::to_string).collect() };
    let schemes = schemes.iter().map(|(name, scopes)| (name.to_string(), list(scopes))).collect();
    SecurityRequirement { schemes }
}

fn credential(method: Method) -> Credential {
    Credential { scheme: None, method }
}

fn value(text: &str) -> SecretSource {
    SecretSource::Value(Secret::new(text))
}

fn has(headers: &HeaderMap, name: header::HeaderName, wanted: &str) -> bool {
    headers.get(name).is_some_and(|value| value == wanted)
}

/// Sends a Message, and another one for a stream.
async fn call(client: &Client) -> Result<(), ClientError> {
    client.send_message(says("hi"), SOON).await?;
    let events = client.send_streaming_message(says("hi"), SOON).await?;
    let events: Vec<_> = events.collect().await;
    events.into_iter().collect::<Result<Vec<_>, _>>().map(drop)
}
