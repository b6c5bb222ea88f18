//! An agent that runs as a child process.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Seek as _},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// How long an agent may take until it says where it listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// Listening agents of one process; dropping them ends it.
pub(super) struct Listening {
    agents: Vec<Agent>,
    child: Child,
    /// What it printed on its standard error: SDKs log much that is meant to happen here.
    log: File,
}

/// The line that is printed for each agent once it listens.
#[derive(Debug, Deserialize)]
pub(super) struct Agent {
    /// The name on its card.
    pub(super) name: String,
    /// Where its card is.
    pub(super) url: String,
}

impl Listening {
    /// Starts a process and waits for the lines of so many agents.
    ///
    /// # Errors
    /// When it cannot be started, ends, or says nothing within a minute.
    pub(super) fn start(command: &mut Command, count: usize) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let log = tempfile::tempfile().context("cannot make a temporary file")?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.try_clone().context("cannot share a temporary file")?)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let printed = child.stdout.take().context("its output is piped")?;
        let (sender, lines) = mpsc::channel();
        // Ends with the child's output, which is read on so that the child never blocks.
        thread::spawn(move || {
            for line in BufReader::new(printed).lines().map_while(Result::ok) {
                // Nobody listens after the last agent's line.
                drop(sender.send(line));
            }
        });
        let mut listening = Self { agents: Vec::new(), child, log };
        for _ in 0..count {
            let Ok(line) = lines.recv_timeout(PATIENCE) else {
                let log = listening.log()?;
                bail!("{program} never said where it listens; its log is\n{log}");
            };
            let agent = serde_json::from_str(&line)
                .with_context(|| format!("{program} printed {line:?} instead of its address"))?;
            listening.agents.push(agent);
        }
        Ok(listening)
    }

    /// What it logged so far.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn log(&self) -> Result<String> {
        // The child writes behind the end: the position is shared with it.
        let mut log = self.log.try_clone().context("cannot share a temporary file")?;
        let mut bytes = Vec::new();
        log.rewind().and_then(|()| log.read_to_end(&mut bytes)).context("cannot read a log")?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The agents in the order of their lines; at least one.
    pub(super) fn agents(&self) -> &[Agent] {
        &self.agents
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Listening> {
        Listening::start(Command::new("sh").args(["-c", script]), 2)
    }

    #[test]
    fn a_line_tells_where_each_agent_listens() {
        let line = |name| format!(r#"echo '{{"url": "http://127.0.0.1:1", "name": "{name}"}}'"#);
        let script = format!("{}; {}; exec sleep 60", line("a"), line("b"));
        let listening = shell(&script).expect("it printed its lines");
        let found: Vec<_> = listening.agents().iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(found, ["a", "b"]);
        assert_eq!(listening.agents()[1].url, "http://127.0.0.1:1");
    }

    #[test]
    fn an_agent_that_ends_or_prints_something_else_is_told() {
        let ended = shell("echo why >&2; exit 1").err().expect("it ended");
        let told = "sh never said where it listens; its log is\nwhy\n";
        assert_eq!(ended.to_string(), told);
        let garbage = shell("echo ready").err().expect("it is not JSON");
        assert_eq!(garbage.to_string(), r#"sh printed "ready" instead of its address"#);
    }
}
