//! `convoke serve` over example agents, with clients of the SDKs in front of it.

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{listening::Listening, server::Server};
use crate::{
    process::{self, Said},
    suites::Built,
};

/// Folders whose workflows are served.
const WORKFLOWS: [&str; 2] = ["tests/interop/workflows", "workflows"];
/// How many agents `example-agents all` starts.
const EXAMPLES: usize = 10;
/// The directory's name of an agent that has one question; `asks` has two.
const ASKS_ONCE: &str = "asks-once";
/// The line with which a client asks for another server.
const RESTART: &str = "restart";

/// A server, and the agents behind it. Dropping it ends them.
pub(super) struct Served {
    convoke: PathBuf,
    examples: Listening,
    asks_once: Listening,
    /// Holds workflows and data.
    folder: TempDir,
    server: Server,
}

impl Served {
    /// Starts agents, approves them in a directory, and serves.
    ///
    /// # Errors
    /// When an agent or the server does not start, or the directory refuses an agent.
    pub(super) fn start(built: &Built) -> Result<Self> {
        let example = |arguments: &[&str], count| {
            let mut command = process::command_at(built.binary("example-agents")?);
            Listening::start(command.args(arguments).args(["--listen", "127.0.0.1:0"]), count)
        };
        let examples = example(&["all", "--pace", "0ms"], EXAMPLES)?;
        let asks_once = example(&["asks", "--turns", "1"], 1)?;
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let convoke = built.binary("convoke")?.to_owned();
        let (data, workflows) = (folder.path().join("data"), folder.path().join("workflows"));
        gather(&workflows)?;
        let catalog = folder.path().join("catalog.yaml");
        fs::write(&catalog, directory(&examples, &asks_once).to_string())
            .with_context(|| format!("cannot write {}", catalog.display()))?;
        let mut apply = process::command_at(&convoke);
        apply.arg("--data").arg(&data).args(["agents", "apply"]).arg(&catalog).arg("--approve");
        process::output(&mut apply)?;
        let server = Server::start(serve(&convoke, folder.path(), "127.0.0.1:0"))?;
        Ok(Self { convoke, examples, asks_once, folder, server })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        self.server.url()
    }

    /// Runs a client with the URLs of the server and of the `slow` agent behind it. Each time that it prints
    /// "restart", the server is killed and started again on its folder and port, and the client is told by a line.
    ///
    /// # Errors
    /// When the client fails, or the server does not come back.
    pub(super) fn client(&mut self, mut script: Command) -> Result<()> {
        let agents = self.examples.agents();
        let slow = agents.iter().find(|agent| agent.name == "slow").context("slow is an agent")?;
        script.args([self.url(), slow.url.as_str()]);
        let mut client = script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the client")?;
        let printed = client.stdout.take().context("its output is piped")?;
        let told = client.stdin.take().context("its input is piped")?;
        let complained = client.stderr.take().context("its standard error is piped")?;
        let said = thread::scope(|scope| {
            let said = scope.spawn(|| Said::repeated(complained, io::stderr()));
            let obeyed = self.obey(printed, told);
            if obeyed.is_err() {
                // Whoever cannot be obeyed might wait for ever.
                drop(client.kill());
            }
            obeyed.map(|()| said.join().unwrap_or_default())
        })?;
        let status = client.wait().context("cannot wait for the client")?;
        if !status.success() {
            bail!("the client failed: {status}{said}");
        }
        Ok(())
    }

    /// Repeats what a client prints, and gives it another server when it asks for one.
    fn obey(&mut self, printed: ChildStdout, mut told: ChildStdin) -> Result<()> {
        for line in BufReader::new(printed).lines() {
            let line = line.context("cannot read what the client prints")?;
            if line == RESTART {
                self.restart()?;
                told.write_all(b"\n").context("the client does not listen")?;
            } else {
                println!("{line}");
            }
        }
        Ok(())
    }

    /// `kill -9`, and the next one in its place.
    fn restart(&mut self) -> Result<()> {
        let address = self.url().trim_start_matches("http://").to_owned();
        self.server.kill()?;
        self.server = Server::start(serve(&self.convoke, self.folder.path(), &address))?;
        Ok(())
    }

    /// What the agents logged.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub(super) fn logs(&self) -> Result<String> {
        Ok(format!("{}{}", self.examples.log()?, self.asks_once.log()?))
    }
}

/// The command that serves what lies in a folder.
fn serve(convoke: &Path, folder: &Path, listen: &str) -> Command {
    let mut command = process::command_at(convoke);
    command.arg("--data").arg(folder.join("data")).args(["serve", "--listen", listen]);
    command.arg("--workflows").arg(folder.join("workflows"));
    command
}

/// Puts the workflows of several folders into one.
fn gather(target: &Path) -> Result<()> {
    fs::create_dir(target).with_context(|| format!("cannot make {}", target.display()))?;
    for folder in WORKFLOWS.map(|folder| process::root().join(folder)) {
        let unreadable = || format!("cannot read {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            fs::copy(entry.path(), target.join(entry.file_name())).with_context(unreadable)?;
        }
    }
    Ok(())
}

/// A catalog of the agents under the names that the workflows use. JSON is YAML.
fn directory(examples: &Listening, asks_once: &Listening) -> Value {
    let examples = examples.agents().iter().map(|agent| (agent.name.as_str(), &agent.url));
    let asks_once = asks_once.agents().iter().map(|agent| (ASKS_ONCE, &agent.url));
    let entry = |(name, url): (&str, &String)| json!({"name": name, "url": url});
    json!({"agents": examples.chain(asks_once).map(entry).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workflows_of_the_tests_and_those_that_are_shipped_are_served_together() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = folder.path().join("workflows");
        gather(&target).expect("both folders are ours");
        for name in ["say.yaml", "two-questions.yaml", "helsinki-trip.yaml"] {
            assert!(target.join(name).exists(), "{name}");
        }
    }
}
