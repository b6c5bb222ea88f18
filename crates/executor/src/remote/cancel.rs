//! Telling an agent that a Task is no longer wanted.

use std::time::Duration;

use jiff::Timestamp;
use protocol::{
    client::{ClientError, FailureClass, Peer},
    error::ErrorKind,
    v1::{CancelTaskRequest, GetTaskRequest, Task},
};
use tokio::time::sleep;

/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the agent must say that it does not know the Task: right after a restart it may be wrong.
const DENIALS: u32 = 3;
/// The pause between two calls.
const PAUSE: Duration = Duration::from_millis(250);

/// A Task to cancel.
pub(crate) struct Cancel {
    pub(crate) peer: Peer,
    pub(crate) task_id: String,
    pub(crate) give_up_at: Timestamp,
}

/// Cancels a Task and waits until the agent confirms that it is over; `false` when time runs out first or the
/// agent cannot cancel. Cancel safe: canceling twice has the effect of once (A2A §3.1.5).
pub(crate) async fn confirm_cancel(cancel: Cancel) -> bool {
    let left = super::until(cancel.give_up_at);
    tokio::time::timeout(left, cancel.run()).await.unwrap_or(false)
}

impl Cancel {
    async fn run(&self) -> bool {
        let (mut is_told, mut denials) = (false, 0);
        loop {
            let verdict = if is_told { self.look().await } else { self.tell().await };
            match verdict {
                Verdict::Over => return true,
                Verdict::Impossible => return false,
                Verdict::GoesOn => is_told = true,
                // Agents say so of a Task that is over, and of one that they cannot stop.
                Verdict::Refused => return matches!(self.look().await, Verdict::Over),
                Verdict::Unknown if denials + 1 >= DENIALS => return true,
                Verdict::Unknown => denials += 1,
                Verdict::AskAgain => (),
            }
            sleep(PAUSE).await;
        }
    }

    async fn tell(&self) -> Verdict {
        let request =
            CancelTaskRequest { id: self.task_id.clone(), ..CancelTaskRequest::default() };
        verdict(self.peer.cancel_task(request, CALL_TIMEOUT).await)
    }

    async fn look(&self) -> Verdict {
        let request = GetTaskRequest {
            id: self.task_id.clone(),
            history_length: Some(0),
            ..GetTaskRequest::default()
        };
        verdict(self.peer.get_task(request, CALL_TIMEOUT).await)
    }
}

enum Verdict {
    Over,
    GoesOn,
    Refused,
    /// The agent does not know the Task.
    Unknown,
    AskAgain,
    Impossible,
}

fn verdict(answer: Result<Task, ClientError>) -> Verdict {
    match answer {
        Ok(task) if task.state().is_terminal() => Verdict::Over,
        Ok(_) => Verdict::GoesOn,
        Err(error) if error.kind == Some(ErrorKind::TaskNotCancelable) => Verdict::Refused,
        Err(error) if error.class == FailureClass::NotFound => Verdict::Unknown,
        Err(error) if error.is_retryable() => Verdict::AskAgain,
        Err(_) => Verdict::Impossible,
    }
}
