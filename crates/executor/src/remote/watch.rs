//! WATCH: following a Task that is known. Nothing here sends a Message.

use std::time::Duration;

use futures_util::StreamExt;
use planner::ErrorClass;
use protocol::{
    client::{ClientError, FailureClass},
    v1::{GetTaskRequest, SubscribeToTaskRequest},
};
use tokio::time::{Instant, sleep};

use super::{Attempt, Defeat, Ending, Follower, failure};

/// The first pause between two polls; each next one is half as long again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between two polls.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long an agent may be unreachable before its attempt counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one GetTask may take.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// How often in a row the agent must say that it does not know its Task. Queues get lost on restarts, and
/// the store behind them may come up later.
const DENIALS: u32 = 3;

impl Attempt {
    /// Subscribes where the agent streams; a subscription that ends early is a cut, and polling tells more.
    pub(super) async fn watch(&self, mut follower: Follower) -> Ending {
        if self.intent.streaming
            && let Some(ending) = self.subscribe(&mut follower).await
        {
            return ending;
        }
        self.poll(follower).await
    }

    /// Follows one subscription: `None` when it is refused or cut.
    async fn subscribe(&self, follower: &mut Follower) -> Option<Ending> {
        let request = SubscribeToTaskRequest {
            id: follower.task()?.task_id.clone(),
            ..SubscribeToTaskRequest::default()
        };
        let mut stream = self.client.subscribe_to_task(request, super::until(self.deadline)).await.ok()?;
        while let Some(Ok(event)) = stream.next().await {
            if let Some(ending) = follower.absorb(event) {
                return Some(ending);
            }
        }
        None
    }

    /// Asks for the Task until it is over.
    pub(super) async fn poll(&self, mut follower: Follower) -> Ending {
        let mut patience = Patience::new();
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(task) = follower.task() else {
                return Ending::Failed(Defeat::new(
                    ErrorClass::Failed,
                    "the agent's Task has no id".to_owned(),
                ));
            };
            let request = GetTaskRequest {
                id: task.task_id.clone(),
                history_length: Some(0),
                ..GetTaskRequest::default()
            };
            match self.client.get_task(request, POLL_TIMEOUT).await {
                Ok(task) => {
                    patience = Patience::new();
                    if let Some(ending) = follower.snapshot(task) {
                        return ending;
                    }
                }
                Err(error) => {
                    if let Some(defeat) = patience.strain(&error) {
                        return Ending::Failed(defeat);
                    }
                }
            }
            sleep(pause).await;
            pause = pause.mul_f32(1.5).min(LONGEST_PAUSE);
        }
    }
}

/// Decides when an error while watching is believed.
struct Patience {
    since: Instant,
    denials: u32,
}

impl Patience {
    fn new() -> Self {
        Self { since: Instant::now(), denials: 0 }
    }

    fn strain(&mut self, error: &ClientError) -> Option<Defeat> {
        let mut defeat = failure::defeat(error);
        if error.class == FailureClass::NotFound {
            self.denials += 1;
            // The agent has lost the Task: nothing is left there to cancel, and another attempt may help.
            defeat.remote_ended = true;
            defeat.class = ErrorClass::Unavailable;
            return (self.denials >= DENIALS).then_some(defeat);
        }
        let is_final = !error.is_retryable();
        (is_final || self.since.elapsed() >= PATIENCE).then_some(defeat)
    }
}
