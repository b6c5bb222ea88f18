//! `concurrency` and `budget` of a workflow.

use document::{Diagnostic, Node};

use super::Checker;
use super::decoder::Fields;
use super::values::Reading;
use crate::expression::{Expression, ReadWhat};
use crate::language::Place;
use crate::limits::{Budget, Concurrency, OnConflict};

const MAX_LIMIT: u64 = 10_000;
const MAX_CALLS: u64 = 1_000_000;

impl<'n> Checker<'_, 'n> {
    pub(super) fn concurrency(&mut self, fields: Fields<'n>) -> Option<Concurrency> {
        let entry = fields.entry("concurrency")?;
        let what = "`concurrency`";
        let fields = self.decoder.fields(&entry.value, what, Place::Concurrency);
        let key = fields.get("key").and_then(|node| self.key(node));
        let limit = fields.get("limit").and_then(|node| {
            self.decoder.integer(node, &format!("`limit` of {what}"), 1, MAX_LIMIT)
        });
        let on_conflict = fields.get("on_conflict").and_then(|node| {
            self.decoder.one_of(node, &format!("`on_conflict` of {what}"), &OnConflict::ALL)
        });
        Some(Concurrency {
            key,
            limit: limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(1),
            on_conflict: on_conflict.unwrap_or_default(),
            span: entry.key_span,
        })
    }

    /// Reads the key, which is evaluated before any step has run.
    fn key(&mut self, node: &'n Node) -> Option<Expression> {
        let mut reads = Vec::new();
        let key = self.bare(node, "key", &mut reads);
        for Reading { read, .. } in reads {
            match &read.what {
                ReadWhat::Input(name) => self.check_input(name, read.span),
                ReadWhat::This(_) | ReadWhat::Step(..) | ReadWhat::AnyStep => {
                    let message = "the key is evaluated before any step has run".to_owned();
                    let problem = Diagnostic::error("workflow::early-key", message);
                    let help = "make it of inputs, as in `key: inputs.NAME`";
                    self.decoder.report(problem.at(read.span, "reads a step").help(help));
                }
            }
        }
        key
    }

    pub(super) fn budget(&mut self, fields: Fields<'n>) -> Option<Budget> {
        let entry = fields.entry("budget")?;
        let fields = self.decoder.fields(&entry.value, "`budget`", Place::Budget);
        let Some(node) = fields.get("calls") else {
            if entry.value.as_mapping().is_some() {
                let help = "say how many calls a run may make, as in `budget: {calls: 200}`";
                self.decoder.missing(entry.key_span, "`budget`", "calls", help);
            }
            return None;
        };
        let calls = self.decoder.integer(node, "`calls` of `budget`", 1, MAX_CALLS)?;
        Some(Budget { calls })
    }
}
