//! What a step asks of the answer of its agent.

use super::Checker;
use super::decoder::Fields;
use crate::schema::Schema;

impl Checker<'_, '_> {
    /// Reads `expect`.
    pub(super) fn expect(&mut self, fields: Fields<'_>, what: &str) -> Option<Schema> {
        self.schema(fields.get("expect")?, &format!("`expect` of {what}"))
    }
}
