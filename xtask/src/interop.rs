//! Convoke beside agents and clients that nobody here wrote: the Python SDK.

mod listening;
mod venv;

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

use self::{listening::Listening, venv::Venv};
use crate::{parts::Parts, process, suites::Built};

/// The workflow that puts Python and Rust agents side by side, with the addresses in its text.
const WORKFLOW: &str = "tests/interop/mixed.yaml";
const ECHO_IN_WORKFLOW: &str = "http://127.0.0.1:9104";
const STREAMING_IN_WORKFLOW: &str = "http://127.0.0.1:9191";
const PLAIN_IN_WORKFLOW: &str = "http://127.0.0.1:9192";

/// What the workflow's report reads when every artifact came through whole.
const REPORT: &str = "Streamed: Python read: Summarise. | A draft on otters.\n\
                      Plain: Python read: Summarise. | A draft on otters.";

/// Makes the venv, builds Convoke, and runs every case.
///
/// # Errors
/// When Python or its venv module is missing, or a case fails.
pub(crate) fn run() -> Result<()> {
    let venv = Venv::make()?;
    let built = Built::workspace()?;
    let peers = Peers::start(&venv, &built)?;
    let mut parts = Parts::default();
    parts.run("Python client · echo", || peers.python_client(&venv));
    for agent in [&peers.streaming, &peers.plain] {
        parts.run(&format!("card show · {}", agent.name), || peers.card(agent));
        parts.run(&format!("send · {}", agent.name), || peers.send(agent, &["--json"]));
    }
    parts.run(&format!("send --stream · {}", peers.streaming.name), || {
        peers.send(&peers.streaming, &["--stream", "--json"])
    });
    parts.run("run mixed.yaml", || peers.workflow());
    println!("\n{parts}");
    parts.verdict()
}

/// The agents of one pass, listening until they are dropped.
struct Peers {
    convoke: PathBuf,
    echo: Listening,
    streaming: Listening,
    plain: Listening,
    /// Data folder and the workflow with the agents' real addresses.
    folder: tempfile::TempDir,
}

impl Peers {
    fn start(venv: &Venv, built: &Built) -> Result<Self> {
        let agents = built.binary("example-agents")?;
        let echo = ["echo", "--listen", "127.0.0.1:0"];
        let python = "tests/interop/agent.py";
        Ok(Self {
            convoke: built.binary("convoke")?.to_owned(),
            echo: Listening::start(process::command_at(agents).args(echo))?,
            streaming: Listening::start(venv.python().arg(python))?,
            plain: Listening::start(venv.python().args([python, "--no-streaming"]))?,
            folder: tempfile::tempdir().context("cannot make a temporary folder")?,
        })
    }

    fn python_client(&self, venv: &Venv) -> Result<()> {
        let client = "tests/interop/client.py";
        process::run(venv.python().args([client, &self.echo.url]))
    }

    fn card(&self, agent: &Listening) -> Result<()> {
        let card = self.convoke(&["card", "show", &agent.url, "--json"])?;
        expect_word(&card, &agent.name)
    }

    fn send(&self, agent: &Listening, flags: &[&str]) -> Result<()> {
        let text = "hello from Convoke";
        let answer = self.convoke(&[&["send", &agent.url, text], flags].concat())?;
        // The artifact comes in two pieces: as one text when they were put together, as two
        // when the events are printed as they came.
        let pieces = texts(&answer).concat();
        if !pieces.contains(&format!("Python read: {text}")) {
            bail!("the artifact is missing or in pieces out of order: {pieces}");
        }
        expect_word(&answer, "TASK_STATE_COMPLETED")
    }

    fn workflow(&self) -> Result<()> {
        let path = process::root().join(WORKFLOW);
        let text = std::fs::read_to_string(path).context("cannot read the workflow")?;
        let text = addressed(
            &text,
            &[
                (ECHO_IN_WORKFLOW, &self.echo.url),
                (STREAMING_IN_WORKFLOW, &self.streaming.url),
                (PLAIN_IN_WORKFLOW, &self.plain.url),
            ],
        )?;
        let file = self.folder.path().join("mixed.yaml");
        std::fs::write(&file, text).context("cannot write the workflow")?;
        let file = file.to_str().context("the temporary folder's name is no text")?;
        let result = self.convoke(&["run", file, "-i", "topic=otters", "--json"])?;
        check_result(&result[0])
            .map_err(|error| anyhow!("{error}; the run printed\n{:#}", result[0]))?;
        Ok(())
    }

    /// Runs `convoke` on a data folder of its own and reads its JSON: one document, or one a line.
    fn convoke(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let data = self.folder.path().join("data");
        let mut command = process::command_at(&self.convoke);
        let printed = process::output(command.arg("--data").arg(data).args(arguments))?;
        let values = serde_json::Deserializer::from_str(&printed).into_iter::<Value>();
        let values: Result<Vec<Value>, _> = values.collect();
        let values = values.with_context(|| format!("not JSON: {printed}"))?;
        if values.is_empty() {
            bail!("`convoke {}` printed nothing", arguments.join(" "));
        }
        Ok(values)
    }
}

/// Compares what a run of the workflow printed with what the agents must have answered.
fn check_result(result: &Value) -> Result<()> {
    if result["state"] != "completed" {
        bail!("the run did not complete");
    }
    let read = json!({"texts": 2.0, "data": 0.0});
    let expected = [
        ("report", "text", json!(REPORT)),
        ("counts", "data", json!({"streamed": read, "plain": read})),
    ];
    for (name, content, value) in expected {
        let outputs = result["outputs"].as_array().into_iter().flatten();
        let mut named = outputs.filter(|output| output["name"] == name);
        let found = named.next().map(|output| &output["parts"][0][content]);
        if found != Some(&value) {
            bail!("the output `{name}` should be {value}");
        }
    }
    Ok(())
}

/// A workflow with the addresses in its text replaced by those the agents really listen on.
fn addressed(text: &str, addresses: &[(&str, &str)]) -> Result<String> {
    let mut text = text.to_owned();
    for (written, real) in addresses {
        if !text.contains(written) {
            bail!("{WORKFLOW} names no agent at {written}");
        }
        text = text.replace(written, real.trim_end_matches('/'));
    }
    Ok(text)
}

/// Every string under a key `text`, in the order they stand.
fn texts(values: &[Value]) -> Vec<&str> {
    fn gather<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| gather(value, found)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(text) if key == "text" => found.push(text),
                        value => gather(value, found),
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    values.iter().for_each(|value| gather(value, &mut found));
    found
}

fn expect_word(values: &[Value], word: &str) -> Result<()> {
    let text: String = values.iter().map(Value::to_string).collect();
    if !text.contains(word) {
        bail!("`{word}` is missing in {text}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_the_workflow_is_replaced_and_a_missing_one_is_told() {
        let workflow = std::fs::read_to_string(process::root().join(WORKFLOW)).expect("it is ours");
        let real = [
            (ECHO_IN_WORKFLOW, "http://127.0.0.1:1/"),
            (STREAMING_IN_WORKFLOW, "http://127.0.0.1:2"),
            (PLAIN_IN_WORKFLOW, "http://127.0.0.1:3"),
        ];
        let text = addressed(&workflow, &real).expect("all three are there");
        assert!(text.contains("url: \"http://127.0.0.1:1\""), "{text}");
        assert!(!text.contains(":91"), "{text}");
        let error = addressed("steps: {}", &real).expect_err("no agents");
        assert!(error.to_string().ends_with("names no agent at http://127.0.0.1:9104"));
    }

    #[test]
    fn a_result_with_an_output_missing_or_changed_is_told() {
        let read = json!({"texts": 2.0, "data": 0.0});
        let counts =
            json!({"name": "counts", "parts": [{"data": {"streamed": read, "plain": read}}]});
        let report = json!({"name": "report", "parts": [{"text": REPORT}]});
        let broken = json!({"name": "report", "parts": [{"text": "Streamed: "}]});
        let result =
            |state: &str, outputs: [&Value; 2]| json!({"state": state, "outputs": outputs});
        check_result(&result("completed", [&counts, &report])).expect("all is there");
        let told = |result| check_result(&result).expect_err("something is wrong").to_string();
        assert_eq!(told(result("failed", [&counts, &report])), "the run did not complete");
        let wrong = told(result("completed", [&counts, &broken]));
        assert!(wrong.starts_with("the output `report` should be"), "{wrong}");
        let missing = told(result("completed", [&report, &report]));
        assert!(missing.starts_with("the output `counts` should be"), "{missing}");
    }

    #[test]
    fn texts_are_found_at_any_depth_in_their_order() {
        let values: Vec<Value> = vec![
            json!({"artifacts": [{"parts": [{"text": "one"}, {"data": {"n": 1}}]}]}),
            json!({"outputs": {"report": {"text": "two"}}}),
        ];
        assert_eq!(texts(&values), ["one", "two"]);
    }
}
