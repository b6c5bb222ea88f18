//! One attempt seen from the outside: send or re-attach, follow to the end, report to the driver.
//!
//! A task per attempt, owned by its driver. Cancel drops the connection and nothing else: telling the agent
//! is [`cancel`]'s work. An error becomes a report; nothing is retried here that could be a second send.

mod cancel;
mod failure;
mod follow;
mod send;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use planner::ErrorClass;
use protocol::{client::Client, v1::Message};

#[cfg(test)]
pub(crate) use self::follow::Finished;
pub(crate) use self::{
    cancel::{Cancel, confirm_cancel},
    follow::{Defeat, Ending, Follower},
};
use crate::{
    report::Reporter,
    run::{Intent, RemoteTask},
};

/// How far behind the attempt's deadline the client's own lies, so that it is always the attempt's that speaks.
const SLACK: Duration = Duration::from_secs(5);

/// All that one attempt needs.
pub(crate) struct Attempt {
    pub(crate) client: Client,
    pub(crate) intent: Arc<Intent>,
    pub(crate) message: Arc<Message>,
    /// The Task, when the attempt is bound already.
    pub(crate) bound: Option<RemoteTask>,
    pub(crate) deadline: Timestamp,
    pub(crate) timeout: Duration,
    pub(crate) reporter: Reporter,
}

/// Sends or re-attaches, follows, and reports how it ended. Cancel safe: every report stands alone.
pub(crate) async fn fly(attempt: Attempt) {
    let left = until(attempt.deadline);
    let ending = match left.is_zero() {
        true => attempt.look_once().await,
        false => tokio::time::timeout(left, attempt.run(left + SLACK)).await.ok(),
    };
    let ending = ending.unwrap_or_else(|| Ending::Failed(attempt.too_late()));
    attempt.reporter.ended(&attempt, ending).await;
}

impl Attempt {
    async fn run(&self, left: Duration) -> Ending {
        match &self.bound {
            Some(task) => self.watch(Follower::of(task.clone())).await,
            None if self.intent.streaming => self.send_streaming(left).await,
            None => self.send_and_poll(left).await,
        }
    }

    fn too_late(&self) -> Defeat {
        Defeat::new(
            ErrorClass::Timeout,
            format!(
                "agent `{}` did not finish within the step's timeout of {} s",
                self.intent.agent,
                self.timeout.as_secs_f64()
            ),
        )
    }
}

/// Time left until an instant of the wall clock; zero when it has passed.
pub(crate) fn until(at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default()
}
