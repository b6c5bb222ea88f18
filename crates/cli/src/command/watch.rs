//! `convoke runs watch`

use std::time::Duration;

use anstream::{eprintln, println};
use executor::{Recorded, RunId, run::RunEvent};

use super::run::{exit_of, leave_paused};
use crate::{
    args::Args,
    content,
    drive::stands_still,
    event,
    failure::{Exit, Failure},
    interrupts::Interrupts,
    place::Place,
    progress::Progress,
};

/// How long to wait for news before looking whether anybody still drives the run.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why watching ended.
enum Ended {
    /// So has the run.
    Over,
    /// Nobody drives it.
    StandsStill,
    /// Ctrl-C.
    Left,
}

pub(crate) async fn run(args: &Args, run: &str) -> Result<Exit, Failure> {
    let id: RunId = run.parse().map_err(Failure::usage)?;
    let mut interrupts = Interrupts::new().map_err(Failure::unavailable)?;
    let place = Place::look(args).await?;
    let mut recorded = place.runs().read(&id).await?;
    let mut view = View::new(args, &recorded)?;
    let ended = follow(&place, &mut recorded, &mut view, &mut interrupts).await;
    view.finish(&recorded);
    match ended? {
        Ended::Over => {
            if !args.json {
                content::show_run(args, None, &place.runs(), &recorded).await?;
            }
            Ok(exit_of(recorded.run.outcome()))
        }
        Ended::StandsStill if recorded.run.is_waiting_for_people() => Ok(leave_paused(&recorded)),
        Ended::StandsStill => Err(stands_still(&id, place.occupant())),
        Ended::Left => {
            eprintln!("left; the run goes on");
            Ok(Exit::Interrupted)
        }
    }
}

/// Shows what happens, over pauses and changes of who drives.
async fn follow(
    place: &Place,
    recorded: &mut Recorded,
    view: &mut View,
    interrupts: &mut Interrupts,
) -> Result<Ended, Failure> {
    let runs = place.runs();
    let mut is_quiet = true;
    while recorded.run.outcome().is_none() {
        if is_quiet && place.stands_still(recorded).await? {
            return Ok(Ended::StandsStill);
        }
        let events = tokio::select! {
            events = runs.follow(recorded, PATIENCE) => events?,
            () = interrupts.next() => return Ok(Ended::Left),
        };
        for event in &events {
            view.tell(recorded, event)?;
        }
        is_quiet = events.is_empty();
    }
    Ok(Ended::Over)
}

/// How it is shown.
enum View {
    /// To people, on stderr.
    Progress(Progress),
    /// As one JSON object per line, on stdout.
    Lines,
}

impl View {
    /// Begins with what has happened so far.
    fn new(args: &Args, recorded: &Recorded) -> Result<Self, Failure> {
        if !args.json {
            return Ok(Self::Progress(Progress::new(recorded)));
        }
        let mut lines = Self::Lines;
        for event in &recorded.events {
            lines.tell(recorded, event)?;
        }
        Ok(lines)
    }

    fn tell(&mut self, recorded: &Recorded, event: &RunEvent) -> Result<(), Failure> {
        match self {
            Self::Progress(progress) => progress.tell(recorded, event),
            Self::Lines => println!("{}", serde_json::to_string(&event::line(event))?),
        }
        Ok(())
    }

    fn finish(&mut self, recorded: &Recorded) {
        if let Self::Progress(progress) = self {
            progress.finish(recorded);
        }
    }
}
