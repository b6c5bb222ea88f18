//! An agent that a person names on the command line, and how it is called.

use std::{sync::Arc, time::Duration};

use anstream::eprintln;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use protocol::{
    auth::{Keyring, SecretSource},
    card,
    client::{ClientError, FailureClass, Interface, Peer},
    limits::ClientLimits,
    outbound::{Outbound, Policy, is_on_this_machine},
    v1::AgentCard,
};
use url::{Origin, Url};

use crate::{
    args::{AgentArgs, Args, CallArgs},
    content::clean,
    failure::Failure,
    output::DIM,
    place::{self, Place},
};

/// What every call says itself, so that nobody else may.
const OURS: [&str; 10] = [
    "a2a-extensions",
    "a2a-version",
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// An agent that was found, by all the interfaces that may be called.
pub(crate) struct Agent {
    /// As it was typed.
    pub(crate) name: String,
    /// As it is typed in a command that goes on with this one.
    pub(crate) again: String,
    pub(crate) peer: Peer,
    /// How long to wait for an answer.
    pub(crate) timeout: Duration,
}

/// Where a card came from.
struct Found {
    card: Arc<AgentCard>,
    /// What the directory has for the agent.
    keyring: Option<Keyring>,
    /// What the person, or the curator of the directory, has named.
    named: Vec<Origin>,
}

/// Finds the agent of a URL, its card's or its host's, or of a name in the directory.
pub(crate) async fn find(args: &Args, named: &AgentArgs) -> Result<Agent, Failure> {
    let (name, call) = (&named.agent, &named.call);
    let (outbound, headers) = (place::outbound()?, with_bearer(call).await?);
    let extensions = extensions(&call.extensions)?;
    let mut found = if name.contains("://") {
        by_url(args, &outbound, name, &headers).await?
    } else {
        by_name(args, name).await?
    };
    let interfaces = interfaces(name, &found.card, call)?;
    found.named.extend(call.interface.iter().filter_map(|_| origin(&interfaces[0].address())));
    let peer = Peer::new(&outbound, interfaces, ClientLimits::default())
        .map_err(|error| Failure::unavailable(format!("{name}: {error}")))?;
    let is_named = |interface: &Interface| {
        origin(&interface.address()).is_some_and(|origin| found.named.contains(&origin))
    };
    if !headers.is_empty() {
        let flag = if call.headers.is_empty() { "--bearer-env" } else { "--header" };
        for strange in peer.interfaces().filter(|interface| !is_named(interface)) {
            let url = clean(&strange.url);
            eprintln!(
                "{DIM}{flag} does not go to {url}, which is elsewhere than the URL typed; \
                 if it is meant, add --interface {url}{DIM:#}"
            );
        }
    }
    let mut peer = peer.with_extensions(&extensions).with_headers(&headers, is_named);
    // Who types an authorization does not mean the other one.
    if let Some(keyring) = found.keyring.filter(|_| !headers.contains_key(header::AUTHORIZATION)) {
        peer = peer.with_keyring(&keyring);
    }
    Ok(Agent { name: name.clone(), again: again(name, call), peer, timeout: call.timeout })
}

impl Agent {
    /// The guarded client for files that the agent names. One that is not on this machine cannot make
    /// us ask this machine.
    pub(crate) fn outbound(&self) -> Result<Outbound, Failure> {
        let is_near = is_on_this_machine(self.peer.preferred().url());
        let policy = if is_near { Policy::loopback() } else { Policy::default() };
        Outbound::new(policy).map_err(Failure::unavailable)
    }
}

/// The agent and what chooses its interface, for a command to come.
fn again(name: &str, call: &CallArgs) -> String {
    let binding = call.binding.map(|it| it.name().to_ascii_lowercase());
    let flags = [
        ("--interface", call.interface.as_ref()),
        ("--binding", binding.as_ref()),
        ("--tenant", call.tenant.as_ref()),
    ];
    let given = flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", value?)));
    format!("{name}{}", given.collect::<String>())
}

/// An agent that the directory has credentials for is called as the directory knows it; any other one, by its card
/// as it is now.
async fn by_url(
    args: &Args,
    outbound: &Outbound,
    url: &str,
    headers: &HeaderMap,
) -> Result<Found, Failure> {
    let named = origin(url).into_iter().collect();
    if !headers.contains_key(header::AUTHORIZATION)
        && let Some(place) = Place::look_if_there(args).await?
        && let Some((agent, keyring)) = place.keyrings().await?.by_url(url)
    {
        return Ok(Found { card: Arc::clone(&agent.card), keyring: Some(keyring), named });
    }
    let fetched = card::fetch_with_headers(outbound, url, headers).await;
    let fetched = fetched.map_err(Failure::unavailable)?;
    Ok(Found { card: Arc::new(fetched.card), keyring: None, named })
}

async fn by_name(args: &Args, name: &str) -> Result<Found, Failure> {
    let keyrings = Place::look(args).await?.keyrings().await?;
    let (agent, keyring) = keyrings.by_name(name).map_err(|error| {
        Failure::usage(format!("{error}\nAn address begins with https:// or http://."))
    })?;
    let named = match origin(&agent.url) {
        Some(origin) => vec![origin],
        // The card itself was handed in.
        None => card::interfaces_spoken(&agent.card)
            .into_iter()
            .filter_map(|interface| origin(&Interface::of(interface)?.address()))
            .collect(),
    };
    Ok(Found { card: Arc::clone(&agent.card), keyring: Some(keyring), named })
}

fn origin(url: &str) -> Option<Origin> {
    Url::parse(url).ok().map(|url| url.origin())
}

/// The interfaces that may be called, in the card's order, all of one tenant: a Task is known to its
/// tenant alone (A2A §4.4.6).
fn interfaces(name: &str, card: &AgentCard, call: &CallArgs) -> Result<Vec<Interface>, Failure> {
    let spoken = card::interfaces_spoken(card);
    let mut interfaces: Vec<Interface> = spoken.into_iter().filter_map(Interface::of).collect();
    let listed = interfaces.clone();
    interfaces.retain(|interface| {
        call.binding.is_none_or(|binding| interface.binding == binding)
            && call.interface.as_ref().is_none_or(|url| is_same(url, &interface.url))
    });
    if interfaces.is_empty() {
        match (&call.interface, call.binding) {
            (Some(url), Some(binding)) => interfaces.push(Interface {
                url: url.clone(),
                binding,
                tenant: String::new(),
                version: card::VERSION.to_owned(),
            }),
            // Whoever is to call one of them says what is missing.
            (None, None) => return Ok(Vec::new()),
            _ => return Err(unlisted(name, call, &listed)),
        }
    }
    let tenant = call.tenant.clone().unwrap_or_else(|| interfaces[0].tenant.clone());
    match call.tenant {
        Some(_) => interfaces.iter_mut().for_each(|it| it.tenant.clone_from(&tenant)),
        None => interfaces.retain(|it| it.tenant == tenant),
    }
    Ok(interfaces)
}

fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn unlisted(name: &str, call: &CallArgs, listed: &[Interface]) -> Failure {
    let (wanted, advice) = match (&call.interface, call.binding) {
        (Some(url), _) => (format!("at {url}"), "; to call it all the same, add --binding"),
        (None, binding) => {
            (format!("by {}", binding.map_or("any binding", card::Binding::name)), "")
        }
    };
    let listed: Vec<String> =
        listed.iter().map(|it| format!("\n  {} ({})", it.url, it.binding)).collect();
    let has =
        if listed.is_empty() { "\n  nothing spoken here".to_owned() } else { listed.concat() };
    Failure::usage(format!(
        "the card of {name} lists no interface {wanted}{advice}. It lists:{has}"
    ))
}

/// The headers as typed, and the bearer token among them.
async fn with_bearer(call: &CallArgs) -> Result<HeaderMap, Failure> {
    let mut headers = headers(&call.headers)?;
    let Some(variable) = &call.bearer_env else { return Ok(headers) };
    let wrong = |why: &str| Failure::usage(format!("--bearer-env {variable}: {why}"));
    if headers.contains_key(header::AUTHORIZATION) {
        return Err(wrong("--header gives an authorization as well; leave one of them out"));
    }
    let token = SecretSource::Env(variable.clone()).read().await.map_err(Failure::usage)?;
    let value = HeaderValue::try_from(format!("Bearer {}", token.expose()));
    let mut value = value.map_err(|_| wrong("its value cannot stand in a header"))?;
    value.set_sensitive(true);
    headers.insert(header::AUTHORIZATION, value);
    Ok(headers)
}

/// The headers as typed. What is wrong with one is said without it: it may be a secret.
pub(crate) fn headers(typed: &[String]) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for header in typed {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            Failure::usage("a --header is not of the form NAME:VALUE, as in `X-Api-Key: secret`")
        })?;
        let name = name.trim();
        let wrong = |why: &str| Failure::usage(format!("--header {name}: {why}"));
        let key: HeaderName = name
            .parse()
            .map_err(|_| Failure::usage("a --header has no usable name before its colon"))?;
        if OURS.contains(&key.as_str()) {
            return Err(wrong("every call sets it itself; --extension asks for extensions"));
        }
        let mut value: HeaderValue =
            value.trim().parse().map_err(|_| wrong("its value cannot stand in a header"))?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

fn extensions(typed: &[String]) -> Result<Vec<&str>, Failure> {
    let is_usable = |uri: &&String| {
        !uri.is_empty() && !uri.contains([',', ' ']) && HeaderValue::from_str(uri).is_ok()
    };
    match typed.iter().find(|uri| !is_usable(uri)) {
        Some(wrong) => Err(Failure::usage(format!("--extension `{wrong}` is no URI"))),
        None => Ok(typed.iter().map(String::as_str).collect()),
    }
}

/// What the agent refuses is the work's failure; only what may pass is that it is not there.
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error.class {
            FailureClass::Unavailable | FailureClass::Timeout | FailureClass::RateLimited => {
                let wait = error.retry_after.map(|after| format!(" (it asks for {after:?})"));
                Self::unavailable(format!("{error}{}", wait.unwrap_or_default()))
            }
            _ => Self::work(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::v1::AgentInterface;

    use super::*;

    fn call() -> CallArgs {
        CallArgs::with_headers(Vec::new())
    }

    fn agent_card() -> AgentCard {
        let interface = |binding: &str, url: &str, tenant: &str| AgentInterface {
            url: url.to_owned(),
            protocol_binding: binding.to_owned(),
            tenant: tenant.to_owned(),
            protocol_version: "1.0".to_owned(),
        };
        let supported_interfaces = vec![
            interface("GRPC", "a.test:443", ""),
            interface("JSONRPC", "https://a.test/", ""),
            interface("HTTP+JSON", "https://a.test/x", "t"),
        ];
        AgentCard { supported_interfaces, ..AgentCard::default() }
    }

    fn chosen(call: &CallArgs) -> Result<Vec<String>, String> {
        let chosen = interfaces("x", &agent_card(), call).map_err(|error| error.to_string())?;
        Ok(chosen.iter().map(|it| format!("{} {} {}", it.binding, it.url, it.tenant)).collect())
    }

    #[test]
    fn the_cards_order_counts_and_one_tenant_is_kept_to() {
        assert_eq!(chosen(&call()).unwrap(), ["GRPC a.test:443 ", "JSONRPC https://a.test/ "]);
        let tenant = CallArgs { tenant: Some("me".to_owned()), ..call() };
        assert_eq!(
            chosen(&tenant).unwrap(),
            ["GRPC a.test:443 me", "JSONRPC https://a.test/ me", "HTTP+JSON https://a.test/x me"]
        );
    }

    #[test]
    fn a_binding_and_an_address_choose() {
        let binding = CallArgs { binding: Some(card::Binding::HttpJson), ..call() };
        assert_eq!(chosen(&binding).unwrap(), ["HTTP+JSON https://a.test/x t"]);
        let at = |url: &str| Some(url.to_owned());
        let address = CallArgs { interface: at("https://a.test"), ..call() };
        assert_eq!(chosen(&address).unwrap(), ["JSONRPC https://a.test/ "]);
        let own = CallArgs { interface: at("https://b.test"), ..binding };
        assert_eq!(chosen(&own).unwrap(), ["HTTP+JSON https://b.test "]);
        let strange = CallArgs { interface: at("https://b.test"), ..call() };
        insta::assert_snapshot!(chosen(&strange).unwrap_err(), @r"
        the card of x lists no interface at https://b.test; to call it all the same, add --binding. It lists:
          a.test:443 (GRPC)
          https://a.test/ (JSONRPC)
          https://a.test/x (HTTP+JSON)
        ");
    }

    #[test]
    fn a_card_without_an_interface_spoken_here_leaves_none() {
        let none = interfaces("x", &AgentCard::default(), &call());
        assert_eq!(none.map_err(|error| error.to_string()), Ok(Vec::new()));
        let wanted = CallArgs { binding: Some(card::Binding::Grpc), ..call() };
        let none = interfaces("x", &AgentCard::default(), &wanted).unwrap_err().to_string();
        insta::assert_snapshot!(none, @r"
        the card of x lists no interface by GRPC. It lists:
          nothing spoken here
        ");
    }

    #[test]
    fn a_command_to_come_calls_the_same_interface() {
        assert_eq!(again("x", &call()), "x");
        let chosen = CallArgs {
            binding: Some(card::Binding::HttpJson),
            interface: Some("https://a.test".to_owned()),
            tenant: Some("me".to_owned()),
            ..call()
        };
        assert_eq!(
            again("x", &chosen),
            "x --interface https://a.test --binding http+json --tenant me"
        );
    }

    #[test]
    fn a_wrong_header_is_named_and_its_value_is_not_repeated() {
        for (typed, said) in [
            ("secret", "a --header is not of the form NAME:VALUE, as in `X-Api-Key: secret`"),
            ("s e:secret", "a --header has no usable name before its colon"),
            ("X-Key: se\ncret", "--header X-Key: its value cannot stand in a header"),
            (
                "A2A-Version: 0.3",
                "--header A2A-Version: every call sets it itself; --extension asks for extensions",
            ),
        ] {
            assert_eq!(headers(&[typed.to_owned()]).unwrap_err().to_string(), said);
        }
        let right = headers(&["X-Key: a:b ".to_owned()]).unwrap();
        assert_eq!(right["x-key"], "a:b");
        assert!(right["x-key"].is_sensitive());
    }
}
