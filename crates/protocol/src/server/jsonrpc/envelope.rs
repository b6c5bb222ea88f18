//! Requests in: what is and what is not a JSON-RPC request (A2A §9.3).

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind};

/// The parts of a JSON-RPC request, not yet looked into.
pub(in crate::server) struct Envelope<'a> {
    pub(in crate::server) id: &'a RawValue,
    pub(in crate::server) method: Cow<'a, str>,
    pub(in crate::server) params: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(expecting = "a request object")]
struct RawEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

/// Reads a field that is there, so that `null` is told from absence.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Envelope<'a> {
    /// Reads a body; an error comes with the id to answer under.
    pub(in crate::server) fn read(body: &'a [u8]) -> Result<Envelope<'a>, (&'a RawValue, Error)> {
        let invalid = |id, message: &str| (id, Error::new(ErrorKind::InvalidRequest, message));
        let null = RawValue::NULL;
        let raw = RawEnvelope::read(body).map_err(|error| (null, error))?;
        let id = raw.id.ok_or_else(|| {
            invalid(null, "the request has no id; notifications are not part of A2A")
        })?;
        if !is_id(id) {
            return Err(invalid(null, "the id must be a string, a number or null"));
        }
        if raw.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return Err(invalid(id, "the member \"jsonrpc\" must be \"2.0\""));
        }
        let method =
            raw.method.and_then(|method| serde_json::from_str::<Text<'_>>(method.get()).ok());
        let Some(Text(method)) = method else {
            return Err(invalid(id, "the member \"method\" must be a string"));
        };
        Ok(Envelope { id, method, params: raw.params.unwrap_or(empty_object()) })
    }
}

impl<'a> RawEnvelope<'a> {
    fn read(body: &'a [u8]) -> Result<RawEnvelope<'a>, Error> {
        // serde would read an array as the fields of a struct in their order.
        let read = match body.trim_ascii_start().first() {
            Some(b'[') => serde_json::from_slice(body).map(|IgnoredAny| None),
            _ => serde_json::from_slice(body).map(Some),
        };
        let invalid = |message| Err(Error::new(ErrorKind::InvalidRequest, message));
        match read {
            Ok(Some(envelope)) => Ok(envelope),
            Ok(None) => {
                invalid("batches are not part of A2A; send one request at a time".to_owned())
            }
            Err(error) if error.is_data() => {
                invalid(format!("the request is not a JSON-RPC request: {error}"))
            }
            Err(error) => {
                Err(Error::new(ErrorKind::Parse, format!("the request is not JSON: {error}")))
            }
        }
    }
}

fn is_id(id: &RawValue) -> bool {
    matches!(id.get().as_bytes().first(), Some(b'"' | b'-' | b'n' | b'0'..=b'9'))
}

/// Parameters left out are parameters of which none is set.
fn empty_object() -> &'static RawValue {
    serde_json::from_str("{}").expect("braces are JSON")
}
