//! Every workflow of `workflows/` runs with the example agents as its file stands.

use std::path::{Path, PathBuf};

use examples::{Kind, Options, Running};
use serde_json::{Value, json};
use tests::{
    agent::example,
    convoke::{Convoke, Done},
};

/// The example agents, approved in a directory.
struct Desk {
    convoke: Convoke,
    agents: Vec<Running>,
}

impl Desk {
    /// Starts agents of these kinds.
    async fn with(kinds: impl IntoIterator<Item = Kind>) -> Desk {
        let convoke = Convoke::default();
        let mut agents = Vec::new();
        for kind in kinds {
            let options = Options { failures: 1, ..Options::default() };
            let agent = example(kind, options).await;
            let _added = convoke.run(["agents", "add", &agent.url, "--approve"]).await.exits(0);
            agents.push(agent);
        }
        Desk { convoke, agents }
    }

    async fn run(&self, name: &str, more: &[&str]) -> Done {
        let file = file(name);
        let file = file.to_str().expect("it is UTF-8");
        self.convoke.run([&["--json", "run", file], more].concat()).await
    }

    /// What came of a run that completes, by the names of its outputs.
    async fn outputs(&self, name: &str, more: &[&str]) -> Value {
        outputs(&self.run(name, more).await.exits(0))
    }

    fn calls(&self, kind: Kind) -> usize {
        self.agents.iter().find(|it| it.kind == kind).map_or(0, |it| it.calls.count())
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workflows").join(format!("{name}.yaml"))
}

/// The run that a command began, which says so first.
fn run_of(done: &Done) -> String {
    let line = done.stderr.lines().find(|line| line.contains(" run "));
    let id = line.and_then(|line| line.split_whitespace().nth(2));
    id.unwrap_or_else(|| panic!("no run: {done:?}")).to_owned()
}

/// Text where an output is text, else its data.
fn outputs(done: &Done) -> Value {
    let told = done.json();
    let outputs = told["outputs"].as_array().unwrap_or_else(|| panic!("{told:#}"));
    outputs
        .iter()
        .map(|output| {
            let part = &output["parts"][0];
            let value = part.get("text").or_else(|| part.get("data")).cloned();
            (output["name"].as_str().expect("a name").to_owned(), value.unwrap_or_default())
        })
        .collect()
}

#[tokio::test]
async fn translation_gives_every_language_in_the_order_of_the_list() {
    let desk = Desk::with([Kind::Writer]).await;
    let said = ["-m", "Closed on Mondays.", "-i", "languages=[\"German\", \"Finnish\"]"];
    let outputs = desk.outputs("translation", &said).await;
    assert_eq!(outputs["text"], "[German] Closed on Mondays.\n[Finnish] Closed on Mondays.");
    assert_eq!(outputs["translations"], json!([{"language": "German"}, {"language": "Finnish"}]));
    assert_eq!(desk.calls(Kind::Writer), 2);
}

#[tokio::test]
async fn the_report_of_the_night_sums_up_each_topic_and_is_told() {
    let desk = Desk::with([Kind::Echo, Kind::Writer, Kind::Notifier]).await;
    let outputs = desk.outputs("nightly-report", &[]).await;
    let report = outputs["report"].as_str().expect("a text");
    assert!(report.starts_with("Report of "), "{report}");
    for topic in ["sea ice", "shipping", "weather"] {
        assert!(
            report.contains(&format!("- What is new about {topic} since yesterday?")),
            "{report}"
        );
    }
    assert_eq!((desk.calls(Kind::Echo), desk.calls(Kind::Notifier)), (3, 1));
}

#[tokio::test]
async fn research_asks_three_times_and_writes_one_article() {
    let desk = Desk::with([Kind::Echo]).await;
    let outputs = desk.outputs("research", &["-m", "sea ice"]).await;
    let article = outputs["article"].as_str().expect("a text");
    for side in ["history", "known about", "in dispute"] {
        assert!(article.contains(side), "{article}");
    }
    assert_eq!(desk.calls(Kind::Echo), 4);
}

#[tokio::test]
async fn a_draft_is_refined_until_it_is_good_and_reviewed_by_somebody_else() {
    let desk = Desk::with([Kind::Writer]).await;
    let outputs = desk.outputs("draft-and-refine", &["-m", "a notice"]).await;
    assert_eq!(outputs["article"], "Draft 3: a notice: name a source");
    assert_eq!(outputs["findings"], json!([]));
    assert_eq!(desk.calls(Kind::Writer), 4, "three rounds and a review");
    let early = desk.outputs("draft-and-refine", &["-m", "a notice", "-i", "score=5"]).await;
    assert_eq!(early["article"], "Draft 1: a notice");
}

#[tokio::test]
async fn a_draft_that_never_becomes_good_is_said_to_be_so() {
    let desk = Desk::with([Kind::Writer]).await;
    let file = std::fs::read_to_string(file("draft-and-refine")).expect("it is there");
    desk.convoke.write("strict.yaml", file.replace("max: 5", "max: 2"));
    let failed = desk.convoke.run(["run", "strict.yaml", "-m", "a notice"]).await.exits(1);
    assert!(failed.stderr.contains("was false in all of 2 rounds"), "{}", failed.stderr);
}

#[tokio::test]
async fn data_that_does_not_fit_is_asked_for_again() {
    let desk = Desk::with([Kind::Extractor]).await;
    let invoice = "Vendor: Acme\nDate: 2027-03-06\nTotal: 12.5";
    let outputs = desk.outputs("extraction", &["-m", invoice]).await;
    assert_eq!(outputs["invoice"], json!({"vendor": "Acme", "date": "2027-03-06", "total": 12.5}));
    assert_eq!(desk.calls(Kind::Extractor), 2, "the first answer lacked the total");
    let lacking = desk.run("extraction", &["-m", "Vendor: Acme\nTotal: 12.5"]).await.exits(1);
    assert!(lacking.stderr.contains("date"), "{}", lacking.stderr);
    assert_eq!(desk.calls(Kind::Extractor), 6, "four attempts more");
}

#[tokio::test]
async fn an_incident_goes_to_whoever_takes_it() {
    let desk = Desk::with([Kind::Specialist, Kind::Generalist, Kind::Notifier]).await;
    let known = desk.outputs("incident-triage", &["-m", "The database is slow"]).await;
    assert_eq!(known["diagnosis"], json!({"component": "database", "severity": 2}));
    let calls = |desk: &Desk| {
        [Kind::Specialist, Kind::Generalist, Kind::Notifier].map(|kind| desk.calls(kind))
    };
    assert_eq!(calls(&desk), [1, 0, 1]);
    let unknown = desk.outputs("incident-triage", &["-m", "The door squeaks"]).await;
    assert_eq!(unknown["diagnosis"], json!({"component": "unknown", "severity": 3}));
    assert_eq!(calls(&desk), [2, 1, 1], "it is not severe");
}

#[tokio::test]
async fn people_are_told_of_an_incident_that_nobody_could_look_into() {
    let Desk { convoke, mut agents } =
        Desk::with([Kind::Specialist, Kind::Generalist, Kind::Notifier]).await;
    let notifier = agents.pop().expect("it is the last");
    for agent in agents {
        agent.shutdown().await.expect("it stops");
    }
    let desk = Desk { convoke, agents: vec![notifier] };
    let failed = desk.run("incident-triage", &["-m", "The website is down"]).await.exits(1);
    assert!(failed.stderr.contains("step `diagnosis` failed"), "{}", failed.stderr);
    let told = desk.agents[0].calls.all();
    assert_eq!(told.len(), 1);
    assert!(told[0].text.starts_with("Nobody could look into it"), "{}", told[0].text);
    assert!(told[0].text.ends_with("The website is down"), "{}", told[0].text);
}

#[tokio::test]
async fn a_document_is_announced_once_a_person_approves_it() {
    let desk = Desk::with([Kind::Writer, Kind::Notifier]).await;
    let text = "Dogs are welcome. TODO: hours.";
    let waits = desk.run("document-review", &["-m", text]).await.exits(4);
    let run = run_of(&waits);
    let shown = desk.convoke.run(["runs", "show", &run]).await.exits(0).stdout;
    assert!(
        shown.contains(
            "waits for input: May this be published? An agent found: unfinished: TODO: hours"
        ),
        "{shown}"
    );
    let reply =
        |answer: &'static str| desk.convoke.command(["--json", "runs", "reply", &run, answer]);
    let vague = tests::convoke::finish(reply("perhaps")).await;
    assert_ne!(vague.code, 0, "{vague:?}");
    let done = tests::convoke::finish(reply(r#"{"approved": true, "remark": "fine"}"#)).await;
    let outputs = outputs(&done.exits(0));
    assert_eq!(outputs["decision"], json!({"approved": true, "remark": "fine"}));
    assert_eq!(outputs["findings"], json!(["unfinished: TODO: hours"]));
    let told = desk.agents[1].calls.all();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].text, format!("Published: {text}"));
}

#[tokio::test]
async fn a_document_that_is_not_approved_is_announced_to_nobody() {
    let desk = Desk::with([Kind::Writer, Kind::Notifier]).await;
    let waits = desk.run("document-review", &["-m", "Dogs are welcome."]).await.exits(4);
    let run = run_of(&waits);
    let reply = ["--json", "runs", "reply", &run, r#"{"approved": false}"#];
    let done = desk.convoke.run(reply).await.exits(0);
    assert_eq!(outputs(&done)["decision"], json!({"approved": false}));
    assert_eq!(desk.calls(Kind::Notifier), 0);
}
