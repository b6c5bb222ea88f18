//! The end of a step, and what it means for those that wait for it.

use std::sync::Arc;

use jiff::Timestamp;
use planner::{Join, OnError, RunIf, StepState};

use super::{
    Outcome, Phase, Run, RunError, RunEvent, Settled, SkipReason, StepId, StepIndex, items::Items,
};

/// What the end of a dependency is to those that wait for it.
#[derive(Clone, Copy)]
enum End {
    Completed,
    /// Neither completed nor an obstacle.
    Over,
    /// No dependent runs that wants all its dependencies to succeed.
    Obstacle,
}

impl Run {
    pub(super) fn settle(&mut self, step: &StepId, at: Timestamp, how: Settled) {
        self.pass(at);
        let Some(index) = self.find(step) else {
            return;
        };
        let halt = self.failure_of(index, step, &how);
        let end = self.end_of(index, &how);
        let has_failed = matches!(how, Settled::Failed(..));
        self.end_step(index, at, how);
        match self.at(index).item_of {
            Some((parent, _)) => self.end_item(parent, has_failed),
            None => self.release_dependents(index, end),
        }
        if let Some(outcome) = halt {
            self.halt_for(at, outcome);
        }
    }

    pub(super) fn end_step(&mut self, at: StepIndex, when: Timestamp, how: Settled) {
        self.set_phase(at, Phase::Settled(how));
        self.steps[at.position()].settled_at = Some(when);
        self.to_skip.remove(&at);
        self.to_cancel.remove(&at);
        self.to_gather.remove(&at);
        self.unsettled -= 1;
        if self.at(at).item_of.is_none() {
            self.end_in_stage(at);
        }
    }

    fn release_dependents(&mut self, index: StepIndex, end: End) {
        let shape = Arc::clone(&self.shape);
        for dependent in &shape.step(index).dependents {
            self.release(*dependent, index, end);
        }
    }

    /// A dependency of a step has ended. One that runs already, or is over, only counts it.
    fn release(&mut self, at: StepIndex, dependency: StepIndex, end: End) {
        self.work += 1;
        let step = &mut self.steps[at.position()];
        step.open -= 1;
        match end {
            End::Completed => step.completed += 1,
            End::Obstacle => step.skip_for = step.skip_for.or(Some(dependency)),
            End::Over => (),
        }
        if step.phase != Phase::Waiting {
            return;
        }
        let (open, completed) = (step.open, step.completed);
        let is_hindered = step.skip_for.is_some();
        let shape = self.shape.step(at);
        match shape.join {
            Join::All if open > 0 => (),
            Join::All if is_hindered && shape.run_if == RunIf::Succeeded => {
                self.to_skip.insert(at);
            }
            Join::AtLeast(needed) if completed + open < needed => {
                self.to_skip.insert(at);
            }
            Join::AtLeast(needed) if completed < needed => (),
            Join::All | Join::AtLeast(_) if !self.has_begun(at) => (),
            Join::All | Join::AtLeast(_) => {
                self.set_phase(at, Phase::Ready);
                self.call_off_rest(at);
            }
        }
    }

    /// Enough dependencies have completed: the others are not needed any more.
    fn call_off_rest(&mut self, at: StepIndex) {
        let shape = Arc::clone(&self.shape);
        let shape = shape.step(at);
        if !shape.cancel_rest {
            return;
        }
        for other in &shape.dependencies {
            self.work += 1;
            let other_step = self.at(*other);
            let is_over = other_step.state().is_settled()
                || matches!(other_step.phase, Phase::Canceling { .. });
            if !is_over {
                self.to_cancel.entry(*other).or_insert(at);
            }
        }
    }

    /// The next step that is not needed any more.
    pub(super) fn cancel_next(&mut self) -> Option<RunEvent> {
        let (unneeded, by) = self.to_cancel.pop_first()?;
        let (step, by) = (self.at(unneeded).id.clone(), self.at(by).id.clone());
        Some(RunEvent::StepCanceled { step, at: self.now, by })
    }

    /// The next step that will not run.
    pub(super) fn skip_next(&mut self) -> Option<RunEvent> {
        let skipped = self.to_skip.pop_first()?;
        let (step, shape) = (self.at(skipped), self.shape.step(skipped));
        let reason = match (shape.join, step.skip_for) {
            (Join::AtLeast(needed), _) => {
                SkipReason::Unreachable { completed: step.completed, needed }
            }
            (Join::All, cause) => {
                let cause = self.at(cause.expect("else it would run"));
                let step = cause.id.clone();
                match (cause.state(), cause.skip_reason()) {
                    (StepState::Canceled, _) | (_, Some(SkipReason::DependencyCanceled { .. })) => {
                        SkipReason::DependencyCanceled { step }
                    }
                    _ => SkipReason::DependencyFailed { step },
                }
            }
        };
        Some(RunEvent::StepSkipped { step: step.id.clone(), at: self.now, reason })
    }

    /// What is in flight of a step is told to stop; what is not, is over at once.
    pub(super) fn cancel_step(&mut self, step: &StepId, at: Timestamp) {
        self.pass(at);
        let Some(index) = self.find(step) else {
            return;
        };
        self.to_cancel.remove(&index);
        self.call_off(index, at);
        let items = self.at(index).items.iter().flat_map(Items::indices);
        for item in items.collect::<Vec<_>>() {
            self.call_off(item, at);
        }
    }

    fn call_off(&mut self, index: StepIndex, at: Timestamp) {
        self.work += 1;
        let found = self.at(index);
        match found.phase {
            Phase::Sending(_)
            | Phase::Watching(..)
            | Phase::Paused { task: Some(_), .. }
            | Phase::Answered(..)
            | Phase::Answering(..) => self.halt_step(index, at),
            Phase::Unknown { task: Some(_), .. } => self.halt_step(index, at),
            Phase::Waiting
            | Phase::Ready
            | Phase::Rendering
            | Phase::Asked { .. }
            | Phase::Unknown { task: None, .. }
            | Phase::Paused { task: None, .. }
            | Phase::BackingOff { .. }
            | Phase::Items => {
                let step = found.id.clone();
                self.settle(&step, at, Settled::Canceled);
            }
            Phase::Canceling { .. } | Phase::Settled(_) => (),
        }
    }

    fn failure_of(&self, at: StepIndex, step: &StepId, how: &Settled) -> Option<Outcome> {
        match how {
            Settled::Failed(_, error) if self.shape_of(at).on_error == OnError::Fail => {
                Some(Outcome::Failed(RunError { step: Some(step.clone()), error: error.clone() }))
            }
            _ => None,
        }
    }

    fn end_of(&self, at: StepIndex, how: &Settled) -> End {
        match how {
            Settled::Completed(_) | Settled::Gathered { failed: 0 } => End::Completed,
            Settled::Taken { .. } => End::Over,
            Settled::Failed(..) | Settled::Gathered { .. } => {
                match self.shape_of(at).on_error == OnError::SkipDependents {
                    true => End::Obstacle,
                    false => End::Over,
                }
            }
            Settled::Canceled
            | Settled::Skipped(
                SkipReason::DependencyFailed { .. } | SkipReason::DependencyCanceled { .. },
            ) => End::Obstacle,
            Settled::Skipped(SkipReason::When { .. } | SkipReason::Unreachable { .. }) => End::Over,
        }
    }
}
