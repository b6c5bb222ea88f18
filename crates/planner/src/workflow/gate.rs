//! `join`, `run_if` and `cancel_rest`: when the dependencies of a step let it run.

use document::{Entry, Node, Value};

use super::Checker;
use super::decoder::Fields;
use crate::step::{Join, RunIf};

pub(super) const RUN_IF: [(&str, RunIf); 2] =
    [("succeeded", RunIf::Succeeded), ("settled", RunIf::Settled)];

/// What a step waits for.
#[derive(Clone, Copy, Default)]
pub(super) struct Gate {
    pub(super) join: Join,
    pub(super) run_if: RunIf,
    pub(super) cancel_rest: bool,
}

impl Checker<'_, '_> {
    /// Reads when a step may run that waits for so many others.
    pub(super) fn gate(&mut self, fields: Fields<'_>, what: &str, dependencies: u32) -> Gate {
        let join = fields.get("join").and_then(|node| self.join(node, what, dependencies));
        let run_if = fields
            .get("run_if")
            .and_then(|node| self.decoder.one_of(node, &format!("`run_if` of {what}"), &RUN_IF));
        let cancel_rest = fields
            .get("cancel_rest")
            .and_then(|node| self.decoder.flag(node, &format!("`cancel_rest` of {what}")));
        let gate = Gate {
            join: join.unwrap_or_default(),
            run_if: run_if.unwrap_or_default(),
            cancel_rest: cancel_rest.unwrap_or_default(),
        };
        self.check_gate(fields, what, dependencies, gate);
        gate
    }

    fn join(&mut self, node: &Node, what: &str, dependencies: u32) -> Option<Join> {
        let what = format!("`join` of {what}");
        match &node.value {
            Value::Number(_) => {
                let count = self.decoder.integer(node, &what, 1, 10_000)?;
                let count = u32::try_from(count).ok()?;
                if dependencies > 0 && count > dependencies {
                    let message = format!("{what} can never be reached");
                    let help = match dependencies {
                        1 => "the step has one dependency only".to_owned(),
                        many => format!("the step has {many} dependencies"),
                    };
                    self.decoder.invalid(node.span, message, &help);
                }
                Some(Join::AtLeast(count))
            }
            Value::String(text) if text == "all" => Some(Join::All),
            Value::String(text) if text == "any" => Some(Join::AtLeast(1)),
            _ => {
                let message = format!("{what} must be `all`, `any` or a number");
                let help = "`any` waits for the first dependency that completes, 2 for the second";
                self.decoder.invalid(node.head_span(), message, help);
                None
            }
        }
    }

    fn check_gate(&mut self, fields: Fields<'_>, what: &str, dependencies: u32, gate: Gate) {
        let given = |key| fields.entry(key);
        let keys = ["join", "run_if", "cancel_rest"];
        if let Some(entry) = keys.into_iter().find_map(given).filter(|_| dependencies == 0) {
            let help = "name the steps that it is about in `needs`";
            self.pointless(entry, what, "the step waits for no other", help);
            return;
        }
        let counts = gate.join != Join::All;
        if let Some(entry) = given("run_if").filter(|_| counts && gate.run_if == RunIf::Settled) {
            let help =
                "a number of completed dependencies is waited for: take `join` or `run_if` away";
            self.pointless(entry, what, "`join` says already how they must end", help);
        }
        if let Some(entry) = given("cancel_rest").filter(|_| gate.cancel_rest && !counts) {
            let help = "add `join: any`, or the number that is enough";
            self.pointless(entry, what, "all dependencies are waited for", help);
        }
    }

    pub(super) fn pointless(&mut self, entry: &Entry, what: &str, why: &str, help: &str) {
        let message = format!("`{}` of {what} is of no use: {why}", entry.key);
        self.decoder.invalid(entry.key_span, message, help);
    }
}
