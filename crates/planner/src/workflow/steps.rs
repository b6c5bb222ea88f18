//! The steps of a workflow file: fields, selectors, dependencies.

use std::collections::HashSet;

use document::{Entry, Node, Span, Value};

use super::decoder::Fields;
use super::values::{Reading, locals};
use super::{Checker, DEFAULT_STEP_TIMEOUT, Defaults, Output, duration};
use crate::ask::DEFAULT_PAUSE_TIMEOUT;
use crate::dag::{Edge, Edges, Reason, ReasonKind};
use crate::language::Place;
use crate::step::{OnError, Retry, Step, StepEffect};
use crate::template::PartTemplate;

/// A run has clocks of its own: only what its step itself says holds beside them.
fn own_clocks(fields: Fields<'_>, policy: &mut Defaults) {
    if fields.get("timeout").is_none() {
        policy.timeout = duration::MAX;
    }
    if fields.get("pause_timeout").is_none() {
        policy.pause_timeout = duration::MAX;
    }
}

pub(super) const ON_ERROR: [(&str, OnError); 3] = [
    ("fail", OnError::Fail),
    ("continue", OnError::Continue),
    ("skip_dependents", OnError::SkipDependents),
];

pub(super) const EFFECT: [(&str, StepEffect); 3] = [
    ("idempotent", StepEffect::Idempotent),
    ("at_least_once", StepEffect::AtLeastOnce),
    ("at_most_once", StepEffect::AtMostOnce),
];

impl<'n> Checker<'_, 'n> {
    pub(super) fn defaults(&mut self, fields: Fields<'n>) -> Defaults {
        let mut defaults = Defaults {
            timeout: DEFAULT_STEP_TIMEOUT,
            retry: Retry::default(),
            on_error: OnError::default(),
            pause_timeout: DEFAULT_PAUSE_TIMEOUT,
        };
        if let Some(node) = fields.get("defaults") {
            let fields = self.decoder.fields(node, "`defaults`", Place::Defaults);
            self.policy(fields, "`defaults`", &mut defaults);
        }
        defaults
    }

    /// Reads the fields that `defaults` and steps share into what holds so far.
    fn policy(&mut self, fields: Fields<'n>, what: &str, policy: &mut Defaults) {
        if let Some(timeout) = self.duration(fields, "timeout", &format!("`timeout` of {what}")) {
            policy.timeout = timeout;
        }
        let what_pauses = format!("`pause_timeout` of {what}");
        if let Some(longest) = self.duration(fields, "pause_timeout", &what_pauses) {
            policy.pause_timeout = longest;
        }
        if let Some(node) = fields.get("retry") {
            policy.retry = self.retry(node, what, &policy.retry);
        }
        if let Some(node) = fields.get("on_error") {
            let read = self.decoder.one_of(node, &format!("`on_error` of {what}"), &ON_ERROR);
            policy.on_error = read.unwrap_or(policy.on_error);
        }
    }

    pub(super) fn steps(
        &mut self,
        fields: Fields<'n>,
        top: Span,
        defaults: &Defaults,
        found: &mut Vec<Edge>,
    ) -> Vec<Step> {
        let Some(entry) = fields.entry("steps") else {
            self.decoder.missing(
                top,
                "the workflow",
                "steps",
                "add at least one step under `steps`",
            );
            return Vec::new();
        };
        let entries = self.decoder.entries(&entry.value, "`steps`");
        if entries.is_empty() && matches!(entry.value.value, Value::Null | Value::Mapping(_)) {
            let message = "a workflow needs at least one step".to_owned();
            self.decoder.invalid(
                entry.key_span,
                message,
                "add a step, as in `greet: {agent: NAME, message: Hello}`",
            );
        }
        let mut edges = Edges::default();
        let steps = entries.iter().enumerate();
        let steps = steps
            .filter_map(|(index, entry)| self.step(index, entry, defaults, &mut edges))
            .collect();
        *found = edges.finish();
        steps
    }

    pub(super) fn step(
        &mut self,
        index: usize,
        entry: &'n Entry,
        defaults: &Defaults,
        edges: &mut Edges,
    ) -> Option<Step> {
        self.check_id(entry);
        let what = format!("step `{}`", entry.key);
        let fields = self.decoder.fields(&entry.value, &what, Place::Step);
        let policy = self.own_policy(fields, &what, defaults);
        let mut reads = Vec::new();
        let needs = self.needs(index, fields, &what, edges);
        let when = fields.get("when").and_then(|node| self.bare(node, "when", &mut reads));
        let cache = self.cache(fields, &what, &mut reads);
        let for_each = self.for_each(fields, &what, &mut reads);
        let mut part_steps = Vec::new();
        let into = (&mut reads, &mut part_steps);
        let message = self.step_message(index, fields, &what, into, edges);
        self.check_kind(fields, entry, &what);
        let set = self.set(fields, &what, &mut reads);
        let workflow = self.sub_workflow(fields, &what, &mut reads);
        let ask = self.ask(fields, &what, &mut reads);
        let outputs = self.step_outputs(fields, &what, &mut reads);
        let undo = self.undo(index, fields, &what);
        let asks = self.asks(index, fields, &what, &mut reads, edges);
        let repeat = self.repeat(fields, &what, &mut reads);
        part_steps.extend(self.resolve(index, &needs, reads, edges));
        part_steps.sort_unstable();
        part_steps.dedup();
        let selector = self.agent(index, fields, &what, edges);
        let fallback = self.fallback(fields, &what);
        let deadline = self.duration(fields, "deadline", &format!("`deadline` of {what}"));
        let gate = self.gate(fields, &what, edges.count_into(index));
        let asks_no_agent = set.is_some() || ask.is_some() || workflow.is_some();
        Some(Step {
            id: entry.key.clone(),
            span: entry.key_span,
            selector_span: fields.get("agent").map_or(entry.key_span, Node::head_span),
            selector: if asks_no_agent { selector } else { Some(selector?) },
            set,
            ask,
            workflow,
            outputs,
            undo,
            undoes: None,
            asks,
            message,
            needs,
            reads: part_steps,
            when,
            cache,
            for_each,
            join: gate.join,
            run_if: gate.run_if,
            cancel_rest: gate.cancel_rest,
            on_error: policy.on_error,
            retry: policy.retry,
            timeout: policy.timeout,
            pause_timeout: policy.pause_timeout,
            fallback,
            deadline,
            effect: self.effect(fields, &what),
            repeat,
        })
    }

    /// What holds for a step, over what `defaults` says.
    fn own_policy(&mut self, fields: Fields<'n>, what: &str, defaults: &Defaults) -> Defaults {
        let mut policy = Defaults { retry: defaults.retry.clone(), ..*defaults };
        self.policy(fields, what, &mut policy);
        if fields.get("workflow").is_some() {
            own_clocks(fields, &mut policy);
        }
        policy
    }

    /// The Parts of a step's Message; `into` takes what they read, and the steps whose artifacts they are.
    fn step_message(
        &mut self,
        index: usize,
        fields: Fields<'n>,
        what: &str,
        (reads, part_steps): (&mut Vec<Reading>, &mut Vec<usize>),
        edges: &mut Edges,
    ) -> Option<Vec<PartTemplate>> {
        let node = fields.get("message")?;
        self.locals = locals(fields, fields.get("repeat").is_some());
        let message = self.message(index, node, what, reads, part_steps, edges);
        self.locals = &[];
        message
    }

    fn effect(&mut self, fields: Fields<'_>, what: &str) -> StepEffect {
        let read = fields
            .get("effect")
            .and_then(|node| self.decoder.one_of(node, &format!("`effect` of {what}"), &EFFECT));
        read.unwrap_or_default()
    }

    fn check_id(&mut self, entry: &Entry) {
        let mut chars = entry.key.chars();
        let is_id = chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_id || entry.key.len() > 128 {
            let message = format!("`{}` cannot be the id of a step", entry.key);
            let help =
                "start with a letter a-z and go on with a-z, 0-9 and `_`; at most 128 characters";
            self.decoder.invalid(entry.key_span, message, help);
        }
    }

    fn needs(
        &mut self,
        step: usize,
        fields: Fields<'n>,
        what: &str,
        edges: &mut Edges,
    ) -> Vec<usize> {
        let Some(node) = fields.get("needs") else { return Vec::new() };
        let (mut needs, mut seen) = (Vec::new(), HashSet::new());
        for (name, item) in self.decoder.strings(node, &format!("`needs` of {what}")) {
            if let Some(from) = self.find_step(&name, item.span) {
                edges.add(from, step, Reason { kind: ReasonKind::Needs, span: item.span });
                if seen.insert(from) {
                    needs.push(from);
                }
            }
        }
        needs
    }

    /// Reads `outputs`, and the steps they read.
    pub(super) fn outputs(&mut self, fields: Fields<'n>) -> (Vec<Output>, Vec<usize>) {
        let Some(node) = fields.get("outputs") else { return (Vec::new(), Vec::new()) };
        let mut reads: Vec<Reading> = Vec::new();
        let mut outputs = Vec::new();
        for entry in self.decoder.entries(node, "`outputs`") {
            let what = format!("output `{}`", entry.key);
            let fields = self.decoder.fields(&entry.value, &what, Place::Output);
            let media_type = fields
                .get("media_type")
                .and_then(|node| self.decoder.media_type(node, &format!("`media_type` of {what}")));
            let description = fields
                .get("description")
                .and_then(|node| self.decoder.literal(node, &format!("`description` of {what}")));
            match fields.get("value") {
                Some(node) => {
                    let value = self.template(node, "value", &mut reads);
                    let (name, span) = (entry.key.clone(), entry.key_span);
                    outputs.extend(value.map(|value| Output {
                        name,
                        span,
                        value,
                        media_type,
                        description,
                    }));
                }
                None if entry.value.as_mapping().is_some() => {
                    let help = "say what it holds, as in `value: \"${{ steps.NAME.text }}\"`";
                    self.decoder.missing(entry.key_span, &what, "value", help);
                }
                None => {}
            }
        }
        let read_steps = self.resolve_outputs(None, reads);
        (outputs, read_steps)
    }
}
