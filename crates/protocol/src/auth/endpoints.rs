//! Authorization servers: where their endpoints are, and what they answer.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, header};
use reqwest::Method as Verb;
use serde::{Deserialize, de::DeserializeOwned};
use url::{Url, form_urlencoded};

use super::{
    AuthError, Flow, Hidden, OAuthClient, Origin, Secret,
    keyring::{Inner, Role},
    scheme::Use,
};
use crate::{
    outbound::{FetchLimits, OutboundError, read_capped},
    v1::{o_auth_flows::Flow as CardFlow, security_scheme::Scheme},
};

/// How long an authorization server may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How large its answers may be.
const MAX_BYTES: usize = 256 * 1024;

/// Where tokens come from, every URL approved.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    pub(super) flow: Flow,
    pub(super) token: Url,
    pub(super) refresh: Url,
    pub(super) device: Option<Url>,
    pub(super) authorize: Option<Url>,
    /// Whether the secret goes into the body, as some servers want it, and not into the header.
    posts_secret: bool,
}

impl Endpoints {
    /// A token endpoint and nothing else.
    pub(super) fn at(token: Url) -> Endpoints {
        Endpoints {
            flow: Flow::ClientCredentials,
            refresh: token.clone(),
            token,
            device: None,
            authorize: None,
            posts_secret: false,
        }
    }
}

/// What a server says of itself (OpenID Connect Discovery §3, RFC 8414 §2).
#[derive(Debug, Deserialize)]
struct Metadata {
    issuer: Option<String>,
    token_endpoint: Option<String>,
    authorization_endpoint: Option<String>,
    device_authorization_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

/// How a server refuses (RFC 6749 §5.2).
#[derive(Debug, Deserialize)]
struct Refusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Inner {
    /// Finds the endpoints for a use of a client.
    pub(super) async fn endpoints(
        &self,
        used: &Use,
        client: &OAuthClient,
    ) -> Result<Endpoints, AuthError> {
        if let Some(Scheme::Oauth2SecurityScheme(scheme)) = &used.scheme {
            let flow = scheme.flows.as_ref().and_then(|flows| flows.flow.as_ref());
            if let Some(found) = flow.and_then(|flow| self.of_card(client, flow)) {
                return found;
            }
            if !scheme.oauth2_metadata_url.is_empty() {
                return self
                    .discovered(client, std::slice::from_ref(&scheme.oauth2_metadata_url))
                    .await;
            }
        }
        if let Some(Scheme::OpenIdConnectSecurityScheme(scheme)) = &used.scheme {
            return self
                .discovered(client, std::slice::from_ref(&scheme.open_id_connect_url))
                .await;
        }
        match &client.issuer {
            Some(issuer) => self.discovered(client, &well_known(issuer.url())).await,
            None => {
                Err(self.unusable("its card names no authorization server; write its `issuer`"))
            }
        }
    }

    /// What the card's own flow says; `None` for a flow that is not done.
    fn of_card(
        &self,
        client: &OAuthClient,
        flow: &CardFlow,
    ) -> Option<Result<Endpoints, AuthError>> {
        let (flow, token, refresh, device, authorize) = match flow {
            CardFlow::ClientCredentials(it) => {
                (Flow::ClientCredentials, &it.token_url, &it.refresh_url, None, None)
            }
            CardFlow::DeviceCode(it) => {
                let device = Some(&it.device_authorization_url);
                (Flow::DeviceCode, &it.token_url, &it.refresh_url, device, None)
            }
            CardFlow::AuthorizationCode(it) => {
                let authorize = Some(&it.authorization_url);
                (Flow::AuthorizationCode, &it.token_url, &it.refresh_url, None, authorize)
            }
            // Implicit and password are out of use (RFC 9700).
            _ => return None,
        };
        let admit = |url: &String| self.admit(client, url, false);
        Some((|| {
            let token = admit(token)?;
            Ok(Endpoints {
                flow,
                refresh: if refresh.is_empty() { token.clone() } else { admit(refresh)? },
                token,
                device: device.map(admit).transpose()?,
                authorize: authorize.map(admit).transpose()?,
                posts_secret: false,
            })
        })())
    }

    /// Reads the first of some documents that is there.
    async fn discovered(
        &self,
        client: &OAuthClient,
        places: &[String],
    ) -> Result<Endpoints, AuthError> {
        let mut last = None;
        for place in places {
            let place = self.admit(client, place, false)?;
            match self.metadata(&place).await {
                Ok(metadata) => return self.of_metadata(client, &place, &metadata),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| self.unusable("its card names no authorization server")))
    }

    async fn metadata(&self, place: &Url) -> Result<Metadata, AuthError> {
        let limits = FetchLimits { max_bytes: MAX_BYTES, timeout: TIMEOUT, ..Default::default() };
        let fetched = self.outbound.fetch(place.as_str(), limits).await;
        let fetched = fetched.map_err(|error| self.unreachable(error))?;
        if fetched.url.origin() != place.origin() {
            return Err(self.unusable(&format!("{place} is redirected to {}", fetched.url)));
        }
        if !fetched.status.is_success() {
            let said = format!("HTTP {}", fetched.status);
            return Err(self.refused(place, said, String::new(), is_passing(fetched.status)));
        }
        self.parse(place, &fetched.body)
    }

    fn of_metadata(
        &self,
        client: &OAuthClient,
        place: &Url,
        metadata: &Metadata,
    ) -> Result<Endpoints, AuthError> {
        let here = Origin::of(place).ok();
        let issuer = metadata.issuer.as_deref().map(str::parse::<Origin>);
        if issuer.is_some_and(|issuer| issuer.ok() != here) {
            return Err(self.unusable(&format!("{place} is about another authorization server")));
        }
        let is_vouched =
            client.issuer.as_ref().is_some_and(|issuer| issuer.url().origin() == place.origin());
        let admit = |url: &String| self.admit(client, url, is_vouched);
        let Some(token) = &metadata.token_endpoint else {
            return Err(self.unusable(&format!("{place} names no token endpoint")));
        };
        let token = admit(token)?;
        let methods = &metadata.token_endpoint_auth_methods_supported;
        let has = |name: &str| methods.iter().any(|method| method == name);
        Ok(Endpoints {
            flow: client.flow.unwrap_or(Flow::ClientCredentials),
            refresh: token.clone(),
            token,
            device: metadata.device_authorization_endpoint.as_ref().map(admit).transpose()?,
            authorize: metadata.authorization_endpoint.as_ref().map(admit).transpose()?,
            posts_secret: has("client_secret_post") && !has("client_secret_basic"),
        })
    }

    /// Lets only servers pass that the operator approved: an agent's origin, the issuer's, and, when
    /// the issuer itself says so, others, which then are no less protected than it is.
    fn admit(&self, client: &OAuthClient, url: &str, is_vouched: bool) -> Result<Url, AuthError> {
        let url = self.outbound.check(url).map_err(|error| self.unusable(&error.to_string()))?;
        let origin = Origin::of(&url).map_err(|error| self.unusable(&error.to_string()))?;
        let issuer = client.issuer.as_ref().and_then(|issuer| Origin::of(issuer.url()).ok());
        let is_protected =
            issuer.as_ref().is_some_and(|issuer| origin.is_https() || !issuer.is_https());
        let is_approved = self.origins.contains(&origin)
            || issuer.as_ref() == Some(&origin)
            || (is_vouched && is_protected);
        if is_approved {
            return Ok(url);
        }
        Err(AuthError::Server { agent: self.agent.clone(), origin: origin.to_string() })
    }

    /// Asks an endpoint as the client, and reads its answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        (used, client): (&Use, &OAuthClient),
        endpoints: &Endpoints,
        url: &Url,
        form: &[(&str, &str)],
    ) -> Result<T, AuthError> {
        let secret = match &client.client_secret {
            Some(source) => Some(self.secret(used.index, Role::ClientSecret, source).await?),
            None => None,
        };
        let answer = self.post(client, secret.as_ref(), endpoints, url, form);
        let answer = tokio::time::timeout(TIMEOUT, answer).await;
        answer.unwrap_or_else(|_| {
            let url = url.to_string();
            Err(self.unreachable(OutboundError::Timeout { url, after: TIMEOUT }))
        })
    }

    async fn post<T: DeserializeOwned>(
        &self,
        client: &OAuthClient,
        secret: Option<&Secret>,
        endpoints: &Endpoints,
        url: &Url,
        form: &[(&str, &str)],
    ) -> Result<T, AuthError> {
        let builder =
            self.outbound.request(Verb::POST, url).map_err(|error| self.unreachable(error))?;
        let mut builder = builder
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json");
        let in_header = secret.filter(|_| !endpoints.posts_secret);
        if let Some(secret) = in_header {
            builder = builder.header(header::AUTHORIZATION, basic(&client.client_id, secret));
        }
        let itself = match (in_header, secret) {
            (Some(_), _) => vec![],
            (None, Some(secret)) => {
                vec![("client_id", &*client.client_id), ("client_secret", secret.expose())]
            }
            (None, None) => vec![("client_id", &*client.client_id)],
        };
        let body = body_of(form.iter().copied().chain(itself));
        let sent = self.outbound.send(url, builder.body(body)).await;
        let response = sent.map_err(|error| self.unreachable(error))?;
        let status = response.status();
        let body = read_capped(url, response, MAX_BYTES).await;
        let body = body.map_err(|error| self.unreachable(error))?;
        if status.is_success() {
            return self.parse(url, &body);
        }
        let body = Hidden::new(self.shown.secrets()).body(body);
        let (said, code) = match serde_json::from_slice::<Refusal>(&body) {
            Ok(Refusal { error, error_description: said }) if said.is_empty() => {
                (error.clone(), error)
            }
            Ok(Refusal { error, error_description: said }) => (format!("{error}: {said}"), error),
            Err(_) => (format!("HTTP {status}"), String::new()),
        };
        Err(self.refused(url, said, code, is_passing(status)))
    }

    fn parse<T: DeserializeOwned>(&self, url: &Url, body: &[u8]) -> Result<T, AuthError> {
        // The words of serde may repeat a value; its place is enough.
        serde_json::from_slice(body).map_err(|error| {
            let why =
                format!("what cannot be read (line {}, column {})", error.line(), error.column());
            self.refused(url, why, String::new(), false)
        })
    }

    pub(super) fn unusable(&self, why: &str) -> AuthError {
        AuthError::Unusable { agent: self.agent.clone(), why: why.to_owned() }
    }

    fn unreachable(&self, error: OutboundError) -> AuthError {
        AuthError::Unreachable { agent: self.agent.clone(), source: Arc::new(error) }
    }

    fn refused(&self, url: &Url, said: String, code: String, is_passing: bool) -> AuthError {
        let (agent, url) = (self.agent.clone(), url.to_string());
        AuthError::Refused { agent, url, said, code, is_passing }
    }
}

fn is_passing(status: http::StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 429)
}

/// Where an issuer describes itself: OpenID Connect Discovery §4, then RFC 8414 §3.
pub(crate) fn well_known(issuer: &Url) -> [String; 2] {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut place = issuer.clone();
        place.set_path(&path);
        place.to_string()
    };
    [
        at(format!("{path}/.well-known/openid-configuration")),
        at(format!("/.well-known/oauth-authorization-server{path}")),
    ]
}

fn body_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// A client's id and secret as a header.
fn basic(id: &str, secret: &Secret) -> HeaderValue {
    let pair = STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret.expose())));
    Secret::new(pair).header("Basic ").expect("base64 is ASCII")
}

/// Ids and secrets are encoded before they go into the header (RFC 6749 §2.3.1).
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
