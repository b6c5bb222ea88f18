//! The one guarded client: every HTTP call that leaves Convoke goes through here.
//!
//! A URL that somebody else wrote (in a card, a redirect, a webhook) must not make us call our own
//! network. So an address is judged at the moment of connecting: names go through our resolver,
//! whose every answer is judged, and literal addresses, which skip resolvers, are judged before the
//! request is built. Redirects are followed by hand, each hop judged like a first URL. Proxies of
//! the environment are not used: they would connect where we do not look.

mod address;
mod certificate;
mod fetch;
mod guard;
#[cfg(test)]
mod tests;

use std::{
    error::Error as _,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use reqwest::{Method, RequestBuilder, Response, redirect};
use url::{Host, Url};

pub use address::is_on_this_machine;
pub use fetch::{FetchLimits, Fetched};
pub use guard::Lookup;
pub use ipnet::IpNet as Network;

pub(crate) use fetch::{read as read_fetched, read_capped};

use certificate::Shown;
use guard::{Guard, Unusable};

/// Where Convoke may connect to beyond the public internet.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Allows 127.0.0.0/8 and ::1, for agents on this machine. Default no.
    pub allow_loopback: bool,
    /// Networks the operator allows although they are private or otherwise special. Default none.
    pub allow_networks: Vec<Network>,
    /// How long a connection may take to be made, name look-up and TLS included. Default 10 s.
    pub connect_timeout: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            allow_loopback: false,
            allow_networks: Vec::new(),
            connect_timeout: Duration::from_secs(10),
        }
    }
}

impl Policy {
    /// Creates the policy of a process that itself listens on loopback alone.
    #[must_use]
    pub fn loopback() -> Policy {
        Policy { allow_loopback: true, ..Policy::default() }
    }
}

/// Why a call could not be made or not be finished. Every variant names the URL.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The URL is none that can be called.
    #[error("{url} is not a URL that can be called: {why}")]
    Url {
        /// The URL as given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The address is not on the public internet and not allowed by the policy.
    #[error(
        "{url} leads to {address}, which is a {range} address and not allowed; \
         if it is meant, allow its network in the configuration"
    )]
    Refused {
        /// The URL as given, or the hop of a redirect.
        url: String,
        /// The address it leads to.
        address: IpAddr,
        /// What kind of address that is.
        range: &'static str,
    },
    /// The host's name has no address.
    #[error("{url} cannot be reached: the name {host} was not resolved ({why})")]
    Unresolved {
        /// The URL.
        url: String,
        /// The name.
        host: String,
        /// What the resolver said.
        why: String,
    },
    /// No connection came about, so nothing was sent.
    #[error("{url} cannot be reached: {why}; is it running, and is the address right?")]
    Connect {
        /// The URL.
        url: String,
        /// The deepest cause.
        why: String,
    },
    /// The deadline passed.
    #[error("{url} did not answer within {after:?}")]
    Timeout {
        /// The URL.
        url: String,
        /// The deadline.
        after: Duration,
    },
    /// The answer is larger than the cap.
    #[error("the answer of {url} is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The URL.
        url: String,
        /// The cap, in bytes.
        limit_bytes: usize,
    },
    /// Redirects led on and on.
    #[error("{url} was redirected more than {limit} times, last to {last}")]
    TooManyRedirects {
        /// The first URL.
        url: String,
        /// How many were allowed.
        limit: usize,
        /// Where the last one pointed.
        last: String,
    },
    /// A redirect that cannot be followed.
    #[error("{url} redirects in a way that cannot be followed: {why}")]
    Redirect {
        /// The URL that redirects.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The connection broke after something was sent.
    #[error("the connection to {url} broke: {why}")]
    Broken {
        /// The URL.
        url: String,
        /// The deepest cause.
        why: String,
    },
    /// The client could not be set up.
    #[error("the HTTP client could not be set up: {why}")]
    Setup {
        /// The cause.
        why: String,
    },
}

impl OutboundError {
    /// Tells whether the reason is on this side and not with who was to be called.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(self, OutboundError::Refused { .. } | OutboundError::Setup { .. })
    }
}

/// The guarded HTTP client. Cheap to clone; clones share one connection pool.
#[derive(Clone, Debug)]
pub struct Outbound {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    policy: Arc<Policy>,
    guard: Arc<Guard>,
    /// Knows no certificates and never needs any.
    plain: reqwest::Client,
    /// What https servers are shown.
    certificate: Option<Shown>,
    /// Reads the machine's root certificates, which takes longer than many a run on loopback: made
    /// at the first https URL.
    secure: OnceLock<Made>,
    /// For gRPC, which speaks HTTP/2 from the first byte on: h2c for http, ALPN `h2` for https.
    plain_http2: OnceLock<Made>,
    secure_http2: OnceLock<Made>,
}

/// A client made at its first use.
type Made = Result<reqwest::Client, String>;

impl Outbound {
    /// Creates a client that connects only where the policy allows.
    ///
    /// # Errors
    /// [`OutboundError::Setup`] when the HTTP client cannot be set up.
    pub fn new(policy: Policy) -> Result<Outbound, OutboundError> {
        Outbound::with_lookup(policy, guard::system_lookup())
    }

    /// Creates a client as [`Outbound::new`] does that asks another resolver than the machine's. Its
    /// answers are judged like those of the machine.
    ///
    /// # Errors
    /// As [`Outbound::new`].
    pub fn with_lookup(policy: Policy, lookup: Lookup) -> Result<Outbound, OutboundError> {
        let policy = Arc::new(policy);
        let guard = Arc::new(Guard::new(policy.clone(), lookup));
        let plain = without_certificates(builder(&policy, &guard))
            .map_err(|why| OutboundError::Setup { why })?;
        let cell = OnceLock::new;
        let (secure, plain_http2, secure_http2) = (cell(), cell(), cell());
        let certificate = None;
        let shared =
            Shared { policy, guard, plain, certificate, secure, plain_http2, secure_http2 };
        Ok(Outbound { shared: Arc::new(shared) })
    }

    /// Returns the HTTP client for a URL's scheme.
    fn http(&self, url: &Url) -> Result<&reqwest::Client, OutboundError> {
        let shared = &*self.shared;
        if url.scheme() == "http" {
            return Ok(&shared.plain);
        }
        ready(shared.secure.get_or_init(|| built(shared.builder())))
    }

    /// Returns the client for a URL's scheme that speaks HTTP/2 alone.
    fn http2(&self, url: &Url) -> Result<&reqwest::Client, OutboundError> {
        let shared = &*self.shared;
        let builder = || shared.builder().http2_prior_knowledge();
        ready(if url.scheme() == "http" {
            shared.plain_http2.get_or_init(|| without_certificates(builder()))
        } else {
            shared.secure_http2.get_or_init(|| built(builder()))
        })
    }

    /// Makes a client that connects where this one does, but not to this machine: for what somebody
    /// elsewhere points at.
    ///
    /// # Errors
    /// As [`Outbound::new`].
    pub fn beyond_this_machine(&self) -> Result<Outbound, OutboundError> {
        let policy = Policy { allow_loopback: false, ..self.policy().clone() };
        Outbound::new(policy)
    }

    /// Returns the policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.shared.policy
    }

    /// Parses a URL and judges what can be judged without a look-up: scheme, credentials, and a
    /// literal address.
    ///
    /// # Errors
    /// [`OutboundError::Url`] and [`OutboundError::Refused`].
    pub fn check(&self, url: &str) -> Result<Url, OutboundError> {
        let bad = |why: String| OutboundError::Url { url: url.to_owned(), why };
        let parsed = Url::parse(url).map_err(|error| bad(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(bad(format!("its scheme is {}, not http or https", parsed.scheme())));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(OutboundError::Url {
                url: without_credentials(parsed),
                why: "it holds credentials".to_owned(),
            });
        }
        let literal = match parsed.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        };
        match literal.and_then(|address| Some((address, self.shared.policy.refusal(address)?))) {
            Some((address, range)) => {
                Err(OutboundError::Refused { url: url.to_owned(), address, range })
            }
            None => Ok(parsed),
        }
    }

    /// Begins a request to a URL that [`Outbound::check`] let pass. It follows no redirects and has
    /// no deadline yet: set one on the builder, or around [`Outbound::send`] for a stream.
    ///
    /// # Errors
    /// As [`Outbound::check`], which is asked again, and [`OutboundError::Setup`] when the machine
    /// has no root certificates for an https URL.
    pub fn request(&self, method: Method, url: &Url) -> Result<RequestBuilder, OutboundError> {
        let url = self.check(url.as_str())?;
        Ok(self.http(&url)?.request(method, url))
    }

    /// Sends a request over HTTP/2 alone, as gRPC needs it, and returns its answer's head; its body
    /// carries the trailers. The same guard judges it; errors name `url`.
    ///
    /// # Errors
    /// As [`Outbound::request`] and [`Outbound::send`].
    pub(crate) async fn send_http2(
        &self,
        url: &Url,
        request: http::Request<Bytes>,
    ) -> Result<Response, OutboundError> {
        let bad = |error: reqwest::Error| OutboundError::Url {
            url: url.to_string(),
            why: deepest(&error),
        };
        let request = reqwest::Request::try_from(request).map_err(bad)?;
        let target = self.check(request.url().as_str())?;
        let sent = self.http2(&target)?.execute(request).await;
        sent.map_err(|error| self.failure(url, &error))
    }

    /// Sends a request and returns its answer's head. Dropping the future gives the request up.
    ///
    /// # Errors
    /// [`OutboundError::Connect`], [`OutboundError::Unresolved`] and [`OutboundError::Refused`] before
    /// anything was sent; [`OutboundError::Timeout`] and [`OutboundError::Broken`] at any time.
    pub async fn send(
        &self,
        url: &Url,
        request: RequestBuilder,
    ) -> Result<Response, OutboundError> {
        request.send().await.map_err(|error| self.failure(url, &error))
    }

    /// Says what a failed request means.
    fn failure(&self, url: &Url, error: &reqwest::Error) -> OutboundError {
        let url = url.to_string();
        if let Some(unusable) = Unusable::behind(error) {
            return unusable.into_error(url);
        }
        let why = deepest(error);
        match error {
            _ if error.is_connect() && error.is_timeout() => OutboundError::Connect {
                url,
                why: format!("no connection within {:?}", self.shared.policy.connect_timeout),
            },
            _ if error.is_connect() => OutboundError::Connect { url, why },
            _ => OutboundError::Broken { url, why },
        }
    }
}

impl Shared {
    fn builder(&self) -> reqwest::ClientBuilder {
        let builder = builder(&self.policy, &self.guard);
        match &self.certificate {
            Some(shown) => shown.apply(builder),
            None => builder,
        }
    }
}

fn without_certificates(builder: reqwest::ClientBuilder) -> Made {
    built(builder.tls_certs_only([]))
}

fn built(builder: reqwest::ClientBuilder) -> Made {
    builder.build().map_err(|error| deepest(&error))
}

fn ready(made: &Made) -> Result<&reqwest::Client, OutboundError> {
    made.as_ref().map_err(|why| OutboundError::Setup { why: why.clone() })
}

/// How long a connection without requests is kept: shorter than common servers keep theirs (uvicorn and
/// Node 5 s), for what is sent on a connection that is being closed there may or may not be received.
const IDLE: Duration = Duration::from_secs(4);

fn builder(policy: &Policy, guard: &Arc<Guard>) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(guard.clone())
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(policy.connect_timeout)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
}

/// Returns the deepest cause of an error: reqwest's own words say little.
pub(crate) fn deepest(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    if error.source().is_some() {
        return cause.to_string();
    }
    // The URL of its own words may hold a key as a parameter.
    let said = error.to_string();
    match error.url().filter(|url| url.query().is_some()) {
        Some(url) => said.replace(url.as_str(), &without_query(url)),
        None => said,
    }
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

/// An error must not repeat a password.
fn without_credentials(mut url: Url) -> String {
    let is_stripped = url.set_username("").is_ok() && url.set_password(None).is_ok();
    if is_stripped { url.to_string() } else { "the URL".to_owned() }
}
