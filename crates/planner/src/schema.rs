//! The JSON Schemas that a workflow holds values of strangers against.

use std::sync::{Arc, OnceLock};

use document::{Span, brief};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// How many mismatches of one value are told.
const MOST_TOLD: usize = 5;
/// How many characters are told of one.
const LONGEST_TOLD: usize = 300;

/// Holds a JSON Schema of a workflow file, which was checked with it.
///
/// It is journaled as what it is; what it is compiled to is kept beside, for all who share the workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schema {
    /// The schema itself.
    pub json: Json,
    /// Where it stands in the file.
    pub span: Span,
    #[serde(skip)]
    compiled: Arc<OnceLock<Option<Validator>>>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json && self.span == other.span
    }
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn new(json: Json, span: Span) -> Result<Schema, ValidationError<'static>> {
        let compiled = OnceLock::from(Some(validator(&json)?));
        Ok(Schema { json, span, compiled: Arc::new(compiled) })
    }

    /// What makes a value unfit, each by the JSON Pointer of its place and what is expected there: the first few,
    /// and how many more there are.
    #[must_use]
    pub fn mismatches(&self, value: &Json) -> Vec<String> {
        // The schema was checked with the file: it compiles.
        let Some(validator) = self.compiled.get_or_init(|| validator(&self.json).ok()) else {
            return Vec::new();
        };
        let mut errors = validator.iter_errors(value);
        let mut told: Vec<String> =
            errors.by_ref().take(MOST_TOLD).map(|error| mismatch(&error)).collect();
        let more = errors.count();
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        told
    }
}

/// What holds values against a schema, its formats included.
pub(crate) fn validator(schema: &Json) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().should_validate_formats(true).build(schema)
}

fn mismatch(error: &ValidationError<'_>) -> String {
    let pointer = error.instance_path().to_string();
    let place = if pointer.is_empty() { "the whole".to_owned() } else { format!("`{pointer}`") };
    let told = match error.kind() {
        ValidationErrorKind::Type { kind } => {
            format!("{place} must be {}, not {}", types(kind), shown(error.instance()))
        }
        ValidationErrorKind::Required { property } => format!("{place} lacks {property}"),
        _ => format!("{place} does not fit: {error}"),
    };
    brief(&told, LONGEST_TOLD)
}

fn types(kind: &jsonschema::error::TypeKind) -> String {
    use jsonschema::error::TypeKind;
    match kind {
        TypeKind::Single(one) => with_article(&one.to_string()),
        TypeKind::Multiple(several) => {
            let several: Vec<String> =
                several.iter().map(|one| with_article(&one.to_string())).collect();
            several.join(" or ")
        }
    }
}

pub(crate) fn with_article(kind: &str) -> String {
    match kind {
        "integer" | "array" | "object" => format!("an {kind}"),
        "null" => "null".to_owned(),
        kind => format!("a {kind}"),
    }
}

/// A value for a message: its kind and its beginning.
pub(crate) fn shown(value: &Json) -> String {
    let kind = match value {
        Json::Null => return "null".to_owned(),
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let text = value.to_string();
    let short: String = text.chars().take(40).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("the {kind} {short}{dots}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(schema: Json, value: &Json) -> String {
        let schema = Schema::new(schema, Span { start: 0, end: 0 }).unwrap();
        // What a journal holds is compiled again.
        let read: Schema = serde_json::from_value(json!(schema)).unwrap();
        assert_eq!(read, schema);
        assert_eq!(read.mismatches(value), schema.mismatches(value));
        schema.mismatches(value).join("\n")
    }

    #[test]
    fn each_mismatch_names_its_place_and_what_is_expected_there() {
        let schema = json!({
            "type": "object",
            "required": ["price", "on"],
            "properties": {
                "price": {"type": "number", "minimum": 1},
                "on": {"type": "string", "format": "date"},
                "seats": {"items": {"type": ["string", "null"]}},
            },
            "additionalProperties": false,
        });
        let all = [
            told(schema.clone(), &json!([1])),
            told(schema.clone(), &json!({"price": "12", "seats": ["1A", 3]})),
            told(schema.clone(), &json!({"price": 0, "on": "tomorrow", "so": 1})),
            told(schema, &json!({"price": 2.5, "on": "2027-03-01", "seats": [null]})),
        ];
        insta::assert_snapshot!(all.join("\n--\n"), @r#"
        the whole must be an object, not the array [1]
        --
        the whole lacks "on"
        `/price` must be a number, not the string "12"
        `/seats/1` must be null or a string, not the number 3
        --
        `/on` does not fit: "tomorrow" is not a "date"
        `/price` does not fit: 0 is less than the minimum of 1
        the whole does not fit: Additional properties are not allowed ('so' was unexpected)
        --
        "#);
    }

    #[test]
    fn of_many_mismatches_the_first_are_told_each_cut_where_it_is_long() {
        let long = "x".repeat(1_000);
        let value = json!([long, long, long, long, long, long, long]);
        let told = told(json!({"items": {"maxLength": 3}}), &value);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), MOST_TOLD + 1);
        assert!(lines.iter().all(|line| line.chars().count() <= LONGEST_TOLD + 1), "{told}");
        assert_eq!(lines[MOST_TOLD], "and 2 more");
    }
}
