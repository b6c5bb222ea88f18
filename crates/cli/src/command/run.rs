//! `convoke run`

use std::{path::Path, sync::Arc, time::Duration};

use anstream::eprintln;
use executor::{
    ExecutorError, NewRun, Recorded, RunId,
    run::{Outcome, PauseKind, RunEvent, StepId},
};
use jiff::Timestamp;
use protocol::v1::Part;

use crate::{
    args::{Args, RunArgs},
    content,
    drive::{Drive, Here},
    failure::{Exit, Failure},
    interrupts::Interrupts,
    place::Place,
    progress::{Progress, asked},
    prompt::{Prompt, Question},
    workflow_file,
};

/// How long to wait for news before looking at the signals again.
const PATIENCE: Duration = Duration::from_secs(3_600);

pub(crate) async fn run(args: &Args, run: &RunArgs) -> Result<Exit, Failure> {
    let started = match &run.resume {
        Some(id) => take_up(id, Place::open(args).await?).await?,
        None => start(args, run).await?,
    };
    attend(args, run.out.as_deref(), started).await
}

/// Answers a pause, and follows the run: driven on here, or by the process that holds the folder.
pub(crate) async fn reply(
    args: &Args,
    run: &str,
    step: Option<StepId>,
    answer: Part,
) -> Result<Exit, Failure> {
    let mut started = take_up(run, Place::look(args).await?).await?;
    if started.drive.runs().read(&started.id).await?.run.outcome().is_some() {
        return Err(Failure::usage(format!("run {run} has ended and waits for no answer")));
    }
    started.drive.reply(&started.id, step, answer).await?;
    attend(args, None, started).await
}

/// Cancels a run, and follows it to its end.
pub(crate) async fn cancel(args: &Args, run: &str) -> Result<Exit, Failure> {
    let asked_at = Timestamp::now();
    let mut started = take_up(run, Place::look(args).await?).await?;
    match started.drive.runs().read(&started.id).await?.run.finished_at() {
        Some(at) if at < asked_at => {
            return Err(Failure::usage(format!("run {run} has ended already")));
        }
        // Taken up, it came to its end by itself: somebody had canceled it before.
        Some(_) => (),
        None => started.drive.cancel(&started.id).await?,
    }
    started.is_canceling = true;
    match attend(args, None, started).await? {
        // What was asked for.
        Exit::Interrupted => Ok(Exit::Ok),
        exit => Ok(exit),
    }
}

/// Shows a run until it ends, is left, or waits for people.
async fn attend(args: &Args, out: Option<&Path>, mut started: Started) -> Result<Exit, Failure> {
    let mut recorded = started.drive.runs().read(&started.id).await?;
    let mut progress = Progress::new(&recorded);
    let exit = follow(&mut started, &mut recorded, &mut progress).await;
    progress.finish(&recorded);
    match exit? {
        // At once.
        Some(Exit::Interrupted) => Ok(Exit::Interrupted),
        Some(exit) => {
            started.drive.leave().await;
            Ok(exit)
        }
        None => {
            started.drive.clean_up(&started.id).await?;
            content::show_run(args, out, &started.drive.runs(), &recorded).await?;
            started.drive.finish().await?;
            Ok(exit_of(recorded.run.outcome()))
        }
    }
}

/// A run that is attended here, wherever it is driven.
struct Started {
    drive: Drive,
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
    let new = NewRun::of(Arc::new(plan), start.inputs, start.parts);
    let here = Here::open(&place).await?;
    let interrupts = Interrupts::new().map_err(Failure::unavailable)?;
    let id = here.executor.start(new).await?;
    Ok(Started { drive: Drive::Here(here), id, interrupts, is_canceling: false })
}

async fn take_up(id: &str, place: Place) -> Result<Started, Failure> {
    let id: RunId = id.parse().map_err(Failure::usage)?;
    let interrupts = Interrupts::new().map_err(Failure::unavailable)?;
    let drive = Drive::take_up(place, &id).await?;
    Ok(Started { drive, id, interrupts, is_canceling: false })
}

/// What there is to react to.
enum Woke {
    News(Vec<RunEvent>),
    Interrupted,
    Stopped(ExecutorError),
    Said(Question, String),
}

/// Shows progress until the run ends. `Some` when it is left where it stands: it waits for people, or Ctrl-C said so.
async fn follow(
    started: &mut Started,
    recorded: &mut Recorded,
    progress: &mut Progress,
) -> Result<Option<Exit>, Failure> {
    let mut prompt = Prompt::new();
    while recorded.run.outcome().is_none() {
        if !started.is_canceling {
            if !prompt.is_possible() && recorded.run.is_waiting_for_people() {
                return Ok(Some(leave_paused(recorded)));
            }
            prompt.ask(recorded, progress);
        }
        let runs = started.drive.runs();
        let woke = tokio::select! {
            events = runs.follow(recorded, PATIENCE) => Woke::News(events?),
            () = started.interrupts.next() => Woke::Interrupted,
            Err(error) = started.drive.stopped(&started.id) => Woke::Stopped(error),
            (question, text) = prompt.answered() => Woke::Said(question, text),
        };
        match woke {
            Woke::News(events) => {
                for event in &events {
                    progress.tell(recorded, event);
                }
                if events.is_empty() {
                    started.keep_going(recorded).await?;
                }
            }
            Woke::Stopped(error) => return Err(error.into()),
            Woke::Said(question, text) => started.said(recorded, progress, question, &text).await,
            Woke::Interrupted => {
                if let Some(exit) = started.interrupt(progress).await? {
                    return Ok(Some(exit));
                }
            }
        }
    }
    Ok(None)
}

impl Started {
    /// Goes on here when the process that drove the run is gone.
    async fn keep_going(&mut self, recorded: &Recorded) -> Result<(), Failure> {
        if self.drive.keep_going(recorded).await? && self.is_canceling {
            // Nobody knows whether it had been written down that the run is to end.
            self.drive.cancel(&self.id).await?;
        }
        Ok(())
    }

    /// Hands on what was typed. The step may have gone on, or be over, while somebody was typing.
    async fn said(
        &mut self,
        recorded: &Recorded,
        progress: &Progress,
        question: Question,
        text: &str,
    ) {
        if !question.is_among(recorded.run.pauses()) {
            progress.say("that question has been answered elsewhere; nothing was sent");
            return;
        }
        let answer = Part::text(text);
        if let Err(error) = self.drive.reply(&self.id, Some(question.step), answer).await {
            progress.say(&error.to_string());
        }
    }

    /// Cancels what is driven here; a second Ctrl-C leaves at once. What is driven elsewhere is only left.
    async fn interrupt(&mut self, progress: &Progress) -> Result<Option<Exit>, Failure> {
        let id = &self.id;
        if let Some(elsewhere) = self.drive.elsewhere() {
            eprintln!("left; the run goes on in {elsewhere}");
            return Ok(Some(Exit::Interrupted));
        }
        if self.is_canceling {
            eprintln!("left; `convoke run --resume {id}` goes on from here");
            return Ok(Some(Exit::Interrupted));
        }
        self.is_canceling = true;
        progress.say("canceling: the agents are being told; Ctrl-C again leaves at once");
        self.drive.cancel(&self.id).await?;
        Ok(None)
    }
}

/// Says what the run waits for, and how to answer.
pub(crate) fn leave_paused(recorded: &Recorded) -> Exit {
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
            PauseKind::Outcome => {
                eprintln!("{step}: {}", asked(pause));
                eprintln!(
                    "  convoke runs reply {id} --step {step} --resend | --failed | --task ID"
                );
            }
        }
    }
    Exit::Paused
}

pub(crate) fn exit_of(outcome: Option<&Outcome>) -> Exit {
    match outcome {
        Some(Outcome::Completed(_)) => Exit::Ok,
        Some(Outcome::Canceled) => Exit::Interrupted,
        Some(Outcome::Failed(_)) | None => Exit::WorkFailed,
    }
}
