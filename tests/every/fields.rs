//! One row for each field of the workflow language: a workflow that shows what the field does.
//!
//! `cargo xtask mutate-fields` has the reader of the files ignore one field after the other, and the row
//! of that field has to fail.

mod inputs;
mod rows;
mod selectors;
mod whole;

use std::collections::BTreeSet;

use jiff::Timestamp;
use planner::language::Place;
use protocol::v1::TaskState;
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{Answer, Request, Scripted, completed, example, task},
    convoke::{Convoke, Done},
};
use tokio::time::timeout;

use crate::served::{Served, said};

/// A workflow that others may use.
const OTHER: &str = "
convoke: 1
name: other
inputs: {q: {default: it}}
steps: {a: {set: {q: '${{ inputs.q }}'}}}
outputs: {o: {value: 'other said ${{ steps.a.data.q }}'}}
";

/// Names one field: its row alone is looked at.
const ONLY: &str = "CONVOKE_FIELD";
/// What stands in front of the fields whose rows failed; `cargo xtask mutate-fields` looks for it.
const MISSED: &str = "no effect of these fields is seen:";

/// A workflow, what is done with it, and what of that shows that the field was read.
struct Row {
    /// As in `step.timeout`.
    field: &'static str,
    act: Act,
    /// What follows `convoke: 1`, `name: w` and `agents`; `URL` stands for where the agent is.
    file: &'static str,
    shows: fn(&Seen) -> bool,
}

enum Act {
    /// `convoke plan --json` of the whole file as it stands.
    Plan,
    /// `convoke run --json` with further arguments.
    Run(&'static [&'static str]),
    /// `convoke run --json` two times, of which the second one counts.
    Twice,
    /// `convoke run`, then the events of that run.
    Watch,
    /// `convoke serve`, then its card.
    Serve,
    /// `convoke run`, which waits, then `convoke runs reply` with this.
    Reply(&'static str),
    /// `convoke serve` with callbacks, then a Message that starts a run, until that has ended.
    One,
    /// `convoke serve`, then two Messages with different texts that start runs.
    Two,
}

/// What came of it.
struct Seen {
    done: Done,
    /// What stdout holds, where that is JSON.
    json: Value,
    /// The Messages that the agent was sent.
    sent: Vec<Value>,
    /// What stood beside each of them.
    configured: Vec<Value>,
    /// The states of the Tasks of the Messages that were sent here.
    states: Vec<TaskState>,
    /// Milliseconds from each failed attempt to the next.
    waits: Vec<i64>,
}

impl Seen {
    fn step(&self, id: &str) -> &Value {
        let steps = self.json["steps"].as_array();
        let step = steps
            .and_then(|steps| steps.iter().find(|step| step["step"] == id || step["id"] == id));
        step.unwrap_or(&Value::Null)
    }

    /// The first Part of the Message that was sent last.
    fn part(&self) -> &Value {
        self.sent.last().map_or(&Value::Null, |message| &message["parts"][0])
    }

    /// The one output.
    fn output(&self) -> &Value {
        &self.json["outputs"][0]
    }
}

/// Says it has done what it was told; fails as often as the text says, works for ever, or says nothing.
fn answer(request: &Request) -> Answer {
    let id = request.params["id"].as_str().unwrap_or_default();
    match request.method.as_str() {
        "SendMessage" => {}
        "GetTask" => return request.result(&task(id, "WORKING")),
        "CancelTask" => return request.result(&task(id, "CANCELED")),
        _ => return request.error(-32601, "not here"),
    }
    let text = request.params["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    if text == "silence" {
        return Answer::Never;
    }
    let failures = text.strip_prefix("fail ").and_then(|times| times.parse::<usize>().ok());
    let id = format!("t{}", request.before);
    request.result(&json!({"task": match failures {
        None if text == "never" => task(&id, "WORKING"),
        Some(times) if request.before < times => task(&id, "FAILED"),
        _ => completed(&id, &format!("did {text}")),
    }}))
}

async fn see(row: &Row) -> Seen {
    let agent = match row.act {
        Act::One => Scripted::telling(answer).await,
        _ => Scripted::polled(answer).await,
    };
    let convoke = Convoke::default();
    let whole = row.file.starts_with("convoke:");
    let head = format!("convoke: 1\nname: w\nagents: {{it: {{url: \"{}\"}}}}\n", agent.url);
    let file = row.file.replace("URL", &agent.url);
    convoke.write("workflows/w.yaml", if whole { file } else { head + &file });
    // A server with two workflows has to be told which one a Message starts.
    if row.file.contains("workflow: other") {
        convoke.write("workflows/other.yaml", OTHER);
    }
    let mut states = Vec::new();
    let done = match row.act {
        Act::Plan => convoke.run(["--json", "plan", "w"]).await,
        Act::Run(args) => convoke.run(["--json", "run", "w"].iter().chain(args)).await,
        Act::Twice => {
            convoke.run(["run", "w"]).await;
            convoke.run(["--json", "run", "w"]).await
        }
        Act::Watch => {
            convoke.run(["run", "w"]).await;
            let runs = convoke.run(["--json", "runs", "list"]).await.json();
            convoke.run(["--json", "runs", "watch", runs[0]["id"].as_str().unwrap_or("")]).await
        }
        Act::Serve => {
            let served = Served::start(&convoke).await;
            let card = served.get("/.well-known/agent-card.json", "127.0.0.1").await;
            let (_, body) = card.split_once("\r\n\r\n").expect("an answer of HTTP");
            Done { code: 0, stdout: body.to_owned(), stderr: String::new() }
        }
        Act::Reply(text) => {
            convoke.run(["run", "w"]).await;
            let runs = convoke.run(["--json", "runs", "list"]).await.json();
            convoke.run(["runs", "reply", runs[0]["id"].as_str().unwrap_or(""), text]).await
        }
        Act::One => {
            states = vec![one(&convoke).await];
            Done { code: 0, stdout: String::new(), stderr: String::new() }
        }
        Act::Two => {
            states = two(&convoke).await;
            Done { code: 0, stdout: String::new(), stderr: String::new() }
        }
    };
    let sent = agent.received("SendMessage").into_iter().map(|it| it.params);
    let (sent, configured) =
        sent.map(|it| (it["message"].clone(), it["configuration"].clone())).unzip();
    Seen {
        json: serde_json::from_str(&done.stdout).unwrap_or_default(),
        sent,
        configured,
        states,
        waits: waits(&done.stdout),
        done,
    }
}

/// The state in which the Task of a Message ends, or the one in which it stays.
async fn one(convoke: &Convoke) -> TaskState {
    let served = Served::with(convoke, &["--set", "push.callbacks=on"]).await;
    let task = served.send(said("one"), true).await;
    let over = async {
        loop {
            let state = served.task(&task.id).await.state();
            if state.is_terminal() {
                break state;
            }
        }
    };
    timeout(PATIENCE, over).await.unwrap_or(TaskState::Working)
}

/// The states of the Tasks of two Messages, the second sent when the first is worked on.
async fn two(convoke: &Convoke) -> Vec<TaskState> {
    let served = Served::start(convoke).await;
    let mut states = Vec::new();
    for text in ["one", "other"] {
        let task = served.send(said(text), true).await;
        let begun = async {
            loop {
                match served.task(&task.id).await.state() {
                    TaskState::Submitted => tokio::task::yield_now().await,
                    state => break state,
                }
            }
        };
        // One that waits for its turn is left alone.
        states.push(timeout(PATIENCE, begun).await.unwrap_or(TaskState::Submitted));
    }
    states
}

/// Of the lines of `runs watch --json`.
fn waits(lines: &str) -> Vec<i64> {
    let time = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
    let lines = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines
        .filter_map(|line| {
            let waited = time(&line["retry_at"])?.duration_since(time(&line["at"])?);
            i64::try_from(waited.as_millis()).ok()
        })
        .collect()
}

fn all() -> impl Iterator<Item = &'static Row> {
    rows::ROWS.iter().chain(&whole::ROWS).chain(&selectors::ROWS).chain(&inputs::ROWS)
}

#[test]
fn every_field_of_the_language_has_a_row() {
    let fields: BTreeSet<String> = Place::ALL
        .into_iter()
        .flat_map(|place| place.keys().map(move |key| format!("{}.{key}", place.name())))
        .filter(|field| !inputs::UNFELT.contains(&field.as_str()))
        .collect();
    let rows: BTreeSet<String> = all().map(|row| row.field.to_owned()).collect();
    // `cargo xtask mutate-fields` reads them.
    rows.iter().for_each(|row| println!("field {row}"));
    assert_eq!(rows, fields, "the rows of tests/every/fields beside the table of the language");
    assert_eq!(all().count(), rows.len(), "a field has two rows");
}

#[tokio::test]
async fn every_field_does_what_its_row_shows() {
    let only = std::env::var(ONLY).ok();
    let chosen: Vec<&Row> =
        all().filter(|row| only.as_ref().is_none_or(|only| row.field == only)).collect();
    assert!(!chosen.is_empty(), "there is no row of {only:?}");
    let mut missed = Vec::new();
    for row in chosen {
        let seen = see(row).await;
        if !(row.shows)(&seen) {
            let Seen { done, sent, .. } = seen;
            missed.push(format!("{} in\n{}\nsent: {sent:?}\n{done:?}", row.field, row.file));
        }
    }
    assert!(missed.is_empty(), "{MISSED} {}", missed.join("\n\n"));
}

#[tokio::test]
async fn what_ships_ignores_no_field_that_the_environment_names() {
    if std::env::var_os(ONLY).is_some() {
        // The binary under test is one that does.
        return;
    }
    let convoke = Convoke::default();
    convoke.write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: x}}\n");
    let mut command = convoke.command(["validate", "w.yaml"]);
    command.env("CONVOKE_DROP_FIELD", "workflow.steps");
    tests::convoke::finish(command).await.exits(0);
}

#[tokio::test]
async fn a_selector_tells_agents_apart_by_each_of_its_fields() {
    let agents = [examples::Kind::Hotels, examples::Kind::Flights];
    let [hotels, flights] = agents.map(|kind| example(kind, examples::Options::default()));
    let (hotels, flights) = (hotels.await, flights.await);
    let convoke = Convoke::default();
    for (selector, agent) in [
        ("{name: b, tags: [booking]}", "b"),
        ("{skill: book_flight, tags: [booking]}", "b"),
        ("{tags: [booking]}", "a"),
    ] {
        convoke.write(
            "w.yaml",
            format!(
                "convoke: 1\nname: w\nagents: {{a: {{url: \"{}\"}}, b: {{url: \"{}\"}}}}\nsteps: {{s: {{agent: {selector}}}}}\n",
                hotels.url, flights.url
            ),
        );
        let plan = convoke.run(["--json", "plan", "w.yaml"]).await.exits(0).json();
        assert_eq!(plan["steps"][0]["agent"], agent, "{selector}");
    }
}
