//! Editing JSON objects in place. What is no object, or not there, is left alone: whoever decodes
//! the outcome says what is wrong with it.

use serde_json::{Map, Value};

pub(super) type Object = Map<String, Value>;

/// Edits an object.
pub(super) fn edit(mut value: Value, change: impl FnOnce(&mut Object)) -> Value {
    if let Value::Object(object) = &mut value {
        change(object);
    }
    value
}

/// Replaces the value of a field.
pub(super) fn change(object: &mut Object, field: &str, with: impl FnOnce(Value) -> Value) {
    if let Some(value) = object.get_mut(field) {
        *value = with(value.take());
    }
}

/// Replaces every element of a field that is an array.
pub(super) fn each(object: &mut Object, field: &str, with: impl Fn(Value) -> Value) {
    change(object, field, |value| every(value, with));
}

/// Replaces every element of an array.
pub(super) fn every(value: Value, with: impl Fn(Value) -> Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(with).collect(),
        other => other,
    }
}

/// Gives a field another name, unless that is taken.
pub(super) fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.remove(from) {
        object.entry(to).or_insert(value);
    }
}

/// Puts a value under a name, unless it is null.
pub(super) fn put(object: &mut Object, name: &str, value: Value) {
    if !value.is_null() {
        object.insert(name.to_owned(), value);
    }
}

/// Takes a field out; null when it is not there.
pub(super) fn take(object: &mut Object, field: &str) -> Value {
    object.remove(field).unwrap_or_default()
}

/// An object of one field.
pub(super) fn wrapped(name: &str, value: Value) -> Value {
    Value::Object(Object::from_iter([(name.to_owned(), value)]))
}

/// The text of a field; empty when it is none.
pub(super) fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}
