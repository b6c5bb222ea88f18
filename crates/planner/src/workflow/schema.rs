//! JSON Schemas in a workflow file.

use document::{Diagnostic, Node, Value, nearest};
use jsonschema::ValidationError;

use super::Checker;
use crate::language::Place;
use crate::schema::Schema;

impl Checker<'_, '_> {
    /// Reads the JSON Schema that something has to fit: the keywords of an input.
    pub(super) fn schema(&mut self, node: &Node, what: &str) -> Option<Schema> {
        if node.as_mapping().is_none() {
            let help = "write a JSON Schema, as in `{type: boolean}`";
            self.decoder.expected(node, what, "a mapping", help);
            return None;
        }
        let fields = self.decoder.fields(node, what, Place::Input);
        if let Some(entry) = fields.entry("from") {
            let message = format!("{what} takes no `from`, which is for inputs");
            self.decoder.invalid(entry.key_span, message, "take it away");
            return None;
        }
        if !self.check_references(node, what) {
            return None;
        }
        match Schema::new(node.to_json()) {
            Ok(schema) => Some(schema),
            Err(error) => {
                self.decoder.report(unfit_schema(&error, node, what));
                None
            }
        }
    }

    /// Reports a `$ref` that points out of the schema.
    pub(super) fn check_references(&mut self, node: &Node, what: &str) -> bool {
        let Some(elsewhere) = foreign_reference(node) else { return true };
        let problem = Diagnostic::error(
            "workflow::invalid-schema",
            format!("{what} refers to a schema outside of it, and none is fetched"),
        );
        let help = "put the schema under its own `$defs`: `$ref: \"#/$defs/NAME\"`";
        self.decoder.report(problem.at(elsewhere.span, "").help(help));
        false
    }
}

/// A `$ref` that points out of the schema it stands in. What only holds values is not looked at.
fn foreign_reference(schema: &Node) -> Option<&Node> {
    const VALUES: [&str; 4] = ["default", "const", "enum", "examples"];
    match &schema.value {
        Value::Sequence(items) => items.iter().find_map(foreign_reference),
        Value::Mapping(entries) => entries.iter().find_map(|entry| match entry.value.as_str() {
            Some(target) => {
                (entry.key == "$ref" && !target.starts_with('#')).then_some(&entry.value)
            }
            None if VALUES.contains(&entry.key.as_str()) => None,
            None => foreign_reference(&entry.value),
        }),
        _ => None,
    }
}

/// What is wrong with a schema, and where in the file.
pub(super) fn unfit_schema(error: &ValidationError<'_>, node: &Node, what: &str) -> Diagnostic {
    const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];
    let pointer = error.instance_path().to_string();
    let (why, help) = match error.instance().as_str() {
        Some(kind) if pointer.ends_with("/type") => (
            format!("`{kind}` is no type"),
            match nearest(kind, TYPES) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the types are: {}", TYPES.join(", ")),
            },
        ),
        Some("yes" | "no" | "on" | "off") if error.to_string().ends_with("\"boolean\"") => {
            (error.to_string(), "write `true` or `false`, or put the text in quotes".to_owned())
        }
        _ => (error.to_string(), "correct the keyword, or take it away".to_owned()),
    };
    let message = format!("{what} has no valid JSON Schema: {why}");
    let problem = Diagnostic::error("workflow::invalid-schema", message);
    problem.at(node.span_at_pointer(&pointer), "").help(help)
}
