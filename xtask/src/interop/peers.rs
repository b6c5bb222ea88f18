//! The agents of one pass, and `convoke` called beside them.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{
    listening::{Agent, Listening},
    node::Node,
};
use crate::{process, suites::Built, venv::Venv};

/// How many agents the scripts of each SDK start: three bindings, streaming and not.
const OF_EACH_SDK: usize = 6;
/// Before 1.0, two bindings.
const OF_EACH_OLDER_SDK: usize = 4;

/// Agents that listen until this is dropped.
pub(super) struct Peers {
    convoke: PathBuf,
    echo: Listening,
    asks: Listening,
    python: Listening,
    javascript: Listening,
    /// Where the workflows of these agents are.
    workflows: &'static str,
    /// Holds the data folder, whose directory knows all agents by their names.
    folder: tempfile::TempDir,
}

/// What a call of `convoke` printed.
#[derive(Debug)]
pub(super) struct Called {
    /// One JSON document, or one a line.
    pub(super) values: Vec<Value>,
    pub(super) told: String,
}

impl Peers {
    /// Starts everything, and approves it in a directory.
    ///
    /// # Errors
    /// When an agent does not start, or the directory refuses one.
    pub(super) fn start(venv: &Venv, node: &Node, built: &Built) -> Result<Self> {
        Self::start_of((venv, node), built, OF_EACH_SDK, &[], "tests/interop")
    }

    /// Starts the same with SDKs of A2A 0.3.
    ///
    /// # Errors
    /// As [`Peers::start`].
    pub(super) fn start_older(sdks: (&Venv, &Node), built: &Built) -> Result<Self> {
        let flags = ["--older-versions", "--turns", "1"];
        Self::start_of(sdks, built, OF_EACH_OLDER_SDK, &flags, "tests/interop/v0_3")
    }

    fn start_of(
        (venv, node): (&Venv, &Node),
        built: &Built,
        of_each: usize,
        flags: &[&str],
        workflows: &'static str,
    ) -> Result<Self> {
        let examples = built.binary("example-agents")?;
        let example = |name| {
            let mut command = process::command_at(examples);
            command.args([name, "--listen", "127.0.0.1:0"]).args(flags);
            Listening::start(&mut command, 1)
        };
        let peers = Self {
            convoke: built.binary("convoke")?.to_owned(),
            echo: example("echo")?,
            asks: example("asks")?,
            python: Listening::start(&mut venv.script("agents.py"), of_each)?,
            javascript: Listening::start(&mut node.script("agents.js"), of_each)?,
            workflows,
            folder: tempfile::tempdir().context("cannot make a temporary folder")?,
        };
        peers.apply()?;
        Ok(peers)
    }

    /// The path of a workflow over these agents.
    pub(super) fn workflow(&self, name: &str) -> String {
        format!("{}/{name}", self.workflows)
    }

    /// The agents built on an SDK.
    pub(super) fn strangers(&self) -> impl Iterator<Item = &Agent> {
        self.python.agents().iter().chain(self.javascript.agents())
    }

    /// The first agent of each SDK, to which its host leads.
    pub(super) fn firsts(&self) -> impl Iterator<Item = &Agent> {
        [&self.python, &self.javascript].into_iter().filter_map(|it| it.agents().first())
    }

    /// Takes an agent in by the URL of its host, in a directory of its own, and runs a step by it.
    ///
    /// # Errors
    /// When its host does not lead to it, or the run does not complete.
    pub(super) fn alone(&self, agent: &Agent, text: &str) -> Result<Called> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let host = agent.url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        let convoke = |arguments: &[&str]| {
            let mut command = process::command_at(&self.convoke);
            command.arg("--data").arg(folder.path().join("data")).arg("--json").args(arguments);
            let output = command.output().context("cannot start convoke")?;
            read(&output, 0)
                .with_context(|| format!("`convoke {}` went wrong", arguments.join(" ")))
        };
        let added = convoke(&["agents", "add", &host, "--name", "it", "--approve"])?;
        if added.one()?["agents"][0]["outcome"] != "added" {
            bail!("{host} was not taken in: {:#}", added.one()?);
        }
        let shown = convoke(&["agents", "show", "it"])?;
        if shown.one()?["card"]["name"] != agent.name.as_str() {
            bail!("{host} leads to another agent than {}: {:#}", agent.name, shown.one()?);
        }
        let file = folder.path().join("w.yaml");
        let step = json!({"agent": "it", "message": text});
        let workflow = json!({"convoke": 1, "name": "w", "steps": {"a": step}});
        fs::write(&file, workflow.to_string())
            .with_context(|| format!("cannot write {}", file.display()))?;
        let file = file.to_str().context("the temporary folder's name is no text")?;
        convoke(&["run", file])
    }

    /// What the agents logged, each process under its first agent's name.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub(super) fn logs(&self) -> Result<String> {
        let mut logs = String::new();
        for process in [&self.echo, &self.asks, &self.python, &self.javascript] {
            let name = &process.agents()[0].name;
            logs += &format!("\u{2500}\u{2500} log of {name}\n{}", process.log()?);
        }
        Ok(logs)
    }

    /// Runs a client of an SDK against our own agents.
    pub(super) fn client(&self, mut script: Command) -> Result<()> {
        let ours = [&self.echo, &self.asks].map(|agent| &agent.agents()[0].url);
        process::run(script.args(ours))
    }

    /// Calls `convoke` and reads its JSON.
    ///
    /// # Errors
    /// When it exits with another status than this one, or prints something else.
    pub(super) fn convoke(&self, status: i32, arguments: &[&str]) -> Result<Called> {
        let mut command = self.command();
        let output =
            command.arg("--json").args(arguments).output().context("cannot start convoke")?;
        read(&output, status)
            .with_context(|| format!("`convoke {}` went wrong", arguments.join(" ")))
    }

    /// `convoke` with the data folder of these agents.
    pub(super) fn command(&self) -> Command {
        let mut command = process::command_at(&self.convoke);
        command.arg("--data").arg(self.folder.path().join("data"));
        command
    }

    /// Puts all agents into the directory.
    fn apply(&self) -> Result<()> {
        let ours = self.echo.agents().iter().chain(self.asks.agents());
        let entries: Vec<Value> = ours
            .chain(self.strangers())
            .map(|agent| json!({"name": agent.name, "url": agent.url}))
            .collect();
        let file = self.folder.path().join("catalog.yaml");
        // JSON is YAML.
        fs::write(&file, json!({"agents": entries}).to_string())
            .with_context(|| format!("cannot write {}", file.display()))?;
        let file = file.to_str().context("the temporary folder's name is no text")?;
        self.convoke(0, &["agents", "apply", file, "--approve"])?;
        Ok(())
    }
}

fn read(output: &Output, status: i32) -> Result<Called> {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.code() != Some(status) {
        bail!("{} instead of {status}; it said\n{told}{printed}", output.status);
    }
    let values = serde_json::Deserializer::from_str(&printed).into_iter::<Value>();
    let values: Result<Vec<Value>, _> = values.collect();
    let values = values.with_context(|| format!("not JSON: {printed}"))?;
    Ok(Called { values, told })
}

impl Called {
    /// The one document it printed.
    ///
    /// # Errors
    /// When it printed none, or more.
    pub(super) fn one(&self) -> Result<&Value> {
        match self.values.as_slice() {
            [value] => Ok(value),
            values => {
                bail!("{} JSON documents instead of one; it said\n{}", values.len(), self.told)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(script: &str, status: i32) -> Result<Called> {
        let output = Command::new("sh").args(["-c", script]).output().expect("there is a shell");
        read(&output, status)
    }

    #[test]
    fn another_status_is_told_with_all_that_was_said() {
        let error = called("echo why >&2; exit 4", 0).expect_err("it is another status");
        assert_eq!(error.to_string(), "exit status: 4 instead of 0; it said\nwhy\n");
        let called = called("echo why >&2; exit 4", 4).expect("it is the status wanted");
        assert_eq!((called.values.len(), called.told.as_str()), (0, "why\n"));
    }

    #[test]
    fn one_document_is_one_and_lines_are_many() {
        let one = called("echo '{\"a\": 1}'", 0).expect("it is JSON");
        assert_eq!(one.one().expect("it is one"), &json!({"a": 1}));
        let lines = called("echo 1; echo 2", 0).expect("they are JSON");
        assert_eq!(lines.values, [1, 2]);
        assert!(lines.one().is_err());
        assert!(called("echo no", 0).is_err());
    }
}
