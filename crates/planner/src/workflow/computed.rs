//! `set`, a step that computes values, and `outputs`, what a step makes of its agent's answer.

use document::{Entry, Node};

use super::Checker;
use super::decoder::Fields;
use super::values::{Reading, locals};
use crate::template::Template;

/// What a step that computes values has no use for.
const OF_AGENTS: [&str; 14] = [
    "message",
    "retry",
    "timeout",
    "outputs",
    "expect",
    "repeat",
    "accept",
    "metadata",
    "references",
    "push",
    "cache",
    "fallback",
    "deadline",
    "effect",
];

impl<'n> Checker<'_, 'n> {
    /// Reads `set`.
    pub(super) fn set(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        let entry = fields.entry("set")?;
        if let Some(agent) = fields.entry("agent") {
            let message = format!("{what} has both `agent` and `set`");
            let second = if agent.key_span < entry.key_span { entry } else { agent };
            self.decoder.invalid(second.key_span, message, "a step does one thing: make two of it");
        }
        for entry in OF_AGENTS.iter().filter_map(|key| fields.entry(key)) {
            self.of_no_use(entry, what);
        }
        self.locals = locals(fields, false);
        let set = self.named(&entry.value, "set", what, reads);
        self.locals = &[];
        set
    }

    fn of_no_use(&mut self, entry: &Entry, what: &str) {
        let help = match entry.key.as_str() {
            "outputs" => "put all values into `set`",
            _ => "take it away, or give the step an `agent` instead of `set`",
        };
        self.pointless(entry, what, "`set` asks no agent", help);
    }

    /// Reads the `outputs` of a step.
    pub(super) fn step_outputs(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        let node = fields.get("outputs")?;
        self.locals = locals(fields, true);
        let outputs = self.named(node, "outputs", what, reads);
        self.locals = &[];
        outputs
    }

    /// A mapping from names to values.
    fn named(
        &mut self,
        node: &Node,
        key: &'static str,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        let what = format!("`{key}` of {what}");
        match node.as_mapping() {
            Some([]) => {
                let help = "name a value, as in `{title: \"${{ inputs.title }}\"}`";
                self.decoder.invalid(node.span, format!("{what} names no values"), help);
                None
            }
            Some(_) => self.template(node, key, reads),
            None => {
                let help = "name the values, as in `{title: \"${{ inputs.title }}\"}`";
                self.decoder.expected(node, &what, "a mapping from names to values", help);
                None
            }
        }
    }

    /// Reports a reference to the agent of a step that has none.
    pub(super) fn check_is_served(&mut self, node: &Node, step: usize) {
        let entry = &self.names.steps[step];
        if entry.value.get("set").is_some() && entry.value.get("agent").is_none() {
            let message = format!("step `{}` is served by no agent", entry.key);
            self.decoder.invalid(node.span, message, "name a step that has an `agent`");
        }
    }
}
