//! The agent `conformance`, and `convoke serve` that passes every Message on to it.

use std::fs;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{
    listening::Listening,
    server::{CARD, Server},
};
use crate::{process, suites::Built};

/// The name of the agent, and of the set-up in which clients call it themselves.
const AGENT: &str = "conformance";

/// Both, until this is dropped.
pub(super) struct Fronted {
    agent: Listening,
    server: Server,
    /// Holds the server's data.
    _folder: TempDir,
}

/// Whom a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setup {
    /// The agent.
    Agent,
    /// The server before it.
    Server,
}

impl Setup {
    pub(super) const BOTH: [Self; 2] = [Self::Agent, Self::Server];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Agent => AGENT,
            Self::Server => "serve",
        }
    }
}

impl Fronted {
    /// Starts the agent, approves it in a directory, and serves.
    ///
    /// # Errors
    /// When one of both does not start, or the directory refuses the agent.
    pub(super) fn start(built: &Built) -> Result<Self> {
        let mut agent = process::command_at(built.binary("example-agents")?);
        agent.args([AGENT, "--listen", "127.0.0.1:0", "--loopback-webhooks", "--older-versions"]);
        let agent = Listening::start(&mut agent, 1)?;
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let workflows = folder.path().join("workflows");
        fs::create_dir(&workflows).context("cannot make a folder")?;
        let convoke = || -> Result<_> {
            let mut convoke = process::command_at(built.binary("convoke")?);
            convoke.arg("--data").arg(folder.path().join("data"));
            Ok(convoke)
        };
        let url = &agent.agents()[0].url;
        process::output(convoke()?.args(["agents", "add", url, "--name", AGENT, "--approve"]))?;
        let mut serve = convoke()?;
        serve.args(["serve", "--listen", "127.0.0.1:0", "--workflows"]).arg(workflows);
        for setting in ["delegate=conformance", "messages.remember=off", "older_versions=true"] {
            serve.args(["--set", setting]);
        }
        let server = Server::start(serve)?;
        Ok(Self { agent, server, _folder: folder })
    }

    /// Where one of both listens, without a slash at the end.
    pub(super) fn url(&self, setup: Setup) -> &str {
        match setup {
            Setup::Agent => self.agent.agents()[0].url.trim_end_matches(CARD),
            Setup::Server => self.server.url(),
        }
    }

    /// What the agent logged.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn logs(&self) -> Result<String> {
        self.agent.log()
    }
}
