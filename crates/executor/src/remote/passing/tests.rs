use std::collections::BTreeMap;

use document::Source;
use planner::Workflow;
use protocol::v1::{AgentCard, AgentInterface, Part};
use registry::{Agent, CardDigest, Index};
use serde_json::json;

use super::*;
use crate::remote::Follower;

/// An agent on one side, whoever follows the run on the other.
struct Between {
    passing: Passing,
    agent: Aggregator,
    followers: Aggregator,
    /// What was told, each as its id, whether it appends, and its texts.
    told: Vec<String>,
    parts: usize,
}

impl Between {
    fn new(outputs: &str) -> Self {
        Self::after(outputs, None)
    }

    /// A client that takes these media types only.
    fn accepting(outputs: &str, accepts: &[&str]) -> Self {
        let mut between = Self::new(outputs);
        between.passing.accepts = accepts.iter().map(|it| (*it).to_owned()).collect();
        between
    }

    /// A later flight of an attempt, of which so much has gone on.
    fn after(outputs: &str, passed: Option<&Aggregator>) -> Self {
        let plan = Arc::new(plan(outputs));
        let through = PassThrough::of(&plan.workflow).remove(0);
        let agent = plan.bindings[0].as_ref().expect("it has an agent").agent.clone();
        let step = StepId::new("a");
        let passing = Passing::new(&plan, &agent, step, &through, &[], passed).expect("it passes");
        let followers = passed.cloned().unwrap_or_default();
        Self { passing, agent: Aggregator::default(), followers, told: Vec::new(), parts: 0 }
    }

    fn chunk(&mut self, update: &TaskArtifactUpdateEvent) {
        let change = self.agent.apply(update).unwrap();
        self.passing.piece(Some(&task()), &self.agent, update, change);
        self.tell(false);
    }

    fn snapshot(&mut self, artifacts: Vec<Artifact>, is_over: bool) {
        self.agent.replace_all(artifacts);
        self.passing.snapshot(Some(&task()), &self.agent, is_over);
        self.tell(is_over);
    }

    fn tell(&mut self, is_over: bool) {
        for update in self.passing.take(is_over) {
            self.followers.apply(&update).unwrap();
            let artifact = update.artifact.as_ref().unwrap();
            let how = if update.append { "+" } else { "=" };
            let end = if update.last_chunk { "." } else { "" };
            self.parts += artifact.parts.len();
            self.told.push(format!("{}{how}{}{end}", artifact.artifact_id, artifact.text()));
        }
    }

    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }
}

fn plan(outputs: &str) -> Plan {
    let yaml = format!("convoke: 1\nname: w\nsteps:\n  a: {{agent: x, message: hi}}\n{outputs}");
    let workflow: Workflow = planner::check(&Source::new("w.yaml", &yaml)).unwrap();
    let interface = AgentInterface {
        url: "http://127.0.0.1:1".to_owned(),
        protocol_binding: "JSONRPC".to_owned(),
        protocol_version: "1.0".to_owned(),
        ..AgentInterface::default()
    };
    let card = AgentCard { supported_interfaces: vec![interface], ..AgentCard::default() };
    let agent = Agent::new("x", "http://127.0.0.1:1", card, CardDigest::of(&json!({})));
    let index = Index::new([Arc::new(agent)]);
    planner::bind(Arc::new(workflow), &index, &BTreeMap::new()).unwrap()
}

fn task() -> RemoteTask {
    RemoteTask { task_id: "t".to_owned(), context_id: "c".to_owned(), interface: None }
}

const ONE: &str = "outputs: {o: {value: '${{ steps.a.artifacts.draft }}'}}\n";

fn artifact(id: &str, name: &str, texts: &[&str]) -> Artifact {
    Artifact::new(id, name, texts.iter().map(|text| Part::text(*text)).collect())
}

fn update(id: &str, name: &str, text: &str, append: bool) -> TaskArtifactUpdateEvent {
    let artifact = Some(artifact(id, name, &[text]));
    TaskArtifactUpdateEvent { artifact, append, ..Default::default() }
}

#[test]
fn chunks_go_on_one_by_one_under_ids_that_outlive_the_attempt() {
    let mut between = Between::new("");
    between.chunk(&update("7f3e", "draft", "1", false));
    between.chunk(&update("7f3e", "", "2", true));
    between.chunk(&update("0a91", "log", "x", true));
    let last = update("7f3e", "", "3", true);
    between.chunk(&TaskArtifactUpdateEvent { last_chunk: true, ..last });
    between.chunk(&update("7f3e", "draft", "anew", false));
    assert_eq!(between.told(), ["a/1=1", "a/1+2", "a/2=x", "a/1+3.", "a/1=anew"]);
    let parts = &between.followers.get("a/1").unwrap().parts;
    let origin = json!({"artifactId": "7f3e", "taskId": "t", "step": "a", "agent": "x"});
    assert_eq!(serde_json::to_value(&parts[0].metadata).unwrap(), origin);
}

#[test]
fn an_output_follows_the_newest_artifact_of_its_name() {
    let mut between = Between::new(ONE);
    between.chunk(&update("1", "log", "x", false));
    between.chunk(&update("2", "draft", "a", false));
    between.chunk(&update("3", "draft", "b", false));
    between.chunk(&update("2", "", "old", true));
    between.chunk(&update("3", "", "c", true));
    assert_eq!(between.told(), ["o=a", "o=b", "o+c"]);
}

#[test]
fn an_artifact_that_is_named_late_goes_on_whole_from_there() {
    let mut between = Between::new(ONE);
    between.chunk(&update("1", "", "a", false));
    assert_eq!(between.told(), [""; 0]);
    between.chunk(&update("1", "draft", "b", true));
    between.chunk(&update("1", "", "c", true));
    assert_eq!(between.told(), ["o=ab", "o+c"]);
}

#[test]
fn of_a_task_that_comes_whole_only_the_difference_goes_on() {
    let mut between = Between::new("");
    between.snapshot(vec![artifact("1", "draft", &["a"])], false);
    between.snapshot(vec![artifact("1", "draft", &["a"])], false);
    between.snapshot(vec![artifact("1", "draft", &["a", "b", "c"])], false);
    between.chunk(&update("1", "", "d", true));
    between.snapshot(vec![artifact("1", "draft", &["a", "other"])], false);
    between.snapshot(vec![artifact("1", "renamed", &["a", "other"])], false);
    between.snapshot(vec![artifact("1", "renamed", &["a", "other", "end"])], true);
    let told = ["a/1=a", "a/1+bc", "a/1+d", "a/1=aother", "a/1=aother", "a/1+end."];
    assert_eq!(between.told(), told);
    assert_eq!(between.followers.artifacts()[0].name, "renamed");
}

#[test]
fn a_later_flight_goes_on_from_what_has_gone_on() {
    let mut before = Between::new("");
    before.chunk(&update("1", "draft", "a", false));
    before.chunk(&update("1", "", "b", true));
    let passed = before.followers;

    let mut same = Between::after("", Some(&passed));
    same.snapshot(vec![artifact("1", "draft", &["a", "b"])], false);
    same.chunk(&update("1", "", "c", true));
    assert_eq!(same.told(), ["a/1+c"]);

    let mut ahead = Between::after("", Some(&passed));
    ahead.snapshot(vec![artifact("1", "draft", &["a", "b", "c"])], true);
    assert_eq!(ahead.told(), ["a/1+c."]);

    let mut other = Between::after("", Some(&passed));
    other.snapshot(vec![artifact("1", "draft", &["x", "b", "c"])], false);
    assert_eq!(other.told(), ["a/1=xbc"]);
}

#[test]
fn a_task_that_is_over_when_it_is_first_seen_is_told_as_a_whole_later() {
    let mut between = Between::new("");
    between.snapshot(vec![artifact("1", "draft", &["a"])], true);
    assert_eq!(between.told(), [""; 0]);
}

#[test]
fn ten_thousand_chunks_cost_ten_thousand_parts_streamed_or_polled() {
    const CHUNKS: usize = 10_000;
    let mut streamed = Between::new("");
    for n in 0..CHUNKS {
        streamed.chunk(&update("1", "draft", &n.to_string(), true));
    }
    assert_eq!((streamed.told.len(), streamed.parts), (CHUNKS, CHUNKS));

    let whole = streamed.agent.artifacts()[0].clone();
    let mut polled = Between::new("");
    for n in (0..=CHUNKS).step_by(500) {
        let parts = whole.parts[..n].to_vec();
        polled.snapshot(vec![Artifact { parts, ..whole.clone() }], false);
    }
    assert_eq!(polled.parts, CHUNKS);
    assert_eq!(polled.followers.artifacts(), streamed.followers.artifacts());
}

#[test]
fn no_more_goes_on_than_a_result_may_hold() {
    let mut passing = Between::new("").passing;
    assert!(passing.spend(MAX_VALUE_BYTES - 1));
    assert!(!passing.spend(1));
    assert!(!passing.spend(usize::MAX));

    let mut follower = Follower::default().passing(Some(Between::new("").passing));
    let mut chunks = |bytes| {
        follower.absorb(update("1", "draft", "more", true).into());
        let chunks = follower.take_chunks(None).len();
        follower.spend(bytes);
        chunks
    };
    assert_eq!([chunks(MAX_VALUE_BYTES - 1), chunks(1), chunks(1)], [1, 1, 0]);
}

#[test]
fn what_the_client_does_not_accept_as_it_is_is_left_to_the_end() {
    let chunk = |append: bool| TaskArtifactUpdateEvent {
        artifact: Some(artifact("x", "draft", &["text"])),
        append,
        ..Default::default()
    };
    let mut text = Between::accepting(ONE, &["text/*"]);
    text.chunk(&chunk(false));
    assert_eq!(text.told(), ["o=text"]);
    let mut picture = Between::accepting(ONE, &["image/png"]);
    picture.chunk(&chunk(false));
    picture.chunk(&chunk(true));
    assert_eq!(picture.told(), [""; 0]);
}
