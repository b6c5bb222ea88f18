//! Stages: steps that wait for all of those before, whether they depend on them or not. And steps that have had their turn
//! in another run, which is cleaned up after.

use jiff::Timestamp;
use planner::StepState;

use super::{Phase, Run, Settled, StepId, StepIndex};
use crate::body::Body;

impl Run {
    /// Which stage a step is in.
    pub(super) fn stage_of(&self, at: StepIndex) -> u32 {
        self.shape.stages.get(at.position()).copied().unwrap_or_default()
    }

    /// Whether the stage of a step has begun.
    pub(super) fn has_begun(&self, at: StepIndex) -> bool {
        self.stage_of(at) <= self.stage
    }

    /// Lets the first steps go. Those of the first of several stages have had their turn.
    pub(super) fn begin_stages(&mut self) {
        if self.shape.stages.is_empty() {
            self.release_roots();
        }
    }

    /// A step is settled: it may have been the last one of its stage.
    pub(super) fn end_in_stage(&mut self, at: StepIndex) {
        let stage = self.stage_of(at);
        let Some(open) = self.open_in.get_mut(stage as usize) else { return };
        *open = open.saturating_sub(1);
        if self.halt.is_some() || stage != self.stage {
            return;
        }
        let last = self.open_in.len().saturating_sub(1);
        let mut is_next = false;
        while (self.stage as usize) < last && self.open_in[self.stage as usize] == 0 {
            self.stage += 1;
            is_next = true;
        }
        if is_next {
            self.release_roots();
        }
    }

    /// The step has ended in the run that is cleaned up after.
    pub(super) fn take(
        &mut self,
        step: &StepId,
        at: Timestamp,
        state: StepState,
        result: Option<&Body>,
    ) {
        self.pass(at);
        if let Some(index) = self.find(step)
            && self.at(index).phase == Phase::Waiting
        {
            self.end_step(index, at, Settled::Taken { state, result: result.cloned() });
        }
    }
}
