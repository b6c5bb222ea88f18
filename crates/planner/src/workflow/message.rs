//! `message`: a string, or a list of Parts.

use document::{Diagnostic, Node, Span, Value};
use serde_json::Value as Json;
use url::Url;

use super::Checker;
use super::decoder::Fields;
use super::values::Reading;
use crate::dag::{Edges, Reason, ReasonKind};
use crate::expression::is_template;
use crate::inputs::InputFrom;
use crate::language::Place;
use crate::template::{PartContent, PartTemplate, Template};

/// The keys of which a Part has exactly one.
pub(crate) const CONTENT_KEYS: [&str; 6] = ["text", "data", "file", "url", "artifacts", "input"];

/// What the Parts of one message read, besides expressions.
struct Reader<'a> {
    step: usize,
    what: &'a str,
    reads: &'a mut Vec<Reading>,
    part_steps: &'a mut Vec<usize>,
    edges: &'a mut Edges,
}

impl Checker<'_, '_> {
    pub(super) fn message(
        &mut self,
        step: usize,
        node: &Node,
        what: &str,
        reads: &mut Vec<Reading>,
        part_steps: &mut Vec<usize>,
        edges: &mut Edges,
    ) -> Option<Vec<PartTemplate>> {
        let mut reader = Reader { step, what, reads, part_steps, edges };
        match &node.value {
            Value::String(_) => {
                let text = self.template(node, "message", reader.reads)?;
                Some(vec![PartTemplate::new(PartContent::Text(text), node.span)])
            }
            Value::Sequence(items) if items.is_empty() => {
                let message = format!("`message` of {what} has no Parts");
                self.decoder.invalid(
                    node.span,
                    message,
                    "add a Part, or leave `message` out to send on what started the run",
                );
                None
            }
            Value::Sequence(items) => {
                let parts: Vec<_> = items.iter().map(|item| self.part(item, &mut reader)).collect();
                parts.into_iter().collect()
            }
            _ => {
                let help = match node.as_mapping() {
                    Some([first, ..]) if first.key.starts_with('-') => "put a blank after `-`",
                    Some(_) => "put `-` before its keys: a message is a list of Parts",
                    None => "write text in quotes, or a list such as `[{text: …}]`",
                };
                let (what, expected) =
                    (format!("`message` of {what}"), "a string or a list of Parts");
                self.decoder.expected(node, &what, expected, help);
                None
            }
        }
    }

    fn part(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<PartTemplate> {
        if node.as_str().is_some() {
            let message = format!("a Part in the message of {} must be a mapping", reader.what);
            self.decoder.invalid(node.span, message, "write `text: …`");
            return None;
        }
        let problems = self.decoder.problems.len();
        let fields = self.decoder.fields(node, "a Part", Place::Part);
        let entries = node.as_mapping()?;
        let contents: Vec<_> =
            entries.iter().filter(|entry| CONTENT_KEYS.contains(&entry.key.as_str())).collect();
        let content = match contents[..] {
            [content] => content,
            // The key that should have held it has been reported.
            [] if self.decoder.problems.len() > problems => return None,
            [] => {
                let help = format!("give one of: {}", CONTENT_KEYS.join(", "));
                self.decoder.invalid(
                    node.head_span(),
                    "this Part has no content".to_owned(),
                    &help,
                );
                return None;
            }
            [first, second, ..] => {
                let message = format!(
                    "a Part holds one thing, here both `{}` and `{}`",
                    first.key, second.key
                );
                self.decoder.invalid(second.key_span, message, "make two Parts of it");
                return None;
            }
        };
        let mut member =
            |key| fields.get(key).and_then(|node| self.template(node, "message", reader.reads));
        let (media_type, filename, metadata) =
            (member("media_type"), member("filename"), member("metadata"));
        self.check_stated(fields);
        let content = self.content(&content.key, &content.value, reader)?;
        Some(PartTemplate { content, span: node.head_span(), media_type, filename, metadata })
    }

    /// What a Part states about its content, where no expression gives it.
    fn check_stated(&mut self, fields: Fields<'_>) {
        let is_expression = |node: &Node| node.as_str().is_some_and(is_template);
        if let Some(node) = fields.get("media_type").filter(|node| !is_expression(node)) {
            self.decoder.media_type(node, "`media_type` of a Part");
        }
        if let Some(node) = fields.get("filename") {
            self.decoder.string(node, "`filename` of a Part");
        }
        if let Some(node) = fields.get("metadata").filter(|node| !is_expression(node))
            && node.as_mapping().is_none()
        {
            self.decoder.expected(node, "`metadata` of a Part", "a mapping", "write `KEY: VALUE`");
        }
    }

    fn content(&mut self, key: &str, node: &Node, reader: &mut Reader<'_>) -> Option<PartContent> {
        match key {
            "text" => self.textual(node, "`text` of a Part", reader).map(PartContent::Text),
            "url" => self.link(node, reader).map(PartContent::Url),
            "data" => self.template(node, "message", reader.reads).map(PartContent::Data),
            "file" => self.file(node, reader),
            "artifacts" => self.artifacts(node, reader),
            _ => {
                let name = self.decoder.string(node, "`input` of a Part")?;
                self.check_input(&name, node.span);
                Some(PartContent::Input(name))
            }
        }
    }

    fn textual(&mut self, node: &Node, what: &str, reader: &mut Reader<'_>) -> Option<Template> {
        self.decoder.string(node, what)?;
        self.template(node, "message", reader.reads)
    }

    fn link(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<Template> {
        let template = self.textual(node, "`url` of a Part", reader)?;
        if let Template::Literal(Json::String(text)) = &template
            && Url::parse(text).is_err()
        {
            let message = format!("`{text}` is not a URL");
            self.decoder.invalid(node.span, message, "write it in full, with `https://`");
        }
        Some(template)
    }

    /// `file` is the name of a file input, or an expression.
    fn file(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<PartContent> {
        let text = self.decoder.string(node, "`file` of a Part")?;
        if is_template(&text) {
            return self.template(node, "message", reader.reads).map(PartContent::File);
        }
        let declared = self.names.inputs.iter().find(|entry| entry.key == text);
        let from = declared.and_then(|entry| entry.value.get("from")).and_then(Node::as_str);
        if declared.is_some() && from == Some(InputFrom::File.as_str()) {
            return Some(PartContent::Input(text));
        }
        let message = format!("`{text}` is not a file input");
        let help = format!(
            "declare it under `inputs`, as in `{text}: {{from: file}}`, or give an expression"
        );
        self.decoder.report(
            Diagnostic::error("workflow::unknown-input", message).at(node.span, "").help(help),
        );
        None
    }

    /// `artifacts` is `STEP` or `STEP["name"]`.
    fn artifacts(&mut self, node: &Node, reader: &mut Reader<'_>) -> Option<PartContent> {
        let text = self.decoder.string(node, "`artifacts` of a Part")?;
        let Some((step, name)) = split_artifacts(&text) else {
            let message = format!("`{text}` names no artifacts");
            self.decoder.invalid(
                node.span,
                message,
                "write `STEP`, or `STEP[\"name\"]` for one of them",
            );
            return None;
        };
        let start = node.locate(self.decoder.source, 0);
        let span = Span { start, end: start + u32::try_from(step.len()).unwrap_or(0) };
        let from = self.find_step(step, span)?;
        let reason = Reason { kind: ReasonKind::Artifacts { text: text.clone() }, span: node.span };
        reader.edges.add(from, reader.step, reason);
        reader.part_steps.push(from);
        Some(PartContent::Artifacts { step: from, name: name.map(str::to_owned) })
    }
}

fn split_artifacts(text: &str) -> Option<(&str, Option<&str>)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
    let (step, rest) = text.split_at(end);
    if step.is_empty() {
        return None;
    }
    if rest.trim().is_empty() {
        return Some((step, None));
    }
    let inner = rest.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let name =
        ['"', '\''].iter().find_map(|quote| inner.strip_prefix(*quote)?.strip_suffix(*quote))?;
    Some((step, Some(name)))
}

impl PartTemplate {
    fn new(content: PartContent, span: Span) -> PartTemplate {
        PartTemplate { content, span, media_type: None, filename: None, metadata: None }
    }
}
