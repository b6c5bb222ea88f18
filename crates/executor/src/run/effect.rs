//! Work that the present state of a run wants done.

use std::collections::BTreeSet;

use super::StepIndex;

/// One piece of wanted work. Its details (Message, task id, deadline) are read from the run when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Evaluate `when` and the message, answer with `Rendered`. No commit lies between.
    Render(StepIndex),
    /// Evaluate the outputs, answer with `Concluded`. No commit lies between.
    Conclude,
    /// Send the attempt's Message (again, with the same bytes) and report.
    Send(StepIndex, u32),
    /// Send the attempt's answer of this turn to its Task (again, with the same bytes) and follow it.
    Answer(StepIndex, u32, u32),
    /// Follow a remote Task that is already known.
    Watch(StepIndex, u32),
    /// Sleep until the back-off is over, answer with `Woken`.
    Sleep(StepIndex, u32),
    /// Sleep until a pause has lasted as long as it may, answer with `Expired`.
    Expire(StepIndex),
    /// Tell the agent to cancel a Task that is no longer wanted.
    Cancel(StepIndex, u32),
    /// Stop waiting for an un-bound attempt that is no longer wanted.
    GiveUp(StepIndex, u32),
    /// Sleep until the step's deadline, answer with `Overdue`.
    StepDeadline(StepIndex),
    /// Sleep until the run's timeout, answer with `TimedOut`.
    Deadline,
}

/// The set of wanted effects, and which of them changed since last asked.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    wanted: BTreeSet<Effect>,
    changed: Vec<Effect>,
    /// Counts single changes: what the proof of linear cost looks at.
    touched: u64,
}

impl Effects {
    pub(super) fn add(&mut self, effect: Effect) {
        if self.wanted.insert(effect) {
            self.note(effect);
        }
    }

    pub(super) fn remove(&mut self, effect: Effect) {
        if self.wanted.remove(&effect) {
            self.note(effect);
        }
    }

    /// Asks for an effect anew whose work has ended without settling anything.
    pub(super) fn renew(&mut self, effect: Effect) {
        if self.wanted.contains(&effect) {
            self.note(effect);
        }
    }

    /// Whether the state wants this done.
    #[must_use]
    pub fn contains(&self, effect: Effect) -> bool {
        self.wanted.contains(&effect)
    }

    /// Everything the state wants done, in a stable order.
    pub fn iter(&self) -> impl Iterator<Item = Effect> + '_ {
        self.wanted.iter().copied()
    }

    /// The effects that were added or removed since the last call; each may be named more than once.
    pub fn take_changed(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.changed)
    }

    #[cfg(test)]
    pub(super) fn touched(&self) -> u64 {
        self.touched
    }

    fn note(&mut self, effect: Effect) {
        self.changed.push(effect);
        self.touched += 1;
    }
}
