//! `inputs`: JSON Schemas, with `from` beside.

use document::{Entry, Node};
use serde_json::Value as Json;

use super::Checker;
use super::schemas::unfit_schema;
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
        if !self.is_self_contained(node, what) {
            return false;
        }
        if let Err(error) = crate::schema::validator(&input.schema) {
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
