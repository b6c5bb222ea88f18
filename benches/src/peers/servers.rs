//! Servers in processes of their own, and what they use of the processors.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::measure::{Scheduled, scheduled};

/// A server that listens. Ends when dropped.
#[derive(Debug)]
pub struct Server {
    /// What the report calls it.
    pub name: &'static str,
    /// Its JSON-RPC interface.
    pub url: String,
    child: Child,
}

/// Where a server says that it listens.
enum Says {
    /// Its first line of output is the URL.
    Url,
    /// A line of its error output ends with the URL of its card.
    Card,
}

impl Server {
    /// Starts a command that prints its URL and ends with its standard input.
    ///
    /// # Errors
    /// When it cannot be started, or ends without a word.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        command.stdout(Stdio::piped());
        Self::start_as(name, command, &Says::Url)
    }

    /// This program again, as one of its hidden parts.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_part(name: &'static str, part: &[impl AsRef<OsStr>]) -> Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        Self::start(name, Command::new(program).args(part))
    }

    /// `convoke serve` in a folder, whose one workflow sends what it is told to an agent.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_convoke(
        name: &'static str,
        program: &Path,
        folder: &Path,
        agent: &str,
    ) -> Result<Self> {
        let workflows = folder.join("workflows");
        fs::create_dir(&workflows).context("making a folder of workflows")?;
        let workflow = format!(
            "convoke: 1\nname: echo\ninputs:\n  text: {{type: string, from: text}}\n\
             agents:\n  echo: {{url: \"{agent}\"}}\n\
             steps:\n  echo: {{agent: echo, message: \"${{{{ inputs.text }}}}\"}}\n"
        );
        fs::write(workflows.join("echo.yaml"), workflow).context("writing a workflow")?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(folder);
        command.env("CONVOKE_DATA", folder.join("data")).stderr(Stdio::piped());
        Self::start_as(name, &mut command, &Says::Card)
    }

    fn start_as(name: &'static str, command: &mut Command, says: &Says) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {name}: {}", command.get_program().display()))?;
        let output: Option<Box<dyn Read + Send>> = match says {
            Says::Url => child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            Says::Card => child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        };
        // Made first, so that the process ends also when it says nothing.
        let mut server = Self { name, url: String::new(), child };
        let mut lines = BufReader::new(output.context("a pipe that was asked for")?).lines();
        for line in lines.by_ref() {
            let line = line.with_context(|| format!("hearing from {name}"))?;
            if let Some(url) = says.url(&line) {
                server.url = url;
                // Whatever else it says must not fill the pipe.
                thread::spawn(move || lines.for_each(drop));
                return Ok(server);
            }
        }
        bail!("{name} ended before it listened")
    }

    /// Processor time of its threads so far; zero where the system does not tell.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        scheduled(&self.child.id().to_string(), Scheduled::Running)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Says {
    fn url(&self, line: &str) -> Option<String> {
        match self {
            Self::Url => Some(line.trim().to_owned()),
            Self::Card => {
                let (_, card) = line.split_once("its card: ")?;
                let base = card.trim().strip_suffix("/.well-known/agent-card.json")?;
                Some(format!("{base}/"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_where_it_says() {
        assert_eq!(Says::Url.url("http://h:1/\n").as_deref(), Some("http://h:1/"));
        let line = "serves 1 workflow; its card: http://h:1/.well-known/agent-card.json";
        assert_eq!(Says::Card.url(line).as_deref(), Some("http://h:1/"));
        assert_eq!(Says::Card.url("starting"), None);
    }

    #[test]
    fn one_that_ends_without_a_word_is_named() {
        let ended = Server::start("silent", &mut Command::new("true"));
        let error = ended.expect_err("it says nothing").to_string();
        assert_eq!(error, "silent ended before it listened");
    }
}
