//! What is killed: workflows of six shapes, and the agents that they call.

use std::time::Duration;

use examples::{Kind, Options, Running};
use protocol::{
    card::Binding,
    client::{Client, Interface},
    outbound::{Outbound, Policy},
    v1::{ListTasksRequest, Task},
};
use serde_json::json;
use tests::{PATIENCE, agent::example, convoke::Convoke};

use super::Calls;

const AGENTS: [(&str, Kind); 4] =
    [("slow", Kind::Slow), ("chunks", Kind::Chunks), ("echo", Kind::Echo), ("asks", Kind::Asks)];
/// How many questions an agent has that asks.
const TURNS: u32 = 2;
/// For how many items a step runs that has some.
const ITEMS: usize = 8;

/// The shapes of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Chain,
    Diamond,
    FanOut,
    /// A step runs once for each of some items, a few of them at once.
    ForEach,
    /// Two steps ask twice each, side by side, while a third one goes on.
    Pauses,
    /// It never ends by itself: two steps work, one asks, one has ended, and one waits for one that works.
    Endless,
}

/// A workflow, and whether its agents stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    pub(super) shape: Shape,
    pub(super) streaming: bool,
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
    saying(words(agent), id, agent, after)
}

fn saying(words: &str, id: &str, agent: &'static str, after: &[&str]) -> Step {
    let read = after.iter().map(|step| format!(" ${{{{ steps.{step}.text }}}}"));
    (id.to_owned(), agent, format!("{words} {id}:{}", read.collect::<String>()))
}

fn fan_out() -> Vec<Step> {
    let leaves = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let agents = ["slow", "echo", "chunks"].into_iter().cycle();
    let mut steps = vec![step("root", "echo", &[])];
    steps.extend(leaves.iter().zip(agents).map(|(leaf, agent)| step(leaf, agent, &["root"])));
    steps.push(step("all", "echo", &leaves));
    steps
}

impl Shape {
    fn steps(self) -> Vec<Step> {
        match self {
            Self::Chain => vec![
                step("one", "slow", &[]),
                step("two", "echo", &["one"]),
                step("three", "chunks", &["two"]),
                step("four", "slow", &["three"]),
                step("five", "echo", &["four"]),
                step("six", "chunks", &["five"]),
            ],
            Self::Diamond => vec![
                step("top", "slow", &[]),
                step("left", "chunks", &["top"]),
                step("middle", "echo", &["top"]),
                step("right", "slow", &["top"]),
                step("bottom", "slow", &["left", "middle", "right"]),
            ],
            Self::FanOut => fan_out(),
            Self::ForEach => vec![
                step("root", "echo", &[]),
                saying("For 40ms: ${{ index }}, ${{ item }}.", "each", "slow", &["root"]),
                step("all", "chunks", &["each"]),
            ],
            Self::Pauses => vec![
                step("top", "echo", &[]),
                step("left", "asks", &["top"]),
                step("right", "asks", &["top"]),
                step("beside", "slow", &["top"]),
                step("after", "chunks", &["left"]),
                step("bottom", "echo", &["after", "right", "beside"]),
            ],
            Self::Endless => vec![
                step("quick", "echo", &[]),
                saying("For 90s.", "early", "slow", &[]),
                saying("For 90s.", "late", "slow", &["quick"]),
                step("question", "asks", &["quick"]),
                step("never", "echo", &["late"]),
            ],
        }
    }

    /// What else a step has.
    fn fields(self, id: &str) -> &'static str {
        match (self, id) {
            (Self::ForEach, "each") => ", for_each: [a, b, c, d, e, f, g, h], concurrency: 3",
            _ => "",
        }
    }

    /// How many Messages begin an attempt when nobody disturbs.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Endless => self.steps().len() - 1,
            Self::ForEach => self.steps().len() - 1 + ITEMS,
            _ => self.steps().len(),
        }
    }
}

/// A fresh set of agents, a workflow for them, and a data folder.
pub(super) struct Stage {
    pub(super) convoke: Convoke,
    agents: Vec<Running>,
}

/// Where the workflow lies: in the folder from which `serve` reads.
pub(super) const FILE: &str = "workflows/killed.yaml";

impl Scene {
    pub(super) async fn set(self) -> Stage {
        let steps = self.shape.steps();
        let mut agents = Vec::new();
        let mut workflow = "convoke: 1\nname: killed\nagents:\n".to_owned();
        let is_called = |name: &str| steps.iter().any(|(_, agent, _)| *agent == name);
        for (name, kind) in AGENTS.into_iter().filter(|(name, _)| is_called(name)) {
            let pace = Some(Duration::from_millis(40));
            let options = Options { pace, turns: TURNS, ..Options::default() };
            let agent = example(kind, Options { streaming: self.streaming, ..options }).await;
            workflow += &format!("  {name}: {{url: \"{}\"}}\n", agent.url);
            agents.push(agent);
        }
        workflow += "steps:\n";
        for (id, agent, message) in &steps {
            let fields = self.shape.fields(id);
            workflow +=
                &format!("  {id}: {{agent: {agent}, message: {}{fields}}}\n", json!(message));
        }
        workflow += "outputs:\n";
        for (id, ..) in &steps {
            workflow += &format!("  {id}: {{value: \"${{{{ steps.{id}.text }}}}\"}}\n");
        }
        let convoke = Convoke::default();
        convoke.write(FILE, workflow);
        Stage { convoke, agents }
    }
}

impl Stage {
    pub(super) fn calls(&self) -> Calls {
        let mut calls = Calls::new();
        for call in self.agents.iter().flat_map(|agent| agent.calls.all()) {
            calls.entry(call.message_id.clone()).or_default().push(call);
        }
        calls
    }

    /// All Tasks that the agents have.
    pub(super) async fn tasks(&self) -> Vec<(Kind, Task)> {
        let mut tasks = Vec::new();
        for agent in &self.agents {
            let request = ListTasksRequest { page_size: Some(100), ..Default::default() };
            let page = client(&agent.url).list_tasks(request, PATIENCE).await.expect("a list");
            assert_eq!(page.next_page_token, "", "one page holds them all");
            tasks.extend(page.tasks.into_iter().map(|task| (agent.kind, task)));
        }
        tasks
    }
}

/// A client of an agent here, over JSON-RPC.
pub(super) fn client(url: &str) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client");
    let interface = Interface {
        url: url.to_owned(),
        binding: Binding::JsonRpc,
        tenant: String::new(),
        version: "1.0".to_owned(),
    };
    Client::new(outbound, interface).expect("a client")
}

/// What a person answers to a question of a step. An answer that reached another Task, or came twice, would show.
pub(super) fn answer(step: &str, question: &str) -> String {
    format!("{step} to {question}")
}
