//! Who may call, and from where: the settings that hang together.

use protocol::bearer::TokenRules;
use server::access::TokenSettings;
use url::Url;

use super::{Config, Layers, read::Reader};

/// Which credentials callers may show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Auth {
    pub(crate) api_keys: bool,
    pub(crate) issuer: Option<Url>,
    pub(crate) audience: Option<String>,
    pub(crate) jwks_url: Option<Url>,
    pub(crate) scopes_claim: String,
    pub(crate) account_claim: String,
    pub(crate) exchange: bool,
    /// The issuer letter by letter: its URL may have been written in another way than a parser writes it.
    pub(super) iss: Option<String>,
}

impl Auth {
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let api_keys = reader.boolean("auth.api_keys");
        let issuer = reader.protected_url("auth.jwt.issuer");
        let iss = reader.optional("auth.jwt.issuer");
        let audience = reader.optional("auth.jwt.audience");
        let jwks_url = reader.protected_url("auth.jwt.jwks_url");
        let scopes_claim = reader.text("auth.jwt.scopes_claim");
        let account_claim = reader.text("auth.jwt.account_claim");
        let exchange = reader.boolean("auth.jwt.exchange");
        Some(Self {
            api_keys: api_keys?,
            issuer: issuer?,
            audience: audience?,
            jwks_url: jwks_url?,
            scopes_claim: scopes_claim?,
            account_claim: account_claim?,
            exchange: exchange?,
            iss: iss?,
        })
    }

    /// Whether nobody is served without credentials.
    fn is_on(&self) -> bool {
        self.api_keys || self.issuer.is_some()
    }

    /// Which tokens are taken, if any are.
    pub(crate) fn tokens(&self) -> Option<TokenSettings> {
        let (issuer, audience) = self.iss.clone().zip(self.audience.clone())?;
        Some(TokenSettings {
            rules: TokenRules { issuer, audience, jwks_url: self.jwks_url.clone() },
            scopes_claim: self.scopes_claim.clone(),
            account_claim: self.account_claim.clone(),
            may_be_exchanged: self.exchange,
        })
    }
}

impl Config {
    /// Reports settings that do not go together.
    pub(super) fn check(&self, layers: &mut Layers) {
        self.check_evidence(layers);
        let mut reader = Reader::new(layers);
        let mut wrong = |key: &str, message: &str, help: &str| {
            let _: Option<()> = reader.invalid(key, message, help);
        };
        let Auth { issuer, audience, jwks_url, exchange, .. } = &self.auth;
        if issuer.is_some() && audience.is_none() {
            let message = "tokens of this issuer for anybody would be taken";
            wrong("auth.jwt.issuer", message, "set `auth.jwt.audience` to what their `aud` holds");
        }
        for (key, is_set) in [
            ("auth.jwt.audience", audience.is_some()),
            ("auth.jwt.jwks_url", jwks_url.is_some()),
            ("auth.jwt.exchange", *exchange),
        ] {
            if is_set && issuer.is_none() {
                wrong(key, "no bearer tokens are taken", "set `auth.jwt.issuer` as well");
            }
        }
        let address = self.listen.ip();
        if address.is_loopback() {
            return;
        }
        if !self.auth.is_on() {
            wrong(
                "listen",
                &format!("{} is not a loopback address", self.listen),
                "whoever reaches the server could run workflows; set `auth.api_keys: true` and make keys with \
                 `convoke keys add`, or use 127.0.0.1:PORT or [::1]:PORT",
            );
        } else if !self.insecure {
            wrong(
                "listen",
                &format!("{} is not a loopback address, and there is no TLS", self.listen),
                "credentials could be read on their way; put a proxy that ends TLS in front of the server and say so \
                 with `insecure: true` (--insecure), or use 127.0.0.1:PORT or [::1]:PORT",
            );
        }
        if self.auth.is_on() && address.is_unspecified() && self.public_url.is_none() {
            let message = format!("{address} is no address that clients could call");
            wrong(
                "listen",
                &message,
                "set `public_url` to the URL under which they reach the server",
            );
        }
    }
}
