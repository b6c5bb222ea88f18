//! What an event concerns.

use super::{Chosen, Next, NextRound, RunEvent, StepId};
use crate::body::Body;

impl RunEvent {
    /// The step that it is about; `None` for what concerns the run as a whole.
    #[must_use]
    pub fn step(&self) -> Option<&StepId> {
        match self {
            Self::StepSkipped { step, .. }
            | Self::StepCanceled { step, .. }
            | Self::StepExpanded { step, .. }
            | Self::StepGathered { step, .. }
            | Self::CallsCounted { step, .. }
            | Self::StepTaken { step, .. }
            | Self::AnswerPassed { step, .. }
            | Self::StepAsked { step, .. }
            | Self::StepAskedAgain { step, .. }
            | Self::StepAnswered { step, .. }
            | Self::AttemptStarted { step, .. }
            | Self::ContextRefused { step, .. }
            | Self::CallbackRefused { step, .. }
            | Self::AttemptBound { step, .. }
            | Self::ArtifactChunked { step, .. }
            | Self::AttemptReported { step, .. }
            | Self::AttemptPaused { step, .. }
            | Self::AttemptUnpaused { step, .. }
            | Self::AttemptAnswered { step, .. }
            | Self::OutcomeUnknown { step, .. }
            | Self::OutcomeChosen { step, .. }
            | Self::AnswerDelivered { step, .. }
            | Self::AnswerRefused { step, .. }
            | Self::AttemptFailed { step, .. }
            | Self::StepCompleted { step, .. }
            | Self::RoundEnded { step, .. }
            | Self::StepComputed { step, .. }
            | Self::StepReused { step, .. }
            | Self::StepFailed { step, .. }
            | Self::BudgetSpent { step, .. }
            | Self::AttemptCanceled { step, .. } => Some(step),
            Self::RunDeferred { .. }
            | Self::RunRejected { .. }
            | Self::RunStarted { .. }
            | Self::RunQueued { .. }
            | Self::RunAdmitted { .. }
            | Self::RunResumed { .. }
            | Self::CancelRequested { .. }
            | Self::RunTimedOut { .. }
            | Self::RunFinished { .. } => None,
        }
    }

    /// Whether the status of the Task may be another one after it: its state, or what it waits for. Only then
    /// the run's row is written.
    #[must_use]
    pub fn touches_status(&self) -> bool {
        match self {
            Self::RunDeferred { .. }
            | Self::RunRejected { .. }
            | Self::RunStarted { .. }
            | Self::RunQueued { .. }
            | Self::RunAdmitted { .. }
            | Self::StepAsked { .. }
            | Self::StepAskedAgain { .. }
            | Self::StepAnswered { .. }
            | Self::AttemptReported { .. }
            | Self::AttemptPaused { .. }
            | Self::AttemptUnpaused { .. }
            | Self::AttemptAnswered { .. }
            | Self::AnswerRefused { .. }
            | Self::OutcomeUnknown { .. }
            | Self::OutcomeChosen { .. }
            | Self::AttemptFailed { .. }
            | Self::StepCanceled { .. }
            | Self::CancelRequested { .. }
            | Self::RunTimedOut { .. }
            | Self::BudgetSpent { .. }
            | Self::RunFinished { .. } => true,
            Self::RunResumed { .. }
            | Self::StepSkipped { .. }
            | Self::StepExpanded { .. }
            | Self::StepGathered { .. }
            | Self::AttemptStarted { .. }
            | Self::ContextRefused { .. }
            | Self::CallbackRefused { .. }
            | Self::AttemptBound { .. }
            | Self::CallsCounted { .. }
            | Self::StepTaken { .. }
            | Self::AnswerPassed { .. }
            | Self::ArtifactChunked { .. }
            | Self::AnswerDelivered { .. }
            | Self::StepCompleted { .. }
            | Self::RoundEnded { .. }
            | Self::StepComputed { .. }
            | Self::StepReused { .. }
            | Self::StepFailed { .. }
            | Self::AttemptCanceled { .. } => false,
        }
    }

    /// The Message from a client that it records: what the history of the Task is made of.
    #[must_use]
    pub fn said(&self) -> Option<&Body> {
        match self {
            Self::RunDeferred { turn, .. } | Self::RunRejected { turn, .. } => Some(&turn.message),
            Self::RunStarted { header, .. } | Self::RunQueued { header, .. } => {
                header.message.as_ref()
            }
            Self::AttemptAnswered { said, .. }
            | Self::OutcomeChosen { said, .. }
            | Self::AnswerPassed { said, .. }
            | Self::StepAskedAgain { said, .. }
            | Self::StepAnswered { said, .. } => said.as_ref(),
            _ => None,
        }
    }

    /// The step that reads nothing any more: completed, failed for good, skipped, or not needed. Once in a run for
    /// each.
    pub(crate) fn settles(&self) -> Option<&StepId> {
        match self {
            Self::StepCompleted { step, .. }
            | Self::StepComputed { step, .. }
            | Self::StepAnswered { step, .. }
            | Self::StepReused { step, .. }
            | Self::StepFailed { step, .. }
            | Self::StepSkipped { step, .. }
            | Self::StepGathered { step, .. }
            | Self::StepCanceled { step, .. }
            | Self::RoundEnded { step, next: NextRound::GiveUp { .. }, .. }
            | Self::OutcomeChosen {
                step,
                chosen: Chosen::Failed { next: Next::GiveUp { .. }, .. },
                ..
            }
            | Self::AttemptFailed { step, next: Next::GiveUp { .. }, .. } => Some(step),
            _ => None,
        }
    }
}
