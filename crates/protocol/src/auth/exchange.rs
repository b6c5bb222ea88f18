//! Tokens in exchange for those of callers (RFC 8693): the agent gets one that was made for it, never the caller's own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use super::{
    AuthError, Caller, Issuer, OAuthClient, Secret,
    caller::CallerToken,
    endpoints::Endpoints,
    keyring::Inner,
    scheme::Use,
    token::{Answer, Tokens, scopes},
};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// For how many pairs of caller and agent tokens are kept; of those that have ended none is.
const MOST: usize = 4096;

/// How tokens of callers are exchanged for those that an agent takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenExchange {
    /// Who exchanges: the client as the authorization server knows it.
    #[serde(flatten)]
    pub client: OAuthClient,
    /// The token endpoint, where the issuer is not to be asked for it. That the operator wrote it approves it.
    #[serde(default)]
    pub token_endpoint: Option<Issuer>,
    /// For whom the token is to be, by the names that the authorization server gives them.
    #[serde(default)]
    pub audience: Vec<String>,
    /// For whom the token is to be, by URI.
    #[serde(default)]
    pub resource: Vec<String>,
}

/// Tokens by credential and caller's token: the lock of each is what makes exchanges go one at a time.
#[derive(Default)]
pub(super) struct Exchanged(Mutex<HashMap<(usize, Whose), Held>>);

/// A digest of the caller's token: the token itself need not be kept for longer.
type Whose = [u8; 32];
type Held = Arc<tokio::sync::Mutex<Option<Tokens>>>;

impl Exchanged {
    fn held(&self, index: usize, subject: &CallerToken) -> Held {
        let whose = (index, whose(&subject.token));
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST && !all.contains_key(&whose) {
            let is_of_use = |held: &Held| {
                held.try_lock().map_or(true, |held| held.as_ref().is_some_and(Tokens::is_fresh))
            };
            all.retain(|_, held| is_of_use(held));
            // All of them in use: one caller gets a new token.
            if all.len() >= MOST
                && let Some(any) = all.keys().next().copied()
            {
                all.remove(&any);
            }
        }
        Arc::clone(all.entry(whose).or_default())
    }
}

impl Inner {
    /// Whether a use needs a token in exchange for the caller's, and none is there.
    pub(super) fn lacks_token(&self, used: &Use, caller: &Caller) -> bool {
        if !matches!(self.credentials[used.index].method, super::Method::TokenExchange(_)) {
            return false;
        }
        caller.token().is_none_or(|subject| {
            let held = self.exchanged.held(used.index, &subject);
            // Who holds the lock is about to find out.
            held.try_lock().is_ok_and(|held| !held.as_ref().is_some_and(Tokens::is_fresh))
        })
    }

    /// The token for a use in exchange for that of the caller; not the one that was refused.
    pub(super) async fn exchanged(
        &self,
        (used, exchange): (&Use, &TokenExchange),
        caller: &Caller,
        refused: Option<&Secret>,
    ) -> Result<Secret, AuthError> {
        let agent = || self.agent.clone();
        if caller.is_nobody() {
            return Err(AuthError::NoCaller { agent: agent() });
        }
        let Some(subject) = caller.token() else {
            return Err(AuthError::CallerAway { agent: agent() });
        };
        let held = self.exchanged.held(used.index, &subject);
        let mut held = held.lock().await;
        let is_usable = |tokens: &Tokens| tokens.is_fresh() && Some(tokens.access()) != refused;
        if let Some(tokens) = held.as_ref().filter(|tokens| is_usable(tokens)) {
            caller.note(tokens.access());
            return Ok(tokens.access().clone());
        }
        *held = None;
        if !subject.is_good() {
            return Err(AuthError::CallerAway { agent: agent() });
        }
        caller.note(&subject.token);
        let tokens = self.ask_for((used, exchange), &subject).await;
        let tokens = tokens.map_err(|error| error.without(&caller.shown()))?;
        caller.note(tokens.access());
        Ok(held.insert(tokens).access().clone())
    }

    async fn ask_for(
        &self,
        (used, exchange): (&Use, &TokenExchange),
        subject: &CallerToken,
    ) -> Result<Tokens, AuthError> {
        let client = &exchange.client;
        let endpoints = match &exchange.token_endpoint {
            Some(written) => Endpoints::at(self.written(written)?),
            None => self.endpoints(&Use { scheme: None, ..used.clone() }, client).await?,
        };
        let scope = scopes(used, client);
        let mut form = vec![
            ("grant_type", GRANT),
            ("subject_token", subject.token.expose()),
            ("subject_token_type", ACCESS_TOKEN),
            ("requested_token_type", ACCESS_TOKEN),
        ];
        form.extend(exchange.audience.iter().map(|audience| ("audience", audience.as_str())));
        form.extend(exchange.resource.iter().map(|resource| ("resource", resource.as_str())));
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let answer: Answer = self.ask((used, client), &endpoints, &endpoints.token, &form).await?;
        let tokens = answer.into_tokens(None).map_err(|why| self.unusable(&why))?;
        if *tokens.access() == subject.token {
            let why = format!("{} answered with the token of the caller itself", endpoints.token);
            return Err(self.unusable(&why));
        }
        Ok(tokens.until_at_most(subject.until))
    }

    /// A URL that the operator wrote down: where it may not be connected to, it is not called all the same.
    fn written(&self, url: &Issuer) -> Result<Url, AuthError> {
        let checked = self.outbound.check(url.url().as_str());
        checked.map_err(|error| self.unusable(&error.to_string()))
    }
}

fn whose(token: &Secret) -> Whose {
    Sha256::digest(token.expose()).into()
}
