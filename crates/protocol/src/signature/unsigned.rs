//! A card before it is signed.

use serde_json::Value as Json;

use super::{SignatureError, exact};
use crate::{card, dialect, v1::AgentCard};

/// A card that was read in order to be signed.
#[derive(Clone, Debug)]
pub struct Unsigned {
    /// The card. Signatures it has already stay in it.
    pub card: AgentCard,
    /// Where in the JSON stands what A2A 1.0 does not know, and what is therefore not in the card:
    /// `skills[0].color`. The list is not complete below what is itself left out.
    pub left_out: Vec<String>,
}

impl Unsigned {
    /// Reads a card's JSON.
    ///
    /// # Errors
    /// [`SignatureError::Json`] when it is none that all readers read alike, and
    /// [`SignatureError::Card`] or [`SignatureError::Older`] when it is no A2A 1.0 card.
    pub fn read(text: &[u8]) -> Result<Self, SignatureError> {
        let raw = exact::read(text)?;
        let card = card::read(&raw)?;
        if raw.as_object().is_some_and(dialect::card::is_older) {
            let version = card.supported_interfaces.first().map(|it| it.protocol_version.clone());
            return Err(SignatureError::Older { version: version.unwrap_or_default() });
        }
        let known = serde_json::to_value(&card)
            .map_err(|error| SignatureError::Json { why: error.to_string() })?;
        let mut left_out = Vec::new();
        compare(&raw, &known, "", &mut left_out);
        Ok(Self { card, left_out })
    }
}

/// Notes what is in the one and not in the other.
fn compare(raw: &Json, known: &Json, path: &str, left_out: &mut Vec<String>) {
    match (raw, known) {
        (Json::Object(raw), Json::Object(known)) => {
            for (name, value) in raw.iter().filter(|(_, value)| !is_default(value)) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match known.get(name).or_else(|| known.get(&written_as(name))) {
                    Some(known) => compare(value, known, &path, left_out),
                    None => left_out.push(path),
                }
            }
        }
        (Json::Array(raw), Json::Array(known)) => {
            for (at, (raw, known)) in raw.iter().zip(known).enumerate() {
                compare(raw, known, &format!("{path}[{at}]"), left_out);
            }
        }
        _ => {}
    }
}

/// What ProtoJSON leaves out without loss.
fn is_default(value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Bool(true) => false,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.values().all(is_default),
    }
}

/// The name under which a field is written that may be read under another.
fn written_as(name: &str) -> String {
    if name == "security" {
        return "securityRequirements".to_owned();
    }
    let mut words = name.split('_');
    let mut written = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        written.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        written.push_str(letters.as_str());
    }
    written
}
