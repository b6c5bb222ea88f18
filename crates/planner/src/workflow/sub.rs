//! `workflow`: a step that is a run of another workflow.

use document::{Node, Value};

use super::Checker;
use super::decoder::Fields;
use super::values::{Reading, locals};
use crate::expression::is_template;
use crate::link::{Given, SubWorkflow};

impl<'n> Checker<'_, 'n> {
    /// Reads `workflow` and `with`. Whether there is such a workflow, and what it takes, shows when it is looked for.
    pub(super) fn sub_workflow(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<SubWorkflow> {
        self.locals = locals(fields, false);
        let with = fields.get("with").map(|node| self.with(node, what, reads));
        self.locals = &[];
        let node = fields.get("workflow")?;
        let name = self.decoder.literal(node, &format!("`workflow` of {what}"))?;
        if !is_workflow_name(&name) {
            let message = format!("`{name}` cannot be the name of a workflow");
            let help =
                "use 1 to 63 of the letters a-z, the digits and `-`: it is the `name` in its file";
            self.decoder.invalid(node.span, message, help);
            return None;
        }
        Some(SubWorkflow { name, span: node.span, with: with.unwrap_or_default() })
    }

    fn with(&mut self, node: &Node, what: &str, reads: &mut Vec<Reading>) -> Vec<Given> {
        if !matches!(node.value, Value::Mapping(_) | Value::Null) {
            let help = "name the inputs, as in `{city: \"${{ inputs.city }}\"}`";
            let what = format!("`with` of {what}");
            self.decoder.expected(node, &what, "a mapping from inputs to values", help);
            return Vec::new();
        }
        let mut with = Vec::new();
        for entry in node.as_mapping().unwrap_or_default() {
            if is_template(&entry.key) {
                let message = format!("`with` of {what} names an input by an expression");
                self.decoder.invalid(entry.key_span, message, "write the name itself");
            }
            let value = self.template(&entry.value, "with", reads);
            with.extend(value.map(|value| Given {
                name: entry.key.clone(),
                span: entry.key_span,
                value,
                value_span: entry.value.head_span(),
            }));
        }
        with
    }
}

/// Whether a workflow can have this name.
pub(super) fn is_workflow_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&name.len()) && name.chars().all(is_allowed)
}
