//! What one call carries.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use reqwest::RequestBuilder;

use super::Secret;
use crate::outbound::Outbound;

/// What a call carries so that the agent lets it in.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    headers: HeaderMap,
    query: Vec<(String, Secret)>,
    /// The client that shows a certificate; `None` for the ordinary one.
    outbound: Option<Outbound>,
    /// The tokens in it, by credential: what is renewed when the agent refuses it.
    tokens: Vec<(usize, Secret)>,
}

impl Proof {
    pub(super) fn add_header(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.append(name, value);
    }

    /// Adds HTTP Basic (RFC 7617), and returns the pair as it is sent.
    pub(super) fn add_basic(&mut self, username: &str, password: &Secret) -> Secret {
        let pair = Secret::new(STANDARD.encode(format!("{username}:{}", password.expose())));
        let value = pair.header("Basic ").expect("base64 is ASCII");
        self.add_header(header::AUTHORIZATION, value);
        pair
    }

    pub(super) fn note_token(&mut self, index: usize, token: Secret) {
        self.tokens.push((index, token));
    }

    pub(super) fn token_of(&self, index: usize) -> Option<Secret> {
        self.tokens.iter().find(|(of, _)| *of == index).map(|(_, token)| token.clone())
    }

    /// Adds a cookie; all of them share one header.
    pub(super) fn add_cookie(&mut self, name: &str, value: &Secret) -> Option<()> {
        let before = self.headers.get(header::COOKIE).and_then(|value| value.to_str().ok());
        let before = before.map(|cookies| format!("{cookies}; ")).unwrap_or_default();
        let cookies = value.header(&format!("{before}{name}="))?;
        self.headers.insert(header::COOKIE, cookies);
        Some(())
    }

    pub(super) fn add_parameter(&mut self, name: &str, value: Secret) {
        self.query.push((name.to_owned(), value));
    }

    pub(super) fn show_certificate(&mut self, outbound: Outbound) {
        self.outbound = Some(outbound);
    }

    /// Tells whether both say the same to the agent.
    pub(super) fn is_same(&self, other: &Proof) -> bool {
        self.headers == other.headers && self.query == other.query
    }

    /// Returns the client that the call goes by.
    pub(crate) fn outbound<'a>(&'a self, ordinary: &'a Outbound) -> &'a Outbound {
        self.outbound.as_ref().unwrap_or(ordinary)
    }

    /// Puts its headers among those of an HTTP request, instead of others of their names: whoever is
    /// asked for one proof cannot tell what two are to mean.
    pub(crate) fn apply_headers(&self, headers: &mut HeaderMap) {
        for name in self.headers.keys() {
            headers.remove(name);
        }
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
    }

    /// Puts its parameters into the URL of an HTTP request.
    pub(crate) fn apply_query(&self, mut builder: RequestBuilder) -> RequestBuilder {
        for (name, value) in &self.query {
            builder = builder.query(&[(name, value.expose())]);
        }
        builder
    }

    /// Puts it into the metadata of a gRPC call, which has no query: a parameter is metadata too.
    pub(crate) fn apply_as_metadata(&self, headers: &mut HeaderMap) {
        self.apply_headers(headers);
        for (name, value) in &self.query {
            let name = HeaderName::try_from(name.as_str());
            if let (Ok(name), Some(value)) = (name, value.header("")) {
                headers.insert(name, value);
            }
        }
    }
}
