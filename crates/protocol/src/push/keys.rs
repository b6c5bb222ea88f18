//! The keys that notifications are signed with: one at a time, and the public halves of those before it.

use std::time::Duration;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use jsonwebtoken::{
    Algorithm, EncodingKey, Header,
    jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash},
};
use serde::{Deserialize, Serialize};

use super::PushError;

/// A private ES256 key in use, and the public keys of those that were in use before and that receivers may
/// still need. Its Debug shows no private key.
#[derive(Clone, Debug)]
pub struct Keyring {
    current: SigningKey,
    retired: Vec<Retired>,
}

#[derive(Clone, Debug)]
struct SigningKey {
    private: EncodingKey,
    public: Jwk,
    /// The thumbprint of the public key (RFC 7638).
    id: String,
    created_at: Timestamp,
}

/// A public key whose private one is gone.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Retired {
    public: Jwk,
    /// When nobody needs it any more.
    until: Timestamp,
}

/// How a keyring is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    v: u32,
    /// PKCS #8 in base64.
    private: String,
    created_at: Timestamp,
    #[serde(default)]
    retired: Vec<Retired>,
}

/// Version of what is kept.
const VERSION: u32 = 1;

impl Keyring {
    /// Makes a keyring with a new key.
    ///
    /// # Errors
    /// [`PushError::Key`] when the machine makes none.
    pub fn generate(now: Timestamp) -> Result<Self, PushError> {
        Ok(Self { current: SigningKey::generate(now)?, retired: Vec::new() })
    }

    /// Reads what [`Keyring::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`PushError::Key`] when it is something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PushError> {
        let kept: Kept = serde_json::from_slice(bytes).map_err(|error| unusable(&error))?;
        if kept.v != VERSION {
            return Err(unusable(&format!("version {} is not known here", kept.v)));
        }
        let private = STANDARD.decode(&kept.private).map_err(|error| unusable(&error))?;
        Ok(Self { current: SigningKey::of(&private, kept.created_at)?, retired: kept.retired })
    }

    /// Writes it, private key included: for a place that its owner alone can read.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let kept = Kept {
            v: VERSION,
            private: STANDARD.encode(self.current.private.as_bytes()),
            created_at: self.current.created_at,
            retired: self.retired.clone(),
        };
        serde_json::to_vec_pretty(&kept).expect("strings and keys are always JSON")
    }

    /// Brings it up to date: a key that has been in use for `max_age` is replaced, its public half stays
    /// for `keep`, and those that have had that time go. Says whether anything changed.
    ///
    /// # Errors
    /// [`PushError::Key`] when the machine makes no key; then nothing has changed.
    pub fn renew(
        &mut self,
        now: Timestamp,
        max_age: Duration,
        keep: Duration,
    ) -> Result<bool, PushError> {
        let until =
            |from: Timestamp, lasts: Duration| from.checked_add(lasts).unwrap_or(Timestamp::MAX);
        let before = self.retired.len();
        let is_old = until(self.current.created_at, max_age) <= now;
        let next = is_old.then(|| SigningKey::generate(now)).transpose()?;
        self.retired.retain(|key| key.until > now);
        let mut has_changed = self.retired.len() != before;
        if let Some(next) = next {
            let old = std::mem::replace(&mut self.current, next);
            self.retired.push(Retired { public: old.public, until: until(now, keep) });
            has_changed = true;
        }
        Ok(has_changed)
    }

    /// The public keys as a JWK set (RFC 7517), the one in use first.
    #[must_use]
    pub fn public_keys(&self) -> JwkSet {
        let retired = self.retired.iter().map(|key| key.public.clone());
        JwkSet { keys: std::iter::once(self.current.public.clone()).chain(retired).collect() }
    }

    /// Signs claims as a JWT.
    ///
    /// # Errors
    /// [`PushError::Key`] when they cannot be signed.
    pub fn sign<T: Serialize>(&self, claims: &T) -> Result<String, PushError> {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.current.id.clone());
        jsonwebtoken::encode(&header, claims, &self.current.private)
            .map_err(|error| unusable(&error))
    }
}

impl SigningKey {
    fn generate(now: Timestamp) -> Result<Self, PushError> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .map_err(|error| unusable(&error))?;
        let private = pair.to_pkcs8v1().map_err(|error| unusable(&error))?;
        Self::of(private.as_ref(), now)
    }

    fn of(private: &[u8], created_at: Timestamp) -> Result<Self, PushError> {
        let private = EncodingKey::from_ec_der(private);
        let mut public =
            Jwk::from_encoding_key(&private, Algorithm::ES256).map_err(|error| unusable(&error))?;
        let id = public.thumbprint(ThumbprintHash::SHA256).map_err(|error| unusable(&error))?;
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { private, public, id, created_at })
    }
}

fn unusable(error: &impl ToString) -> PushError {
    PushError::Key { why: error.to_string() }
}
