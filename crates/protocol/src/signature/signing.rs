//! Making keys and signatures.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    error::Unspecified,
    rand::SystemRandom,
    rsa,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, Ed25519KeyPair,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{
    EncodingKey,
    jwk::{Jwk, JwkSet, PublicKeyUse},
};
use pem::Pem;
use serde::Serialize;

use super::{Algorithm, SignatureError, canonical, jws::key_id, keys};
use crate::v1::{AgentCard, AgentCardSignature};

/// A private key. Its `Debug` shows nothing of it.
#[derive(Clone, Debug)]
pub struct SigningKey {
    key: EncodingKey,
    kind: keys::Kind,
    /// The public half, without an id.
    public: Jwk,
}

/// What a signature says of itself.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    /// The algorithm; the usual one of the key when absent.
    pub algorithm: Option<Algorithm>,
    /// The id of the key; its thumbprint (RFC 7638) when absent.
    pub key_id: Option<String>,
    /// Where the card's author publishes the key set.
    pub key_set_url: Option<String>,
}

/// The JWS protected header, in the order of the specification's example.
#[derive(Serialize)]
struct Protected<'a> {
    alg: &'static str,
    typ: &'static str,
    kid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    jku: Option<&'a str>,
}

impl SigningKey {
    /// Reads a private key out of PEM: PKCS #8, or PKCS #1 for RSA. `from` names its file in errors.
    ///
    /// # Errors
    /// [`SignatureError::PrivateKey`].
    pub fn read(text: &[u8], from: &str) -> Result<Self, SignatureError> {
        let bad = |why: &str| SignatureError::PrivateKey { from: from.to_owned(), why: why.into() };
        let block = pem::parse(text).map_err(|_| bad("it is not a PEM file"))?;
        match block.tag() {
            "EC PRIVATE KEY" => {
                return Err(bad(
                    "it is in the SEC 1 form; `openssl pkcs8 -topk8 -nocrypt -in FILE` \
                                makes PKCS #8 of it",
                ));
            }
            "ENCRYPTED PRIVATE KEY" => {
                return Err(bad("it is encrypted; `openssl pkcs8 -in FILE` decrypts it"));
            }
            "PRIVATE KEY" | "RSA PRIVATE KEY" => {}
            _ => return Err(bad("it holds no private key")),
        }
        Self::of(text).ok_or_else(|| {
            bad("it is neither a P-256, P-384 or Ed25519 key nor an RSA key of 2048 bits or more")
        })
    }

    fn of(pem: &[u8]) -> Option<Self> {
        let reads = [EncodingKey::from_ec_pem, EncodingKey::from_rsa_pem, EncodingKey::from_ed_pem];
        let key = reads.into_iter().find_map(|read| read(pem).ok())?;
        // The library tells the curve of a key by trying.
        let public = Algorithm::ALL.into_iter().find_map(|algorithm| {
            let is_of_family = algorithm.of_library().family() == key.family();
            is_of_family.then(|| Jwk::from_encoding_key(&key, algorithm.of_library()).ok())?
        });
        let mut public = public?;
        public.common.key_algorithm = None;
        let kind = keys::kind(&public).ok()?;
        Some(Self { key, kind, public })
    }

    /// Makes a new key, and its PEM (PKCS #8) to be kept in a safe place. RSA keys get 3072 bits.
    ///
    /// # Errors
    /// [`SignatureError::Library`].
    pub fn generate(algorithm: Algorithm) -> Result<(Self, String), SignatureError> {
        let failed = |why: String| SignatureError::Library { what: "make a key", why };
        let der = generate(algorithm).map_err(|error| failed(error.to_string()))?;
        let text = pem::encode(&Pem::new("PRIVATE KEY", der));
        let key = Self::of(text.as_bytes())
            .ok_or_else(|| failed("it cannot read the key it made".to_owned()))?;
        Ok((key, text))
    }

    /// Returns the public half as a JWK set in JSON, for the verifiers of its signatures.
    ///
    /// # Errors
    /// [`SignatureError::Misfit`] and [`SignatureError::Library`].
    pub fn public_keys(&self, headers: &Headers) -> Result<String, SignatureError> {
        let mut jwk = self.public.clone();
        jwk.common.key_id = Some(self.id(headers)?);
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        // Some libraries take every RSA key without it for one of RS256.
        jwk.common.key_algorithm = Some(self.algorithm(headers)?.of_library().into());
        let set = JwkSet { keys: vec![jwk] };
        serde_json::to_string_pretty(&set).map_err(|error| SignatureError::Library {
            what: "write a key set",
            why: error.to_string(),
        })
    }

    /// The id that a signature names this key by.
    fn id(&self, headers: &Headers) -> Result<String, SignatureError> {
        headers.key_id.clone().map_or_else(|| keys::thumbprint(&self.public), Ok)
    }

    /// The algorithm asked for, else the usual one.
    fn algorithm(&self, headers: &Headers) -> Result<Algorithm, SignatureError> {
        let algorithm = headers.algorithm.unwrap_or(self.kind.algorithms()[0]);
        if self.kind.fits(algorithm) {
            return Ok(algorithm);
        }
        let fits: Vec<&str> = self.kind.algorithms().iter().map(|one| one.name()).collect();
        Err(SignatureError::Misfit { algorithm, fits: fits.join(" or ") })
    }
}

fn generate(algorithm: Algorithm) -> Result<Vec<u8>, Unspecified> {
    let ec = |curve: &'static EcdsaSigningAlgorithm| {
        let document = EcdsaKeyPair::generate_pkcs8(curve, &SystemRandom::new())?;
        Ok(document.as_ref().to_vec())
    };
    match algorithm {
        Algorithm::Es256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING),
        Algorithm::Es384 => ec(&ECDSA_P384_SHA384_FIXED_SIGNING),
        Algorithm::Rs256 | Algorithm::Ps256 => {
            let pair = rsa::KeyPair::generate(rsa::KeySize::Rsa3072)?;
            let der: Pkcs8V1Der<'_> = pair.as_der()?;
            Ok(der.as_ref().to_vec())
        }
        // Version 1 without the public half, which is what most others read.
        Algorithm::EdDsa => {
            Ok(Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new())?.as_ref().to_vec())
        }
    }
}

/// Signs a card (A2A §8.4.2). Signatures that it has already are not part of what is signed; they
/// stay, except one by a key of the same id.
///
/// # Errors
/// [`SignatureError::Misfit`], [`SignatureError::Json`] and [`SignatureError::Library`].
pub fn sign(
    card: &mut AgentCard,
    key: &SigningKey,
    headers: &Headers,
) -> Result<(), SignatureError> {
    let algorithm = key.algorithm(headers)?;
    let kid = &key.id(headers)?;
    let jku = headers.key_set_url.as_deref();
    let header = Protected { alg: algorithm.name(), typ: "JOSE", kid, jku };
    let failed = |why: String| SignatureError::Library { what: "sign", why };
    let header = serde_json::to_vec(&header).map_err(|error| failed(error.to_string()))?;
    let protected = URL_SAFE_NO_PAD.encode(header);
    let input = signing_input(&protected, &canonical(card)?);
    let signature = jsonwebtoken::crypto::sign(&input, &key.key, algorithm.of_library())
        .map_err(|error| failed(error.to_string()))?;
    card.signatures.retain(|other| key_id(&other.protected).as_ref() != Some(kid));
    card.signatures.push(AgentCardSignature { protected, signature, header: None });
    Ok(())
}

/// What is signed in the end (RFC 7515 §5.1).
pub(super) fn signing_input(protected: &str, payload: &[u8]) -> Vec<u8> {
    let mut input = String::with_capacity(protected.len() + 1 + payload.len().div_ceil(3) * 4);
    input.push_str(protected);
    input.push('.');
    URL_SAFE_NO_PAD.encode_string(payload, &mut input);
    input.into_bytes()
}
