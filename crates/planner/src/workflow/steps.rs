//! The steps of a workflow file: fields, selectors, dependencies.

use std::collections::HashSet;

use document::{Diagnostic, Entry, Node, Span, Value};
use registry::Tier;

use super::decoder::Fields;
use super::values::Reading;
use super::{Checker, DEFAULT_STEP_TIMEOUT, Defaults, Output};
use crate::dag::{Edge, Edges, Reason, ReasonKind};
use crate::language::Place;
use crate::step::{OnError, Retry, Selector, Step};

pub(super) const ON_ERROR: [(&str, OnError); 3] = [
    ("fail", OnError::Fail),
    ("continue", OnError::Continue),
    ("skip_dependents", OnError::SkipDependents),
];

impl<'n> Checker<'_, 'n> {
    pub(super) fn defaults(&mut self, fields: Fields<'n>) -> Defaults {
        let mut defaults = Defaults {
            timeout: DEFAULT_STEP_TIMEOUT,
            retry: Retry::default(),
            on_error: OnError::default(),
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

    fn step(
        &mut self,
        index: usize,
        entry: &'n Entry,
        defaults: &Defaults,
        edges: &mut Edges,
    ) -> Option<Step> {
        self.check_id(entry);
        let what = format!("step `{}`", entry.key);
        let fields = self.decoder.fields(&entry.value, &what, Place::Step);
        let mut policy = Defaults { retry: defaults.retry.clone(), ..*defaults };
        self.policy(fields, &what, &mut policy);
        let mut reads = Vec::new();
        let needs = fields
            .get("needs")
            .map(|node| self.needs(index, node, &what, edges))
            .unwrap_or_default();
        let when = fields.get("when").and_then(|node| self.bare(node, "when", &mut reads));
        let mut part_steps = Vec::new();
        let message = match fields.get("message") {
            Some(node) => self.message(index, node, &what, &mut reads, &mut part_steps, edges),
            None => None,
        };
        let mut all_reads = self.resolve(index, &needs, reads, edges);
        all_reads.extend(part_steps);
        all_reads.sort_unstable();
        all_reads.dedup();
        let selector = self.agent(index, fields, entry, &what, edges);
        Some(Step {
            id: entry.key.clone(),
            span: entry.key_span,
            selector_span: fields.get("agent").map_or(entry.key_span, Node::head_span),
            selector: selector?,
            message,
            needs,
            reads: all_reads,
            when,
            on_error: policy.on_error,
            retry: policy.retry,
            timeout: policy.timeout,
        })
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

    fn needs(&mut self, step: usize, node: &'n Node, what: &str, edges: &mut Edges) -> Vec<usize> {
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

    fn agent(
        &mut self,
        step: usize,
        fields: Fields<'n>,
        entry: &'n Entry,
        what: &str,
        edges: &mut Edges,
    ) -> Option<Selector> {
        let Some(node) = fields.get("agent") else {
            if entry.value.as_mapping().is_some() {
                self.decoder.missing(
                    entry.key_span,
                    what,
                    "agent",
                    "say who serves it, as in `agent: {tags: [travel]}`",
                );
            }
            return None;
        };
        if node.as_str().is_some() {
            let name = self.decoder.name(node, &format!("`agent` of {what}"))?;
            let (skill, tags, min_evidence) = (None, Vec::new(), None);
            return Some(Selector::Match { name: Some(name), skill, tags, min_evidence });
        }
        if node.as_mapping().is_none() {
            let help = "name it, or say what it must have, as in `{tags: [travel]}`";
            let what = format!("`agent` of {what}");
            self.decoder.expected(node, &what, "a name or a mapping", help);
            return None;
        }
        self.selector(step, node, what, edges)
    }

    fn selector(
        &mut self,
        step: usize,
        node: &'n Node,
        what: &str,
        edges: &mut Edges,
    ) -> Option<Selector> {
        let problems = self.decoder.problems.len();
        let fields = self.decoder.fields(node, &format!("`agent` of {what}"), Place::Selector);
        let entries = node.as_mapping().unwrap_or_default();
        let alone = entries.iter().find(|entry| entry.key == "url" || entry.key == "same_as");
        if let (Some(alone), true) = (alone, entries.len() > 1) {
            let message = format!("`{}` names one agent already", alone.key);
            self.decoder.invalid(alone.key_span, message, "take the other keys of `agent` away");
            return None;
        }
        if let Some(node) = fields.get("url") {
            return self.url(node, what).map(Selector::Url);
        }
        if let Some(node) = fields.get("same_as") {
            let name = self.decoder.string(node, &format!("`same_as` of {what}"))?;
            let from = self.find_step(&name, node.span)?;
            edges.add(from, step, Reason { kind: ReasonKind::SameAs, span: node.span });
            return Some(Selector::SameAs(from));
        }
        let selector = self.matching(fields, what);
        // A key that is wrong was reported, and may be what should have selected.
        let is_sound = self.decoder.problems.len() == problems;
        if selector.is_none() && is_sound {
            let message = format!("`agent` of {what} selects no agent");
            let problem =
                Diagnostic::error("workflow::empty-selector", message).at(node.head_span(), "");
            self.decoder
                .report(problem.help("give a name, a skill, tags, a url or `same_as: STEP`"));
        }
        selector
    }

    fn matching(&mut self, fields: Fields<'n>, what: &str) -> Option<Selector> {
        let mut named = |key: &str| {
            self.decoder.name(fields.get(key)?, &format!("`{key}` of the agent of {what}"))
        };
        let (name, skill) = (named("name"), named("skill"));
        let mut tags = Vec::new();
        if let Some(node) = fields.get("tags") {
            let list = format!("`tags` of the agent of {what}");
            for (_, item) in self.decoder.strings(node, &list) {
                tags.extend(self.decoder.name(item, &format!("a tag of the agent of {what}")));
            }
        }
        let min_evidence = fields.get("min_evidence").and_then(|node| {
            let tiers = Tier::ALL.map(|tier| (tier.as_str(), tier));
            self.decoder.one_of(node, &format!("`min_evidence` of the agent of {what}"), &tiers)
        });
        let selects = name.is_some() || skill.is_some() || !tags.is_empty();
        selects.then_some(Selector::Match { name, skill, tags, min_evidence })
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
        let read_steps = self.resolve_outputs(reads);
        (outputs, read_steps)
    }
}
