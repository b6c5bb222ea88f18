//! What a card wants, and which credentials satisfy it (A2A §7.3).

use std::collections::BTreeMap;

use super::{Credential, Method};
use crate::v1::{
    AgentCard, SecurityRequirement, SecurityScheme, o_auth_flows::Flow as CardFlow,
    security_scheme::Scheme,
};

/// How to give what is wanted.
const HOW: &str = "give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`";

/// What a card asks of callers; nothing while no card is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Wants {
    is_known: bool,
    schemes: BTreeMap<String, SecurityScheme>,
    requirements: Vec<SecurityRequirement>,
}

/// One credential, as it is used.
#[derive(Clone, Debug)]
pub(super) struct Use {
    /// Which of the credentials.
    pub(super) index: usize,
    /// The scheme that it satisfies; `None` for one that needs none.
    pub(super) scheme: Option<Scheme>,
    /// The scopes that the card requires.
    pub(super) scopes: Vec<String>,
}

impl Use {
    /// A use without anything of the card.
    pub(super) fn bare(index: usize) -> Use {
        Use { index, scheme: None, scopes: Vec::new() }
    }
}

impl Wants {
    pub(super) fn of(card: &AgentCard) -> Wants {
        Wants {
            is_known: true,
            schemes: card.security_schemes.clone(),
            requirements: card.security_requirements.clone(),
        }
    }

    /// Chooses the credentials for a call: those of the first requirement, in the card's order, that
    /// can be satisfied whole, and those that are carried whatever the card says. `None` when the
    /// card wants what is not there.
    pub(super) fn choose(&self, credentials: &[Credential]) -> Option<Vec<Use>> {
        let mut always = always(credentials);
        if self.schemes.is_empty() && self.requirements.is_empty() {
            always.extend(one_that_knows_its_place(credentials));
            return Some(always);
        }
        let chosen = self.alternatives().find_map(|one| self.satisfy(&one, credentials));
        let is_open = self.requirements.is_empty()
            || self.requirements.iter().any(|one| one.schemes.is_empty());
        match chosen {
            Some(chosen) => {
                always.retain(|one| !chosen.iter().any(|other| other.index == one.index));
                always.extend(chosen);
                Some(always)
            }
            None if is_open || !always.is_empty() => Some(always),
            None => None,
        }
    }

    /// The requirements that ask for something; where a card lists schemes alone, each is one.
    fn alternatives(&self) -> impl Iterator<Item = SecurityRequirement> + '_ {
        let alone = self.schemes.keys().filter(|_| self.requirements.is_empty()).map(|name| {
            SecurityRequirement { schemes: [(name.clone(), Default::default())].into() }
        });
        let asked = self.requirements.iter().filter(|one| !one.schemes.is_empty()).cloned();
        asked.chain(alone)
    }

    fn satisfy(
        &self,
        requirement: &SecurityRequirement,
        credentials: &[Credential],
    ) -> Option<Vec<Use>> {
        let uses = requirement.schemes.iter().map(|(name, scopes)| {
            let scheme = self.schemes.get(name)?.scheme.as_ref()?;
            let index = credentials.iter().position(|it| fits(it, name, scheme))?;
            Some(Use { index, scheme: Some(scheme.clone()), scopes: scopes.list.clone() })
        });
        uses.collect()
    }

    /// Says what the card wants and how to give it, in a sentence.
    pub(super) fn advice(&self) -> String {
        let alternatives: Vec<String> = self
            .alternatives()
            .map(|one| {
                let schemes: Vec<String> = one
                    .schemes
                    .iter()
                    .map(|(name, scopes)| self.wanted(name, &scopes.list))
                    .collect();
                schemes.join(" and ")
            })
            .collect();
        match (self.is_known, alternatives.is_empty()) {
            (true, false) => format!("Its card wants {}; {HOW}", alternatives.join(", or ")),
            (true, true) => format!(
                "Its card does not say what it wants; once you know (`bearer`, `basic`, `header`), {HOW}"
            ),
            (false, _) => format!(
                "It is not in the directory, which has the credentials: take it in, look with \
                 `convoke agents show` at what its card wants, and {HOW}"
            ),
        }
    }

    fn wanted(&self, name: &str, scopes: &[String]) -> String {
        let scheme = self.schemes.get(name).and_then(|it| it.scheme.as_ref());
        let (what, how) = match scheme {
            Some(Scheme::ApiKeySecurityScheme(key)) => {
                let place = if key.location.is_empty() { "header" } else { &key.location };
                (format!("an API key in the {place} `{}`", key.name), "`api_key: {env: NAME}`")
            }
            Some(Scheme::HttpAuthSecurityScheme(http)) if is(&http.scheme, "basic") => {
                let how = "`basic: {username: NAME, password: {env: NAME}}`";
                ("a user and a password (HTTP Basic)".to_owned(), how)
            }
            Some(Scheme::HttpAuthSecurityScheme(http)) if is(&http.scheme, "bearer") => {
                ("a bearer token".to_owned(), "`bearer: {env: NAME}`")
            }
            Some(Scheme::HttpAuthSecurityScheme(http)) => {
                let how = "`header: {name: Authorization, value: {env: NAME}}`";
                (format!("HTTP authentication by {}", http.scheme), how)
            }
            Some(Scheme::Oauth2SecurityScheme(_)) => ("an OAuth 2.0 token".to_owned(), OAUTH),
            Some(Scheme::OpenIdConnectSecurityScheme(_)) => {
                ("an OpenID Connect token".to_owned(), OAUTH)
            }
            Some(Scheme::MtlsSecurityScheme(_)) => (
                "a client certificate".to_owned(),
                "`certificate: {certificate: {file: PATH}, key: {file: PATH}}`",
            ),
            None => {
                return format!("`{name}`, which the card requires and does not describe");
            }
        };
        let scopes = match scopes {
            [] => String::new(),
            scopes => format!(" with the scopes {}", scopes.join(", ")),
        };
        format!("{what}{scopes} (its scheme `{name}`: {how})")
    }
}

const OAUTH: &str = "`oauth2: {client_id: ID, client_secret: {env: NAME}}`";

fn is(scheme: &str, name: &str) -> bool {
    scheme.trim().eq_ignore_ascii_case(name)
}

/// Headers of their own name and certificates harm nobody who does not look at them.
fn always(credentials: &[Credential]) -> Vec<Use> {
    let is_always = |credential: &Credential| {
        credential.scheme.is_none()
            && matches!(credential.method, Method::Header { .. } | Method::Certificate { .. })
    };
    let indices = (0..).zip(credentials).filter(|(_, it)| is_always(it));
    indices.map(|(index, _)| Use::bare(index)).collect()
}

/// The first that can go into the Authorization header without a card that says so: the agent keeps
/// to itself what it wants.
fn one_that_knows_its_place(credentials: &[Credential]) -> Option<Use> {
    let knows = |credential: &Credential| match &credential.method {
        Method::Basic { .. } | Method::Bearer(_) => true,
        Method::Oauth2(client) => client.issuer.is_some(),
        Method::TokenExchange(_) => true,
        Method::ApiKey(_) | Method::Header { .. } | Method::Certificate { .. } => false,
    };
    credentials.iter().position(knows).map(Use::bare)
}

fn fits(credential: &Credential, name: &str, scheme: &Scheme) -> bool {
    if let Some(own) = &credential.scheme
        && own != name
    {
        return false;
    }
    match (&credential.method, scheme) {
        // Somebody who names the scheme knows what its header is.
        (Method::Header { .. }, _) => credential.scheme.is_some(),
        (Method::TokenExchange(_), Scheme::HttpAuthSecurityScheme(http)) => {
            is(&http.scheme, "bearer")
        }
        (Method::ApiKey(_), Scheme::ApiKeySecurityScheme(_))
        | (Method::Certificate { .. }, Scheme::MtlsSecurityScheme(_))
        | (
            Method::Bearer(_) | Method::TokenExchange(_),
            Scheme::Oauth2SecurityScheme(_) | Scheme::OpenIdConnectSecurityScheme(_),
        ) => true,
        (Method::Basic { .. }, Scheme::HttpAuthSecurityScheme(http)) => is(&http.scheme, "basic"),
        (Method::Bearer(_), Scheme::HttpAuthSecurityScheme(http)) => is(&http.scheme, "bearer"),
        (Method::Oauth2(client), Scheme::HttpAuthSecurityScheme(http)) => {
            client.issuer.is_some() && is(&http.scheme, "bearer")
        }
        (Method::Oauth2(client), Scheme::Oauth2SecurityScheme(scheme)) => {
            client.issuer.is_some() || !scheme.oauth2_metadata_url.is_empty() || {
                let flow = scheme.flows.as_ref().and_then(|flows| flows.flow.as_ref());
                matches!(
                    flow,
                    Some(
                        CardFlow::AuthorizationCode(_)
                            | CardFlow::ClientCredentials(_)
                            | CardFlow::DeviceCode(_)
                    )
                )
            }
        }
        (Method::Oauth2(_), Scheme::OpenIdConnectSecurityScheme(_)) => true,
        _ => false,
    }
}
