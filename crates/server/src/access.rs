//! Who may call: the accounts behind credentials, and what each may do.
//!
//! A layer in front of the bindings finds out who calls and leaves that with the request
//! (`gate`); the bindings ask `Access::authorize` before anything else, and the operations ask whose
//! Tasks they are about. Without credentials to be checked everybody is the account of the process itself, which
//! may do everything.
//!
//! | operation | scope |
//! |---|---|
//! | SendMessage, SendStreamingMessage, CancelTask | `runs:start:WORKFLOW`, of the workflow that is meant, or of the Task |
//! | SendMessage, SendStreamingMessage with a question to the directory (`find_agents.rs`) | `agents:read` |
//! | GetTask, ListTasks, SubscribeToTask, push notification configurations | `runs:read` |
//! | GetExtendedAgentCard | none; credentials are enough |
//! | reading, changing the agent directory (`directory.rs`) | `agents:read`, `agents:curate` |
//!
//! `admin` stands for all of them.

mod card;
pub(crate) mod gate;
mod keys;
mod scope;
mod tokens;

use std::sync::Arc;

use axum::http::{Extensions, HeaderMap, header};
use jiff::Timestamp;
use protocol::{
    auth::CallerToken,
    error::Error,
    operation::Operation,
    service::Call,
    v1::{
        ApiKeySecurityScheme, HttpAuthSecurityScheme, OpenIdConnectSecurityScheme, SecurityScheme,
        security_scheme::Scheme,
    },
};
use store::AccountId;

pub use self::{
    card::PublicSkills,
    keys::{ApiKeys, KeyRecord, KeyReport, KeyState, NewKey},
    scope::{NotAScope, Scope, Scopes},
    tokens::{TokenSettings, Tokens},
};
pub(crate) use self::{card::Showing, keys::KEYS};
use self::{gate::Caller, scope::Need};
use crate::error::refused;

/// The header of API keys.
pub const KEY_HEADER: &str = "x-api-key";

/// The longest name of an account, in bytes.
const LONGEST_ACCOUNT: usize = 256;

/// Which credentials are taken. With none of them, no credentials are asked for.
#[derive(Clone, Debug, Default)]
pub struct Access {
    keys: Option<ApiKeys>,
    tokens: Option<Arc<Tokens>>,
}

/// Somebody who may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// Whose Tasks are theirs.
    pub(crate) account: AccountId,
    pub(crate) scopes: Scopes,
    /// The API key, by its id, where it is one.
    key: Option<String>,
    /// When the credentials end.
    expires_at: Option<Timestamp>,
    /// The token itself, where it may be exchanged for those of agents.
    pub(crate) token: Option<CallerToken>,
}

/// Why somebody may not call. No variant repeats a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AccessError {
    /// Nothing was shown.
    #[error("{0}")]
    NoCredentials(&'static str),
    /// What was shown is not good.
    #[error("{0}")]
    BadCredentials(String),
    /// Nobody can tell now.
    #[error("{0}")]
    Unknown(String),
    /// They are known, and may not do this.
    #[error("{what} needs the scope {scope}, which these credentials lack")]
    Scope {
        /// The operation, or what it would do.
        what: String,
        /// What is missing.
        scope: Scope,
    },
}

impl AccessError {
    /// What these credentials may not do, for want of a scope.
    pub(crate) fn lacks(what: &str, scope: Scope) -> Self {
        Self::Scope { what: what.to_owned(), scope }
    }
}

impl Access {
    /// Takes API keys.
    #[must_use]
    pub fn with_keys(self, keys: ApiKeys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Takes bearer tokens of an issuer.
    #[must_use]
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens: Some(Arc::new(tokens)), ..self }
    }

    /// Whether everybody may call.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.keys.is_none() && self.tokens.is_none()
    }

    /// Finds out who shows these headers.
    async fn identify(&self, headers: &HeaderMap) -> Result<Principal, AccessError> {
        let key = headers.get(KEY_HEADER).filter(|_| self.keys.is_some());
        if let Some(key) = key {
            return self.of_key(key.to_str().unwrap_or_default()).await;
        }
        let Some(token) = bearer(headers) else {
            return Err(AccessError::NoCredentials(self.wanted()));
        };
        match &self.tokens {
            Some(tokens) if !keys::is_meant(token) || self.keys.is_none() => {
                tokens.identify(token).await
            }
            _ => self.of_key(token).await,
        }
    }

    async fn of_key(&self, key: &str) -> Result<Principal, AccessError> {
        match &self.keys {
            Some(keys) => keys.identify(key).await,
            None => Err(AccessError::NoCredentials(self.wanted())),
        }
    }

    fn wanted(&self) -> &'static str {
        match (&self.keys, &self.tokens) {
            (Some(_), None) => {
                "this agent answers callers with an API key only; send it as \"X-API-Key: KEY\""
            }
            (None, Some(_)) => {
                "this agent answers callers with a token only; send it as \"Authorization: Bearer TOKEN\""
            }
            _ => {
                "this agent answers callers with credentials only; send \"X-API-Key: KEY\" or \
                 \"Authorization: Bearer TOKEN\""
            }
        }
    }

    /// Who has made a call; `home` is everybody where everybody may.
    ///
    /// # Errors
    /// `Unauthenticated`; `Unavailable` when nobody can tell now.
    pub(crate) fn caller(&self, call: &Call, home: &AccountId) -> Result<Arc<Principal>, Error> {
        self.principal(&call.context, home).map_err(|why| refused(&why))
    }

    /// Who has made a request, of which these are the extensions; `home` is everybody where everybody may.
    pub(crate) fn principal(
        &self,
        extensions: &Extensions,
        home: &AccountId,
    ) -> Result<Arc<Principal>, AccessError> {
        if self.is_open() {
            return Ok(Arc::new(Principal::home(home.clone())));
        }
        match extensions.get::<Caller>() {
            Some(Caller(caller)) => caller.clone(),
            None => Err(AccessError::NoCredentials(self.wanted())),
        }
    }

    /// Decides whether a call may be made at all; `finds_agents` says whether a Message may ask the directory.
    ///
    /// # Errors
    /// As [`Access::caller`]; `PermissionDenied`.
    pub(crate) fn authorize(
        &self,
        call: &Call,
        operation: Operation,
        finds_agents: bool,
    ) -> Result<(), Error> {
        if self.is_open() {
            return Ok(());
        }
        // The account does not matter here.
        let caller = self.caller(call, &AccountId::new(""))?;
        match scope::need(operation) {
            Need::Nothing => Ok(()),
            Need::Read if caller.scopes.hold(&Scope::ReadRuns) => Ok(()),
            Need::Read => Err(lacks(operation.method(), Scope::ReadRuns)),
            Need::Say if finds_agents && caller.scopes.read_agents() => Ok(()),
            Need::Say | Need::Start => caller.check_start_something(operation.method()),
        }
    }

    /// Whether credentials that were good when a call began still are. Those that cannot be looked at now count as
    /// good: the call began with them.
    pub(crate) async fn still_holds(&self, principal: &Principal) -> bool {
        if principal.expires_at.is_some_and(|end| end <= Timestamp::now()) {
            return false;
        }
        match (&self.keys, &principal.key) {
            (Some(keys), Some(id)) => keys.is_good(id).await,
            _ => true,
        }
    }

    /// How callers may show who they are, by the names that the card gives these ways. Any one of them is enough.
    pub(crate) fn schemes(&self) -> Vec<(&'static str, SecurityScheme)> {
        let mut schemes = Vec::new();
        if self.keys.is_some() {
            schemes.push((
                "apiKey",
                Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
                    description: "An API key that the operator of this agent gives out.".to_owned(),
                    location: "header".to_owned(),
                    name: "X-API-Key".to_owned(),
                }),
            ));
        }
        let discovery = self.tokens.as_ref().and_then(|tokens| tokens.discovery_url());
        if let Some(url) = discovery {
            schemes.push((
                "openId",
                Scheme::OpenIdConnectSecurityScheme(OpenIdConnectSecurityScheme {
                    description: "An access token of this provider, as a bearer token.".to_owned(),
                    open_id_connect_url: url,
                }),
            ));
        }
        let bearer_format = match (&self.keys, &self.tokens) {
            (None, Some(_)) => "JWT".to_owned(),
            _ => String::new(),
        };
        schemes.push((
            "bearer",
            Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme {
                description:
                    "What the operator of this agent, or its identity provider, gives out."
                        .to_owned(),
                scheme: "Bearer".to_owned(),
                bearer_format,
            }),
        ));
        let schemes = schemes.into_iter().filter(|_| !self.is_open());
        schemes.map(|(name, scheme)| (name, SecurityScheme { scheme: Some(scheme) })).collect()
    }
}

impl Principal {
    /// The process itself.
    fn home(account: AccountId) -> Self {
        Self { account, scopes: Scopes::all(), key: None, expires_at: None, token: None }
    }

    /// How it is called in what is kept of its decisions.
    pub(crate) fn who(&self) -> String {
        match &self.key {
            Some(key) => format!("{} (key {key})", self.account),
            None => self.account.to_string(),
        }
    }

    /// Refuses credentials that are for no workflow at all.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub(crate) fn check_start_something(&self, what: &str) -> Result<(), Error> {
        match self.scopes.start_something() {
            true => Ok(()),
            false => Err(lacks(what, Scope::start("WORKFLOW"))),
        }
    }

    /// Refuses credentials that are not for the agent directory.
    pub(crate) fn check_read_agents(&self) -> Result<(), AccessError> {
        if self.scopes.read_agents() {
            return Ok(());
        }
        let what = "reading the agent directory".to_owned();
        Err(AccessError::Scope { what, scope: Scope::ReadAgents })
    }

    /// Refuses what would drive a workflow that these credentials are not for.
    ///
    /// # Errors
    /// `PermissionDenied`, whether there is such a workflow or not.
    pub(crate) fn check_start(&self, workflow: &str) -> Result<(), Error> {
        if self.scopes.start(workflow) {
            return Ok(());
        }
        Err(lacks(&format!("workflow {workflow:?}"), Scope::start(workflow)))
    }
}

fn lacks(what: &str, scope: Scope) -> Error {
    refused(&AccessError::lacks(what, scope))
}

/// The token of a request. Schemes are told apart without regard to case (RFC 9110 §11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
}

/// The account of a name that an operator or an issuer wrote.
///
/// # Errors
/// What is wrong with the name, in words that do not repeat it.
pub fn account(name: &str) -> Result<AccountId, String> {
    if name.is_empty() || name.len() > LONGEST_ACCOUNT {
        return Err(format!("the name of an account has 1 to {LONGEST_ACCOUNT} bytes"));
    }
    if name.chars().any(|char| char.is_control() || char.is_whitespace()) {
        return Err("the name of an account holds no spaces and no control characters".to_owned());
    }
    Ok(AccountId::new(name))
}

#[cfg(test)]
mod tests;
