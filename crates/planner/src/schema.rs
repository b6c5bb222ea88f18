//! JSON Schemas that values have to fit.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The most misfits of one value that are told.
const MOST_TOLD: usize = 5;

/// Holds a JSON Schema (2020-12) of a workflow file, its formats included.
///
/// It is compiled when first needed and once only; what is stored of it is what was written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema {
    written: Json,
    #[serde(skip)]
    validator: OnceLock<Option<Arc<Validator>>>,
}

/// Says where a value does not fit its schema, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Where, as a JSON pointer (RFC 6901); empty for the value as a whole.
    pub pointer: String,
    /// What was expected there.
    pub why: String,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// When it is no JSON Schema, and where.
    pub(crate) fn new(written: Json) -> Result<Schema, ValidationError<'static>> {
        let validator = OnceLock::from(Some(Arc::new(validator(&written)?)));
        Ok(Schema { written, validator })
    }

    /// The schema as it was written.
    #[must_use]
    pub fn as_json(&self) -> &Json {
        &self.written
    }

    /// Whether what fits is text and nothing else.
    #[must_use]
    pub fn is_of_text(&self) -> bool {
        self.written.get("type").is_some_and(|kind| kind == "string")
    }

    /// What of a value does not fit; the first few of it.
    #[must_use]
    pub fn misfits(&self, value: &Json) -> Vec<Misfit> {
        let compile = || validator(&self.written).ok().map(Arc::new);
        let Some(validator) = self.validator.get_or_init(compile) else { return Vec::new() };
        let misfits = validator.iter_errors(value).take(MOST_TOLD).map(|error| Misfit {
            pointer: error.instance_path().to_string(),
            why: error.to_string(),
        });
        misfits.collect()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.written == other.written
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.written).finish()
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.why),
            pointer => write!(f, "{pointer}: {}", self.why),
        }
    }
}

/// What holds values against a schema, its formats included.
pub(crate) fn validator(schema: &Json) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().should_validate_formats(true).build(schema)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named_by_its_pointer() {
        let written = json!({"type": "object", "properties": {"n": {"minimum": 3}}});
        let schema = Schema::new(written).unwrap();
        let told: Vec<_> = schema.misfits(&json!({"n": 1})).iter().map(Misfit::to_string).collect();
        assert_eq!(told, ["/n: 1 is less than the minimum of 3"]);
        let whole: Vec<_> = schema.misfits(&json!(1)).iter().map(Misfit::to_string).collect();
        assert_eq!(whole, [r#"1 is not of type "object""#]);
        assert_eq!(schema.misfits(&json!({"n": 3})), []);
    }

    #[test]
    fn a_schema_that_was_stored_holds_as_before() {
        let schema = Schema::new(json!({"type": "integer"})).unwrap();
        let stored = serde_json::to_string(&schema).unwrap();
        assert_eq!(stored, r#"{"type":"integer"}"#);
        let back: Schema = serde_json::from_str(&stored).unwrap();
        assert_eq!((&back, back.misfits(&json!("x")).len()), (&schema, 1));
    }
}
