//! REQUIRED fields that were left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Knows which of its fields A2A marks as REQUIRED.
///
/// Protobuf cannot tell an empty string, list or map from an absent one, so that
/// those count as missing. Numbers and booleans never do.
pub trait Required {
    /// Notes the missing fields of this message and of those inside it.
    fn find_missing(&self, missing: &mut Missing);

    /// Lists what is missing by its path in JSON: `message.parts`,
    /// `supportedInterfaces[0].url`. Empty when nothing is.
    fn missing_required(&self) -> Vec<String> {
        let mut missing = Missing::default();
        self.find_missing(&mut missing);
        missing.found
    }
}

/// Collects the paths of missing fields on a walk through a message.
#[derive(Default)]
pub struct Missing {
    /// The path from the outermost message to where the walk is.
    path: String,
    found: Vec<String>,
}

impl Missing {
    /// Notes the field when it is absent.
    pub(crate) fn note(&mut self, field: &str, is_absent: bool) {
        if is_absent {
            let path = self.path_of(field);
            self.found.push(path);
        }
    }

    /// Walks on inside the field.
    pub(crate) fn inside(&mut self, field: &str, value: &impl Required) {
        let outer = self.path.len();
        self.path = self.path_of(field);
        value.find_missing(self);
        self.path.truncate(outer);
    }

    fn path_of(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }

    /// Walks on inside one element, which `key` tells from the others.
    fn element(&mut self, key: impl std::fmt::Display, value: &impl Required) {
        let outer = self.path.len();
        write!(self.path, "[{key}]").expect("writing to a string cannot fail");
        value.find_missing(self);
        self.path.truncate(outer);
    }
}

impl<T: Required> Required for Option<T> {
    fn find_missing(&self, missing: &mut Missing) {
        if let Some(value) = self {
            value.find_missing(missing);
        }
    }
}

impl<T: Required> Required for Vec<T> {
    fn find_missing(&self, missing: &mut Missing) {
        for (index, value) in self.iter().enumerate() {
            missing.element(index, value);
        }
    }
}

impl<T: Required> Required for BTreeMap<String, T> {
    fn find_missing(&self, missing: &mut Missing) {
        for (key, value) in self {
            missing.element(format_args!("{key:?}"), value);
        }
    }
}
