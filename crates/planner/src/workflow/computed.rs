//! `set`, a step that computes values, and `outputs`, what a step makes of its agent's answer.

use document::Node;

use super::Checker;
use super::decoder::Fields;
use super::values::{Reading, locals};
use crate::template::Template;

impl<'n> Checker<'_, 'n> {
    /// Reads `set`.
    pub(super) fn set(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Template> {
        let entry = fields.entry("set")?;
        self.locals = locals(fields, false);
        let set = self.named(&entry.value, "set", what, reads);
        self.locals = &[];
        set
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
}
