//! `for_each`: a step that runs once for each item of a list.

use document::{Node, Value};

use super::Checker;
use super::decoder::Fields;
use super::values::Reading;
use crate::step::ForEach;
use crate::template::Template;
use crate::turn::MAX_ITEMS;

impl Checker<'_, '_> {
    pub(super) fn for_each(
        &mut self,
        fields: Fields<'_>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<ForEach> {
        let concurrency = fields.get("concurrency").and_then(|node| {
            let what = format!("`concurrency` of {what}");
            let most = self.decoder.integer(node, &what, 1, MAX_ITEMS as u64)?;
            usize::try_from(most).ok()
        });
        match (fields.get("for_each"), fields.entry("concurrency")) {
            (Some(node), _) => {
                let list = self.list(node, what, reads)?;
                Some(ForEach { list, span: node.span, concurrency })
            }
            (None, Some(entry)) => {
                let message = format!("`concurrency` of {what} limits nothing");
                let help = "give the step a `for_each`, or take `concurrency` away; `parallel` at the top \
                            limits the steps of a run";
                self.decoder.invalid(entry.key_span, message, help);
                None
            }
            (None, None) => None,
        }
    }

    /// One expression that gives a list, or the list itself.
    fn list(&mut self, node: &Node, what: &str, reads: &mut Vec<Reading>) -> Option<Template> {
        match &node.value {
            Value::String(_) => self.bare(node, "for_each", reads).map(Template::Expression),
            Value::Sequence(items) if items.len() > MAX_ITEMS => {
                let message = format!("`for_each` of {what} has {} items", items.len());
                let help = format!("a step runs for at most {MAX_ITEMS} items");
                self.decoder.invalid(node.head_span(), message, &help);
                None
            }
            Value::Sequence(_) => self.template(node, "for_each", reads),
            _ => {
                let (what, expected) = (format!("`for_each` of {what}"), "an expression or a list");
                let help = "name a list, as in `inputs.cities`, or write its items: `[one, two]`";
                self.decoder.expected(node, &what, expected, help);
                None
            }
        }
    }
}
