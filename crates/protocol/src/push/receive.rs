//! Push notifications, as whoever receives them: is this one what it claims to be?

use std::collections::HashMap;

use aws_lc_rs::{constant_time, hmac};
use http::HeaderMap;
use jiff::Timestamp;
use jsonwebtoken::{DecodingKey, Validation, jwk::JwkSet};
use serde_json::Value;

use super::{
    SIGNATURE_HEADER, TOKEN_HEADER,
    sign::{Claims, hash},
};
use crate::{dialect::Dialect, jwt, operation::Operation, v1::StreamResponse};

/// The header with an HMAC of the body: `sha256=` and hexadecimal digits, as many webhooks have it.
const HMAC_HEADER: &str = "x-hub-signature-256";

/// What an event may hold, by the names in JSON.
const EVENTS: [&str; 6] =
    ["task", "message", "statusUpdate", "status_update", "artifactUpdate", "artifact_update"];

/// How old or how far ahead a signature may be, in seconds; a JWT is remembered for twice that.
const WINDOW: i64 = 300;

/// Checks notifications. What it is told to expect, every notification has to bring.
#[derive(Default)]
pub struct Verifier {
    token: Option<String>,
    secret: Option<hmac::Key>,
    keys: Option<PublicKeys>,
    /// Whether a notification without a JWT may pass where there are keys.
    is_jwt_optional: bool,
    /// JWTs that came, and when each was issued.
    seen: HashMap<String, i64>,
}

/// The public keys of a sender; none at first.
#[derive(Clone, Debug)]
pub struct PublicKeys(JwkSet);

impl Default for PublicKeys {
    fn default() -> Self {
        Self(JwkSet { keys: Vec::new() })
    }
}

/// What has been checked of a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It brought the token of the configuration.
    Token,
    /// Its HMAC is by the shared secret.
    Hmac,
    /// Its JWT is by the sender's key, fresh, new, and over this body and Task.
    Jwt {
        /// Who says to have sent it.
        issuer: String,
    },
}

/// Why a notification is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The body is none.
    #[error("the body is no A2A event: {0}")]
    Body(String),
    /// The token.
    #[error("the token in {TOKEN_HEADER} is missing or another one")]
    Token,
    /// The HMAC.
    #[error("the HMAC in {HMAC_HEADER} is missing or does not fit the body")]
    Hmac,
    /// There is no JWT.
    #[error("there is no JWT, neither in {SIGNATURE_HEADER} nor as a bearer token")]
    Unsigned,
    /// The sender may have a new key.
    #[error("the JWT is by the key {0:?}, which is not among the sender's public keys")]
    UnknownKey(String),
    /// Nobody can tell now: the sender's keys cannot be had.
    #[error("the public keys of the sender cannot be read: {0}")]
    NoKeys(String),
    /// The JWT cannot be read, or is not by the key that it names.
    #[error("the JWT is not valid: {0}")]
    Jwt(String),
    /// Somebody changed the body.
    #[error("the JWT is over another body")]
    OtherBody,
    /// It belongs to a notification of another Task.
    #[error("the JWT is for the task {0:?}, and the event is not of that")]
    OtherTask(String),
    /// It is from long ago, or from the future.
    #[error("the JWT was issued {0} seconds away from now, and {WINDOW} are allowed")]
    Stale(i64),
    /// It came before.
    #[error("this JWT came before: a replay")]
    Replayed,
}

impl PublicKeys {
    /// Reads a JWK set (RFC 7517).
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map(Self).map_err(|error| error.to_string())
    }

    fn find(&self, id: Option<&str>) -> Option<DecodingKey> {
        let found = match (id, &self.0.keys[..]) {
            (Some(id), _) => self.0.find(id),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        found.and_then(|key| DecodingKey::from_jwk(key).ok())
    }
}

impl Verifier {
    /// Expects the token of a configuration.
    #[must_use]
    pub fn with_token(self, token: String) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Expects an HMAC-SHA-256 of the body in `X-Hub-Signature-256`.
    #[must_use]
    pub fn with_secret(self, secret: &[u8]) -> Self {
        Self { secret: Some(hmac::Key::new(hmac::HMAC_SHA256, secret)), ..self }
    }

    /// Expects a JWT by one of these keys.
    #[must_use]
    pub fn with_keys(self, keys: PublicKeys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Expects a JWT by these keys from notifications that bring one.
    #[must_use]
    pub fn with_keys_for_signed(self, keys: PublicKeys) -> Self {
        Self { is_jwt_optional: true, ..self.with_keys(keys) }
    }

    /// Takes other keys of the same sender from now on.
    pub fn replace_keys(&mut self, keys: PublicKeys) {
        self.keys = Some(keys);
    }

    /// Checks a notification that came at `now`, and reads its event. One that passes is remembered, so
    /// that its JWT does not pass again.
    ///
    /// # Errors
    /// The first [`Rejection`].
    pub fn check(
        &mut self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<(StreamResponse, Vec<Proof>), Rejection> {
        let event = read(body)?;
        let proofs = self.prove(headers, body, Some(event.task_id()), now)?;
        Ok((event, proofs))
    }

    /// Checks a notification whose event does not matter, as [`Verifier::check`] does otherwise. A JWT that names a
    /// Task has to name this one, where it is known.
    ///
    /// # Errors
    /// The first [`Rejection`]; never that of a body.
    pub fn prove(
        &mut self,
        headers: &HeaderMap,
        body: &[u8],
        task_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<Proof>, Rejection> {
        let mut proofs = Vec::new();
        if let Some(token) = &self.token {
            check_token(headers, token)?;
            proofs.push(Proof::Token);
        }
        if let Some(secret) = &self.secret {
            let given = headers.get(HMAC_HEADER).and_then(|value| value.to_str().ok());
            let given = given.and_then(|it| it.strip_prefix("sha256=")).and_then(bytes);
            let is_right = given.is_some_and(|it| hmac::verify(secret, body, &it).is_ok());
            is_right.then_some(()).ok_or(Rejection::Hmac)?;
            proofs.push(Proof::Hmac);
        }
        if let Some(keys) = &self.keys {
            let jwt = match jwt(headers) {
                None if self.is_jwt_optional => return Ok(proofs),
                jwt => jwt.ok_or(Rejection::Unsigned)?,
            };
            let claims = claims(keys, jwt)?;
            fits(&claims, task_id, body)?;
            let issuer = claims.iss.clone();
            self.note(&claims, now.as_second())?;
            proofs.push(Proof::Jwt { issuer });
        }
        Ok(proofs)
    }

    /// Refuses a JWT that is not of now, or came before, and remembers it otherwise.
    fn note(&mut self, claims: &Claims, now: i64) -> Result<(), Rejection> {
        let away = claims.iat.abs_diff(now);
        if away > WINDOW.unsigned_abs() {
            return Err(Rejection::Stale(i64::try_from(away).unwrap_or(i64::MAX)));
        }
        self.seen.retain(|_, issued| now - *issued <= 2 * WINDOW);
        // Without an id of its own it is the same when it says the same.
        let id = claims.jti.clone().unwrap_or_else(|| {
            format!("{} {} {}", claims.iss, claims.iat, claims.request_body_sha256)
        });
        match self.seen.insert(id, claims.iat) {
            None => Ok(()),
            Some(_) => Err(Rejection::Replayed),
        }
    }
}

/// Reads an event. Before 1.0 a notification is a Task by itself; some senders have it be an event
/// of a stream.
fn read(body: &[u8]) -> Result<StreamResponse, Rejection> {
    let bad = |error: serde_json::Error| Rejection::Body(error.to_string());
    let mut written: Value = serde_json::from_slice(body).map_err(bad)?;
    let is_current = |written: &Value| EVENTS.iter().any(|name| written.get(name).is_some());
    if !is_current(&written) {
        written = Dialect::V0_3.read_result(Operation::SubscribeToTask, written, "");
    }
    if !is_current(&written) {
        return Err(Rejection::Body("it holds no Task, Message or update".to_owned()));
    }
    serde_json::from_value(written).map_err(bad)
}

/// Checks that a notification brings the token of its configuration, in a time that says nothing of either.
///
/// # Errors
/// [`Rejection::Token`].
pub fn check_token(headers: &HeaderMap, token: &str) -> Result<(), Rejection> {
    let given = headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok());
    constant_time::verify_slices_are_equal(
        hash(given.unwrap_or_default().as_bytes()).as_bytes(),
        hash(token.as_bytes()).as_bytes(),
    )
    .map_err(|_| Rejection::Token)
}

/// The JWT of a notification: in our own header, else the bearer token.
fn jwt(headers: &HeaderMap) -> Option<&str> {
    let own = headers.get(SIGNATURE_HEADER).and_then(|it| it.to_str().ok());
    own.or_else(|| {
        let given = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = given.split_once(' ')?;
        scheme.eq_ignore_ascii_case("Bearer").then(|| token.trim())
    })
}

/// What a JWT says, once its signature and its end are checked.
fn claims(keys: &PublicKeys, jwt: &str) -> Result<Claims, Rejection> {
    let bad = |error: jsonwebtoken::errors::Error| Rejection::Jwt(error.to_string());
    let header = jsonwebtoken::decode_header(jwt).map_err(bad)?;
    if !jwt::ASYMMETRIC.contains(&header.alg) {
        return Err(Rejection::Jwt("its algorithm needs a shared secret".to_owned()));
    }
    let key = keys.find(header.kid.as_deref());
    let key = key.ok_or_else(|| Rejection::UnknownKey(header.kid.unwrap_or_default()))?;
    let mut validation = Validation::new(header.alg);
    // `exp` is checked where there is one, and `iat` always, in `note`. Under which URL a receiver is
    // known to its clients it may not know itself.
    validation.required_spec_claims.clear();
    validation.validate_aud = false;
    let decoded = jsonwebtoken::decode::<Claims>(jwt, &key, &validation).map_err(bad)?;
    Ok(decoded.claims)
}

/// Whether a JWT is over this body, and about this Task.
fn fits(claims: &Claims, task_id: Option<&str>, body: &[u8]) -> Result<(), Rejection> {
    if !claims.request_body_sha256.eq_ignore_ascii_case(&hash(body)) {
        return Err(Rejection::OtherBody);
    }
    match (&claims.task_id, task_id) {
        (Some(claimed), Some(id)) if claimed != id => Err(Rejection::OtherTask(claimed.clone())),
        _ => Ok(()),
    }
}

/// Reads hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests;
