//! `kill -9` at random instants: after `--resume` every run ends as if nothing had happened.
//!
//! `CONVOKE_KILLS` is how often, over all graphs; `CONVOKE_SEED` draws the same instants again.

use std::{collections::BTreeMap, time::Duration};

use examples::{Kind, Options, ReceivedCall, Running};
use serde_json::{Value, json};
use tests::{
    agent::example,
    convoke::{Convoke, Done, Process},
    journal::Journal,
};
use tokio::time::Instant;

const KILLS: u32 = 30;
/// Graphs, each with agents that stream and agents that do not.
const SERIES: u32 = 6;
/// How often one run is killed at most.
const KILLS_OF_ONE_RUN: usize = 3;
const AGENTS: [(&str, Kind); 3] =
    [("slow", Kind::Slow), ("chunks", Kind::Chunks), ("echo", Kind::Echo)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_is_killed_at_random_ends_as_if_undisturbed() {
    series("chain", &chain(), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_without_streams_that_is_killed_at_random_ends_as_if_undisturbed() {
    series("chain without streams", &chain(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diamond_that_is_killed_at_random_ends_as_if_undisturbed() {
    series("diamond", &diamond(), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diamond_without_streams_that_is_killed_at_random_ends_as_if_undisturbed() {
    series("diamond without streams", &diamond(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_that_is_killed_at_random_ends_as_if_undisturbed() {
    series("fan-out", &fan_out(), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_without_streams_that_is_killed_at_random_ends_as_if_undisturbed() {
    series("fan-out without streams", &fan_out(), false).await;
}

/// A step: id, agent, message.
type Step = (String, &'static str, String);

/// What a step says to its agent so that it takes a moment.
fn words(agent: &str) -> &'static str {
    match agent {
        "slow" => "For 40ms.",
        "chunks" => "Count to 6",
        _ => "Say this.",
    }
}

fn step(id: &str, agent: &'static str, after: &[&str]) -> Step {
    let read = after.iter().map(|step| format!(" ${{{{ steps.{step}.text }}}}"));
    (id.to_owned(), agent, format!("{} {id}:{}", words(agent), read.collect::<String>()))
}

fn chain() -> Vec<Step> {
    vec![
        step("one", "slow", &[]),
        step("two", "echo", &["one"]),
        step("three", "chunks", &["two"]),
        step("four", "slow", &["three"]),
        step("five", "echo", &["four"]),
        step("six", "chunks", &["five"]),
    ]
}

fn diamond() -> Vec<Step> {
    vec![
        step("top", "slow", &[]),
        step("left", "chunks", &["top"]),
        step("middle", "echo", &["top"]),
        step("right", "slow", &["top"]),
        step("bottom", "slow", &["left", "middle", "right"]),
    ]
}

fn fan_out() -> Vec<Step> {
    let leaves = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let agents = ["slow", "echo", "chunks"].into_iter().cycle();
    let mut steps = vec![step("root", "echo", &[])];
    steps.extend(leaves.iter().zip(agents).map(|(leaf, agent)| step(leaf, agent, &["root"])));
    steps.push(step("all", "echo", &leaves));
    steps
}

/// A fresh set of agents, a workflow for them, and a data folder.
struct Stage {
    convoke: Convoke,
    agents: Vec<Running>,
}

impl Stage {
    async fn set(steps: &[Step], streaming: bool) -> Self {
        let mut agents = Vec::new();
        let mut workflow = "convoke: 1\nname: killed\nagents:\n".to_owned();
        for (name, kind) in AGENTS {
            let pace = Some(Duration::from_millis(40));
            let agent = example(kind, Options { streaming, pace, ..Options::default() }).await;
            workflow += &format!("  {name}: {{url: \"{}\"}}\n", agent.url);
            agents.push(agent);
        }
        workflow += "steps:\n";
        for (id, agent, message) in steps {
            workflow += &format!("  {id}: {{agent: {agent}, message: {}}}\n", json!(message));
        }
        workflow += "outputs:\n";
        for (id, ..) in steps {
            workflow += &format!("  {id}: {{value: \"${{{{ steps.{id}.text }}}}\"}}\n");
        }
        let convoke = Convoke::default();
        convoke.write("killed.yaml", workflow);
        Self { convoke, agents }
    }

    fn start(&self) -> Process {
        self.convoke.start(["--json", "run", "killed.yaml"])
    }

    /// All Messages that the agents were sent, by messageId.
    fn calls(&self) -> BTreeMap<String, Vec<ReceivedCall>> {
        let mut calls: BTreeMap<String, Vec<ReceivedCall>> = BTreeMap::new();
        for call in self.agents.iter().flat_map(|agent| agent.calls.all()) {
            calls.entry(call.message_id.clone()).or_default().push(call);
        }
        calls
    }
}

/// How a run goes that nobody disturbs.
struct Calm {
    /// From the start of the process until the run is about to be written down.
    first: Duration,
    /// From the start of the process to its end.
    last: Duration,
    result: Value,
}

impl Calm {
    async fn watch(steps: &[Step], streaming: bool) -> Self {
        let stage = Stage::set(steps, streaming).await;
        let started = Instant::now();
        let mut process = stage.start();
        process.until("run").await;
        let first = started.elapsed().mul_f32(0.8);
        let done = process.end().await.exits(0);
        let last = started.elapsed();
        let sent = stage.calls();
        assert_eq!(sent.len(), steps.len(), "one Message a step");
        assert!(sent.values().all(|calls| calls.len() == 1), "{sent:?}");
        Self { first, last, result: comparable(&done.json()) }
    }

    /// An instant at which the run is under way, probably.
    fn draw(&self, draw: &mut Draw) -> Duration {
        self.first + draw.within(self.last.saturating_sub(self.first))
    }

    /// Learns from a kill that came before the run was written down.
    fn was_too_early(&mut self, instant: Duration) {
        self.first = (self.first + instant) / 2;
    }

    /// Learns from a kill that would have come after the run's end.
    fn was_too_late(&mut self, ended: Duration) {
        self.last = ended.max(self.first);
    }
}

/// What two runs of one workflow have in common: everything but ids.
fn comparable(report: &Value) -> Value {
    let artifacts = |artifacts: &Value| -> Vec<Value> {
        let artifacts = artifacts.as_array().into_iter().flatten();
        artifacts.map(|it| json!([it["name"], it["parts"]])).collect()
    };
    let steps = report["steps"].as_array().expect("steps").iter().map(|step| {
        let artifacts = artifacts(&step["artifacts"]);
        json!([step["step"], step["state"], step["attempts"], step["agent"], artifacts])
    });
    json!({
        "state": report["state"],
        "outputs": artifacts(&report["outputs"]),
        "steps": steps.collect::<Vec<_>>(),
    })
}

/// Kills runs of one workflow until its share of the kills has hit a living run.
async fn series(name: &str, steps: &[Step], streaming: bool) {
    let kills = setting("CONVOKE_KILLS").map_or(KILLS, |kills| u32::try_from(kills).expect("few"));
    let wanted = kills.div_ceil(SERIES);
    let seed = setting("CONVOKE_SEED").unwrap_or_else(random_seed);
    let mut draw = Draw(seed);
    let mut calm = Calm::watch(steps, streaming).await;
    let (mut kills, mut runs) = (0, 0);
    while kills < wanted {
        runs += 1;
        assert!(runs <= 20 + 5 * wanted, "{name}: kills keep missing the run; CONVOKE_SEED={seed}");
        let stage = Stage::set(steps, streaming).await;
        let about = format!("{name}, run {runs}, CONVOKE_SEED={seed}");
        kills += Case { stage, calm: &mut calm, about }.play(&mut draw).await;
    }
    println!("{name}: {kills} kills in {runs} runs, CONVOKE_SEED={seed}");
}

fn setting(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{value}`")))
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one("seed")
}

/// SplitMix64: a seed makes the same draws for ever.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^ (drawn >> 31)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.next().is_multiple_of(many)
    }

    fn within(&mut self, span: Duration) -> Duration {
        let micros = u64::try_from(span.as_micros()).expect("spans here are short").max(1);
        Duration::from_micros(self.next() % micros)
    }
}

/// One run that is killed, perhaps more than once.
struct Case<'a> {
    stage: Stage,
    calm: &'a mut Calm,
    about: String,
}

/// What was known at the time of a kill.
struct Snapshot {
    journal: Journal,
    calls: BTreeMap<String, Vec<ReceivedCall>>,
}

impl Case<'_> {
    /// Plays one case and returns how many kills hit a run.
    async fn play(self, draw: &mut Draw) -> u32 {
        let mut instant = Some(self.calm.draw(draw));
        let started = Instant::now();
        let mut process = self.stage.start();
        let mut kills = Vec::new();
        loop {
            let done = match instant {
                Some(instant) => kill_after(process, instant).await,
                None => Some(process.end().await),
            };
            if let Some(done) = done {
                if kills.is_empty() {
                    self.calm.was_too_late(started.elapsed());
                }
                self.judge(&done.exits(0).json(), &kills).await;
                break;
            }
            let calls = self.stage.calls();
            let Some(journal) = Journal::read(&self.stage.convoke.data()).await else {
                assert!(calls.is_empty(), "{}: sent before it was written down", self.about);
                self.calm.was_too_early(instant.unwrap_or_default());
                break;
            };
            process = self.stage.convoke.start(["--json", "run", "--resume", &journal.run]);
            kills.push(Snapshot { journal, calls });
            let again = kills.len() < KILLS_OF_ONE_RUN && draw.one_in(3);
            instant = again.then(|| self.calm.draw(draw));
        }
        u32::try_from(kills.len()).expect("few")
    }

    /// Compares the end of the run with an undisturbed one, and what was sent with the journal at
    /// each kill.
    async fn judge(&self, report: &Value, kills: &[Snapshot]) {
        let about = &self.about;
        assert_eq!(comparable(report), self.calm.result, "{about}: another result");
        let Some(journal) = Journal::read(&self.stage.convoke.data()).await else {
            panic!("{about}: the run is gone");
        };
        assert_eq!(journal.count("run_finished"), 1, "{about}");
        let attempts = journal.attempts();
        let calls = self.stage.calls();
        for (id, sent) in &calls {
            assert!(attempts.contains_key(id), "{about}: sent without an intent: {sent:?}");
            let is_same = sent.iter().all(|call| call.text == sent[0].text);
            assert!(is_same, "{about}: one messageId, two Messages: {sent:?}");
        }
        for (id, attempt) in &attempts {
            let sent = calls.get(id).map_or(0, Vec::len);
            assert!(attempt.is_answered, "{about}: {attempt:?} was never answered");
            // Each kill may have cost the answer once.
            let may_be = 1..=1 + kills.len();
            assert!(may_be.contains(&sent), "{about}: {attempt:?} was sent {sent} times");
        }
        for kill in kills {
            for (id, attempt) in kill.journal.attempts() {
                assert_eq!(attempts[&id].step, attempt.step, "{about}");
                if attempt.is_answered {
                    let before = kill.calls.get(&id).map_or(0, Vec::len);
                    let after = calls.get(&id).map_or(0, Vec::len);
                    assert_eq!(after, before, "{about}: {attempt:?} was sent again");
                }
            }
        }
    }
}

/// Kills a process after a while; returns how it ended when it was faster.
async fn kill_after(mut process: Process, after: Duration) -> Option<Done> {
    tokio::select! {
        () = tokio::time::sleep(after) => {
            process.kill().await;
            None
        }
        done = process.done() => Some(done),
    }
}
