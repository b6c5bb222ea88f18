//! Reading objects.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// Reads itself field by field.
pub(crate) trait ReadFields: Default {
    /// The name of the message, for error messages.
    const NAME: &'static str;

    /// The position of the field with this JSON or protobuf name; at most 63.
    fn index(name: &str) -> Option<u8>;

    /// Reads the value of the field at the position.
    fn read<'de, A: MapAccess<'de>>(&mut self, field: u8, map: &mut A) -> Result<(), A::Error>;
}

/// Reads a message. Unknown fields are ignored, a field given twice (under
/// either of its names) is an error.
pub(crate) fn object<'de, T: ReadFields, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// Reads a field whose default means absence; so does `null`.
pub(crate) fn singular<'de, R, T, A>(map: &mut A, slot: &mut T) -> Result<(), A::Error>
where
    R: de::Deserialize<'de> + Into<T>,
    A: MapAccess<'de>,
{
    if let Some(value) = map.next_value::<Option<R>>()? {
        *slot = value.into();
    }
    Ok(())
}

/// Reads a field that knows absence; `null` is absence.
pub(crate) fn optional<'de, R, T, A>(map: &mut A, slot: &mut Option<T>) -> Result<(), A::Error>
where
    R: de::Deserialize<'de> + Into<T>,
    A: MapAccess<'de>,
{
    *slot = map.next_value::<Option<R>>()?.map(Into::into);
    Ok(())
}

/// Reads a member of a oneof; `null` leaves the oneof alone.
pub(crate) fn member<'de, R, T, O, A>(
    map: &mut A,
    slot: &mut Option<O>,
    variant: impl FnOnce(T) -> O,
) -> Result<(), A::Error>
where
    R: de::Deserialize<'de> + Into<T>,
    A: MapAccess<'de>,
{
    match map.next_value::<Option<R>>()? {
        Some(value) => fill(slot, variant(value.into())),
        None => Ok(()),
    }
}

/// Reads a member of a oneof for which `null` is a value like any other.
pub(crate) fn any_member<'de, R, T, O, A>(
    map: &mut A,
    slot: &mut Option<O>,
    variant: impl FnOnce(T) -> O,
) -> Result<(), A::Error>
where
    R: de::Deserialize<'de> + Into<T>,
    A: MapAccess<'de>,
{
    let value = map.next_value::<R>()?;
    fill(slot, variant(value.into()))
}

fn fill<O, E: de::Error>(slot: &mut Option<O>, value: O) -> Result<(), E> {
    if slot.is_some() {
        return Err(E::custom("only one of the alternatives may be given"));
    }
    *slot = Some(value);
    Ok(())
}

/// Reads past a value.
pub(crate) fn ignored<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>()?;
    Ok(())
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: ReadFields> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an object ({})", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut message = T::default();
        let mut seen = 0_u64;
        while let Some(field) = map.next_key_seed(FieldSeed::<T>(PhantomData))? {
            let Some(field) = field else {
                ignored(&mut map)?;
                continue;
            };
            let bit = 1 << field;
            if seen & bit != 0 {
                return Err(de::Error::custom("the field is given twice"));
            }
            seen |= bit;
            message.read(field, &mut map)?;
        }
        Ok(message)
    }
}

/// Turns a key into the position of its field, without copying it.
struct FieldSeed<T>(PhantomData<T>);

impl<'de, T: ReadFields> DeserializeSeed<'de> for FieldSeed<T> {
    type Value = Option<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u8>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T: ReadFields> Visitor<'_> for FieldSeed<T> {
    type Value = Option<u8>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the name of a field of {}", T::NAME)
    }

    fn visit_str<E>(self, name: &str) -> Result<Option<u8>, E> {
        Ok(T::index(name))
    }
}
