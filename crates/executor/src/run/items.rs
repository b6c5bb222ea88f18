//! The items of a step with `for_each`: each is a step of its own, behind those of the plan.
//!
//! An item has its own attempts, pauses and end; its policies are those of the step. The step waits until all are
//! settled, and `concurrency` says how many are let go at once.

use jiff::Timestamp;

use super::{Phase, Run, RunEvent, Settled, Step, StepId, StepIndex, StepShape};
use crate::body::Body;

/// What a step runs for, once its list is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Items {
    /// The list: a JSON array.
    pub list: Body,
    /// The first of them; the others follow.
    pub first: StepIndex,
    /// How many there are.
    pub count: u32,
    /// How many have been let go; the others wait for them.
    pub(super) let_go: u32,
    /// How many are not settled.
    pub(super) open: u32,
    /// How many have failed.
    pub(super) failed: u32,
}

impl Items {
    /// All of them, in the order of the list.
    pub fn indices(&self) -> impl Iterator<Item = StepIndex> + use<> {
        let first = self.first.0;
        (first..first + self.count).map(StepIndex)
    }
}

impl Run {
    /// The position of a step, or of an item of one, by name; `None` for a name that the run does not have.
    #[must_use]
    pub fn find(&self, id: &StepId) -> Option<StepIndex> {
        self.shape.find(id.as_str()).or_else(|| {
            let (step, item) = id.item()?;
            let items = self.at(self.shape.find(step)?).items.as_ref()?;
            (item < items.count).then(|| StepIndex(items.first.0 + item))
        })
    }

    /// The step of the plan: itself, or the one that it is an item of.
    #[must_use]
    pub fn planned(&self, at: StepIndex) -> StepIndex {
        self.at(at).item_of.map_or(at, |(step, _)| step)
    }

    /// The policies of a step or an item.
    #[must_use]
    pub fn shape_of(&self, at: StepIndex) -> &StepShape {
        self.shape.step(self.planned(at))
    }

    /// All positions: those of the plan, then those of items.
    pub fn indices(&self) -> impl Iterator<Item = StepIndex> + use<> {
        let count = u32::try_from(self.steps.len()).expect("lists of items are short");
        (0..count).map(StepIndex)
    }

    /// The step runs once for each item: as many more steps, of which the first are let go.
    pub(super) fn expand(&mut self, step: &StepId, at: Timestamp, list: &Body, count: u32) {
        self.pass(at);
        let Some(parent) = self.find(step) else {
            return;
        };
        let first = u32::try_from(self.steps.len()).expect("lists of items are short");
        let instances = (0..count).map(|item| Step {
            item_of: Some((parent, item)),
            ..Step::new(StepId::of_item(step, item), 0)
        });
        self.steps.extend(instances);
        self.unsettled += count as usize;
        self.work += u64::from(count);
        let (list, first) = (list.clone(), StepIndex(first));
        let found = &mut self.steps[parent.position()];
        found.started_at.get_or_insert(at);
        found.items = Some(Items { list, first, count, let_go: 0, open: count, failed: 0 });
        self.set_phase(parent, Phase::Items);
        let at_once = self.shape.step(parent).concurrency.min(count as usize);
        (0..at_once).for_each(|_| self.let_go(parent));
        if count == 0 {
            self.to_gather.insert(parent);
        }
    }

    /// Lets the next item go, if there is one.
    fn let_go(&mut self, parent: StepIndex) {
        let Some(items) = &mut self.steps[parent.position()].items else {
            return;
        };
        if items.let_go < items.count {
            let next = StepIndex(items.first.0 + items.let_go);
            items.let_go += 1;
            self.set_phase(next, Phase::Ready);
        }
    }

    /// An item is settled: the next one may go, or the step is done.
    pub(super) fn end_item(&mut self, parent: StepIndex, has_failed: bool) {
        self.work += 1;
        let found = &mut self.steps[parent.position()];
        let Some(items) = &mut found.items else {
            return;
        };
        items.open -= 1;
        items.failed += u32::from(has_failed);
        if found.phase != Phase::Items {
            // It did not wait for its items.
        } else if items.open == 0 {
            self.to_gather.insert(parent);
        } else if self.halt.is_none() {
            self.let_go(parent);
        }
    }

    /// The next step all of whose items are settled.
    pub(super) fn gather_next(&mut self) -> Option<RunEvent> {
        let parent = self.to_gather.pop_first()?;
        let found = self.at(parent);
        let failed = found.items.as_ref().map_or(0, |items| items.failed);
        Some(RunEvent::StepGathered { step: found.id.clone(), at: self.now, failed })
    }

    /// Ends the steps that wait for items, because the run halts: as failed where an item has failed.
    pub(super) fn halt_items(&mut self, at: Timestamp) {
        for parent in self.expanded.clone() {
            let failed = self.at(parent).items.as_ref().map_or(0, |items| items.failed);
            let how = match failed {
                0 => Settled::Canceled,
                failed => Settled::Gathered { failed },
            };
            self.end_step(parent, at, how);
        }
    }
}
