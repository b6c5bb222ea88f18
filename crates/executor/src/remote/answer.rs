//! Sending the answer that a Task waits for, once.

use std::time::Duration;

use futures_util::StreamExt;
use protocol::{
    client::ClientError,
    v1::{GetTaskRequest, Message, Task, send_message_response, stream_response::Payload},
};
use tokio::time::sleep;

use super::{Attempt, Ending, Follower, failure};
use crate::run::Refusal;

/// The first pause before an answer is sent again that did not get through; each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const LOOK_TIMEOUT: Duration = Duration::from_secs(30);

impl Attempt {
    /// Delivers the answer and follows its Task from there. What did not get through is sent again with the same
    /// bytes, after a look whether it got through after all.
    pub(super) async fn deliver(
        &self,
        mut follower: Follower,
        turn: u32,
        is_new: bool,
        left: Duration,
    ) -> Ending {
        let mut may_be_there = !is_new;
        let mut pause = FIRST_PAUSE;
        loop {
            if may_be_there && self.has_arrived().await {
                self.reporter.delivered(turn).await;
                return self.watch(follower).await;
            }
            let error = match self.send_answer(&mut follower, turn, left).await {
                Ok(ending) => return ending,
                Err(error) => error,
            };
            if !error.is_retryable() {
                return self.refused_answer(turn, &error).await;
            }
            may_be_there = true;
            sleep(pause.max(error.retry_after.unwrap_or_default())).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What an answer comes to that the agent does not take. In a relay its client hears of it and may answer
    /// otherwise, if the Task waits as it did before; one that has moved on is shown as it is. In any other run
    /// nobody is there who could answer otherwise.
    async fn refused_answer(&self, turn: u32, error: &ClientError) -> Ending {
        if let Some(refusal) = Refusal::of(error).filter(|_| self.relays)
            && let (Some(known), Some(task)) = (self.bound(), self.look().await)
        {
            if task.state().is_interrupted() {
                return Ending::AnswerRefused(turn, Box::new(refusal));
            }
            self.reporter.delivered(turn).await;
            return self.watch(self.heard(Follower::of(known.clone()))).await;
        }
        Ending::Failed(failure::defeat(error))
    }

    /// Whether the Task knows the answer already. An agent that keeps no history is asked by its state: one that
    /// has moved on from the question has an answer.
    async fn has_arrived(&self) -> bool {
        self.look().await.is_some_and(|task| self.knows_answer(&task))
    }

    /// The Task as it is; `None` when the agent does not say.
    async fn look(&self) -> Option<Task> {
        let id = self.bound()?.task_id.clone();
        let request = GetTaskRequest { id, ..GetTaskRequest::default() };
        self.peer.get_task(request, LOOK_TIMEOUT).await.ok()
    }

    fn knows_answer(&self, task: &Task) -> bool {
        let is_in_history =
            task.history.iter().any(|message| message.message_id == self.message.message_id);
        is_in_history || !task.state().is_interrupted()
    }

    /// Sends once. An error means that nothing was heard.
    async fn send_answer(
        &self,
        follower: &mut Follower,
        turn: u32,
        left: Duration,
    ) -> Result<Ending, ClientError> {
        if self.intent.streaming {
            self.stream_answer(follower, turn, left).await
        } else {
            self.post_answer(follower, turn, left).await
        }
    }

    async fn stream_answer(
        &self,
        follower: &mut Follower,
        turn: u32,
        left: Duration,
    ) -> Result<Ending, ClientError> {
        let mut stream = self.peer.send_streaming_message(self.request(false), left).await?;
        let mut is_heard = false;
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) if !is_heard => return Err(error),
                Err(_) => break,
            };
            if !is_heard {
                is_heard = true;
                self.reporter.delivered(turn).await;
                if let Some(Payload::StatusUpdate(_) | Payload::ArtifactUpdate(_)) = event.payload {
                    // Nothing tells what the Task had before the question; to look at it does.
                    break;
                }
            }
            let ending = follower.absorb(event);
            self.pass_on(follower, ending.as_ref()).await;
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
        Ok(self.watch(std::mem::take(follower)).await)
    }

    async fn post_answer(
        &self,
        follower: &mut Follower,
        turn: u32,
        left: Duration,
    ) -> Result<Ending, ClientError> {
        let response = self.peer.send_message(self.request(true), left).await?;
        self.reporter.delivered(turn).await;
        let ending = match response.payload {
            Some(send_message_response::Payload::Message(message)) => {
                Some(Ending::Answered(Box::<Message>::new(message)))
            }
            Some(send_message_response::Payload::Task(task)) => follower.snapshot(task),
            None => None,
        };
        self.pass_on(follower, ending.as_ref()).await;
        match ending {
            Some(ending) => Ok(ending),
            None => Ok(self.poll(std::mem::take(follower)).await),
        }
    }
}
