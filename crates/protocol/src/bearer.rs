//! Bearer tokens of callers: JWTs of one issuer, checked by the keys that it publishes.
//!
//! A token counts when it is signed with an asymmetric algorithm by a key of the issuer, names that
//! issuer and this audience, and is of now (RFC 7519 §4.1, RFC 9068 §4). What its other claims mean is
//! up to whoever asks. Keys are found as the issuer says itself (OpenID Connect Discovery §4,
//! RFC 8414 §3) or at a URL that the operator names, through the guarded client.

mod keys;
#[cfg(test)]
mod tests;

use jsonwebtoken::Validation;
use serde_json::{Map, Value};
use url::Url;

use self::keys::IssuerKeys;
use crate::{jwt, outbound::Outbound};

/// How far the clocks of two machines may be apart, in seconds.
const LEEWAY: u64 = 60;

/// The longest token that is looked at, in bytes.
const LONGEST: usize = 16 * 1024;

/// Whose tokens count, and for whom they have to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRules {
    /// `iss`, letter by letter; also where the issuer describes itself.
    pub issuer: String,
    /// What `aud` has to hold.
    pub audience: String,
    /// Where the public keys are; found by discovery when absent.
    pub jwks_url: Option<Url>,
}

/// Why a token does not count. No variant repeats any of it but names of algorithms and keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It is no JWT, or not of this issuer, this audience, or now.
    #[error("the bearer token is not valid: {0}")]
    Invalid(String),
    /// Nobody could tell who has made it.
    #[error(
        "the bearer token is signed with an algorithm that is not taken; it has to be one of ES256, ES384, RS256, \
         RS384, RS512, PS256, PS384, PS512 and EdDSA"
    )]
    Algorithm,
    /// The issuer has no such key.
    #[error("the bearer token is by a key that its issuer does not publish")]
    UnknownKey,
    /// Nobody can tell now.
    #[error("bearer tokens cannot be checked just now: {0}")]
    NoKeys(String),
}

/// Checks tokens of one issuer.
#[derive(Debug)]
pub struct TokenVerifier {
    rules: TokenRules,
    keys: IssuerKeys,
}

impl TokenVerifier {
    /// Creates a verifier. Keys are fetched when the first token comes.
    #[must_use]
    pub fn new(outbound: Outbound, rules: TokenRules) -> TokenVerifier {
        let keys = IssuerKeys::new(outbound, &rules);
        TokenVerifier { rules, keys }
    }

    /// Checks a token and returns its claims. Keys are kept for a while, and fetched anew for a token by
    /// a key that is not among them.
    ///
    /// # Errors
    /// [`TokenError`].
    pub async fn check(&self, token: &str) -> Result<Map<String, Value>, TokenError> {
        let invalid = |why: &str| TokenError::Invalid(why.to_owned());
        if token.len() > LONGEST {
            return Err(invalid("it is too long"));
        }
        // An algorithm that the library does not know, as `none`, is an error here.
        let header = jsonwebtoken::decode_header(token).map_err(|error| unread(&error))?;
        if !jwt::ASYMMETRIC.contains(&header.alg) {
            return Err(TokenError::Algorithm);
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg).await?;
        let mut validation = Validation::new(header.alg);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.rules.issuer]);
        validation.set_audience(&[&self.rules.audience]);
        let decoded = jsonwebtoken::decode::<Map<String, Value>>(token, &key, &validation);
        let claims = decoded.map_err(|error| unread(&error))?.claims;
        // The library lets a list pass that holds the issuer; a token has one.
        if claims.get("iss").and_then(Value::as_str) != Some(&*self.rules.issuer) {
            return Err(invalid("it is of another issuer"));
        }
        Ok(claims)
    }
}

/// What is wrong, in words that hold nothing of the token.
fn unread(error: &jsonwebtoken::errors::Error) -> TokenError {
    use jsonwebtoken::errors::ErrorKind as K;
    let why = match error.kind() {
        K::ExpiredSignature => "it has expired",
        K::ImmatureSignature => "it is not valid yet",
        K::InvalidIssuer => "it is of another issuer",
        K::InvalidAudience => "it is for another audience",
        K::InvalidSignature => "its signature does not fit",
        K::MissingRequiredClaim(claim) => {
            return TokenError::Invalid(format!("it has no `{claim}`"));
        }
        K::InvalidClaimFormat(claim) => {
            return TokenError::Invalid(format!("its `{claim}` cannot be read"));
        }
        K::InvalidAlgorithm | K::InvalidAlgorithmName => return TokenError::Algorithm,
        _ => "it is no JWT that can be read",
    };
    TokenError::Invalid(why.to_owned())
}
