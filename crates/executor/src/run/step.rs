//! One step's state machine. The whole table:
//!
//! | from | event | to |
//! |---|---|---|
//! | Waiting | last dependency settled, or as many completed as `join` says | Ready |
//! | Waiting | `StepTaken` | Settled |
//! | Waiting | `StepSkipped`, when a dependency says so, or too few can still complete | Settled |
//! | Ready | a slot is free | Rendering |
//! | Ready, Rendering, `BackingOff` | `AttemptStarted` | Sending |
//! | Ready, Rendering | `StepSkipped`, `StepFailed`, `StepComputed`, `StepReused` | Settled |
//! | Ready, Rendering | `StepAsked` | Asked |
//! | Asked | `StepAskedAgain` | Asked |
//! | Asked | `StepAnswered`, `StepFailed`, the run halts, `StepCanceled` | Settled |
//! | Ready, Rendering | `StepExpanded` | Items: one more step for each of them, which begins as Ready or Waiting |
//! | Items | `StepGathered`, once all of them are settled | Settled |
//! | Items | the run halts | Settled |
//! | Sending | `AttemptBound` | Watching |
//! | Sending | `ContextRefused`, `CallbackRefused` | Sending, with the other Message |
//! | Sending, Watching | `StepCompleted` | Settled |
//! | Sending, Watching | `RoundEnded`, again | Ready |
//! | Sending, Watching | `RoundEnded`, give up | Settled |
//! | Sending, Watching | `AttemptFailed`, retry | `BackingOff` |
//! | Sending, Watching | `AttemptFailed`, fall back | Ready, with the next agent |
//! | Sending, Watching | `AttemptFailed`, give up | Settled |
//! | `BackingOff`, Ready, Rendering, `Answered` | `StepFailed`, the deadline has passed | Settled |
//! | Sending, Watching | `OutcomeUnknown`, when the agent must not get it twice | Unknown |
//! | Unknown | `OutcomeChosen` | Sending, Watching, or as after `AttemptFailed` |
//! | Paused, Unknown | `AttemptFailed`, the pause has lasted as long as it may | Settled |
//! | Unknown without a Task | the run halts, `StepCanceled` | Settled |
//! | Unknown with one | the run halts, `StepCanceled` | Canceling |
//! | `BackingOff` | its time has come | Ready |
//! | Sending, Watching, Paused | `AttemptPaused` | Paused |
//! | Paused | `AttemptUnpaused` | Watching, or Sending where there is no Task yet |
//! | Paused | `AttemptAnswered` | `Answered`; Sending where a Message has asked and not a Task |
//! | `Answered` | a slot is free | Answering |
//! | `Answered`, Answering | `AnswerDelivered` | Watching |
//! | `Answered`, Answering | `AnswerRefused` | Paused |
//! | Sending, Watching, Paused, `Answered`, Answering | the run halts | Canceling; Settled where a Message has asked |
//! | `BackingOff`, or Ready after an attempt | the run halts | Settled |
//! | Sending, Watching, Paused, `Answered`, Answering | `StepCanceled` | Canceling; Settled where a Message has asked |
//! | Waiting, Ready, Rendering, `BackingOff`, Items | `StepCanceled` | Settled, and the items as above |
//! | Canceling | `AttemptBound`, also in place of `AttemptPaused` | Canceling, with a Task to cancel |
//! | Canceling | `AttemptCanceled` | Settled |

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use planner::{StepError, StepState};

use super::{
    Effect, Intent, Items, Pause, PauseKind, RemoteTask, Reuse, Round, SkipReason, StepId,
    StepIndex,
};
use crate::body::Body;

/// One try of a step that may be known to the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Flight {
    /// Counted from 1.
    pub attempt: u32,
    /// The attempt's timeout counts from here.
    pub started_at: Timestamp,
    /// What was or will be sent: the attempt's Message, or its newest answer.
    pub intent: Arc<Intent>,
    /// Answers so far.
    pub turn: u32,
    /// The question that was answered last.
    pub asked: Option<Pause>,
    /// How long the attempt has been paused: this does not count against its timeout.
    pub paused: SignedDuration,
}

/// Where a step stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// Some dependency is open.
    Waiting,
    /// Free to run, waits for a slot.
    Ready,
    /// Holds a slot, its Message is being built. Not journaled: replays as Ready.
    Rendering,
    /// The Message may have been sent, no Task is known.
    Sending(Flight),
    /// The agent's Task is known.
    Watching(Flight, RemoteTask),
    /// The agent waits for somebody. Holds no slot.
    Paused {
        /// The attempt.
        flight: Flight,
        /// The Task that asks; absent where the agent asked back by a direct Message, or was not called yet.
        task: Option<RemoteTask>,
        /// What it asks for.
        pause: Pause,
        /// Since when: the attempt's timeout stands still.
        since: Timestamp,
    },
    /// It waits for a person, and no agent is involved. Holds no slot.
    Asked {
        /// What was asked first.
        first: Pause,
        /// What is asked now: the same, and what is wrong with the last answer.
        pause: Pause,
        /// How many answers did not fit.
        turn: u32,
        /// Since when.
        since: Timestamp,
    },
    /// Nobody knows whether the agent has received the Message, and somebody has to say what to do. Holds no slot.
    Unknown {
        /// The attempt.
        flight: Flight,
        /// The Task, if it had made one.
        task: Option<RemoteTask>,
        /// What is asked.
        pause: Pause,
        /// Since when: the clocks stand still.
        since: Timestamp,
    },
    /// The answer waits for a slot.
    Answered(Flight, RemoteTask),
    /// The answer may have been sent. Not journaled: replays as Answered.
    Answering(Flight, RemoteTask),
    /// Between two attempts.
    BackingOff {
        /// The attempt that failed.
        attempt: u32,
        /// When the next one may start.
        until: Timestamp,
    },
    /// Its items run, each of them a step of its own.
    Items,
    /// No longer wanted, the agent has to be told.
    Canceling {
        /// The attempt.
        flight: Flight,
        /// The Task, once known.
        task: Option<RemoteTask>,
        /// The grace counts from here.
        since: Timestamp,
    },
    /// Over.
    Settled(Settled),
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// With a result.
    Completed(Body),
    /// With a result that holds the error.
    Failed(Body, StepError),
    /// All its items are settled; their results make up its own.
    Gathered {
        /// How many have failed.
        failed: u32,
    },
    /// In the run that is cleaned up after.
    Taken {
        /// How.
        state: StepState,
        /// A [`planner::StepResult`], where somebody reads it.
        result: Option<Body>,
    },
    /// Its work was no longer wanted.
    Canceled,
    /// It never ran.
    Skipped(SkipReason),
}

/// A step of a run, or an item of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// The step that it is an item of, and its number.
    pub item_of: Option<(StepIndex, u32)>,
    /// Its items, once their list is known.
    pub items: Option<Items>,
    /// Where it stands.
    pub phase: Phase,
    /// Dependencies that are not settled.
    pub open: u32,
    /// Dependencies that have completed.
    pub completed: u32,
    /// Attempts started so far.
    pub attempts: u32,
    /// The dependency on whose account it would be skipped.
    pub skip_for: Option<StepIndex>,
    /// When its first attempt started.
    pub started_at: Option<Timestamp>,
    /// When it settled.
    pub settled_at: Option<Timestamp>,
    /// The agent that serves or served it.
    pub agent: Option<String>,
    /// The Task of its newest attempt that had one.
    pub task: Option<RemoteTask>,
    /// Which of its agents is tried: 0 for the first, else the number of a fallback.
    pub candidate: u32,
    /// Attempts that count for nothing any more: those of earlier rounds, and of agents that were tried before.
    pub(super) attempts_before: u32,
    /// How long its earlier attempts and pauses stood still, as far as its deadline is concerned.
    pub(super) stood_still: SignedDuration,
    /// Where its result comes from, when that is another run.
    pub reused: Option<Box<Reuse>>,
    /// The last round that was not good enough.
    pub round: Option<Box<Round>>,
}

impl Step {
    pub(super) fn new(id: StepId, dependencies: u32) -> Self {
        Self {
            id,
            item_of: None,
            items: None,
            phase: Phase::Waiting,
            open: dependencies,
            completed: 0,
            attempts: 0,
            skip_for: None,
            started_at: None,
            settled_at: None,
            agent: None,
            task: None,
            candidate: 0,
            attempts_before: 0,
            stood_still: SignedDuration::ZERO,
            reused: None,
            round: None,
        }
    }

    /// The word for people and for other steps' expressions.
    #[must_use]
    pub fn state(&self) -> StepState {
        match &self.phase {
            Phase::Waiting | Phase::Ready => StepState::Waiting,
            Phase::Paused { .. } | Phase::Asked { .. } | Phase::Unknown { .. } => StepState::Paused,
            Phase::Rendering
            | Phase::Sending(_)
            | Phase::Watching(..)
            | Phase::Answered(..)
            | Phase::Answering(..)
            | Phase::BackingOff { .. }
            | Phase::Items
            | Phase::Canceling { .. } => StepState::Running,
            Phase::Settled(Settled::Completed(_) | Settled::Gathered { failed: 0 }) => {
                StepState::Completed
            }
            Phase::Settled(Settled::Failed(..) | Settled::Gathered { .. }) => StepState::Failed,
            Phase::Settled(Settled::Taken { state, .. }) => *state,
            Phase::Settled(Settled::Canceled) => StepState::Canceled,
            Phase::Settled(Settled::Skipped(_)) => StepState::Skipped,
        }
    }

    /// The attempt that may be known to an agent.
    #[must_use]
    pub fn flight(&self) -> Option<&Flight> {
        match &self.phase {
            Phase::Sending(flight)
            | Phase::Watching(flight, _)
            | Phase::Paused { flight, .. }
            | Phase::Unknown { flight, .. }
            | Phase::Answered(flight, _)
            | Phase::Answering(flight, _)
            | Phase::Canceling { flight, .. } => Some(flight),
            Phase::Waiting
            | Phase::Ready
            | Phase::Rendering
            | Phase::Asked { .. }
            | Phase::BackingOff { .. }
            | Phase::Items
            | Phase::Settled(_) => None,
        }
    }

    /// The body that expressions of later steps read; `None` unless completed or failed, and for a step with items:
    /// its result is made of theirs.
    #[must_use]
    pub fn result(&self) -> Option<&Body> {
        match &self.phase {
            Phase::Settled(Settled::Completed(body) | Settled::Failed(body, _)) => Some(body),
            Phase::Settled(Settled::Taken { result, .. }) => result.as_ref(),
            _ => None,
        }
    }

    /// Why it was skipped; `None` for any other step.
    #[must_use]
    pub fn skip_reason(&self) -> Option<&SkipReason> {
        match &self.phase {
            Phase::Settled(Settled::Skipped(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Whether it counts against `parallel`.
    pub(super) fn holds_slot(&self) -> bool {
        match self.phase {
            Phase::Rendering
            | Phase::Sending(_)
            | Phase::Watching(..)
            | Phase::Answering(..)
            | Phase::Canceling { .. } => true,
            Phase::Waiting
            | Phase::Ready
            | Phase::Paused { .. }
            | Phase::Asked { .. }
            | Phase::Unknown { .. }
            | Phase::Answered(..)
            | Phase::BackingOff { .. }
            | Phase::Items
            | Phase::Settled(_) => false,
        }
    }

    /// Which attempt at its present agent, in its present round, an attempt is: counted from 1.
    pub(super) fn nth(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.attempts_before)
    }

    /// Whether it has begun, and nothing of it is under way that has a time limit itself.
    pub(super) fn is_between_attempts(&self) -> bool {
        let waits = matches!(
            self.phase,
            Phase::Ready | Phase::Rendering | Phase::BackingOff { .. } | Phase::Answered(..)
        );
        waits && self.attempts > 0
    }

    /// Whether `attempt` is the one going on: all that makes an input stale or current.
    pub(crate) fn is_current(&self, attempt: u32) -> bool {
        self.flight().is_some_and(|flight| flight.attempt == attempt)
    }
}

impl Phase {
    /// What it waits for, if it is a pause.
    #[must_use]
    pub fn pause(&self) -> Option<&Pause> {
        match self {
            Self::Paused { pause, .. }
            | Self::Asked { pause, .. }
            | Self::Unknown { pause, .. } => Some(pause),
            _ => None,
        }
    }

    /// The work that this phase wants done: at most two things.
    pub(super) fn effects(&self, at: StepIndex) -> [Option<Effect>; 2] {
        match self {
            Self::Waiting | Self::Ready | Self::Answered(..) | Self::Items | Self::Settled(_) => {
                [None, None]
            }
            // An agent that waits for authorization may go on by itself, and a sub-run as well; an agent that waits for
            // input cannot.
            Self::Paused { flight, pause, .. } => match pause.kind {
                PauseKind::Outcome => [Some(Effect::Expire(at)), None],
                PauseKind::Input if pause.within.is_none() => [Some(Effect::Expire(at)), None],
                PauseKind::Input | PauseKind::Auth => {
                    [Some(Effect::Watch(at, flight.attempt)), Some(Effect::Expire(at))]
                }
            },
            Self::Asked { .. } | Self::Unknown { .. } => [Some(Effect::Expire(at)), None],
            Self::Answering(flight, _) => {
                [Some(Effect::Answer(at, flight.attempt, flight.turn)), None]
            }
            Self::Rendering => [Some(Effect::Render(at)), None],
            Self::Sending(flight) => [Some(Effect::Send(at, flight.attempt)), None],
            Self::Watching(flight, _) => [Some(Effect::Watch(at, flight.attempt)), None],
            Self::BackingOff { attempt, .. } => [Some(Effect::Sleep(at, *attempt)), None],
            Self::Canceling { flight, task: None, .. } => {
                [Some(Effect::Send(at, flight.attempt)), Some(Effect::GiveUp(at, flight.attempt))]
            }
            Self::Canceling { flight, task: Some(_), .. } => {
                [Some(Effect::Cancel(at, flight.attempt)), None]
            }
        }
    }
}
