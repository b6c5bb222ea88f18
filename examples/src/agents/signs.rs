//! Does what echo does, and signs its card.

use std::io;

use async_trait::async_trait;
use axum::{Router, http::header::CONTENT_TYPE, routing};
use protocol::{
    signature::{self, Algorithm, Headers, SigningKey},
    v1::AgentCard,
};

use super::echo;
use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Where the public key is served, and where the card says it is.
const KEYS: &str = "/keys.json";

/// Artifact `echo`, as echo makes it.
pub(super) struct SignsItsCard {
    key: SigningKey,
    headers: Headers,
    /// The public key as a JWK set.
    public: String,
}

impl SignsItsCard {
    /// Takes a private key in PEM, or makes one.
    pub(super) fn new(url: &str, pem: Option<&str>) -> io::Result<Self> {
        let key = match pem {
            Some(pem) => SigningKey::read(pem.as_bytes(), "the signing key"),
            None => SigningKey::generate(Algorithm::Es256).map(|(key, _)| key),
        };
        let key = key.map_err(io::Error::other)?;
        let headers = Headers { key_set_url: Some(format!("{url}{KEYS}")), ..Headers::default() };
        let public = key.public_keys(&headers).map_err(io::Error::other)?;
        Ok(Self { key, headers, public })
    }

    /// Serves the public key.
    pub(super) fn router(&self) -> Router {
        let public = self.public.clone();
        let keys = async move || ([(CONTENT_TYPE, "application/jwk-set+json")], public);
        Router::new().route(KEYS, routing::get(keys))
    }
}

#[async_trait]
impl Agent for SignsItsCard {
    fn profile(&self) -> Profile {
        Profile {
            name: "signs-its-card",
            description: "Answers like echo. Its card is signed; the public key is at /keys.json.",
            skills: vec![skill("signed_echo", "Signed echo", "Says what it is told.", &["signed"])],
        }
    }

    fn sign(&self, card: &mut AgentCard) {
        if let Err(error) = signature::sign(card, &self.key, &self.headers) {
            eprintln!("the card stays unsigned: {error}");
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        work.artifact("echo", echo::echo(&work.message));
        Ending::Completed
    }
}
