//! JSON that every reader reads alike (I-JSON, RFC 7493): no key twice in an object, no integer
//! that a double cannot hold. Only such JSON has a canonical form (RFC 8785 §3.1).

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value as Json;

use super::SignatureError;

/// Reads JSON, unless two readers could read it differently.
pub(super) fn read(text: &[u8]) -> Result<Json, SignatureError> {
    let failed = |error: serde_json::Error| SignatureError::Json { why: error.to_string() };
    serde_json::from_slice::<Exact>(text).map_err(failed)?;
    serde_json::from_slice(text).map_err(failed)
}

/// What is looked at and not kept.
struct Exact;

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Exact;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_str<E>(self, _: &str) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Exact, E> {
        if is_exact(number) { Ok(Exact) } else { Err(inexact(number)) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Exact, E> {
        if is_exact(number.unsigned_abs()) { Ok(Exact) } else { Err(inexact(number)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Exact, A::Error> {
        while items.next_element::<Exact>()?.is_some() {}
        Ok(Exact)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Exact, A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            fields.next_value::<Exact>()?;
            if let Some(name) = seen.replace(name) {
                return Err(A::Error::custom(format_args!(
                    "`{name}` stands twice in one object, and readers differ in which they take"
                )));
            }
        }
        Ok(Exact)
    }
}

/// Whether a double holds this integer, so that all readers end with the same number.
fn is_exact(number: u64) -> bool {
    (number as f64) as u128 == u128::from(number)
}

fn inexact<E: Error>(number: impl fmt::Display) -> E {
    E::custom(format_args!(
        "no double holds the integer {number}, so readers round it differently; write it as a string"
    ))
}
