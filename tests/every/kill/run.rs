//! Kills of `convoke run`, and of the commands with which a person goes on: `run --resume`, `runs reply`,
//! `runs cancel`.

use std::time::Duration;

use serde_json::{Value, json};
use tests::{
    convoke::{Done, Process},
    journal::Journal,
};
use tokio::time::{Instant, sleep_until};

use super::{
    KILLS_OF_ONE_RUN,
    draw::Draw,
    judge::{Snapshot, Trial},
    scene::{FILE, Scene, Shape, Stage, answer},
    series,
};

const KILLS: u64 = 40;
/// Series of this module.
const SHARES: u64 = 11;
/// More commands than any run takes.
const MOST_ACTS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, chain", Shape::Chain, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_without_streams_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, chain without streams", Shape::Chain, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diamond_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, diamond", Shape::Diamond, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diamond_without_streams_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, diamond without streams", Shape::Diamond, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, fan-out", Shape::FanOut, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_without_streams_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, fan-out without streams", Shape::FanOut, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_with_items_that_is_killed_at_random_ends_as_if_undisturbed() {
    kill("run, items", Shape::ForEach, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_that_are_answered_between_random_kills_end_as_if_undisturbed() {
    kill("run, pauses", Shape::Pauses, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pauses_without_streams_that_are_answered_between_random_kills_end_as_if_undisturbed() {
    kill("run, pauses without streams", Shape::Pauses, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_killed_at_random_around_its_cancel_leaves_nothing_behind() {
    kill("run, cancel", Shape::Endless, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_without_streams_that_is_killed_at_random_around_its_cancel_leaves_nothing_behind() {
    kill("run, cancel without streams", Shape::Endless, false).await;
}

async fn kill(name: &str, shape: Shape, streaming: bool) {
    let scene = Scene { shape, streaming };
    let mut calm = Calm::watch(scene).await;
    series(name, KILLS, SHARES, async |mut draw, about| {
        let stage = scene.set().await;
        let mut case = Case { scene, stage, calm: &mut calm, about, kills: Vec::new() };
        case.play(&mut draw).await;
        case.kills.len()
    })
    .await;
}

/// What a person does next.
#[derive(Clone, Debug)]
enum Act {
    Start,
    Resume(String),
    Reply(String, String, String),
    Cancel(String),
}

impl Act {
    fn process(&self, stage: &Stage) -> Process {
        match self {
            Self::Start => stage.convoke.start(["run", FILE]),
            Self::Resume(run) => stage.convoke.start(["run", "--resume", run]),
            Self::Reply(run, step, text) => stage.convoke.start(["runs", "reply", run, step, text]),
            Self::Cancel(run) => stage.convoke.start(["runs", "cancel", run]),
        }
    }

    /// How it may end: done, paused, canceled, or interrupted before it listened to signals.
    fn exits(&self, shape: Shape) -> &'static [i32] {
        match (shape, self) {
            (Shape::Endless, Self::Cancel(_)) => &[0],
            (Shape::Endless, _) => &[130, -1],
            (Shape::Pauses, _) => &[0, 4],
            _ => &[0],
        }
    }
}

/// What befalls a process, counted from its start.
struct Fate {
    interrupt: Option<Duration>,
    kill: Option<Duration>,
}

/// How a run goes that nobody disturbs.
struct Calm {
    /// From the start of the process until the run is about to be written down.
    first: Duration,
    /// From the start of the process until it ends, or nothing more happens.
    last: Duration,
    /// As long as the longest of what a person does afterwards.
    later: Duration,
    result: Value,
}

impl Calm {
    async fn watch(scene: Scene) -> Self {
        let stage = scene.set().await;
        let started = Instant::now();
        let mut process = Act::Start.process(&stage);
        process.until("run").await;
        let first = started.elapsed().mul_f32(0.8);
        let mut calm = Self { first, last: first, later: first, result: Value::Null };
        match scene.shape {
            Shape::Endless => {
                process.until("What should it say?").await;
                calm.last = started.elapsed();
                process.interrupt();
                process.end().await.exits(130);
                calm.later = first + started.elapsed().saturating_sub(calm.last);
            }
            Shape::Pauses => {
                process.end().await.exits(4);
                calm.last = started.elapsed();
                calm.later = answer_all(&stage).await;
            }
            Shape::Chain | Shape::Diamond | Shape::FanOut | Shape::ForEach => {
                process.end().await.exits(0);
                calm.last = started.elapsed();
            }
        }
        calm.result = result(scene.shape, &stage).await;
        let calls = stage.calls();
        let begun = calls.values().filter(|sent| sent[0].task_id.is_empty());
        assert_eq!(begun.count(), scene.shape.count(), "one Message a step");
        assert!(calls.values().all(|sent| sent.len() == 1), "{calls:?}");
        calm
    }

    /// An instant at which there is something to be killed, probably.
    fn draw(&self, draw: &mut Draw, act: &Act) -> Duration {
        let (from, to) = match act {
            Act::Start => (self.first, self.last),
            Act::Resume(_) => (self.first / 2, self.last),
            Act::Reply(..) | Act::Cancel(_) => (self.first / 2, self.later),
        };
        from + draw.within(to.saturating_sub(from))
    }
}

/// Answers every question, one after the other; returns how long the longest answer took.
async fn answer_all(stage: &Stage) -> Duration {
    let mut longest = Duration::ZERO;
    loop {
        let journal = Journal::read(&stage.convoke.data()).await.expect("a run");
        let Some(question) = journal.questions().into_iter().next() else { return longest };
        let text = answer(&question.step, &question.text);
        let started = Instant::now();
        let done = Act::Reply(journal.run, question.step, text).process(stage).end().await;
        assert!([0, 4].contains(&done.code), "{done:?}");
        longest = longest.max(started.elapsed());
    }
}

/// What two runs of one workflow have in common: everything but ids. How far a canceled one came is chance.
async fn result(shape: Shape, stage: &Stage) -> Value {
    let journal = Journal::read(&stage.convoke.data()).await.expect("a run");
    let shown = stage.convoke.run(["--json", "runs", "show", &journal.run]).await.exits(0).json();
    let artifacts = |artifacts: &Value| -> Vec<Value> {
        let artifacts = artifacts.as_array().into_iter().flatten();
        artifacts.map(|it| json!([it["name"], it["parts"]])).collect()
    };
    let steps = shown["steps"].as_array().expect("steps").iter().map(|step| {
        let artifacts = artifacts(&step["artifacts"]);
        json!([step["step"], step["state"], step["attempts"], step["agent"], artifacts])
    });
    let mut result = json!({"state": shown["state"], "outputs": artifacts(&shown["outputs"])});
    if shape != Shape::Endless {
        result["steps"] = steps.collect();
    }
    result
}

/// One run that is killed, perhaps more than once.
struct Case<'a> {
    scene: Scene,
    stage: Stage,
    calm: &'a mut Calm,
    about: String,
    kills: Vec<Snapshot>,
}

impl Case<'_> {
    /// Kills and goes on until the run has ended, or its first process was killed before there was one.
    async fn play(&mut self, draw: &mut Draw) {
        let mut act = Act::Start;
        let mut is_canceling = false;
        for _ in 0..MOST_ACTS {
            let fate = self.fate(draw, &act, is_canceling);
            let started = Instant::now();
            let done = befall(act.process(&self.stage), &fate).await;
            if let Some(done) = &done {
                let about = &self.about;
                assert!(
                    act.exits(self.scene.shape).contains(&done.code),
                    "{about}: {act:?}, {done:?}"
                );
                if matches!(act, Act::Start) && fate.kill.is_some() && fate.interrupt.is_none() {
                    self.calm.last = started.elapsed().max(self.calm.first);
                }
            }
            let calls = self.stage.calls();
            let Some(journal) = Journal::read(&self.stage.convoke.data()).await else {
                assert!(calls.is_empty(), "{}: sent before it was written down", self.about);
                let early = fate.interrupt.or(fate.kill).unwrap_or_default();
                self.calm.first = (self.calm.first + early) / 2;
                return;
            };
            if done.is_none() {
                self.kills.push(Snapshot { journal: journal.clone(), calls });
            }
            if journal.count("run_finished") > 0 {
                return self.judge().await;
            }
            is_canceling = journal.count("cancel_requested") > 0;
            act = self.next(draw, journal);
        }
        panic!("{}: the run does not end", self.about);
    }

    /// Whether, and when, a process is killed, or told to cancel. Something must end an endless run.
    fn fate(&self, draw: &mut Draw, act: &Act, is_canceling: bool) -> Fate {
        let may_kill = self.kills.len() < KILLS_OF_ONE_RUN;
        let is_endless = self.scene.shape == Shape::Endless;
        let is_first = matches!(act, Act::Start) && self.scene.shape != Shape::Pauses;
        let kill = may_kill && (is_first || draw.one_in(2));
        let at = self.calm.draw(draw, act);
        let ends = !is_endless || is_canceling || matches!(act, Act::Cancel(_));
        if ends || (kill && draw.one_in(3)) {
            return Fate { interrupt: None, kill: kill.then_some(at) };
        }
        let kill = kill.then(|| at + draw.within(self.calm.later.saturating_sub(self.calm.first)));
        Fate { interrupt: Some(at), kill }
    }

    fn next(&self, draw: &mut Draw, journal: Journal) -> Act {
        let questions = journal.questions();
        match self.scene.shape {
            Shape::Pauses if !draw.one_in(4) => match draw.pick(&questions) {
                Some(asked) => {
                    Act::Reply(journal.run, asked.step.clone(), answer(&asked.step, &asked.text))
                }
                None => Act::Resume(journal.run),
            },
            Shape::Endless if draw.one_in(2) => Act::Cancel(journal.run),
            _ => Act::Resume(journal.run),
        }
    }

    async fn judge(&self) {
        let Self { scene, stage, about, kills, .. } = self;
        let result = result(scene.shape, stage).await;
        assert_eq!(result, self.calm.result, "{about}: another result");
        Trial { scene: *scene, stage, kills, about }.judge().await;
    }
}

/// Lets a process run; returns how it ended when that came before its kill.
async fn befall(mut process: Process, fate: &Fate) -> Option<Done> {
    let started = Instant::now();
    if let Some(interrupt) = fate.interrupt {
        tokio::select! {
            () = sleep_until(started + interrupt) => process.interrupt(),
            done = process.done() => return Some(done),
        }
    }
    let Some(kill) = fate.kill else { return Some(process.end().await) };
    tokio::select! {
        () = sleep_until(started + kill) => {
            process.kill().await;
            None
        }
        done = process.done() => Some(done),
    }
}
