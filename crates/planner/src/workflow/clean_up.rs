//! `undo`, `on_failure` and `finally`: what is done when a run has ended.

use document::{Entry, Node, Span, Value};

use super::decoder::Fields;
use super::values::{Reading, locals};
use super::{Checker, Defaults};
use crate::clean_up::{CleanUp, Undo};
use crate::dag::{self, Edges};

impl<'n> Checker<'_, 'n> {
    /// Reads `undo`. It is sent when everything has ended, so that what it reads makes no edges.
    pub(super) fn undo(&mut self, step: usize, fields: Fields<'n>, what: &str) -> Option<Undo> {
        let node = fields.get("undo")?;
        self.locals = locals(fields, true);
        let (mut reads, mut part_steps) = (Vec::<Reading>::new(), Vec::new());
        let what = format!("`undo` of {what}");
        let message =
            self.message(step, node, &what, &mut reads, &mut part_steps, &mut Edges::default());
        self.locals = &[];
        let mut reads = self.resolve_outputs(Some(step), reads);
        reads.extend(part_steps);
        reads.sort_unstable();
        reads.dedup();
        Some(Undo { message: message?, reads })
    }

    /// Reads `on_failure` and `finally`, whose steps see those of the run, and each other.
    pub(super) fn clean_up(&mut self, fields: Fields<'n>, defaults: &Defaults) -> CleanUp {
        let mut clean_up = CleanUp::default();
        let of_run = self.names.steps.len();
        let mut edges = Edges::default();
        for key in ["on_failure", "finally"] {
            let Some(entry) = fields.entry(key) else { continue };
            let entries = self.block(entry, key);
            let first = self.names.steps.len();
            for entry in entries {
                if self.names.step_index.contains_key(entry.key.as_str()) {
                    let message = format!("there is a step `{}` already", entry.key);
                    self.decoder.invalid(entry.key_span, message, "give it another id");
                }
                let index = self.names.steps.len();
                self.names.step_index.insert(&entry.key, index);
                self.names.steps.push(entry);
            }
            for (at, entry) in entries.iter().enumerate() {
                let step = self.step(first + at, entry, defaults, &mut edges);
                clean_up.steps.extend(step);
            }
            if key == "on_failure" {
                clean_up.on_failure = clean_up.steps.len();
            }
        }
        // Those of the run have ended, all of them.
        clean_up.edges = edges.finish();
        clean_up.edges.retain(|edge| edge.from >= of_run);
        let steps: Vec<(&str, Span)> =
            self.names.steps.iter().map(|entry| (entry.key.as_str(), entry.key_span)).collect();
        dag::check_cycles(&steps, &clean_up.edges, &mut self.decoder.problems);
        clean_up
    }

    fn block(&mut self, entry: &'n Entry, key: &str) -> &'n [Entry] {
        let entries = self.decoder.entries(&entry.value, &format!("`{key}`"));
        let node: &Node = &entry.value;
        if entries.is_empty() && matches!(node.value, Value::Null | Value::Mapping(_)) {
            let message = format!("`{key}` has no steps");
            let help = "add a step, as in `tell: {agent: NAME, message: Done}`";
            self.decoder.invalid(entry.key_span, message, help);
        }
        entries
    }
}
