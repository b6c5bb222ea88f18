//! What exactly is signed of a card (A2A §8.4.1).

use serde_json::{Map, Value as Json};

use super::SignatureError;
use crate::{card, v1::AgentCard};

/// Which reading of a card its signature was made over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The JSON as it came, without `signatures`. Covers fields that A2A does not know, too.
    AsReceived,
    /// Written anew from what was read: the form of A2A §8.4.1. Covers all that is acted upon.
    Canonical,
    /// As it came, without anything empty, REQUIRED or not: what the Python SDK signs. Counts only
    /// where what is left out means nothing.
    WithoutEmpty,
}

impl Form {
    /// Returns its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AsReceived => "as-received",
            Self::Canonical => "canonical",
            Self::WithoutEmpty => "without-empty",
        }
    }
}

/// A card in every form that its signatures may be made over.
#[derive(Debug)]
pub(super) struct Forms {
    /// Each form and its bytes, the most telling first; those that are equal to one before are left
    /// out.
    pub(super) forms: Vec<(Form, Vec<u8>)>,
    /// The bytes of a form that leaves out what means something, and the first such thing.
    pub(super) partial: Option<(Vec<u8>, String)>,
}

impl Forms {
    /// Makes the forms of a card's JSON.
    pub(super) fn of(raw: &Json) -> Result<Self, SignatureError> {
        let Json::Object(object) = raw else {
            return Err(SignatureError::Json { why: "a card is a JSON object".to_owned() });
        };
        let mut object = object.clone();
        object.remove("signatures");
        let received = Json::Object(object);
        let mut forms = Self { forms: Vec::new(), partial: None };
        forms.add(Form::AsReceived, bytes(&received)?);
        // Made from the very reading that is acted upon, so that nothing unsigned slips in.
        if let Ok(card) = card::read(raw) {
            forms.add(Form::Canonical, canonical(&card)?);
        }
        let mut lost = None;
        let shorter = without_empty(&received, &Path::Root, &mut lost).unwrap_or_default();
        let shorter = bytes(&shorter)?;
        match lost {
            None => forms.add(Form::WithoutEmpty, shorter),
            Some(path) => forms.partial = Some((shorter, path)),
        }
        Ok(forms)
    }

    fn add(&mut self, form: Form, bytes: Vec<u8>) {
        if !self.forms.iter().any(|(_, known)| *known == bytes) {
            self.forms.push((form, bytes));
        }
    }
}

/// Returns the canonical form of a card (A2A §8.4.1), without its signatures, in UTF-8.
///
/// REQUIRED fields stand in it even when they hold their default; others only when they were set.
///
/// # Errors
/// [`SignatureError::Json`] when it holds a number that JSON cannot (`extensions` may hold any).
pub fn canonical(card: &AgentCard) -> Result<Vec<u8>, SignatureError> {
    let unsigned = AgentCard { signatures: Vec::new(), ..card.clone() };
    bytes(&serde_json::to_value(unsigned).map_err(unwritable)?)
}

/// RFC 8785.
fn bytes(json: &Json) -> Result<Vec<u8>, SignatureError> {
    serde_json_canonicalizer::to_vec(json).map_err(unwritable)
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unwritable(error: serde_json::Error) -> SignatureError {
    SignatureError::Json { why: error.to_string() }
}

/// The way to a value, from the outside in.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// Whether an empty value here says the same as none: a field of the card itself or of a
    /// message right in it, and nothing about security, where an empty entry is an entry.
    fn is_plain(&self) -> bool {
        match self {
            Self::Root | Self::Item(..) => false,
            Self::Field(_, name) if name.to_ascii_lowercase().starts_with("security") => false,
            Self::Field(owner, _) => match owner {
                Self::Root => true,
                Self::Field(Self::Root, "capabilities" | "provider") => true,
                Self::Item(Self::Field(Self::Root, list), _) => {
                    matches!(*list, "skills" | "supportedInterfaces")
                }
                _ => false,
            },
        }
    }
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => formatter.write_str(name),
            Self::Field(owner, name) => write!(formatter, "{owner}.{name}"),
            Self::Item(owner, index) => write!(formatter, "{owner}[{index}]"),
        }
    }
}

/// Drops empty strings, lists and objects, innermost first, and notes the first one that says
/// something by being there.
fn without_empty(json: &Json, path: &Path<'_>, lost: &mut Option<String>) -> Option<Json> {
    let rest = match json {
        Json::Object(object) => {
            let kept = object.iter().filter_map(|(name, value)| {
                let value = without_empty(value, &Path::Field(path, name), lost)?;
                Some((name.clone(), value))
            });
            let kept: Map<_, _> = kept.collect();
            (!kept.is_empty()).then_some(Json::Object(kept))
        }
        Json::Array(items) => {
            let items = items.iter().enumerate();
            let kept =
                items.filter_map(|(at, item)| without_empty(item, &Path::Item(path, at), lost));
            let kept: Vec<_> = kept.collect();
            (!kept.is_empty()).then_some(Json::Array(kept))
        }
        Json::String(text) => (!text.is_empty()).then(|| json.clone()),
        // `null` is absence.
        Json::Null => None,
        Json::Bool(_) | Json::Number(_) => Some(json.clone()),
    };
    if rest.is_none() && lost.is_none() && !path.is_plain() {
        *lost = Some(path.to_string());
    }
    rest
}
