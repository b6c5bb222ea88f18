//! Writing objects.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// An object being written.
pub(crate) struct Object<S: Serializer>(S::SerializeMap);

impl<S: Serializer> Object<S> {
    pub(crate) fn new(serializer: S) -> Result<Self, S::Error> {
        serializer.serialize_map(None).map(Self)
    }

    /// Writes the field, whatever it holds.
    pub(crate) fn always<T>(&mut self, name: &'static str, value: &T) -> Result<(), S::Error>
    where
        T: Serialize + ?Sized,
    {
        self.0.serialize_entry(name, value)
    }

    /// Writes the field unless it holds its default.
    pub(crate) fn unless_default<T>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), S::Error>
    where
        T: Serialize + Default + PartialEq,
    {
        if *value == T::default() {
            return Ok(());
        }
        self.always(name, value)
    }

    /// Writes the field if it is there.
    pub(crate) fn if_some<T>(
        &mut self,
        name: &'static str,
        value: &Option<T>,
    ) -> Result<(), S::Error>
    where
        T: Serialize,
    {
        match value {
            Some(value) => self.always(name, value),
            None => Ok(()),
        }
    }

    pub(crate) fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}
