//! What goes along with a step's Message, and what is asked of the answer.

use document::Node;

use super::Checker;
use super::decoder::Fields;
use super::values::{Reading, locals};
use crate::dag::{Edges, Reason, ReasonKind};
use crate::expression::is_template;
use crate::step::{Asks, Metadata, Named, Push};

pub(super) const PUSH: [(&str, Push); 2] = [("auto", Push::Auto), ("never", Push::Never)];

/// How the keys of metadata begin that are ours.
const OURS: &str = "urn:convoke:";

impl<'n> Checker<'_, 'n> {
    /// Reads all of that for a step.
    pub(super) fn asks(
        &mut self,
        step: usize,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
        edges: &mut Edges,
    ) -> Asks {
        self.locals = locals(fields, fields.get("repeat").is_some());
        let metadata = self.metadata(fields, what, reads);
        self.locals = &[];
        Asks {
            expect: fields
                .get("expect")
                .and_then(|node| self.schema(node, &format!("`expect` of {what}"))),
            accept: self.accept(fields, what),
            metadata,
            references: self.references(step, fields, what, edges),
            push: self.push(fields.get("push"), what),
        }
    }

    fn accept(&mut self, fields: Fields<'n>, what: &str) -> Vec<String> {
        let Some(node) = fields.get("accept") else { return Vec::new() };
        let what = format!("`accept` of {what}");
        let items = self.decoder.strings(node, &what);
        items.into_iter().filter_map(|(_, item)| self.decoder.media_type(item, &what)).collect()
    }

    fn metadata(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Metadata> {
        let node = fields.get("metadata")?;
        if !node.as_str().is_some_and(is_template) && node.as_mapping().is_none() {
            let what = format!("`metadata` of {what}");
            self.decoder.expected(node, &what, "a mapping", "write `KEY: VALUE`");
            return None;
        }
        let entries = node.as_mapping().unwrap_or_default();
        if let Some(entry) = entries.iter().find(|entry| entry.key.starts_with(OURS)) {
            let message = format!("`{}` in `metadata` of {what} is not free", entry.key);
            let help =
                "what begins with `urn:convoke:` is put there by Convoke: choose another key";
            self.decoder.invalid(entry.key_span, message, help);
        }
        let values = self.template(node, "metadata", reads)?;
        Some(Metadata { values, span: node.head_span() })
    }

    fn references(
        &mut self,
        step: usize,
        fields: Fields<'n>,
        what: &str,
        edges: &mut Edges,
    ) -> Option<Vec<Named>> {
        let node = fields.get("references")?;
        let mut named: Vec<Named> = Vec::new();
        for (name, item) in self.decoder.strings(node, &format!("`references` of {what}")) {
            let Some(from) = self.find_step(&name, item.span) else { continue };
            self.check_is_served(item, from);
            edges.add(from, step, Reason { kind: ReasonKind::References, span: item.span });
            if !named.iter().any(|other| other.step == from) {
                named.push(Named { step: from, span: item.span });
            }
        }
        Some(named)
    }

    fn push(&mut self, node: Option<&Node>, what: &str) -> Push {
        let read =
            node.and_then(|node| self.decoder.one_of(node, &format!("`push` of {what}"), &PUSH));
        read.unwrap_or_default()
    }
}
