//! Values whose JSON differs from what serde makes of their Rust type.

use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::alphabet;
use base64::display::Base64Display;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A protobuf enum: held as a number, written by name.
pub(crate) trait ProtoEnum: Sized + TryFrom<i32> + Into<i32> {
    fn name(self) -> &'static str;
    fn from_name(name: &str) -> Option<Self>;
}

/// Writes an enum: by name, or as a number when it is none that we know.
pub(crate) struct EnumName<E>(i32, PhantomData<E>);

impl<E> EnumName<E> {
    /// Takes the number as generated code has it at hand: by reference.
    pub(crate) fn of(number: &i32) -> Self {
        Self(*number, PhantomData)
    }
}

impl<E> Default for EnumName<E> {
    fn default() -> Self {
        Self::of(&0)
    }
}

impl<E> PartialEq for EnumName<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<E: ProtoEnum> Serialize for EnumName<E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match E::try_from(self.0) {
            Ok(known) => serializer.serialize_str(known.name()),
            Err(_) => serializer.serialize_i32(self.0),
        }
    }
}

/// Reads an enum: a name that we know, or any number.
pub(crate) struct EnumValue<E>(i32, PhantomData<E>);

impl<E: ProtoEnum> EnumValue<E> {
    /// The enum, for places that have no room for unknown numbers.
    pub(crate) fn known<X: de::Error>(self) -> Result<E, X> {
        E::try_from(self.0).map_err(|_| X::custom(format_args!("unknown enum number {}", self.0)))
    }
}

impl<E> From<EnumValue<E>> for i32 {
    fn from(value: EnumValue<E>) -> Self {
        value.0
    }
}

impl<'de, E: ProtoEnum> Deserialize<'de> for EnumValue<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EnumVisitor(PhantomData))
    }
}

struct EnumVisitor<E>(PhantomData<E>);

impl<E: ProtoEnum> Visitor<'_> for EnumVisitor<E> {
    type Value = EnumValue<E>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name or number of an enum value")
    }

    fn visit_str<X: de::Error>(self, name: &str) -> Result<Self::Value, X> {
        match E::from_name(name) {
            Some(known) => Ok(EnumValue(known.into(), PhantomData)),
            None => Err(X::custom(format_args!("unknown enum value {name:?}"))),
        }
    }

    fn visit_i64<X: de::Error>(self, number: i64) -> Result<Self::Value, X> {
        let number = i32::try_from(number).map_err(X::custom)?;
        Ok(EnumValue(number, PhantomData))
    }

    fn visit_u64<X: de::Error>(self, number: u64) -> Result<Self::Value, X> {
        let number = i32::try_from(number).map_err(X::custom)?;
        Ok(EnumValue(number, PhantomData))
    }
}

/// Reads a 32-bit integer: `5`, `5.0`, `5e0` and `"5"` are the same.
pub(crate) struct Int32(i32);

impl From<Int32> for i32 {
    fn from(value: Int32) -> Self {
        value.0
    }
}

impl<'de> Deserialize<'de> for Int32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Int32Visitor)
    }
}

struct Int32Visitor;

impl Visitor<'_> for Int32Visitor {
    type Value = Int32;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a 32-bit integer")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Int32, E> {
        i32::try_from(number).map(Int32).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Int32, E> {
        i32::try_from(number).map(Int32).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Int32, E> {
        let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
        if number.fract() == 0.0 && range.contains(&number) {
            // Whole and in range, so that nothing is cut off.
            Ok(Int32(number as i32))
        } else {
            Err(E::custom(format_args!("{number} is not a 32-bit integer")))
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Int32, E> {
        if let Ok(number) = text.parse() {
            return Ok(Int32(number));
        }
        match text.parse() {
            Ok(number) => self.visit_f64(number),
            Err(_) => Err(E::custom(format_args!("{text:?} is not a 32-bit integer"))),
        }
    }
}

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Bytes: written in standard base64 with padding; read in either alphabet,
/// padded or not.
pub(crate) struct Base64<B>(pub(crate) B);

impl<B: AsRef<[u8]>> Serialize for Base64<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0.as_ref(), &STANDARD))
    }
}

impl From<Base64<Vec<u8>>> for Vec<u8> {
    fn from(value: Base64<Vec<u8>>) -> Self {
        value.0
    }
}

impl<'de> Deserialize<'de> for Base64<Vec<u8>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64Visitor)
    }
}

struct Base64Visitor;

impl Visitor<'_> for Base64Visitor {
    type Value = Base64<Vec<u8>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a base64 string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let is_url_safe = text.contains('-') || text.contains('_');
        let engine = if is_url_safe { &URL_SAFE } else { &STANDARD };
        engine.decode(text).map(Base64).map_err(E::custom)
    }
}
