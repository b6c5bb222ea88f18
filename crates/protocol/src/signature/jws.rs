//! An entry of a card's `signatures` (A2A §8.4.2): a JWS without its payload.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value as Json};

use super::{Algorithm, Flaw, exact};

/// An entry, as far as it can be read.
pub(super) struct Entry {
    pub(super) head: Head,
    pub(super) jws: Result<Jws, Flaw>,
}

/// What a signature says of itself.
#[derive(Clone, Default)]
pub(super) struct Head {
    pub(super) algorithm: Option<String>,
    pub(super) key_id: Option<String>,
    pub(super) key_set_url: Option<String>,
}

/// A signature that can be checked.
pub(super) struct Jws {
    pub(super) algorithm: Algorithm,
    pub(super) protected: String,
    pub(super) signature: String,
}

impl Entry {
    /// An entry of which nothing is read.
    pub(super) fn flawed(flaw: Flaw) -> Self {
        Self { head: Head::default(), jws: Err(flaw) }
    }

    pub(super) fn read(json: &Json) -> Self {
        let Some(protected) = text(json, "protected") else {
            return Self::flawed(malformed("it lacks `protected`"));
        };
        match protected_header(&protected) {
            Ok(header) => {
                let member = |name: &str| header.get(name)?.as_str().map(str::to_owned);
                let (algorithm, key_id, key_set_url) =
                    (member("alg"), member("kid"), member("jku"));
                let head = Head { algorithm, key_id, key_set_url };
                Self { head, jws: jws(json, protected, &header) }
            }
            Err(why) => Self::flawed(malformed(&format!("its `protected` {why}"))),
        }
    }
}

fn text(json: &Json, name: &str) -> Option<String> {
    json.get(name)?.as_str().map(str::to_owned)
}

fn malformed(why: &str) -> Flaw {
    Flaw::Malformed(why.to_owned())
}

fn jws(json: &Json, protected: String, header: &Map<String, Json>) -> Result<Jws, Flaw> {
    let signature = text(json, "signature").ok_or_else(|| malformed("it lacks `signature`"))?;
    let open = match json.get("header") {
        None | Some(Json::Null) => &Map::new(),
        Some(Json::Object(open)) => open,
        Some(_) => return Err(malformed("its `header` is not an object")),
    };
    if let Some(name) = open.keys().find(|name| header.contains_key(*name)) {
        return Err(malformed(&format!("`{name}` stands in both of its headers")));
    }
    // RFC 7515 §4.1.11 wants it protected; wherever it is, nothing it could name is understood.
    if let Some(critical) = header.get("crit").or_else(|| open.get("crit")) {
        return Err(Flaw::Critical(names(critical)));
    }
    let name = header.get("alg").and_then(Json::as_str);
    let name = name.ok_or_else(|| malformed("its protected header lacks `alg`"))?;
    let algorithm = name.parse().map_err(|_| Flaw::Algorithm(name.to_owned()))?;
    Ok(Jws { algorithm, protected, signature })
}

fn protected_header(protected: &str) -> Result<Map<String, Json>, String> {
    let text =
        URL_SAFE_NO_PAD.decode(protected).map_err(|error| format!("is not base64url: {error}"))?;
    match exact::read(&text) {
        Ok(Json::Object(header)) => Ok(header),
        Ok(_) => Err("holds no JSON object".to_owned()),
        Err(_) => Err("holds no JSON that all readers read alike".to_owned()),
    }
}

/// The id of the key that a protected header names.
#[must_use]
pub fn key_id(protected: &str) -> Option<String> {
    let header = protected_header(protected).ok()?;
    header.get("kid").and_then(Json::as_str).map(str::to_owned)
}

fn names(critical: &Json) -> String {
    let names = critical.as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
    if names.is_empty() { "crit".to_owned() } else { names.join("`, `") }
}
