//! An agent that runs as a child process.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// How long an agent may take until it says where it listens.
const PATIENCE: Duration = Duration::from_secs(60);

/// A listening agent; dropping it ends its process.
pub(super) struct Listening {
    /// Where its card is.
    pub(super) url: String,
    /// The name on its card.
    pub(super) name: String,
    child: Child,
}

/// The line an agent prints once it listens.
#[derive(Deserialize)]
struct Ready {
    url: String,
    name: String,
}

impl Listening {
    /// Starts an agent and waits for its line.
    ///
    /// # Errors
    /// When it cannot be started, ends, or says nothing within a minute.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let printed = child.stdout.take().context("its output is piped")?;
        let (sender, lines) = mpsc::channel();
        // Ends with the child's output, which is read on so that the child never blocks.
        thread::spawn(move || {
            for line in BufReader::new(printed).lines().map_while(Result::ok) {
                // Nobody listens after the first line.
                drop(sender.send(line));
            }
        });
        let mut listening = Self { url: String::new(), name: String::new(), child };
        let line = lines.recv_timeout(PATIENCE);
        let line = line.with_context(|| format!("{program} never said where it listens"))?;
        let ready: Ready = serde_json::from_str(&line)
            .with_context(|| format!("{program} printed {line:?} instead of its address"))?;
        listening.url = ready.url;
        listening.name = ready.name;
        Ok(listening)
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
        Listening::start(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn the_first_line_tells_where_an_agent_listens() {
        let script = r#"echo '{"url": "http://127.0.0.1:1", "name": "a"}'; exec sleep 60"#;
        let listening = shell(script).expect("it printed its line");
        assert_eq!(listening.url, "http://127.0.0.1:1");
        assert_eq!(listening.name, "a");
    }

    #[test]
    fn an_agent_that_ends_or_prints_something_else_is_told() {
        let ended = shell("exit 1").err().expect("it ended");
        assert_eq!(ended.to_string(), "sh never said where it listens");
        let garbage = shell("echo ready").err().expect("it is not JSON");
        assert_eq!(garbage.to_string(), r#"sh printed "ready" instead of its address"#);
    }
}
