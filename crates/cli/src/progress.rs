//! How a run is shown while it goes on: live lines on a terminal, one line per event otherwise. To stderr.

mod live;
mod plain;

use std::io::IsTerminal;

use executor::{
    Recorded,
    run::{Chosen, Next, NextRound, Pause, PauseKind, RunEvent, StepId},
};

use self::{live::Live, plain::Plain};
use crate::content::clean;
use jiff::Timestamp;

/// Shows a run's progress.
pub(crate) enum Progress {
    /// On a terminal.
    Live(Live),
    /// Anywhere else.
    Plain(Plain),
}

impl Progress {
    /// Begins with what has happened so far.
    pub(crate) fn new(recorded: &Recorded) -> Self {
        let mut progress = if std::io::stderr().is_terminal() {
            Self::Live(Live::new(recorded))
        } else {
            Self::Plain(Plain::new(recorded))
        };
        for event in &recorded.events {
            progress.tell(recorded, event);
        }
        progress
    }

    /// Shows an event that has been applied to `recorded`.
    pub(crate) fn tell(&mut self, recorded: &Recorded, event: &RunEvent) {
        match self {
            Self::Live(live) => live.tell(recorded, event),
            Self::Plain(plain) => plain.tell(recorded, event),
        }
    }

    /// Shows a remark.
    pub(crate) fn say(&self, text: &str) {
        match self {
            Self::Live(live) => live.say(text),
            Self::Plain(plain) => plain.say(text),
        }
    }

    /// Leaves the last state on the screen.
    pub(crate) fn finish(&mut self, recorded: &Recorded) {
        if let Self::Live(live) = self {
            live.finish(recorded);
        }
    }
}

/// The step that an event is about, and what it says of it; `None` for events that are not news to people.
fn news<'a>(recorded: &Recorded, event: &'a RunEvent) -> Option<(&'a str, String)> {
    let text = match event {
        RunEvent::AttemptStarted { attempt, intent, .. } if intent.is_sub_run => match attempt {
            1 => format!("runs {}", intent.agent),
            attempt => format!("runs {} (attempt {attempt})", intent.agent),
        },
        RunEvent::AttemptStarted { attempt, intent, .. } if *attempt > 1 => {
            format!("sent to {} (attempt {attempt})", clean(&intent.agent))
        }
        RunEvent::AttemptStarted { intent, .. } => format!("sent to {}", clean(&intent.agent)),
        RunEvent::ContextRefused { .. } => {
            "refused our context; sent once more without it".to_owned()
        }
        RunEvent::CallbackRefused { .. } => {
            "sends no notifications after all; sent once more without asking for them".to_owned()
        }
        RunEvent::AttemptPaused { pause, .. } if pause.within.is_some() => inside(pause),
        RunEvent::AttemptBound { task, .. } => format!("working on Task {}", clean(&task.task_id)),
        RunEvent::AttemptPaused { pause, .. } => match pause.kind {
            PauseKind::Input => format!("asks: {}", asked(pause)),
            PauseKind::Auth => format!("waits for authorization: {}", asked(pause)),
            PauseKind::Outcome => asked(pause),
        },
        RunEvent::OutcomeUnknown { why, .. } => clean(why),
        RunEvent::OutcomeChosen { chosen, .. } => decided(chosen),
        RunEvent::AttemptUnpaused { .. } => "goes on".to_owned(),
        RunEvent::AttemptAnswered { .. } | RunEvent::AnswerPassed { .. } => "answered".to_owned(),
        RunEvent::AnswerDelivered { .. } => "has the answer".to_owned(),
        RunEvent::AnswerRefused { refusal, .. } => {
            format!("does not take the answer: {}", refusal.message)
        }
        RunEvent::AttemptFailed { error, next, .. } => failed(&error.message, next),
        RunEvent::RoundEnded { round, next: NextRound::Again, .. } => {
            format!("round {round} was not the last; asks again")
        }
        RunEvent::RoundEnded { next: NextRound::GiveUp { error, .. }, .. } => {
            format!("failed: {}", clean(&error.message))
        }
        RunEvent::StepCompleted { step, attempt, .. } => completed(recorded, step, *attempt),
        RunEvent::AttemptCanceled { confirmed: true, .. } => "canceled".to_owned(),
        RunEvent::AttemptCanceled { confirmed: false, .. } => {
            "canceled; the agent did not confirm".to_owned()
        }
        _ => of_step(recorded, event)?,
    };
    event.step().map(|step| (step.as_str(), text))
}

/// The same for what happens to a step beside its attempts.
fn of_step(recorded: &Recorded, event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::StepSkipped { reason, .. } => format!("skipped: {reason}"),
        RunEvent::StepCanceled { by, .. } => format!("canceled: {by} does not need it any more"),
        RunEvent::StepExpanded { count, .. } => format!("runs for {}", items(*count)),
        RunEvent::StepGathered { step, failed, .. } => gathered(recorded, step, *failed),
        RunEvent::StepAsked { pause, .. } | RunEvent::StepAskedAgain { pause, .. } => {
            format!("asks: {}", asked(pause))
        }
        RunEvent::StepAnswered { .. } => "answered".to_owned(),
        RunEvent::StepComputed { .. } => "computed".to_owned(),
        RunEvent::StepReused { from, .. } => format!("has its result of run {}", from.run),
        RunEvent::StepFailed { error, .. } => format!("failed: {}", clean(&error.message)),
        // What `news` tells itself, and what is news to nobody.
        RunEvent::AttemptStarted { .. }
        | RunEvent::ContextRefused { .. }
        | RunEvent::CallbackRefused { .. }
        | RunEvent::AttemptBound { .. }
        | RunEvent::AttemptPaused { .. }
        | RunEvent::AttemptUnpaused { .. }
        | RunEvent::AttemptAnswered { .. }
        | RunEvent::AnswerPassed { .. }
        | RunEvent::AnswerDelivered { .. }
        | RunEvent::AnswerRefused { .. }
        | RunEvent::AttemptFailed { .. }
        | RunEvent::AttemptCanceled { .. }
        | RunEvent::OutcomeUnknown { .. }
        | RunEvent::OutcomeChosen { .. }
        | RunEvent::RoundEnded { .. }
        | RunEvent::StepCompleted { .. }
        | RunEvent::ArtifactChunked { .. }
        | RunEvent::AttemptReported { .. }
        | RunEvent::CallsCounted { .. }
        | RunEvent::StepTaken { .. }
        | RunEvent::RunDeferred { .. }
        | RunEvent::RunRejected { .. }
        | RunEvent::RunStarted { .. }
        | RunEvent::RunQueued { .. }
        | RunEvent::RunAdmitted { .. }
        | RunEvent::RunResumed { .. }
        | RunEvent::CancelRequested { .. }
        | RunEvent::RunTimedOut { .. }
        | RunEvent::BudgetSpent { .. }
        | RunEvent::RunFinished { .. } => return None,
    })
}

/// What waits inside of a sub-run.
fn inside(pause: &Pause) -> String {
    let pauses = pause.within.iter().flat_map(|within| &within.pauses);
    let each: Vec<String> =
        pauses.map(|(address, pause)| format!("{address} asks: {}", asked(pause))).collect();
    each.join("; ")
}

/// Why an attempt failed, and what follows.
fn failed(why: &str, next: &Next) -> String {
    let why = clean(why);
    match next {
        Next::Retry { at } => format!("failed: {why}; tries again at {}", clock(*at)),
        Next::FallBack { .. } => format!("failed: {why}; tries the next agent"),
        Next::GiveUp { .. } => format!("failed: {why}"),
    }
}

/// What somebody has said about a Message that may have been received.
fn decided(chosen: &Chosen) -> String {
    match chosen {
        Chosen::Resend => "sent once more".to_owned(),
        Chosen::Failed { .. } => "said to have failed".to_owned(),
        Chosen::Bound { task } => format!("said to be Task {}", clean(&task.task_id)),
    }
}

/// What a pause asks for, in one line.
pub(crate) fn asked(pause: &Pause) -> String {
    let text = pause.text().map(|text| clean(&text));
    match (text, &pause.mismatch) {
        (text, None) => text.unwrap_or_else(|| "(it does not say what)".to_owned()),
        (Some(text), Some(why)) => format!("{text} (not what is expected: {})", clean(why)),
        (None, Some(why)) => format!("(its answer is not what is expected: {})", clean(why)),
    }
}

/// Who completed a step, and how long that took over all attempts.
fn completed(recorded: &Recorded, id: &StepId, attempt: u32) -> String {
    let step = recorded.run.find(id).map(|at| recorded.run.at(at));
    let by = step.and_then(|step| step.agent.as_deref()).unwrap_or("nobody");
    let times = step.and_then(|step| Some((step.started_at?, step.settled_at?)));
    let took = times.map(|(from, to)| to.duration_since(from).as_secs_f64());
    let took = took.map(|seconds| format!(" in {seconds:.1} s")).unwrap_or_default();
    let tries = if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
    format!("completed by {}{took}{tries}", clean(by))
}

/// How a step ended that ran for each item of a list.
fn gathered(recorded: &Recorded, id: &StepId, failed: u32) -> String {
    let step = recorded.run.find(id).map(|at| recorded.run.at(at));
    let count = step.and_then(|step| step.items.as_ref()).map_or(0, |items| items.count);
    match failed {
        0 => format!("completed for {}", items(count)),
        failed => format!("failed for {failed} of {}", items(count)),
    }
}

fn items(count: u32) -> String {
    if count == 1 { "1 item".to_owned() } else { format!("{count} items") }
}

/// What an event says of the run as a whole.
fn run_news(event: &RunEvent) -> Option<String> {
    use executor::run::Outcome;
    match event {
        RunEvent::RunResumed { .. } => Some("resumed".to_owned()),
        RunEvent::CancelRequested { .. } => Some("canceling".to_owned()),
        RunEvent::RunTimedOut { .. } => Some("its timeout has passed".to_owned()),
        RunEvent::BudgetSpent { .. } => Some("its budget is spent".to_owned()),
        RunEvent::RunFinished { outcome, .. } => Some(match outcome {
            Outcome::Completed(_) => "completed".to_owned(),
            Outcome::Failed(error) => format!("failed: {}", clean(&error.to_string())),
            Outcome::Canceled => "canceled".to_owned(),
        }),
        _ => None,
    }
}

/// The time of day, in UTC.
fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}
