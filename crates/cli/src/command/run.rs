//! `convoke run`

use std::{path::Path, sync::Arc, time::Duration};

use anstream::eprintln;
use executor::{
    Executor, NewRun, Recorded, RunId, Runs,
    run::{Outcome, PauseKind, StepId},
};
use protocol::v1::{Message, Part};

use crate::{
    args::{Args, RunArgs},
    content,
    failure::{Exit, Failure},
    interrupts::Interrupts,
    place::Place,
    progress::{Progress, asked},
    prompt::Prompt,
    workflow_file,
};

/// How long to wait for news before looking at the signals again.
const PATIENCE: Duration = Duration::from_secs(3_600);

pub(crate) async fn run(args: &Args, run: &RunArgs) -> Result<Exit, Failure> {
    let started = match &run.resume {
        Some(id) => resume(args, id).await?,
        None => start(args, run).await?,
    };
    attend(args, run.out.as_deref(), started).await
}

/// Answers a pause of a run that stands still, and drives it on.
pub(crate) async fn reply(
    args: &Args,
    run: &str,
    step: Option<StepId>,
    text: &str,
) -> Result<Exit, Failure> {
    let started = resume(args, run).await?;
    if started.executor.runs().read(&started.id).await?.run.outcome().is_some() {
        return Err(Failure::usage(format!("run {run} has ended and waits for no answer")));
    }
    started.executor.reply(&started.id, step, Message::user(vec![Part::text(text)])).await?;
    attend(args, None, started).await
}

/// Cancels a run that stands still.
pub(crate) async fn cancel(args: &Args, run: &str) -> Result<Exit, Failure> {
    let started = resume(args, run).await?;
    if started.executor.runs().read(&started.id).await?.run.outcome().is_some() {
        return Err(Failure::usage(format!("run {run} has ended already")));
    }
    started.executor.cancel(&started.id).await?;
    match attend(args, None, Started { is_canceling: true, ..started }).await? {
        // What was asked for.
        Exit::Interrupted => Ok(Exit::Ok),
        exit => Ok(exit),
    }
}

/// Shows a run until it ends, is left, or waits for people.
async fn attend(args: &Args, out: Option<&Path>, mut started: Started) -> Result<Exit, Failure> {
    let runs = started.executor.runs();
    let mut recorded = runs.read(&started.id).await?;
    let mut progress = Progress::new(&recorded);
    let exit = watch(&mut started, &runs, &mut recorded, &mut progress).await;
    progress.finish(&recorded);
    match exit? {
        Some(exit) => Ok(exit),
        None => {
            content::show_run(args, out, &runs, &recorded).await?;
            started.executor.shutdown().await?;
            Ok(exit_of(recorded.run.outcome()))
        }
    }
}

/// A run that is driven here.
struct Started {
    executor: Executor,
    id: RunId,
    /// Listening since before anything was sent: from then on Ctrl-C has agents to tell.
    interrupts: Interrupts,
    /// Whether its end has been asked for: then nobody has to be asked anything more.
    is_canceling: bool,
}

async fn start(args: &Args, run: &RunArgs) -> Result<Started, Failure> {
    // clap asks for a workflow unless there is a run to resume.
    let named = run.workflow.as_deref().unwrap_or_default();
    let workflow = workflow_file::load(&workflow_file::find(named))?;
    let start = workflow_file::start(&workflow, run)?;
    let place = Place::open(args).await?;
    let plan = workflow_file::bind(&place, workflow).await?;
    let executor = place.executor().await?;
    let new = NewRun {
        plan: Arc::new(plan),
        inputs: start.inputs,
        start: start.parts,
        message: None,
        context_id: None,
        opening: None,
    };
    let interrupts = Interrupts::new().map_err(Failure::unavailable)?;
    let id = executor.start(new).await?;
    Ok(Started { executor, id, interrupts, is_canceling: false })
}

async fn resume(args: &Args, id: &str) -> Result<Started, Failure> {
    let id: RunId = id.parse().map_err(Failure::usage)?;
    let place = Place::open(args).await?;
    let executor = place.executor().await?;
    let interrupts = Interrupts::new().map_err(Failure::unavailable)?;
    executor.resume(&id).await?;
    Ok(Started { executor, id, interrupts, is_canceling: false })
}

/// Shows progress until the run ends. `Some` when a second Ctrl-C says to leave it where it stands.
async fn watch(
    started: &mut Started,
    runs: &Runs,
    recorded: &mut Recorded,
    progress: &mut Progress,
) -> Result<Option<Exit>, Failure> {
    enum Woke {
        News,
        Interrupted,
        Stopped(executor::ExecutorError),
        Said(StepId, String),
    }
    let Started { executor, id, interrupts, is_canceling, .. } = started;
    let mut prompt = Prompt::new();
    while recorded.run.outcome().is_none() {
        if !*is_canceling {
            if !prompt.is_possible() && recorded.run.is_waiting_for_people() {
                return Ok(Some(leave_paused(recorded)));
            }
            prompt.ask(recorded, progress);
        }
        let woke = tokio::select! {
            events = runs.follow(recorded, PATIENCE) => {
                for event in events? {
                    progress.tell(recorded, &event);
                }
                Woke::News
            }
            () = interrupts.next() => Woke::Interrupted,
            Err(error) = executor.finished(id) => Woke::Stopped(error),
            (step, text) = prompt.answered() => Woke::Said(step, text),
        };
        match woke {
            Woke::News => (),
            Woke::Stopped(error) => return Err(error.into()),
            Woke::Said(step, text) => {
                let taken =
                    executor.reply(id, Some(step), Message::user(vec![Part::text(text)])).await;
                // The step may have gone on, or be over, while somebody was typing.
                if let Err(error) = taken {
                    progress.say(&error.to_string());
                }
            }
            Woke::Interrupted if !*is_canceling => {
                *is_canceling = true;
                progress.say("canceling: the agents are being told; Ctrl-C again leaves at once");
                executor.cancel(id).await?;
            }
            Woke::Interrupted => {
                eprintln!("left; `convoke run --resume {id}` goes on from here");
                return Ok(Some(Exit::Interrupted));
            }
        }
    }
    Ok(None)
}

/// Says what the run waits for, and how to answer.
fn leave_paused(recorded: &Recorded) -> Exit {
    let id = &recorded.id;
    for (step, pause) in recorded.run.pauses() {
        match pause.kind {
            PauseKind::Input => {
                eprintln!("{step} asks: {}", asked(pause));
                eprintln!("  convoke runs reply {id} {step} TEXT");
            }
            PauseKind::Auth => {
                eprintln!("{step} waits for authorization: {}", asked(pause));
                eprintln!("  then convoke run --resume {id}");
            }
        }
    }
    Exit::Paused
}

fn exit_of(outcome: Option<&Outcome>) -> Exit {
    match outcome {
        Some(Outcome::Completed(_)) => Exit::Ok,
        Some(Outcome::Canceled) => Exit::Interrupted,
        Some(Outcome::Failed(_)) | None => Exit::WorkFailed,
    }
}
