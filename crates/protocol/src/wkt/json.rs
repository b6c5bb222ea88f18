//! `google.protobuf.Struct` and `google.protobuf.Value`: JSON inside a message.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// How many objects and arrays may lie inside each other in `data`, `metadata`
/// and every other place where A2A carries free JSON.
///
/// Protobuf readers give up at 100 messages inside each other, and one JSON level
/// costs up to three: what is deeper than this could not be passed on by gRPC.
pub const MAX_DEPTH: usize = 32;

/// JSON with more than [`MAX_DEPTH`] objects and arrays inside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "JSON is nested more than {MAX_DEPTH} levels deep; flatten it, or send it as text or a file"
)]
pub struct TooDeep;

/// Refuses JSON that is nested more than [`MAX_DEPTH`] levels deep.
///
/// Reading a message, from JSON or from binary, does the same by itself. This is
/// for JSON that enters another way, such as the result of an expression.
pub fn check_depth(json: &Json) -> Result<(), TooDeep> {
    fn check(json: &Json, levels: usize) -> Result<(), TooDeep> {
        match json {
            Json::Array(items) => {
                let levels = levels.checked_sub(1).ok_or(TooDeep)?;
                items.iter().try_for_each(|item| check(item, levels))
            }
            Json::Object(fields) => {
                let levels = levels.checked_sub(1).ok_or(TooDeep)?;
                fields.values().try_for_each(|value| check(value, levels))
            }
            _ => Ok(()),
        }
    }
    check(json, MAX_DEPTH)
}

/// A JSON object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Struct(pub Map<String, Json>);

/// Any JSON value; the default is `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Value(pub Json);

impl From<Map<String, Json>> for Struct {
    fn from(map: Map<String, Json>) -> Self {
        Self(map)
    }
}

impl<K: Into<String>> FromIterator<(K, Json)> for Struct {
    fn from_iter<I: IntoIterator<Item = (K, Json)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self(entries.map(|(key, value)| (key.into(), value)).collect())
    }
}

impl From<Json> for Value {
    fn from(json: Json) -> Self {
        Self(json)
    }
}

impl<'de> Deserialize<'de> for Struct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = StructVisitor { levels: MAX_DEPTH };
        deserializer.deserialize_map(visitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = ValueVisitor { levels: MAX_DEPTH };
        value.deserialize(deserializer).map(Self)
    }
}

struct StructVisitor {
    levels: usize,
}

impl<'de> Visitor<'de> for StructVisitor {
    type Value = Map<String, Json>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let inner = deeper(self.levels)?;
        let mut object = Map::new();
        while let Some(key) = map.next_key()? {
            object.insert(key, map.next_value_seed(inner)?);
        }
        Ok(object)
    }
}

/// Reads a value with so many levels left.
#[derive(Clone, Copy)]
struct ValueVisitor {
    levels: usize,
}

fn deeper<E: de::Error>(levels: usize) -> Result<ValueVisitor, E> {
    match levels.checked_sub(1) {
        Some(levels) => Ok(ValueVisitor { levels }),
        None => Err(E::custom(TooDeep)),
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        match serde_json::Number::from_f64(value) {
            Some(number) => Ok(Json::Number(number)),
            None => Err(E::custom("JSON has no number for infinities and NaN")),
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let inner = deeper(self.levels)?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            array.push(item);
        }
        Ok(Json::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Json, A::Error> {
        let visitor = StructVisitor { levels: self.levels };
        visitor.visit_map(map).map(Json::Object)
    }
}
