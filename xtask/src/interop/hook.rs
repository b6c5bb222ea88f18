//! `convoke webhook listen` as a child process.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// How long anything may take on a machine with much to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// What every notification has to bring.
pub(super) const TOKEN: &str = "for-this-task";
const LISTENS: &str = "takes notifications at ";

/// A webhook that listens; dropping it ends it.
pub(super) struct Hook {
    child: Child,
    url: String,
    notifications: Receiver<String>,
}

impl Hook {
    /// Starts it and waits until it listens.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn start(mut convoke: Command) -> Result<Self> {
        convoke.args(["--json", "webhook", "listen", "--listen", "127.0.0.1:0", "--token", TOKEN]);
        convoke.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = convoke.spawn().context("cannot start convoke webhook listen")?;
        let said = lines(child.stderr.take().context("its messages are piped")?);
        let notifications = lines(child.stdout.take().context("its output is piped")?);
        let mut hook = Self { child, url: String::new(), notifications };
        let line = said.recv_timeout(PATIENCE).context("the webhook said nothing")?;
        let url = line.strip_prefix(LISTENS).and_then(|rest| rest.split(';').next());
        hook.url = url.with_context(|| format!("no address: {line}"))?.to_owned();
        Ok(hook)
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until it has heard that a Task is completed. Each notification has to have been believed by its token.
    ///
    /// # Errors
    /// When one was not, or none comes in time.
    pub(super) fn completed(&self, task: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.notifications.recv_timeout(left) else {
                bail!("no webhook told that {task} is completed");
            };
            let told: Value = serde_json::from_str(&line).context("not JSON")?;
            ensure!(told["verified"] == json!([{"by": "token"}]), "not believed: {told}");
            if completes(&told["event"], task) {
                return Ok(());
            }
        }
    }
}

/// Whether an event says that a Task is completed: an update, or as before 1.0 the Task.
fn completes(event: &Value, task: &str) -> bool {
    let told = [(&event["task"], "id"), (&event["statusUpdate"], "taskId")];
    told.iter().any(|(it, id)| it[id] == task && it["status"]["state"] == "TASK_STATE_COMPLETED")
}

/// The lines of a stream, which is read to its end so that its writer never blocks.
fn lines(stream: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            // Nobody may be listening any more.
            drop(sender.send(line));
        }
    });
    lines
}

impl Drop for Hook {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_completed_when_an_update_or_the_task_itself_says_so() {
        let state = |state: &str| json!({"state": format!("TASK_STATE_{state}")});
        let task = json!({"task": {"id": "a", "status": state("COMPLETED")}});
        let update = json!({"statusUpdate": {"taskId": "a", "status": state("COMPLETED")}});
        assert!(completes(&task, "a") && completes(&update, "a"));
        assert!(!completes(&task, "b"));
        let working = json!({"statusUpdate": {"taskId": "a", "status": state("WORKING")}});
        assert!(!completes(&working, "a"));
        assert!(!completes(&json!({"artifactUpdate": {"taskId": "a"}}), "a"));
    }
}
