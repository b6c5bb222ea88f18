//! Signatures of Agent Cards (A2A §8.4): JWS over the card's canonical form.
//!
//! What makes a signature worth something is its key. Keys come from the operator, as a file or as
//! an address the operator wrote; a signature by one of them is [`Standing::Trusted`]. A card may
//! say where its own key set is (`jku`): such a key is looked up on the card's own server only, and
//! proves no more than that whoever serves the card also signed it ([`Standing::ValidUntrusted`]).

mod canonical;
mod exact;
mod jws;
mod keys;
mod lookup;
mod signing;
mod unsigned;
mod verify;

use std::{fmt, str::FromStr};

pub use canonical::{Form, canonical};
pub use jws::key_id;
pub use keys::Keys;
pub use lookup::{check, fetch_keys};
pub use signing::{Headers, SigningKey, sign};
pub use unsigned::Unsigned;
pub use verify::{Flaw, MAX_SIGNATURES, SignatureCheck, Standing, Verdict, Verification, verify};

use crate::{card::CardError, outbound::OutboundError};

/// The algorithms that cards are signed with here. `none` and the HMAC family are no members: the
/// one proves nothing, and whoever can check the other can also sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// RSA, PKCS #1 v1.5, with SHA-256.
    Rs256,
    /// RSA, PSS, with SHA-256.
    Ps256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Es256, Self::Es384, Self::Rs256, Self::Ps256, Self::EdDsa];

    /// Returns the name that JWS uses (RFC 7518 §3.1, RFC 8037 §3.1).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
        }
    }

    fn of_library(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::Es384 => jsonwebtoken::Algorithm::ES384,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Ps256 => jsonwebtoken::Algorithm::PS256,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }

    /// Lists the names for people.
    fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = SignatureError;

    /// Reads the name that JWS uses. Names are compared exactly, as RFC 7515 §5.3 wants.
    ///
    /// # Errors
    /// [`SignatureError::Algorithm`] for any other name.
    fn from_str(name: &str) -> Result<Self, SignatureError> {
        let known = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        known.ok_or_else(|| SignatureError::Algorithm { name: name.to_owned() })
    }
}

/// The key a person named, or the card, cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// The algorithm is none that cards are signed with here.
    #[error("cards are not signed with `{name}` here; the algorithms are {}", Algorithm::names())]
    Algorithm {
        /// What was asked for.
        name: String,
    },
    /// The card is no JSON, or JSON that two readers may read differently.
    #[error("the card cannot be signed or checked: {why}")]
    Json {
        /// What is wrong, and where.
        why: String,
    },
    /// The JSON is no card.
    #[error("the card cannot be signed: {0}")]
    Card(#[from] CardError),
    /// The card is one of an older version, of which a signature over 1.0's form would say nothing.
    #[error(
        "the card cannot be signed: it is written in A2A {version}; an A2A 1.0 card lists its addresses in supportedInterfaces"
    )]
    Older {
        /// Its version.
        version: String,
    },
    /// A private key cannot be read.
    #[error("{from} holds no private key that cards can be signed with: {why}")]
    PrivateKey {
        /// The file.
        from: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Public keys cannot be read.
    #[error("{from} holds no public key that signatures can be checked with: {why}")]
    PublicKey {
        /// The file or address.
        from: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// Public keys cannot be fetched.
    #[error("the keys cannot be fetched: {0}")]
    Fetch(#[from] OutboundError),
    /// A server has no keys at the address.
    #[error("the keys cannot be fetched: {url} answered with HTTP status {status}")]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The key is of another kind than the algorithm.
    #[error(
        "a key for {fits} does not sign with {algorithm}; name an algorithm that fits, or none"
    )]
    Misfit {
        /// What was asked for.
        algorithm: Algorithm,
        /// What the key is for.
        fits: String,
    },
    /// The library refused to make a key or a signature.
    #[error("the cryptographic library failed to {what}: {why}")]
    Library {
        /// What it should have done.
        what: &'static str,
        /// What it said.
        why: String,
    },
}

#[cfg(test)]
mod tests;
