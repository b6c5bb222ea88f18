//! The agent in a process of its own, so that its processor time is not the orchestrator's.

use std::{
    io::{self, BufRead, BufReader, Read},
    net::Ipv4Addr,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};
use tokio::{net::TcpListener, runtime};

use super::{Calls, serve};

/// Serves the agent from the process it is called in, as [`until_orphaned`] does.
///
/// # Errors
/// When it cannot listen.
pub fn serve_until_orphaned() -> Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    until_orphaned(&runtime, async |listener| serve(listener, Calls::default()).await)
}

/// Serves until standard input ends, which it does when the parent does. Prints the URL it listens
/// at as its only line.
///
/// # Errors
/// When it cannot listen.
pub fn until_orphaned(
    runtime: &runtime::Runtime,
    serve: impl AsyncFnOnce(TcpListener) -> io::Result<()>,
) -> Result<()> {
    let (tell, orphaned) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        // Whether it ends well or not, there is no parent any more.
        let _ = io::stdin().read_to_end(&mut rest);
        drop(tell);
    });
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("http://{}", listener.local_addr()?);
        tokio::select! {
            served = serve(listener) => Ok(served?),
            _ = orphaned => Ok(()),
        }
    })
}

/// This program again, as the agent. Ends when dropped.
#[derive(Debug)]
pub struct AgentProcess {
    child: Child,
    base: String,
}

impl AgentProcess {
    /// Starts the program given, which is to call [`serve_until_orphaned`] when its one argument is
    /// `agent`, and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started or ends without a word.
    pub fn start() -> Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(&program)
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {} as the agent", program.display()))?;
        let stdout = child.stdout.take().expect("it was asked for");
        let mut base = String::new();
        BufReader::new(stdout).read_line(&mut base).context("hearing from the agent")?;
        let base = base.trim().to_owned();
        anyhow::ensure!(!base.is_empty(), "the agent ended before it listened");
        Ok(Self { child, base })
    }

    /// The agent that answers in one response.
    #[must_use]
    pub fn plain(&self) -> String {
        format!("{}/plain", self.base)
    }

    /// The agent that streams.
    #[must_use]
    pub fn streaming(&self) -> String {
        format!("{}/streaming", self.base)
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
