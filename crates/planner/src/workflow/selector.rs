//! The agent of a step, as a workflow file says it.

use document::{Diagnostic, Node, Value};
use registry::Tier;

use super::Checker;
use super::decoder::Fields;
use crate::criteria::{Criteria, PUSH, Preference, STREAMING};
use crate::dag::{Edges, Reason, ReasonKind};
use crate::language::Place;
use crate::step::{Fallback, Selector};

impl<'n> Checker<'_, 'n> {
    pub(super) fn agent(
        &mut self,
        step: usize,
        fields: Fields<'n>,
        what: &str,
        edges: &mut Edges,
    ) -> Option<Selector> {
        let node = fields.get("agent")?;
        self.named_or_described(node, "agent", what, Some((step, edges)))
    }

    /// Reads `fallback`: further agents, of which none is that of another step, since who served that is known only
    /// when it has run.
    pub(super) fn fallback(&mut self, fields: Fields<'n>, what: &str) -> Vec<Fallback> {
        let Some(node) = fields.get("fallback") else { return Vec::new() };
        let Value::Sequence(items) = &node.value else {
            let help = "write a list of agents, as in `[NAME, {tags: [travel]}]`";
            self.decoder.expected(node, &format!("`fallback` of {what}"), "a list of agents", help);
            return Vec::new();
        };
        if items.is_empty() {
            let message = format!("`fallback` of {what} names nobody");
            self.decoder.invalid(node.span, message, "name an agent, or take `fallback` away");
        }
        let read = |item: &'n Node| {
            let selector = self.named_or_described(item, "fallback", what, None)?;
            Some(Fallback { selector, span: item.head_span() })
        };
        items.iter().filter_map(read).collect()
    }

    /// Reads one agent. `of` is the step it is for, where it may be that of another step.
    fn named_or_described(
        &mut self,
        node: &'n Node,
        key: &str,
        what: &str,
        of: Option<(usize, &mut Edges)>,
    ) -> Option<Selector> {
        if node.as_str().is_some() {
            let name = self.decoder.name(node, &format!("`{key}` of {what}"))?;
            return Some(Selector::Match(Criteria::by_name(&name)));
        }
        if node.as_mapping().is_none() {
            let help = "name it, or say what it must have, as in `{tags: [travel]}`";
            let what = format!("`{key}` of {what}");
            self.decoder.expected(node, &what, "a name or a mapping", help);
            return None;
        }
        self.selector(node, key, what, of)
    }

    fn selector(
        &mut self,
        node: &'n Node,
        key: &str,
        what: &str,
        of: Option<(usize, &mut Edges)>,
    ) -> Option<Selector> {
        let problems = self.decoder.problems.len();
        let fields = self.decoder.fields(node, &format!("`{key}` of {what}"), Place::Selector);
        let entries = node.as_mapping().unwrap_or_default();
        let alone = entries.iter().find(|entry| entry.key == "url" || entry.key == "same_as");
        if let (Some(alone), true) = (alone, entries.len() > 1) {
            let message = format!("`{}` names one agent already", alone.key);
            let help = format!("take the other keys of `{key}` away");
            self.decoder.invalid(alone.key_span, message, &help);
            return None;
        }
        if let Some(node) = fields.get("url") {
            return self.url(node, what).map(Selector::Url);
        }
        if let Some(node) = fields.get("same_as") {
            let name = self.decoder.string(node, &format!("`same_as` of {what}"))?;
            let Some((step, edges)) = of else {
                let message = format!("`fallback` of {what} cannot be the agent of another step");
                let help = "who served a step is known only when it has run: name the agent, or say what it must have";
                self.decoder.invalid(node.span, message, help);
                return None;
            };
            let from = self.find_step(&name, node.span)?;
            self.check_is_served(node, from);
            edges.add(from, step, Reason { kind: ReasonKind::SameAs, span: node.span });
            return Some(Selector::SameAs(from));
        }
        let selector = self.matching(fields, what).map(Selector::Match);
        // A key that is wrong was reported, and may be what should have selected.
        let is_sound = self.decoder.problems.len() == problems;
        if selector.is_none() && is_sound {
            let message = format!("`{key}` of {what} selects no agent");
            let problem =
                Diagnostic::error("workflow::empty-selector", message).at(node.head_span(), "");
            self.decoder.report(
                problem.help("give a name, a skill, tags, a provider, a url or `same_as: STEP`"),
            );
        }
        selector
    }

    fn matching(&mut self, fields: Fields<'n>, what: &str) -> Option<Criteria> {
        let mut named = |key: &str| {
            self.decoder.name(fields.get(key)?, &format!("`{key}` of the agent of {what}"))
        };
        let (name, skill, provider) = (named("name"), named("skill"), named("provider"));
        let min_evidence = fields.get("min_evidence").and_then(|node| {
            let tiers = Tier::ALL.map(|tier| (tier.as_str(), tier));
            self.decoder.one_of(node, &format!("`min_evidence` of the agent of {what}"), &tiers)
        });
        let prefer = fields.get("prefer").and_then(|node| {
            let what = format!("`prefer` of the agent of {what}");
            self.decoder.one_of(node, &what, &Preference::ALL)
        });
        let asked = Criteria {
            name,
            skill,
            provider,
            tags: self.words(fields, "tags", what),
            any_tags: self.words(fields, "any_tags", what),
            input_modes: self.modes(fields, "input_modes", what),
            output_modes: self.modes(fields, "output_modes", what),
            accept: Vec::new(),
            requires: self.required(fields, what),
            signed: self.signed(fields, what),
            min_evidence,
            prefer: prefer.unwrap_or_default(),
        };
        asked.selects().then_some(asked)
    }

    fn words(&mut self, fields: Fields<'n>, key: &str, what: &str) -> Vec<String> {
        let Some(node) = fields.get(key) else { return Vec::new() };
        let items = self.decoder.strings(node, &format!("`{key}` of the agent of {what}"));
        let what = format!("a tag of the agent of {what}");
        items.into_iter().filter_map(|(_, item)| self.decoder.name(item, &what)).collect()
    }

    fn modes(&mut self, fields: Fields<'n>, key: &str, what: &str) -> Vec<String> {
        let Some(node) = fields.get(key) else { return Vec::new() };
        let what = format!("`{key}` of the agent of {what}");
        let items = self.decoder.strings(node, &what);
        items.into_iter().filter_map(|(_, item)| self.decoder.media_type(item, &what)).collect()
    }

    /// Capabilities by their names, extensions by their URIs.
    fn required(&mut self, fields: Fields<'n>, what: &str) -> Vec<String> {
        let Some(node) = fields.get("requires") else { return Vec::new() };
        let what = format!("`requires` of the agent of {what}");
        let mut required = Vec::new();
        for (_, item) in self.decoder.strings(node, &what) {
            let Some(word) = self.decoder.literal(item, &what) else { continue };
            if [STREAMING, PUSH].contains(&word.as_str()) || word.contains(':') {
                required.push(word);
                continue;
            }
            let near = self.decoder.nearest(&word, [STREAMING, PUSH]);
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            let help = "write streaming, push_notifications, or the URI of an extension";
            let message = format!("`{word}` is nothing that a card can declare");
            self.decoder.invalid(item.span, message, hint.as_deref().unwrap_or(help));
        }
        required
    }

    fn signed(&mut self, fields: Fields<'n>, what: &str) -> bool {
        let flag = fields
            .get("signed")
            .and_then(|node| self.decoder.flag(node, &format!("`signed` of the agent of {what}")));
        flag.unwrap_or_default()
    }
}
