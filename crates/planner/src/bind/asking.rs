//! For whom an agent is looked for.

use std::fmt;

use document::Span;

use crate::step::Step;

/// What to do about an agent that is tried before.
pub(super) const OTHER: &str = "name another agent, or take this one out of `fallback`";

/// Whom an agent is looked for.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) step: &'a Step,
    /// Which of its fallbacks; 0 for the agent that is tried first.
    pub(super) nth: usize,
    pub(super) span: Span,
}

impl<'a> Asking<'a> {
    pub(super) fn of(step: &'a Step) -> Self {
        Self { step, nth: 0, span: step.selector_span }
    }
}

impl fmt::Display for Asking<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nth {
            0 => write!(f, "step `{}`", self.step.id),
            nth => write!(f, "fallback {nth} of step `{}`", self.step.id),
        }
    }
}
