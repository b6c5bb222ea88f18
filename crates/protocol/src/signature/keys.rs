//! Public keys, out of PEM and JWK.

use jsonwebtoken::{
    DecodingKey,
    jwk::{
        AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
        ThumbprintHash,
    },
};
use pem::Pem;
use serde_json::Value as Json;

use super::{Algorithm, SignatureError};

/// RSA keys with a shorter modulus are refused by the library, as RFC 7518 §3.3 wants.
const SHORTEST_RSA_BITS: usize = 2048;

/// Public keys that signatures are checked with.
///
/// A key without an id, as PEM files hold them, fits signatures of every id.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<PublicKey>,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    key: DecodingKey,
    kind: Kind,
    id: Option<String>,
    /// The only algorithm it may be used with, where its owner says so.
    algorithm: Option<Algorithm>,
    /// Where it came from.
    pub(super) from: String,
}

/// What a key can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    P256,
    P384,
    Rsa,
    Ed25519,
}

impl Kind {
    pub(super) fn fits(self, algorithm: Algorithm) -> bool {
        self.algorithms().contains(&algorithm)
    }

    /// The algorithms of such a key, the usual one first.
    pub(super) fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Self::P256 => &[Algorithm::Es256],
            Self::P384 => &[Algorithm::Es384],
            Self::Rsa => &[Algorithm::Rs256, Algorithm::Ps256],
            Self::Ed25519 => &[Algorithm::EdDsa],
        }
    }
}

impl Keys {
    /// Reads the keys of a file or an answer: a JWK, a JWK set, or PEM with any number of public
    /// keys. Keys of a set that are not for signatures are passed over. `from` says in reports where
    /// the keys came from.
    ///
    /// # Errors
    /// [`SignatureError::PublicKey`] when none is left.
    pub fn read(text: &[u8], from: &str) -> Result<Self, SignatureError> {
        let keys = if text.trim_ascii_start().starts_with(b"{") {
            from_json(text, from)?
        } else {
            from_pem(text, from)?
        };
        Ok(Self { keys })
    }

    /// Says in reports that the keys are somebody's, instead of where they came from.
    #[must_use]
    pub fn held_by(mut self, holder: &str) -> Self {
        for key in &mut self.keys {
            holder.clone_into(&mut key.from);
        }
        self
    }

    /// Adds the keys of another source.
    pub fn join(&mut self, other: Self) {
        self.keys.extend(other.keys);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys that a signature with this key id may be by.
    pub(super) fn named<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = &'a PublicKey> {
        self.keys
            .iter()
            .filter(move |key| key.id.is_none() || id.is_none() || key.id.as_deref() == id)
    }
}

impl PublicKey {
    pub(super) fn fits(&self, algorithm: Algorithm) -> bool {
        self.kind.fits(algorithm) && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Whether this key made the signature over these bytes. A signature that cannot be read is by
    /// no key.
    pub(super) fn signed(&self, bytes: &[u8], signature: &str, algorithm: Algorithm) -> bool {
        let verified =
            jsonwebtoken::crypto::verify(signature, bytes, &self.key, algorithm.of_library());
        verified.unwrap_or(false)
    }

    fn from_jwk(jwk: &Jwk, from: &str) -> Result<Self, String> {
        let kind = kind(jwk)?;
        refuse_other_uses(jwk)?;
        let algorithm = match jwk.common.key_algorithm {
            None => None,
            Some(named) => Some(algorithm(kind, named)?),
        };
        let key = DecodingKey::from_jwk(jwk).map_err(|error| error.to_string())?;
        let id = jwk.common.key_id.clone();
        Ok(Self { key, kind, id, algorithm, from: from.to_owned() })
    }
}

/// Says what a key can be used for.
pub(super) fn kind(jwk: &Jwk) -> Result<Kind, String> {
    match &jwk.algorithm {
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => Ok(Kind::P256),
            EllipticCurve::P384 => Ok(Kind::P384),
            ref other => Err(format!("the curve {other:?} is not used for cards here")),
        },
        AlgorithmParameters::RSA(key) => {
            // Base64 holds six bits a character.
            let bits = key.n.len() * 6;
            if bits < SHORTEST_RSA_BITS {
                return Err(format!("an RSA key needs {SHORTEST_RSA_BITS} bits at least"));
            }
            Ok(Kind::Rsa)
        }
        AlgorithmParameters::OctetKeyPair(key) => match key.curve {
            EllipticCurve::Ed25519 => Ok(Kind::Ed25519),
            ref other => Err(format!("the curve {other:?} is not used for cards here")),
        },
        AlgorithmParameters::OctetKey(_) => {
            Err("a shared secret (`oct`) can sign whatever it can check, so it proves nothing"
                .to_owned())
        }
        _ => Err("keys of this kind are not used for cards here".to_owned()),
    }
}

/// The id of a key that was given none: its thumbprint (RFC 7638), the same wherever it is made.
pub(super) fn thumbprint(jwk: &Jwk) -> Result<String, SignatureError> {
    jwk.thumbprint(ThumbprintHash::SHA256).map_err(|error| SignatureError::Library {
        what: "make the thumbprint of a key",
        why: error.to_string(),
    })
}

fn refuse_other_uses(jwk: &Jwk) -> Result<(), String> {
    if jwk.common.public_key_use.as_ref().is_some_and(|used| *used != PublicKeyUse::Signature) {
        return Err("its `use` is not `sig`".to_owned());
    }
    let operations = jwk.common.key_operations.as_ref();
    if operations.is_some_and(|all| !all.contains(&KeyOperations::Verify)) {
        return Err("its `key_ops` lacks `verify`".to_owned());
    }
    Ok(())
}

fn algorithm(kind: Kind, named: KeyAlgorithm) -> Result<Algorithm, String> {
    let name = named.to_string();
    match name.parse() {
        Ok(algorithm) if kind.fits(algorithm) => Ok(algorithm),
        _ => Err(format!("its `alg`, {name}, is not one that cards are signed with by such a key")),
    }
}

fn from_json(text: &[u8], from: &str) -> Result<Vec<PublicKey>, SignatureError> {
    let bad = |why: String| SignatureError::PublicKey { from: from.to_owned(), why };
    let json: Json = serde_json::from_slice(text)
        .map_err(|error| bad(format!("it is neither PEM nor JSON ({error})")))?;
    let all = match json.get("keys") {
        Some(Json::Array(keys)) => keys.clone(),
        Some(_) => return Err(bad("its `keys` is not a list".to_owned())),
        None => vec![json],
    };
    let (mut keys, mut passed_over) = (Vec::new(), Vec::new());
    for (number, json) in (1..).zip(all) {
        let read = serde_json::from_value::<Jwk>(json).map_err(|error| error.to_string());
        match read.and_then(|jwk| PublicKey::from_jwk(&jwk, from)) {
            Ok(key) => keys.push(key),
            Err(why) => passed_over.push(format!("key {number}: {why}")),
        }
    }
    match (keys.is_empty(), passed_over.is_empty()) {
        (false, _) => Ok(keys),
        (true, true) => Err(bad("the set is empty".to_owned())),
        (true, false) => Err(bad(passed_over.join("; "))),
    }
}

fn from_pem(text: &[u8], from: &str) -> Result<Vec<PublicKey>, SignatureError> {
    let bad = |why: String| SignatureError::PublicKey { from: from.to_owned(), why };
    let blocks = pem::parse_many(text)
        .map_err(|error| bad(format!("it is neither PEM ({error}) nor JSON")))?;
    if blocks.is_empty() {
        return Err(bad("it is neither PEM nor JSON".to_owned()));
    }
    let keys = blocks.iter().map(|block| {
        let jwk = jwk_of(block)?;
        PublicKey::from_jwk(&jwk, from)
    });
    keys.collect::<Result<_, _>>().map_err(bad)
}

fn jwk_of(block: &Pem) -> Result<Jwk, String> {
    match block.tag() {
        "PUBLIC KEY" | "RSA PUBLIC KEY" => {}
        "CERTIFICATE" => {
            return Err("it is a certificate; take the key out of it with \
                        `openssl x509 -pubkey -noout`"
                .to_owned());
        }
        tag if tag.ends_with("PRIVATE KEY") => {
            return Err("it is a private key; `convoke card keys public FILE` prints the public \
                        one, which is all that has to be known here"
                .to_owned());
        }
        tag => return Err(format!("a PEM block `{tag}` holds no public key")),
    }
    let text = pem::encode(block);
    let read = [DecodingKey::from_ec_pem, DecodingKey::from_rsa_pem, DecodingKey::from_ed_pem]
        .into_iter()
        .find_map(|read| read(text.as_bytes()).ok());
    let key = read.ok_or("it is neither an EC, an RSA nor an Ed25519 key")?;
    Jwk::from_decoding_key(&key, None).map_err(|_| {
        "it is no whole key of the curves P-256, P-384 and Ed25519, nor an RSA key".to_owned()
    })
}
