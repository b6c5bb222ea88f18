//! `inputs`: JSON Schemas, with `from` beside.

use document::{Diagnostic, Entry, Node, Value, nearest};
use jsonschema::ValidationError;
use serde_json::Value as Json;

use super::Checker;
use crate::inputs::{Input, InputFrom};
use crate::language::Place;

pub(super) const FROM: [(&str, InputFrom); 3] =
    [("text", InputFrom::Text), ("data", InputFrom::Data), ("file", InputFrom::File)];

impl Checker<'_, '_> {
    pub(super) fn inputs(&mut self, node: &Node) -> Vec<Input> {
        self.decoder
            .entries(node, "`inputs`")
            .iter()
            .filter_map(|entry| self.input(entry))
            .collect()
    }

    fn input(&mut self, entry: &Entry) -> Option<Input> {
        self.check_input_name(entry);
        let what = format!("input `{}`", entry.key);
        let node = &entry.value;
        if node.as_str().is_some() {
            let help = format!("write it as in `{}: {{type: string}}`", entry.key);
            self.decoder.expected(node, &what, "a mapping", &help);
            return None;
        }
        self.decoder.fields(node, &what, Place::Input);
        node.as_mapping()?;
        let from = node
            .get("from")
            .and_then(|node| self.decoder.one_of(node, &format!("`from` of {what}"), &FROM));
        let mut schema = node.to_json();
        if let Json::Object(map) = &mut schema {
            map.remove("from");
        }
        let default = schema.get("default").cloned();
        let input = Input { name: entry.key.clone(), span: entry.key_span, schema, from, default };
        self.check_schema(&input, node, &what).then_some(input)
    }

    fn check_input_name(&mut self, entry: &Entry) {
        let mut chars = entry.key.chars();
        let is_name = chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_name {
            let message = format!("`{}` cannot be the name of an input", entry.key);
            self.decoder.invalid(
                entry.key_span,
                message,
                "start with a letter a-z and go on with a-z, 0-9 and `_`",
            );
        }
    }

    fn check_schema(&mut self, input: &Input, node: &Node, what: &str) -> bool {
        if input.from == Some(InputFrom::File)
            && input.schema.get("type").is_some_and(|kind| kind != "object")
        {
            let at = node.span_at_pointer("/type");
            self.decoder.invalid(
                at,
                format!("{what} is a file and takes no `type`"),
                "take `type` away",
            );
            return false;
        }
        if let Some(elsewhere) = foreign_reference(node) {
            let problem = Diagnostic::error(
                "workflow::invalid-schema",
                format!("{what} refers to a schema outside this input, and none is fetched"),
            );
            let help = "put the schema under `$defs` of the input: `$ref: \"#/$defs/NAME\"`";
            self.decoder.report(problem.at(elsewhere.span, "").help(help));
            return false;
        }
        if let Err(error) = crate::inputs::validator(&input.schema) {
            self.decoder.report(unfit_schema(&error, node, what));
            return false;
        }
        let problems =
            input.default.as_ref().map(|value| input.problems(value)).unwrap_or_default();
        for problem in problems {
            let at = node.span_at_pointer("/default");
            self.decoder.invalid(
                at,
                format!("the default is no value for it: {problem}"),
                "change the default or the schema",
            );
        }
        true
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

fn unfit_schema(error: &ValidationError<'_>, node: &Node, what: &str) -> Diagnostic {
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
