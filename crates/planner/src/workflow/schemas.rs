//! JSON Schemas in a workflow file: of inputs, and of what is expected.

use document::{Diagnostic, Entry, Node, Value, nearest};
use jsonschema::ValidationError;
use protocol::wkt::MAX_DEPTH;

use super::Checker;
use super::values::too_deep;
use crate::expression::is_template;
use crate::language::{Keyword, Place, Type};
use crate::schema::Schema;

/// Keywords that mean something and have no row, because they say nothing of an input.
const OTHERS: [&str; 8] = [
    "$schema",
    "$comment",
    "$anchor",
    "readOnly",
    "writeOnly",
    "contentMediaType",
    "contentEncoding",
    "unevaluatedProperties",
];

/// What only holds values.
const VALUES: [&str; 4] = ["default", "const", "enum", "examples"];

impl Checker<'_, '_> {
    /// Reads a schema that values of strangers are held against.
    pub(super) fn schema(&mut self, node: &Node, what: &str) -> Option<Schema> {
        if !matches!(node.value, Value::Mapping(_) | Value::Bool(_)) {
            let help = "write it as in `{type: object, required: [price]}`";
            self.decoder.expected(node, what, "a JSON Schema", help);
            return None;
        }
        // It travels in the metadata of a Part.
        if let Some(span) = too_deep(node, MAX_DEPTH - 2) {
            let message = format!("{what} nests deeper than it can be sent");
            let problem = Diagnostic::error("workflow::too-deep", message).at(span, "");
            self.decoder.report(problem.help("put parts of it under `$defs`"));
            return None;
        }
        let problems = self.decoder.problems.len();
        self.strange_keywords(node, what);
        if let Some(text) = template(node) {
            let message = format!("{what} takes no expression");
            let problem = Diagnostic::error("workflow::invalid-schema", message).at(text.span, "");
            self.decoder.report(problem.help("write the value itself"));
        }
        if self.decoder.problems.len() > problems || !self.is_self_contained(node, what) {
            return None;
        }
        match Schema::new(node.to_json(), node.span) {
            Ok(schema) => Some(schema),
            Err(error) => {
                self.decoder.report(unfit_schema(&error, node, what));
                None
            }
        }
    }

    /// Reports a reference to a schema that stands elsewhere.
    pub(super) fn is_self_contained(&mut self, node: &Node, what: &str) -> bool {
        let Some(elsewhere) = foreign_reference(node) else { return true };
        let problem = Diagnostic::error(
            "workflow::invalid-schema",
            format!("{what} refers to a schema outside of it, and none is fetched"),
        );
        let help = "put the schema under `$defs` here: `$ref: \"#/$defs/NAME\"`";
        self.decoder.report(problem.at(elsewhere.span, "").help(help));
        false
    }

    /// Reports keywords that would be ignored silently.
    fn strange_keywords(&mut self, schema: &Node, what: &str) {
        for entry in schema.as_mapping().unwrap_or_default() {
            match Place::Input.field(&entry.key).map(|field| field.takes) {
                Some(Type::Keyword(keyword)) => {
                    let within = schemas_in(keyword, &entry.value);
                    within.into_iter().for_each(|it| self.strange_keywords(it, what));
                }
                _ if OTHERS.contains(&entry.key.as_str()) || entry.key.starts_with("x-") => {}
                _ => self.strange_keyword(entry, what),
            }
        }
    }

    fn strange_keyword(&mut self, entry: &Entry, what: &str) {
        let known = Place::Input.keys().filter(|key| *key != "from").chain(OTHERS);
        let help = match self.decoder.nearest(&entry.key, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "members of a mapping go under `properties`; keys of your own begin with `x-`"
                .to_owned(),
        };
        let message = format!("`{}` in {what} is no keyword of JSON Schema", entry.key);
        let problem = Diagnostic::error("workflow::invalid-schema", message);
        self.decoder.report(problem.at(entry.key_span, "").help(help));
    }
}

/// The schemas that the value of a keyword consists of.
fn schemas_in(keyword: Keyword, value: &Node) -> Vec<&Node> {
    match (keyword, &value.value) {
        (Keyword::Schema, _) => vec![value],
        (Keyword::Schemas, Value::Sequence(items)) => items.iter().collect(),
        (Keyword::NamedSchemas | Keyword::RegexSchemas, Value::Mapping(entries)) => {
            entries.iter().map(|entry| &entry.value).collect()
        }
        _ => Vec::new(),
    }
}

/// A text in a schema that looks like an expression.
fn template(node: &Node) -> Option<&Node> {
    match &node.value {
        Value::String(text) => is_template(text).then_some(node),
        Value::Sequence(items) => items.iter().find_map(template),
        Value::Mapping(entries) => entries.iter().find_map(|entry| template(&entry.value)),
        _ => None,
    }
}

/// A `$ref` that points out of the schema it stands in. What only holds values is not looked at.
fn foreign_reference(schema: &Node) -> Option<&Node> {
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

/// Says why something is no JSON Schema.
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
