//! Bearer tokens: whose account and which scopes the claims of an issuer mean.

use jiff::Timestamp;
use protocol::{
    auth::{CallerToken, Secret},
    bearer::{TokenError, TokenRules, TokenVerifier},
    outbound::Outbound,
};
use serde_json::{Map, Value};

use super::{AccessError, Principal, Scopes, account};

/// What accounts of tokens begin with, so that no issuer can name the account of an API key, or of the process itself,
/// by chance.
const ACCOUNTS: &str = "oidc:";

/// Which tokens are taken, and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Whose tokens.
    pub rules: TokenRules,
    /// The claim with the scopes: a list, or a text with spaces between.
    pub scopes_claim: String,
    /// The claim with the account.
    pub account_claim: String,
    /// Whether they may be exchanged for those of agents, for runs that they start (RFC 8693).
    pub may_be_exchanged: bool,
}

/// Takes bearer tokens of an issuer.
#[derive(Debug)]
pub struct Tokens {
    verifier: TokenVerifier,
    settings: TokenSettings,
}

impl Tokens {
    /// Takes tokens as these settings say.
    #[must_use]
    pub fn new(outbound: Outbound, settings: TokenSettings) -> Self {
        Self { verifier: TokenVerifier::new(outbound, settings.rules.clone()), settings }
    }

    /// Where clients learn how to get one; `None` when only the keys of the issuer are known.
    pub(super) fn discovery_url(&self) -> Option<String> {
        let TokenRules { issuer, jwks_url, .. } = &self.settings.rules;
        let url = || format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        jwks_url.is_none().then(url)
    }

    /// Finds out whose a token is.
    pub(super) async fn identify(&self, token: &str) -> Result<Principal, AccessError> {
        let claims = self.verifier.check(token).await.map_err(|error| match error {
            TokenError::NoKeys(_) => {
                // The words name addresses of ours; the log has them.
                AccessError::Unknown(
                    "bearer tokens cannot be checked just now; try again".to_owned(),
                )
            }
            error => AccessError::BadCredentials(error.to_string()),
        })?;
        let principal = self.settings.principal(&claims)?;
        let token = self
            .settings
            .may_be_exchanged
            .then(|| CallerToken { token: Secret::new(token), until: principal.expires_at });
        Ok(Principal { token, ..principal })
    }
}

impl TokenSettings {
    fn principal(&self, claims: &Map<String, Value>) -> Result<Principal, AccessError> {
        let bad = |why: String| AccessError::BadCredentials(why);
        let claim = &self.account_claim;
        let name = claims.get(claim).and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let name = name
            .ok_or_else(|| bad(format!("the bearer token has no text in its claim `{claim}`")))?;
        let account = account(&format!("{ACCOUNTS}{name}")).map_err(|why| {
            bad(format!("the claim `{claim}` of the bearer token names no account: {why}"))
        })?;
        let expires_at = claims.get("exp").and_then(Value::as_f64).and_then(seconds);
        Ok(Principal { account, scopes: self.scopes(claims), key: None, expires_at, token: None })
    }

    /// Scopes of others, which mean nothing here, are passed over.
    fn scopes(&self, claims: &Map<String, Value>) -> Scopes {
        let words: Vec<&str> = match claims.get(&self.scopes_claim) {
            Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        words.into_iter().filter_map(|word| word.parse().ok()).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a time beyond all clocks saturates")]
fn seconds(exp: f64) -> Option<Timestamp> {
    Timestamp::from_second(exp as i64).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn principal(claims: Value) -> Result<Principal, AccessError> {
        let rules = TokenRules {
            issuer: "https://issuer.example".to_owned(),
            audience: "convoke".to_owned(),
            jwks_url: None,
        };
        let settings = TokenSettings {
            rules,
            scopes_claim: "permissions".to_owned(),
            account_claim: "team".to_owned(),
            may_be_exchanged: false,
        };
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        settings.principal(&claims)
    }

    #[test]
    fn account_and_scopes_stand_in_the_claims_that_the_operator_names() {
        for scopes in [
            json!("openid runs:read runs:start:trip"),
            json!(["runs:read", "x", "runs:start:trip", 7]),
        ] {
            let claims =
                json!({"team": "blue", "sub": "ada", "permissions": scopes, "scope": "admin"});
            let found = principal(claims).unwrap();
            assert_eq!(found.account.as_str(), "oidc:blue");
            let texts: Vec<String> = found.scopes.iter().map(ToString::to_string).collect();
            assert_eq!(texts, ["runs:start:trip", "runs:read"]);
        }
        let found = principal(json!({"team": "blue", "exp": 7.9})).unwrap();
        assert!(found.scopes.is_empty());
        assert_eq!(found.expires_at, Timestamp::from_second(7).ok());
    }

    #[test]
    fn no_token_is_of_the_account_of_the_process() {
        assert_ne!(principal(json!({"team": "local"})).unwrap().account.as_str(), "local");
        for team in [
            json!(null),
            json!(""),
            json!(7),
            json!(["local"]),
            json!("a\nb"),
            json!("x".repeat(300)),
        ] {
            let error = principal(json!({"team": team, "sub": "ada"})).unwrap_err().to_string();
            assert!(error.contains("`team`"), "{error}");
            assert!(!error.contains("xxx"), "{error}");
        }
    }
}
