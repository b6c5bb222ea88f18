//! `convoke serve` over example agents, with clients of the SDKs in front of it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::listening::Listening;
use crate::{process, suites::Built};

/// Folders whose workflows are served.
const WORKFLOWS: [&str; 2] = ["tests/interop/workflows", "workflows"];
/// How many agents `example-agents all` starts.
const EXAMPLES: usize = 10;
/// The directory's name of an agent that has one question; `asks` has two.
const ASKS_ONCE: &str = "asks-once";
/// How long the server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);
/// The line with which a client asks for another server.
const RESTART: &str = "restart";
/// What stands before the card's URL when the server listens.
const LISTENS: &str = "its card: ";
const CARD: &str = "/.well-known/agent-card.json";

/// A server, and the agents behind it. Dropping it ends them.
pub(super) struct Served {
    convoke: PathBuf,
    examples: Listening,
    asks_once: Listening,
    /// Holds workflows and data.
    folder: TempDir,
    server: Server,
}

struct Server {
    child: Child,
    /// Without a slash at the end.
    url: String,
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
        &self.server.url
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
            .spawn()
            .context("cannot start the client")?;
        let printed = client.stdout.take().context("its output is piped")?;
        let mut told = client.stdin.take().context("its input is piped")?;
        for line in BufReader::new(printed).lines() {
            let line = line.context("cannot read what the client prints")?;
            if line == RESTART {
                self.restart()?;
                told.write_all(b"\n").context("the client does not listen")?;
            } else {
                println!("{line}");
            }
        }
        let status = client.wait().context("cannot wait for the client")?;
        if !status.success() {
            bail!("the client failed: {status}");
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

impl Server {
    /// Starts a server and waits until it listens.
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start convoke")?;
        let said = child.stderr.take().context("its messages are piped")?;
        let mut server = Self { child, url: String::new() };
        server.url = listens(said)?;
        Ok(server)
    }

    fn kill(&mut self) -> Result<()> {
        self.child.kill().and_then(|()| self.child.wait()).context("cannot kill the server")?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.kill());
    }
}

/// The URL of a server that says so in time. What it says later is read and dropped, so that it never blocks.
fn listens(said: ChildStderr) -> Result<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            // Nobody listens after the line with the URL.
            drop(sender.send(line));
        }
    });
    let mut before = Vec::new();
    loop {
        let Ok(line) = lines.recv_timeout(PATIENCE) else {
            bail!("`convoke serve` never said where it listens; it said\n{}", before.join("\n"));
        };
        if let Some((_, card)) = line.split_once(LISTENS) {
            let url = card.strip_suffix(CARD);
            return url.map(str::to_owned).with_context(|| format!("no card's URL: {line}"));
        }
        before.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Server> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Server::start(command)
    }

    #[test]
    fn a_server_tells_where_it_listens_or_what_it_said_instead() {
        let script = "echo serves >&2; \
                      echo 'its card: http://127.0.0.1:1/.well-known/agent-card.json' >&2; \
                      exec sleep 60";
        let mut server = shell(script).expect("it said so");
        assert_eq!(server.url, "http://127.0.0.1:1");
        server.kill().expect("it is running");
        let mute = shell("echo why >&2").err().expect("it ended").to_string();
        assert_eq!(mute, "`convoke serve` never said where it listens; it said\nwhy");
    }

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
