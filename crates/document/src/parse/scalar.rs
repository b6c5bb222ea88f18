use serde_json::Number;

use crate::Value;

/// Gives a plain scalar its type.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// A number exactly when JSON says so and no digit would be lost: telephone numbers, versions,
/// octal-looking codes and 20-digit ids stay the text they are.
fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    // serde_json would also take white space around the number; a plain scalar has none.
    let number: Number = serde_json::from_str(text).ok()?;
    let is_integer = !text.contains(['.', 'e', 'E']);
    (!is_integer || !number.is_f64() || text == "-0").then_some(number)
}

/// Whether a value is what its core tag says; `!!str` is handled before a type is given.
pub(super) fn agrees(value: &Value, tag: &str) -> bool {
    match value {
        Value::Null => tag == "null",
        Value::Bool(_) => tag == "bool",
        Value::Number(number) => tag == "float" || (tag == "int" && !number.is_f64()),
        Value::String(_) => tag == "str",
        Value::Sequence(_) => tag == "seq",
        Value::Mapping(_) => tag == "map",
    }
}
