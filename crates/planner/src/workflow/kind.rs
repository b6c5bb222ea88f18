//! What a step does: it asks an agent, is a run of a workflow, asks a person, or computes values.

use document::{Entry, Node};

use super::Checker;
use super::decoder::Fields;
use super::values::{Reading, locals};
use crate::ask::Ask;

/// Of these a step has exactly one.
pub(crate) const KINDS: [&str; 4] = ["agent", "workflow", "ask", "set"];
/// What only a step has a use for that makes attempts.
const OF_ATTEMPTS: [&str; 3] = ["retry", "timeout", "outputs"];
/// What only a step has a use for that asks an agent.
const OF_AGENTS: [&str; 12] = [
    "message",
    "expect",
    "repeat",
    "accept",
    "metadata",
    "references",
    "push",
    "cache",
    "undo",
    "fallback",
    "deadline",
    "effect",
];

impl<'n> Checker<'_, 'n> {
    /// Checks that a step does one thing, and says nothing that goes with another one.
    pub(super) fn check_kind(&mut self, fields: Fields<'n>, entry: &'n Entry, what: &str) {
        let mut kinds: Vec<&Entry> = KINDS.iter().filter_map(|kind| fields.entry(kind)).collect();
        kinds.sort_by_key(|kind| kind.key_span);
        let kind = match kinds[..] {
            [] if entry.value.as_mapping().is_some() => {
                let help = "say who serves it, as in `agent: {tags: [travel]}`";
                self.decoder.missing(entry.key_span, what, "agent", help);
                return;
            }
            [] => return,
            [only] => only.key.as_str(),
            [first, second, ..] => {
                let (one, other) = match first.key < second.key {
                    true => (&first.key, &second.key),
                    false => (&second.key, &first.key),
                };
                let message = format!("{what} has both `{one}` and `{other}`");
                let help = "a step does one thing: make two of it";
                self.decoder.invalid(second.key_span, message, help);
                return;
            }
        };
        for (key, why, help) in of_no_use(kind) {
            if let Some(entry) = fields.entry(key) {
                self.pointless(entry, what, why, help);
            }
        }
    }

    /// Reads `ask` and `schema`.
    pub(super) fn ask(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Ask> {
        let schema =
            fields.get("schema").map(|node| self.schema(node, &format!("`schema` of {what}")));
        let node = fields.get("ask")?;
        let of_what = format!("`ask` of {what}");
        if self.decoder.string(node, &of_what)?.trim().is_empty() {
            let message = format!("{of_what} asks nothing");
            self.decoder.invalid(node.span, message, "write the question");
            return None;
        }
        self.locals = locals(fields, false);
        let question = self.template(node, "ask", reads);
        self.locals = &[];
        Some(Ask { question: question?, schema: schema.flatten() })
    }

    /// Reports a reference to the agent of a step that has none.
    pub(super) fn check_is_served(&mut self, node: &Node, step: usize) {
        let entry = &self.names.steps[step];
        let is_other = |kind: &str| kind != "agent" && entry.value.get(kind).is_some();
        if KINDS.into_iter().any(is_other) && entry.value.get("agent").is_none() {
            let message = format!("step `{}` is served by no agent", entry.key);
            self.decoder.invalid(node.span, message, "name a step that has an `agent`");
        }
    }
}

/// The fields that a step of a kind has no use for, each with why, and what to do.
fn of_no_use(kind: &str) -> Vec<(&'static str, &'static str, &'static str)> {
    let schema = ("schema", "it is what an answer to `ask` has to fit", "take it away");
    let with = ("with", "it is what a `workflow` starts with", "take it away");
    let asks_no_agent = |why, help| OF_AGENTS.map(|key| (key, why, help));
    let makes_none = |why, help| OF_ATTEMPTS.map(|key| (key, why, help));
    match kind {
        "set" => {
            let (why, help) = (
                "`set` asks no agent",
                "take it away, or give the step an `agent` instead of `set`",
            );
            let mut all = [&asks_no_agent(why, help)[..], &makes_none(why, help)].concat();
            all.retain(|(key, ..)| *key != "outputs");
            all.push(("outputs", why, "put all values into `set`"));
            all.extend([schema, with, ("pause_timeout", "`set` asks nobody", "take it away")]);
            all
        }
        "ask" => {
            let (why, help) = (
                "`ask` asks no agent",
                "take it away, or give the step an `agent` instead of `ask`",
            );
            let mut all = [&asks_no_agent(why, help)[..], &makes_none(why, help)].concat();
            all.push(with);
            all
        }
        "workflow" => {
            let (why, help) =
                ("`workflow` asks no agent", "take it away, or give it to a step of that workflow");
            [&asks_no_agent(why, help)[..], &[schema]].concat()
        }
        _ => vec![schema, with],
    }
}
