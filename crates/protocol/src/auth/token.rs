//! Tokens: gotten, kept until shortly before they expire, and renewed, one renewal at a time.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    AuthError, Flow, Method, OAuthClient, Secret, endpoints::Endpoints, keyring::Inner,
    scheme::Use, vault::Name,
};

/// How long before its end a token is renewed, so that none ends on its way.
const LEAD: SignedDuration = SignedDuration::from_secs(30);

/// An access token and what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    access: Secret,
    /// When it is renewed; `None` when the server does not say when it ends.
    renew_at: Option<Timestamp>,
    refresh: Option<Secret>,
}

/// What a token endpoint answers (RFC 6749 §5.1).
#[derive(Deserialize)]
pub(super) struct Answer {
    access_token: String,
    token_type: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<i64>,
    refresh_token: Option<String>,
}

/// Tokens as a vault keeps them.
#[derive(Serialize, Deserialize)]
struct Kept {
    access_token: String,
    renew_at: Option<Timestamp>,
    refresh_token: Option<String>,
}

impl Tokens {
    pub(super) fn is_fresh(&self) -> bool {
        self.renew_at.is_none_or(|at| Timestamp::now() < at)
    }

    pub(super) fn access(&self) -> &Secret {
        &self.access
    }

    /// The access token alone, which a server that does not say when it ends lets end at that moment.
    pub(super) fn until_at_most(self, end: Option<Timestamp>) -> Tokens {
        Tokens { renew_at: self.renew_at.or(end), refresh: None, ..self }
    }

    /// Reads what a vault kept; nothing when it is damaged, which a new login mends.
    pub(super) fn of_json(json: &[u8]) -> Option<Tokens> {
        let kept: Kept = serde_json::from_slice(json).ok()?;
        Some(Tokens {
            access: Secret::new(kept.access_token),
            renew_at: kept.renew_at,
            refresh: kept.refresh_token.map(Secret::new),
        })
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let kept = Kept {
            access_token: self.access.expose().to_owned(),
            renew_at: self.renew_at,
            refresh_token: self.refresh.as_ref().map(|token| token.expose().to_owned()),
        };
        serde_json::to_vec(&kept).expect("texts and an instant are always JSON")
    }
}

impl Answer {
    /// Turns it into tokens; a server that sends no new refresh token means the old one to stay.
    pub(super) fn into_tokens(self, old: Option<Secret>) -> Result<Tokens, String> {
        let kind = self.token_type.as_deref().unwrap_or("Bearer");
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(format!("the token is of the type {kind}, and only Bearer is spoken here"));
        }
        let life = self.expires_in.map(|seconds| SignedDuration::from_secs(seconds.max(0)));
        // Of a token that lives for less, half the life is left.
        let renew_at =
            life.and_then(|life| Timestamp::now().checked_add(life - LEAD.min(life / 2)).ok());
        let refresh = self.refresh_token.map(Secret::new).or(old);
        Ok(Tokens { access: Secret::new(self.access_token), renew_at, refresh })
    }
}

/// Servers write the number also as a text.
#[expect(clippy::cast_possible_truncation, reason = "whole seconds are meant")]
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }
    Ok(match Option::<Written>::deserialize(deserializer)? {
        None => None,
        Some(Written::Number(number)) => Some(number as i64),
        Some(Written::Text(text)) => text.trim().parse().ok(),
    })
}

impl Inner {
    /// The token for a use of a client; not the one that was refused.
    ///
    /// A task of its own, because servers take a refresh token once: a caller that goes away must not
    /// take along the answer with the next one. It ends with the deadlines of what it asks.
    pub(super) async fn token(
        self: &Arc<Inner>,
        used: &Use,
        refused: Option<Secret>,
    ) -> Result<Secret, AuthError> {
        let (inner, used) = (Arc::clone(self), used.clone());
        let task = tokio::spawn(async move { inner.fresh_token(&used, refused.as_ref()).await });
        let token =
            task.await.map_err(|error| self.unusable(&format!("internal error: {error}")))??;
        self.shown.note(&token);
        Ok(token)
    }

    async fn fresh_token(&self, used: &Use, refused: Option<&Secret>) -> Result<Secret, AuthError> {
        let client = self.client(used);
        // Held while the server is asked: whoever comes meanwhile waits for the same token.
        let mut held = self.tokens[used.index].lock().await;
        let is_usable = |tokens: &Tokens| tokens.is_fresh() && Some(&tokens.access) != refused;
        if let Some(tokens) = held.as_ref().filter(|tokens| is_usable(tokens)) {
            return Ok(tokens.access.clone());
        }
        let endpoints = self.endpoints(used, client).await?;
        let name = self.name(client, &endpoints);
        if endpoints.flow.needs_a_person() {
            // Somebody may have logged in meanwhile, beside this process.
            if let Some(kept) = self.vault.load(&name)? {
                *held = Some(kept);
            }
            if let Some(tokens) = held.as_ref().filter(|tokens| is_usable(tokens)) {
                return Ok(tokens.access.clone());
            }
        }
        let old = held.as_ref().and_then(|tokens| tokens.refresh.clone());
        let tokens = self.renewed((used, client), &endpoints, old).await?;
        if endpoints.flow.needs_a_person() {
            self.vault.save(&name, &tokens)?;
        }
        Ok(held.insert(tokens).access.clone())
    }

    async fn renewed(
        &self,
        (used, client): (&Use, &OAuthClient),
        endpoints: &Endpoints,
        old: Option<Secret>,
    ) -> Result<Tokens, AuthError> {
        if let Some(token) = old {
            self.shown.note(&token);
            let form = [("grant_type", "refresh_token"), ("refresh_token", token.expose())];
            match self.ask((used, client), endpoints, &endpoints.refresh, &form).await {
                Err(AuthError::Refused { code, .. }) if code == "invalid_grant" => {}
                answer => return self.tokens_of(answer?, Some(token)),
            }
        }
        if endpoints.flow != Flow::ClientCredentials {
            return Err(AuthError::LoginNeeded { agent: self.agent.clone() });
        }
        let scope = scopes(used, client);
        let mut form = vec![("grant_type", "client_credentials")];
        if !scope.is_empty() {
            form.push(("scope", &scope));
        }
        let answer = self.ask((used, client), endpoints, &endpoints.token, &form).await?;
        self.tokens_of(answer, None)
    }

    /// Keeps the tokens that a login brought.
    pub(super) async fn keep(
        &self,
        used: &Use,
        endpoints: &Endpoints,
        answer: Answer,
    ) -> Result<(), AuthError> {
        let tokens = self.tokens_of(answer, None)?;
        self.vault.save(&self.name(self.client(used), endpoints), &tokens)?;
        *self.tokens[used.index].lock().await = Some(tokens);
        Ok(())
    }

    fn tokens_of(&self, answer: Answer, old: Option<Secret>) -> Result<Tokens, AuthError> {
        answer.into_tokens(old).map_err(|why| self.unusable(&why))
    }

    /// The client of a use.
    pub(super) fn client(&self, used: &Use) -> &OAuthClient {
        match &self.credentials[used.index].method {
            Method::Oauth2(client) => client,
            Method::TokenExchange(exchange) => &exchange.client,
            _ => unreachable!("tokens are asked for uses of clients alone"),
        }
    }

    fn name(&self, client: &OAuthClient, endpoints: &Endpoints) -> Name {
        let origins: Vec<String> = self.origins.iter().map(ToString::to_string).collect();
        let whom = format!("{} at {}", self.agent, origins.join(" "));
        Name::of([&whom, &client.client_id, endpoints.token.as_str()])
    }
}

/// What the card requires and what the operator adds, each once.
pub(super) fn scopes(used: &Use, client: &OAuthClient) -> String {
    let mut scopes: Vec<&str> = Vec::new();
    for scope in used.scopes.iter().chain(&client.scopes) {
        if !scopes.contains(&scope.as_str()) {
            scopes.push(scope);
        }
    }
    scopes.join(" ")
}
