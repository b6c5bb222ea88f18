//! WATCH: following a Task that is known. Nothing here sends a Message.

use std::time::Duration;

use futures_util::StreamExt;
use planner::ErrorClass;
use protocol::{
    client::{ClientError, FailureClass},
    v1::{GetTaskRequest, SubscribeToTaskRequest, stream_response::Payload},
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
/// How often in a row the agent must say that it does not know its Task, or answer what makes no sense. Queues
/// get lost on restarts, the store behind them may come up later, and meanwhile a proxy answers in its place.
const DENIALS: u32 = 3;
/// The shortest pause after such an answer.
const PAUSE_AFTER_DENIAL: Duration = Duration::from_millis(500);

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

    /// Follows one subscription: `None` when it is refused or cut. One that does not begin with the Task as it is
    /// (A2A §3.1.6) tells nothing of what was missed, so that polling has to.
    async fn subscribe(&self, follower: &mut Follower) -> Option<Ending> {
        let request = SubscribeToTaskRequest {
            id: follower.task()?.task_id.clone(),
            ..SubscribeToTaskRequest::default()
        };
        let left = self.left();
        let mut stream = self.client.subscribe_to_task(request, left).await.ok()?;
        let mut is_first = true;
        while let Some(Ok(event)) = stream.next().await {
            if is_first && !matches!(event.payload, Some(Payload::Task(_))) {
                return None;
            }
            is_first = false;
            if let Some(ending) = follower.absorb(event) {
                return Some(ending);
            }
        }
        None
    }

    /// How a Task stands whose time was up before anybody could look: it may have ended long ago, while no process
    /// was driving the run. Nothing is sent to an agent of which no Task is known.
    pub(super) async fn look_once(&self) -> Option<Ending> {
        let mut follower = Follower::of(self.bound()?.clone());
        let task = self.client.get_task(Self::question(&follower)?, POLL_TIMEOUT).await.ok()?;
        follower.snapshot(task)
    }

    fn question(follower: &Follower) -> Option<GetTaskRequest> {
        Some(GetTaskRequest {
            id: follower.task()?.task_id.clone(),
            history_length: Some(0),
            ..GetTaskRequest::default()
        })
    }

    /// Asks for the Task until it is over.
    pub(super) async fn poll(&self, mut follower: Follower) -> Ending {
        let mut patience = Patience::new();
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(request) = Self::question(&follower) else {
                return Ending::Failed(Defeat::new(
                    ErrorClass::Failed,
                    "the agent's Task has no id".to_owned(),
                ));
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
                    let asked = error.retry_after.unwrap_or_default().min(PATIENCE);
                    pause = pause.max(PAUSE_AFTER_DENIAL).max(asked);
                }
            }
            sleep(pause).await;
            pause = pause.min(LONGEST_PAUSE).mul_f32(1.5).min(LONGEST_PAUSE);
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
        let defeat = failure::defeat(error);
        match error.class {
            FailureClass::Unavailable | FailureClass::Timeout | FailureClass::RateLimited => {
                (self.since.elapsed() >= PATIENCE).then_some(defeat)
            }
            FailureClass::Internal | FailureClass::InvalidResponse => {
                self.is_denied().then_some(defeat)
            }
            // The agent has lost the Task: nothing is left there to cancel, and another attempt may help.
            FailureClass::NotFound => self.is_denied().then_some(Defeat {
                remote_ended: true,
                class: ErrorClass::Unavailable,
                ..defeat
            }),
            FailureClass::Invalid | FailureClass::Unauthorized | FailureClass::Unsupported => {
                Some(defeat)
            }
        }
    }

    fn is_denied(&mut self) -> bool {
        self.denials += 1;
        self.denials >= DENIALS
    }
}
