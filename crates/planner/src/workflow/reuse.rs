//! `cache`: a step that may have the result of an equal one.

use document::Entry;

use super::Checker;
use super::decoder::Fields;
use super::values::Reading;
use crate::language::Place;
use crate::reuse::Cache;

impl<'n> Checker<'_, 'n> {
    pub(super) fn cache(
        &mut self,
        fields: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Cache> {
        let Entry { value: node, key_span, .. } = fields.entry("cache")?;
        let what = format!("`cache` of {what}");
        let fields = self.decoder.fields(node, &what, Place::Cache);
        node.as_mapping()?;
        let key = fields.get("key").and_then(|node| self.bare(node, "key", reads));
        let Some(ttl) = fields.get("ttl") else {
            let help = "say how long a result may be reused, as in `{ttl: 1h}`";
            self.decoder.missing(*key_span, &what, "ttl", help);
            return None;
        };
        let ttl = self.decoder.duration(ttl, &format!("`ttl` in {what}"))?;
        Some(Cache { ttl, key })
    }
}
