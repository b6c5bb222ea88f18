//! Values that may hold expressions, and what they read.

use std::collections::{BTreeSet, HashMap, HashSet};

use document::{Diagnostic, Entry, Node, Span, Value};
use protocol::wkt::MAX_DEPTH;
use serde_json::Value as Json;

use super::decoder::Fields;
use super::{Checker, StepIndex};
use crate::dag::{Edges, Reason, ReasonKind};
use crate::expression::{Compiled, Expression, ITEM, Locals, Read, ReadWhat, THIS, is_template};
use crate::template::Template;

/// The names the file defines; known before any of their contents are read.
pub(super) struct Names<'n> {
    pub(super) steps: Vec<&'n Entry>,
    pub(super) step_index: StepIndex<'n>,
    /// The block of each step that runs when the run has ended.
    pub(super) in_the_end: HashMap<&'n str, &'static str>,
    pub(super) inputs: &'n [Entry],
    input_names: HashSet<&'n str>,
}

impl<'n> Names<'n> {
    pub(super) fn collect(root: &'n Node) -> Names<'n> {
        let entries = |key| root.get(key).and_then(Node::as_mapping).unwrap_or_default();
        let steps: Vec<&Entry> = entries("steps").iter().collect();
        let step_index =
            steps.iter().enumerate().map(|(index, entry)| (entry.key.as_str(), index)).collect();
        let in_the_end = ["finally", "on_failure"].into_iter();
        let in_the_end = in_the_end
            .flat_map(|key| entries(key).iter().map(move |entry| (entry.key.as_str(), key)))
            .collect();
        let inputs: &[Entry] = entries("inputs");
        let input_names = inputs.iter().map(|entry| entry.key.as_str()).collect();
        Names { steps, step_index, in_the_end, inputs, input_names }
    }
}

/// Something a position reads, with the position's name.
pub(super) struct Reading {
    pub(super) read: Read,
    pub(super) position: &'static str,
}

impl Checker<'_, '_> {
    /// Reads a value in which every string may hold expressions.
    pub(super) fn template(
        &mut self,
        node: &Node,
        position: &'static str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        if let Some(span) = too_deep(node, MAX_DEPTH) {
            let message = format!("what is sent nests at most {MAX_DEPTH} levels deep");
            let problem = Diagnostic::error("workflow::too-deep", message)
                .at(span, format!("level {} begins here", MAX_DEPTH + 1));
            self.decoder.report(problem.help("flatten it, or send it as text or a file"));
            return None;
        }
        self.template_within(node, position, reads)
    }

    fn template_within(
        &mut self,
        node: &Node,
        position: &'static str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        match &node.value {
            Value::String(text) if is_template(text) => {
                let compiled = Expression::text(text, node.span, self.decoder.source, self.locals);
                self.keep(compiled, position, reads).map(Template::Expression)
            }
            Value::Sequence(items) => self.sequence(items, position, reads),
            Value::Mapping(entries) => self.mapping(entries, position, reads),
            _ => Some(Template::Literal(node.to_json())),
        }
    }

    fn sequence(
        &mut self,
        items: &[Node],
        position: &'static str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        let items: Vec<_> =
            items.iter().map(|item| self.template_within(item, position, reads)).collect();
        let items: Vec<Template> = items.into_iter().collect::<Option<_>>()?;
        if items.iter().all(|item| matches!(item, Template::Literal(_))) {
            return Some(Template::Literal(items.into_iter().map(literal).collect()));
        }
        Some(Template::Sequence(items))
    }

    fn mapping(
        &mut self,
        entries: &[Entry],
        position: &'static str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        let mut values = Vec::with_capacity(entries.len());
        for entry in entries {
            if is_template(&entry.key) {
                let message = "an expression cannot stand in a key".to_owned();
                self.decoder.invalid(
                    entry.key_span,
                    message,
                    "write the key out, or build the mapping in one expression",
                );
            }
            values.push(
                self.template_within(&entry.value, position, reads)
                    .map(|value| (entry.key.clone(), value)),
            );
        }
        let values: Vec<(String, Template)> = values.into_iter().collect::<Option<_>>()?;
        if values.iter().all(|(_, value)| matches!(value, Template::Literal(_))) {
            let map = values.into_iter().map(|(key, value)| (key, literal(value)));
            return Some(Template::Literal(Json::Object(map.collect())));
        }
        Some(Template::Mapping(values))
    }

    /// Reads a position that takes one expression.
    pub(super) fn bare(
        &mut self,
        node: &Node,
        position: &'static str,
        reads: &mut Vec<Reading>,
    ) -> Option<Expression> {
        let text = match &node.value {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            _ => {
                let help = "write one, as in `steps.NAME.state == \"completed\"`";
                self.decoder.expected(node, &format!("`{position}`"), "an expression", help);
                return None;
            }
        };
        let compiled = Expression::bare(&text, node.span, self.decoder.source, self.locals);
        self.keep(compiled, position, reads)
    }

    fn keep(
        &mut self,
        compiled: Result<Compiled, Vec<Diagnostic>>,
        position: &'static str,
        reads: &mut Vec<Reading>,
    ) -> Option<Expression> {
        match compiled {
            Ok((expression, found)) => {
                reads.extend(found.into_iter().map(|read| Reading { read, position }));
                Some(expression)
            }
            Err(problems) => {
                self.decoder.problems.extend(problems);
                None
            }
        }
    }

    /// Resolves what a step reads: adds an edge for each step, and gives all of them in ascending
    /// order.
    pub(super) fn resolve(
        &mut self,
        step: usize,
        needs: &[usize],
        reads: Vec<Reading>,
        edges: &mut Edges,
    ) -> Vec<usize> {
        let mut read_steps = BTreeSet::new();
        for Reading { read, position } in reads {
            match &read.what {
                ReadWhat::This(members) => self.check_data(step, "this", members, true),
                ReadWhat::Step(name, members) => {
                    if let Some(from) = self.find_step(name, read.span) {
                        self.check_data(from, &read.text, members, false);
                        let kind = ReasonKind::Expression {
                            position: position.to_owned(),
                            text: read.text,
                        };
                        edges.add(from, step, Reason { kind, span: read.span });
                        read_steps.insert(from);
                    }
                }
                ReadWhat::AnyStep if needs.is_empty() => self.dynamic_step(&read),
                ReadWhat::AnyStep => read_steps.extend(needs),
                ReadWhat::Input(name) => self.check_input(name, read.span),
            }
        }
        read_steps.into_iter().collect()
    }

    /// Resolves what is evaluated when everything is settled, and adds no edges: the outputs, and the `undo` of a step.
    pub(super) fn resolve_outputs(&mut self, of: Option<usize>, reads: Vec<Reading>) -> Vec<usize> {
        let mut read_steps = BTreeSet::new();
        for Reading { read, .. } in reads {
            match &read.what {
                ReadWhat::This(members) => {
                    if let Some(step) = of {
                        self.check_data(step, "this", members, true);
                    }
                }
                ReadWhat::Step(name, members) => {
                    let found = self.find_step(name, read.span);
                    if let Some(from) = found {
                        self.check_data(from, &read.text, members, false);
                    }
                    read_steps.extend(found);
                }
                ReadWhat::AnyStep => self.dynamic_step(&read),
                ReadWhat::Input(name) => self.check_input(name, read.span),
            }
        }
        read_steps.into_iter().collect()
    }

    /// The index of a step that something names.
    pub(super) fn find_step(&mut self, name: &str, span: Span) -> Option<usize> {
        if let Some(index) = self.names.step_index.get(name) {
            return Some(*index);
        }
        let known = self.names.steps.iter().map(|entry| entry.key.as_str());
        let (message, label, help) = match self.names.in_the_end.get(name) {
            Some(block) => (
                format!("step `{name}` is one of `{block}`, which have not run yet here"),
                "runs later",
                "let a step of the same block, or of a later one, read it".to_owned(),
            ),
            None => (
                format!("there is no step `{name}`"),
                "unknown step",
                match self.decoder.nearest(name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "name a step of this file".to_owned(),
                },
            ),
        };
        let problem = Diagnostic::error("workflow::unknown-step", message);
        self.decoder.report(problem.at(span, label).help(help));
        None
    }

    pub(super) fn check_input(&mut self, name: &str, span: Span) {
        if self.names.input_names.contains(name) {
            return;
        }
        let known = self.names.inputs.iter().map(|entry| entry.key.as_str());
        let help = match self.decoder.nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it under `inputs`, as in `{name}: {{type: string}}`"),
        };
        let message = format!("there is no input `{name}`");
        self.decoder.report(
            Diagnostic::error("workflow::unknown-input", message)
                .at(span, "unknown input")
                .help(help),
        );
    }

    fn dynamic_step(&mut self, read: &Read) {
        let message = "which step is read here shows only when the expression is evaluated";
        let problem = Diagnostic::error("workflow::dynamic-step", message)
            .at(read.span, "reads a step not named here");
        let help = "name the step, as in `steps.NAME`, or list all \
                    that may be meant in the step's `needs`";
        self.decoder.report(problem.help(help));
    }
}

/// What a position of a step has in scope beside inputs, steps and the run.
pub(super) fn locals(of_step: Fields<'_>, has_this: bool) -> Locals {
    const THIS_ITEM: [&str; 3] = [THIS, ITEM[0], ITEM[1]];
    match (of_step.get("for_each").is_some(), has_this) {
        (false, false) => &[],
        (false, true) => &[THIS],
        (true, false) => &ITEM,
        (true, true) => &THIS_ITEM,
    }
}

/// Where a value has more than so many mappings and lists inside each other, if it has.
pub(super) fn too_deep(node: &Node, levels: usize) -> Option<Span> {
    let items: Vec<&Node> = match &node.value {
        Value::Sequence(items) => items.iter().collect(),
        Value::Mapping(entries) => entries.iter().map(|entry| &entry.value).collect(),
        _ => return None,
    };
    match levels.checked_sub(1) {
        Some(levels) => items.into_iter().find_map(|item| too_deep(item, levels)),
        None => Some(node.span),
    }
}

fn literal(value: Template) -> Json {
    match value {
        Template::Literal(json) => json,
        _ => Json::Null,
    }
}
