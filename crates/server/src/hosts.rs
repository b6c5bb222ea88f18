//! Which hosts the server answers for.
//!
//! A server on loopback trusts whoever is on this machine, and a browser is: a page of a stranger can have its own
//! name resolve to 127.0.0.1 and then talk to the server as if it were its own (DNS rebinding). The name it used
//! stands in the request, so requests that name another host are refused.

use std::{collections::BTreeSet, net::IpAddr, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header, uri::Authority},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};

/// The hosts that requests may name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(BTreeSet<String>);

impl Hosts {
    /// Loopback, and these: names or addresses, without a port. Upper and lower case are the same.
    #[must_use]
    pub fn new<'a>(further: impl IntoIterator<Item = &'a str>) -> Self {
        Self(further.into_iter().map(bare).collect())
    }

    /// Adds the host of a URL.
    #[must_use]
    pub fn with_url(mut self, url: &str) -> Self {
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        if let Ok(authority) = authority.parse::<Authority>() {
            self.0.insert(bare(authority.host()));
        }
        self
    }

    /// Whether a request may name it. An address of loopback cannot be made to mean another place.
    fn holds(&self, host: &str) -> bool {
        let host = bare(host);
        let is_loopback =
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
        is_loopback || self.0.contains(&host)
    }
}

/// A host as it is compared: without brackets, without the dot that ends a full name, in lower case.
fn bare(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Lets a router answer for these hosts only.
pub(crate) fn guard(router: Router, hosts: Hosts) -> Router {
    router.layer(middleware::from_fn_with_state(Arc::new(hosts), check))
}

async fn check(State(hosts): State<Arc<Hosts>>, request: Request, next: Next) -> Response {
    match named(&request) {
        Some(host) if hosts.holds(&host) => next.run(request).await,
        host => refusal(host.as_deref()),
    }
}

/// The host that a request names: in its target (HTTP/2, gRPC), else in its `Host` header; both have to agree.
fn named(request: &Request<Body>) -> Option<String> {
    let header = match request.headers().get(header::HOST) {
        Some(value) => Some(value.to_str().ok()?.parse::<Authority>().ok()?.host().to_owned()),
        None => None,
    };
    let target = request.uri().host().map(str::to_owned);
    match (target, header) {
        (Some(target), Some(header)) => (bare(&target) == bare(&header)).then_some(target),
        (target, header) => target.or(header),
    }
}

fn refusal(host: Option<&str>) -> Response {
    let host = match host {
        Some(host) => format!("the host {host:?}"),
        None => "a request that names no host, or two".to_owned(),
    };
    let text = format!(
        "this server does not answer for {host}: it listens on this machine only, so that a page in a browser could \
         reach it under a name of its own. Call it as localhost or 127.0.0.1, or let its operator add the name to \
         `allowed_hosts`\n"
    );
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str, host: Option<&str>) -> Request<Body> {
        let mut request = Request::builder().uri(target);
        if let Some(host) = host {
            request = request.header(header::HOST, host);
        }
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn loopback_and_what_is_allowed_is_answered_for() {
        let hosts =
            Hosts::new(["Agents.Example.com"]).with_url("https://Convoke.example.org:8443/x");
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "127.0.0.1",
            "127.0.0.2",
            "[::1]",
            "::1",
            "agents.example.com",
            "convoke.example.org",
        ] {
            assert!(hosts.holds(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "0.0.0.0",
            "",
            "127.0.0.1.nip.io",
        ] {
            assert!(!hosts.holds(host), "{host}");
        }
    }

    #[test]
    fn the_host_is_what_target_and_header_say_together() {
        let named = |target, host| named(&request(target, host));
        assert_eq!(named("/", Some("a.example:8100")).as_deref(), Some("a.example"));
        assert_eq!(named("/", Some("[::1]:8100")).as_deref(), Some("[::1]"));
        assert_eq!(named("http://b.example/", None).as_deref(), Some("b.example"));
        assert_eq!(named("http://b.example/", Some("B.example")).as_deref(), Some("b.example"));
        assert_eq!(named("http://localhost/", Some("evil.example")), None);
        assert_eq!(named("/", None), None);
        assert_eq!(named("/", Some("a b")), None);
    }
}
