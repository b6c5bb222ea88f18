//! `repeat`: an agent that is asked again until its answer is good enough.

use super::Checker;
use super::decoder::Fields;
use super::values::{Reading, locals};
use crate::language::Place;
use crate::step::{MAX_ROUNDS, Repeat};

impl<'n> Checker<'_, 'n> {
    pub(super) fn repeat(
        &mut self,
        of_step: Fields<'n>,
        what: &str,
        reads: &mut Vec<Reading>,
    ) -> Option<Repeat> {
        let node = of_step.get("repeat")?;
        let what = format!("`repeat` of {what}");
        let fields = self.decoder.fields(node, &what, Place::Repeat);
        node.as_mapping()?;
        let at = node.head_span();
        if fields.get("until").is_none() {
            let help = "say when its answer is good enough, as in `until: this.data.approved`";
            self.decoder.missing(at, &what, "until", help);
        }
        if fields.get("max").is_none() {
            let help = "say how many rounds there are at most, as in `max: 3`";
            self.decoder.missing(at, &what, "max", help);
        }
        self.locals = locals(of_step, true);
        let until = fields.get("until").and_then(|node| self.bare(node, "until", reads));
        self.locals = &[];
        let max = fields.get("max").and_then(|node| {
            self.decoder.integer(node, &format!("`max` in {what}"), 1, u64::from(MAX_ROUNDS))
        });
        let max = max.and_then(|max| u32::try_from(max).ok());
        Some(Repeat { until: until?, max: max? })
    }
}
