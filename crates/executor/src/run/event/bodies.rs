//! What events hold or name beside the journal.

use store::BlobId;

use super::{Chosen, Next, NextRound, Outcome, RunEvent};
use crate::body::Body;

impl RunEvent {
    /// What it holds or names.
    fn bodies(&self) -> Vec<&Body> {
        match self {
            Self::RunDeferred { turn, .. } | Self::RunRejected { turn, .. } => {
                vec![&turn.message, &turn.answer]
            }
            Self::RunStarted { header, .. } | Self::RunQueued { header, .. } => {
                let always = [&header.plan, &header.inputs, &header.start];
                always.into_iter().chain(&header.message).collect()
            }
            Self::AttemptStarted { intent, .. }
            | Self::ContextRefused { intent, .. }
            | Self::CallbackRefused { intent, .. } => vec![&intent.message],
            Self::AttemptAnswered { intent, said, .. } => {
                [&intent.message].into_iter().chain(said).collect()
            }
            Self::ArtifactChunked { chunk, .. } => vec![&chunk.artifact],
            Self::AttemptReported { status, .. } => vec![status],
            Self::AttemptPaused { pause, .. } | Self::StepAsked { pause, .. } => {
                pause.question.iter().collect()
            }
            Self::AnswerPassed { said: body, .. } | Self::StepTaken { result: body, .. } => {
                body.iter().collect()
            }
            Self::StepAskedAgain { said, pause, .. } => {
                said.iter().chain(&pause.question).collect()
            }
            Self::StepAnswered { said, result, .. } => said.iter().chain([result]).collect(),
            Self::StepExpanded { items, .. } => vec![items],
            Self::StepCompleted { result, .. }
            | Self::StepComputed { result, .. }
            | Self::StepReused { result, .. }
            | Self::StepFailed { result, .. }
            | Self::AttemptFailed { next: Next::GiveUp { result }, .. }
            | Self::RoundEnded { result, next: NextRound::Again, .. } => vec![result],
            Self::RoundEnded { result, next: NextRound::GiveUp { result: last, .. }, .. } => {
                vec![result, last]
            }
            Self::RunFinished { outcome: Outcome::Completed(outputs), .. } => vec![outputs],
            Self::OutcomeChosen { chosen, said, .. } => result_of(chosen).chain(said).collect(),
            Self::AttemptFailed { next: Next::Retry { .. } | Next::FallBack { .. }, .. }
            | Self::OutcomeUnknown { .. }
            | Self::RunFinished { .. }
            | Self::RunAdmitted { .. }
            | Self::RunResumed { .. }
            | Self::StepSkipped { .. }
            | Self::StepGathered { .. }
            | Self::StepCanceled { .. }
            | Self::AttemptBound { .. }
            | Self::CallsCounted { .. }
            | Self::AttemptUnpaused { .. }
            | Self::AnswerDelivered { .. }
            | Self::AnswerRefused { .. }
            | Self::CancelRequested { .. }
            | Self::RunTimedOut { .. }
            | Self::BudgetSpent { .. }
            | Self::AttemptCanceled { .. } => Vec::new(),
        }
    }
}

/// The result that a step ends with by what was decided.
fn result_of(chosen: &Chosen) -> impl Iterator<Item = &Body> {
    let result = match chosen {
        Chosen::Failed { next: Next::GiveUp { result }, .. } => Some(result),
        Chosen::Failed { .. } | Chosen::Resend | Chosen::Bound { .. } => None,
    };
    result.into_iter()
}

/// Whether one of the events names a blob: only then may it be written.
pub(crate) fn name_blob(events: &[RunEvent], blob: &BlobId) -> bool {
    events
        .iter()
        .flat_map(RunEvent::bodies)
        .any(|body| matches!(body, Body::Blob(id) if id == blob))
}
