//! Checking the signatures of a card (A2A §8.4.3).

use serde_json::Value as Json;

use super::{
    Algorithm, Form, Keys, SignatureError,
    canonical::Forms,
    exact,
    jws::{Entry, Head, Jws},
    signing::signing_input,
};

/// How many signatures of one card are checked. A card for which this is too few is up to something:
/// each one costs a pass over the whole card.
pub const MAX_SIGNATURES: usize = 16;

/// What came of checking a card's signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// One result per signature, in the order of the card.
    pub signatures: Vec<SignatureCheck>,
}

/// What came of checking one signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureCheck {
    /// The algorithm its header names.
    pub algorithm: Option<String>,
    /// The id of the key its header names.
    pub key_id: Option<String>,
    /// Where its header says the key set is.
    pub key_set_url: Option<String>,
    /// What it is worth.
    pub standing: Standing,
}

/// What a signature is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was made with a key that the operator named.
    Trusted {
        /// The file or address the key came from.
        key_from: String,
        /// What it was made over.
        form: Form,
    },
    /// It was made with a key of the card's own server, which nobody vouches for.
    ValidUntrusted {
        /// The address the key came from.
        key_from: String,
        /// What it was made over.
        form: Form,
    },
    /// It proves nothing.
    Invalid(Flaw),
}

impl Standing {
    /// Returns the verdict that this signature alone would give.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Trusted { .. } => Verdict::Trusted,
            Self::ValidUntrusted { .. } => Verdict::ValidUntrusted,
            Self::Invalid(_) => Verdict::Invalid,
        }
    }
}

/// What a card's signatures are worth together. The best one counts: several are how keys are
/// rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The card has none.
    Unsigned,
    /// None of them proves anything.
    Invalid,
    /// At least one is right, by a key nobody vouches for.
    ValidUntrusted,
    /// At least one is right, by a key that the operator named.
    Trusted,
}

impl Verdict {
    /// Returns its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Invalid => "invalid",
            Self::ValidUntrusted => "valid-untrusted",
            Self::Trusted => "trusted",
        }
    }
}

/// Why a signature proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It is no JWS.
    #[error("it is malformed: {0}")]
    Malformed(String),
    /// Its header names an algorithm that proves nothing, or that is not known.
    #[error("its algorithm, `{0}`, is refused; the ones accepted are {names}", names = Algorithm::names())]
    Algorithm(String),
    /// Its header demands what is not understood here, so it must be refused (RFC 7515 §4.1.11).
    #[error("its header demands that `{0}` be understood, which is not the case here")]
    Critical(String),
    /// No key for it is at hand.
    #[error("it cannot be checked: no key {} is known; name the file or address that holds it with --keys", id(.key_id))]
    UnknownKey {
        /// The id that the header names.
        key_id: Option<String>,
    },
    /// No key for it is at hand, and where the card says it is, it was not found or not looked for.
    #[error(
        "it cannot be checked: no key {} is known. The card points to {url}, which gives none: \
         {why}. If you trust that address, name it with --keys",
        id(.key_id)
    )]
    NotFound {
        /// The id that the header names.
        key_id: Option<String>,
        /// The `jku` of the header.
        url: String,
        /// Why not.
        why: String,
    },
    /// The key is there, and for another algorithm.
    #[error("the key {} is not for the algorithm {algorithm}", id(.key_id))]
    WrongAlgorithm {
        /// The id that the header names.
        key_id: Option<String>,
        /// The algorithm that the header names.
        algorithm: Algorithm,
    },
    /// The key says no.
    #[error(
        "the card is not the one that was signed with the key {}: it was changed, or signed with \
         another key of that name",
        id(.key_id)
    )]
    Altered {
        /// The id that the header names.
        key_id: Option<String>,
    },
    /// It is right, but leaves out what matters.
    #[error(
        "it was made over the card without its empty values, as some SDKs do, and so does not \
         cover {0}; its signer has to sign the canonical form of A2A \u{a7}8.4.1"
    )]
    Partial(String),
    /// The card has no single meaning.
    #[error("{0}")]
    Ambiguous(String),
    /// There are too many.
    #[error("only the first {MAX_SIGNATURES} signatures of a card are checked")]
    TooMany,
}

impl Flaw {
    /// Returns its name in reports for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Algorithm(_) => "algorithm-refused",
            Self::Critical(_) => "critical-header",
            Self::UnknownKey { .. } => "unknown-key",
            Self::NotFound { .. } => "unknown-key",
            Self::WrongAlgorithm { .. } => "wrong-algorithm",
            Self::Altered { .. } => "altered",
            Self::Partial(_) => "partial",
            Self::Ambiguous(_) => "ambiguous-card",
            Self::TooMany => "too-many",
        }
    }
}

fn id(key_id: &Option<String>) -> String {
    key_id.as_ref().map_or_else(|| "for it".to_owned(), |id| format!("`{id}`"))
}

impl Verification {
    /// Returns what the signatures are worth together.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.signatures.iter().map(|check| check.standing.verdict());
        verdicts.max().unwrap_or(Verdict::Unsigned)
    }
}

/// Checks the signatures of a card, as its JSON came, against keys that the operator named. Needs
/// no network.
///
/// A card of whatever A2A version can be checked. One that two readers may read differently (a key
/// twice in an object, integers beyond 2^53) has no valid signature.
///
/// # Errors
/// [`SignatureError::Json`] when the text is no JSON object.
pub fn verify(text: &[u8], keys: &Keys) -> Result<Verification, SignatureError> {
    Ok(Checking::of(text)?.verification(keys, &|_| Offer::None))
}

/// What is known of the keys at the address that a signature itself names.
pub(super) enum Offer<'a> {
    /// Nobody looked.
    None,
    /// They are not used, for this reason.
    Refused(String),
    /// These keys.
    Keys(&'a Keys),
}

/// A card whose signatures are being checked.
pub(super) struct Checking {
    forms: Result<Forms, SignatureError>,
    signatures: Vec<Entry>,
}

impl Checking {
    pub(super) fn of(text: &[u8]) -> Result<Self, SignatureError> {
        let exact = exact::read(text);
        let raw: Json = serde_json::from_slice(text)
            .map_err(|error| SignatureError::Json { why: error.to_string() })?;
        if !raw.is_object() {
            return Err(SignatureError::Json { why: "a card is a JSON object".to_owned() });
        }
        let signatures = match raw.get("signatures") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(all)) => {
                let entry = |(at, json)| match at {
                    ..MAX_SIGNATURES => Entry::read(json),
                    _ => Entry::flawed(Flaw::TooMany),
                };
                all.iter().enumerate().map(entry).collect()
            }
            Some(_) => {
                vec![Entry::flawed(Flaw::Malformed("`signatures` is not a list".to_owned()))]
            }
        };
        Ok(Self { forms: exact.and_then(|raw| Forms::of(&raw)), signatures })
    }

    /// The addresses of key sets that signatures name for which no key is known.
    pub(super) fn unknown<'a>(&'a self, keys: &'a Keys) -> impl Iterator<Item = &'a str> {
        let unknown = self.signatures.iter().filter(|entry| {
            entry.jws.is_ok() && keys.named(entry.head.key_id.as_deref()).next().is_none()
        });
        unknown.filter_map(|entry| entry.head.key_set_url.as_deref())
    }

    pub(super) fn verification<'a>(
        &self,
        keys: &Keys,
        offered: &dyn Fn(&str) -> Offer<'a>,
    ) -> Verification {
        let signatures = self.signatures.iter().map(|entry| {
            let standing = match &entry.jws {
                Ok(jws) => self.standing(&entry.head, jws, keys, offered),
                Err(flaw) => Standing::Invalid(flaw.clone()),
            };
            let Head { algorithm, key_id, key_set_url } = entry.head.clone();
            SignatureCheck { algorithm, key_id, key_set_url, standing }
        });
        Verification { signatures: signatures.collect() }
    }

    fn standing<'a>(
        &self,
        head: &Head,
        jws: &Jws,
        keys: &Keys,
        offered: &dyn Fn(&str) -> Offer<'a>,
    ) -> Standing {
        let forms = match &self.forms {
            Ok(forms) => forms,
            Err(error) => return Standing::Invalid(Flaw::Ambiguous(error.to_string())),
        };
        let pinned = match by(head, jws, forms, keys) {
            Ok((key_from, form)) => return Standing::Trusted { key_from, form },
            Err(flaw) => flaw,
        };
        let (Flaw::UnknownKey { key_id }, Some(url)) = (&pinned, &head.key_set_url) else {
            return Standing::Invalid(pinned);
        };
        match offered(url) {
            Offer::None => Standing::Invalid(pinned),
            Offer::Refused(why) => {
                let (key_id, url) = (key_id.clone(), url.clone());
                Standing::Invalid(Flaw::NotFound { key_id, url, why })
            }
            Offer::Keys(keys) => match by(head, jws, forms, keys) {
                Ok((key_from, form)) => Standing::ValidUntrusted { key_from, form },
                Err(flaw) => Standing::Invalid(flaw),
            },
        }
    }
}

/// Says which key a signature is by, and over what it was made.
fn by(head: &Head, jws: &Jws, forms: &Forms, keys: &Keys) -> Result<(String, Form), Flaw> {
    let key_id = || head.key_id.clone();
    let named: Vec<_> = keys.named(head.key_id.as_deref()).collect();
    if named.is_empty() {
        return Err(Flaw::UnknownKey { key_id: key_id() });
    }
    let algorithm = jws.algorithm;
    let fitting: Vec<_> = named.into_iter().filter(|key| key.fits(algorithm)).collect();
    if fitting.is_empty() {
        return Err(Flaw::WrongAlgorithm { key_id: key_id(), algorithm });
    }
    let signer = |payload: &[u8]| {
        let input = signing_input(&jws.protected, payload);
        fitting.iter().find(|key| key.signed(&input, &jws.signature, algorithm))
    };
    for (form, payload) in &forms.forms {
        if let Some(key) = signer(payload) {
            return Ok((key.from.clone(), *form));
        }
    }
    match &forms.partial {
        Some((payload, path)) if signer(payload).is_some() => Err(Flaw::Partial(path.clone())),
        _ => Err(Flaw::Altered { key_id: key_id() }),
    }
}
