//! What an operator writes down for an agent.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

use super::{NotAnOrigin, Origin, Secret, SecretSource, TokenExchange};

/// One way to be let in by an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// The scheme of the card that it is for; without a name, any scheme of its kind.
    #[serde(default)]
    pub scheme: Option<String>,
    /// What it is.
    pub method: Method,
}

/// The kinds of credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A key, for the header, query parameter or cookie that the card names.
    ApiKey(SecretSource),
    /// A header of its own name, whatever the card says; for agents that do not say what they want.
    Header {
        /// The name of the header.
        name: String,
        /// Its value.
        value: SecretSource,
    },
    /// HTTP Basic (RFC 7617).
    Basic {
        /// The name of the user.
        username: String,
        /// The password.
        password: SecretSource,
    },
    /// A bearer token that somebody else keeps fresh (RFC 6750).
    Bearer(SecretSource),
    /// A client of an authorization server, OAuth 2.0 or OpenID Connect.
    Oauth2(OAuthClient),
    /// A token in exchange for that of whoever calls us (RFC 8693).
    TokenExchange(TokenExchange),
    /// A client certificate (mutual TLS).
    Certificate {
        /// The certificate and those that vouch for it, PEM.
        certificate: SecretSource,
        /// Its private key, PEM.
        key: SecretSource,
        /// Certificates of the authorities that vouch for the agent, PEM, instead of the machine's.
        #[serde(default)]
        authorities: Option<SecretSource>,
    },
}

/// A client as an authorization server knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthClient {
    /// Its id.
    pub client_id: String,
    /// Its secret; a public client has none.
    #[serde(default)]
    pub client_secret: Option<SecretSource>,
    /// Scopes to ask for beside those that the card requires.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The authorization server that the operator trusts. Without one, the server has to be at an
    /// origin that is approved for the agent itself.
    #[serde(default)]
    pub issuer: Option<Issuer>,
    /// How to get a token, where the card leaves the choice.
    #[serde(default)]
    pub flow: Option<Flow>,
}

/// The URL by which an authorization server is known, http or https.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Issuer(Url);

impl Issuer {
    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl FromStr for Issuer {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Issuer, NotAnOrigin> {
        let _: Origin = text.parse()?;
        Url::parse(text).map(Issuer).map_err(|_| NotAnOrigin(text.to_owned()))
    }
}

impl TryFrom<String> for Issuer {
    type Error = NotAnOrigin;

    fn try_from(text: String) -> Result<Issuer, NotAnOrigin> {
        text.parse()
    }
}

impl From<Issuer> for String {
    fn from(issuer: Issuer) -> String {
        issuer.0.into()
    }
}

/// How a client gets a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    /// By its own secret (RFC 6749 §4.4).
    ClientCredentials,
    /// By a person who types a code on another device (RFC 8628).
    DeviceCode,
    /// By a person in a browser (RFC 6749 §4.1 with PKCE, RFC 7636).
    AuthorizationCode,
}

impl Flow {
    /// All of them.
    pub const ALL: [Flow; 3] = [Flow::ClientCredentials, Flow::DeviceCode, Flow::AuthorizationCode];

    /// Returns the name that catalogs use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flow::ClientCredentials => "client_credentials",
            Flow::DeviceCode => "device_code",
            Flow::AuthorizationCode => "authorization_code",
        }
    }

    /// Tells whether a person has to take part.
    #[must_use]
    pub fn needs_a_person(self) -> bool {
        self != Flow::ClientCredentials
    }
}

impl Credential {
    /// A header with a value that is known already, for one call by hand.
    #[must_use]
    pub fn header(name: &str, value: Secret) -> Credential {
        let (name, value) = (name.to_owned(), SecretSource::Value(value));
        Credential { scheme: None, method: Method::Header { name, value } }
    }

    /// A bearer token.
    #[must_use]
    pub fn bearer(token: SecretSource) -> Credential {
        Credential { scheme: None, method: Method::Bearer(token) }
    }
}

impl Method {
    /// Returns the key under which catalogs write it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Method::ApiKey(_) => "api_key",
            Method::Header { .. } => "header",
            Method::Basic { .. } => "basic",
            Method::Bearer(_) => "bearer",
            Method::Oauth2(_) => "oauth2",
            Method::TokenExchange(_) => "token_exchange",
            Method::Certificate { .. } => "certificate",
        }
    }
}

impl fmt::Display for Credential {
    /// Says what it is and where it is kept, and nothing secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.method.name())?;
        match &self.method {
            Method::ApiKey(source) | Method::Bearer(source) => write!(formatter, " from {source}"),
            Method::Header { name, value } => write!(formatter, " {name} from {value}"),
            Method::Basic { username, password } => {
                write!(formatter, " of {username}, the password from {password}")
            }
            Method::Oauth2(client) | Method::TokenExchange(TokenExchange { client, .. }) => {
                write!(formatter, " as {}", client.client_id)?;
                match &client.client_secret {
                    Some(source) => write!(formatter, ", its secret from {source}"),
                    None => Ok(()),
                }
            }
            Method::Certificate { certificate, key, .. } => {
                write!(formatter, " from {certificate}, its key from {key}")
            }
        }?;
        match &self.scheme {
            Some(scheme) => write!(formatter, " for {scheme}"),
            None => Ok(()),
        }
    }
}
