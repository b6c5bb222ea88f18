//! `convoke serve` as a child process.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

/// How long the server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);
/// What stands before the card's URL when the server listens.
const LISTENS: &str = "its card: ";
/// Where a card is, below the URL of its server.
pub(super) const CARD: &str = "/.well-known/agent-card.json";

/// A server that listens; dropping it ends it.
pub(super) struct Server {
    child: Child,
    /// Without a slash at the end.
    url: String,
}

impl Server {
    /// Starts a server and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started, or never says that it listens.
    pub(super) fn start(mut command: Command) -> Result<Self> {
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

    /// Where it listens, without a slash at the end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Ends it with `kill -9`.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn kill(&mut self) -> Result<()> {
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
}
