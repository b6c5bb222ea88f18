//! SEND and BIND: the only place from which an attempt's Message leaves.

use std::time::Duration;

use futures_util::StreamExt;
use protocol::v1::{
    Message, SendMessageConfiguration, SendMessageRequest, send_message_response::Payload,
};

use super::{Attempt, Defeat, Ending, Follower, failure};
use crate::callback::Callback;
use crate::run::Refusal;

impl Attempt {
    /// Sends as a stream and follows it; a cut stream is taken up by watching.
    pub(super) async fn send_streaming(&self, left: Duration) -> Ending {
        let request = self.request(false);
        let mut stream = match self.peer.send_streaming_message(request, left).await {
            Ok(stream) => stream,
            Err(error) => return self.refused(&error),
        };
        let mut follower = self.heard(Follower::default().over(self.note_interface()));
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) if follower.task().is_none() => return self.refused(&error),
                Err(error) => {
                    tracing::debug!(%error, "the stream was cut");
                    break;
                }
            };
            let was_bound = follower.task().is_some();
            let ending = follower.absorb(event);
            if !was_bound {
                self.bind(&follower, ending.as_ref()).await;
            }
            self.pass_on(&mut follower, ending.as_ref()).await;
            if let Some(ending) = ending {
                return ending;
            }
        }
        drop(stream);
        if follower.task().is_none() {
            return Ending::Failed(self.unanswered());
        }
        self.watch(follower).await
    }

    /// Sends, asks for the answer at once, and polls from there.
    pub(super) async fn send_and_poll(&self, left: Duration) -> Ending {
        let response = match self.peer.send_message(self.request(true), left).await {
            Ok(response) => response,
            Err(error) => return self.refused(&error),
        };
        let mut follower = self.heard(Follower::default().over(self.note_interface()));
        match response.payload {
            Some(Payload::Message(message)) => return Ending::Answered(Box::new(message)),
            Some(Payload::Task(task)) => {
                let ending = follower.snapshot(task);
                self.bind(&follower, ending.as_ref()).await;
                self.pass_on(&mut follower, ending.as_ref()).await;
                if let Some(ending) = ending {
                    return ending;
                }
            }
            None => return Ending::Failed(self.unanswered()),
        }
        self.poll(follower).await
    }

    /// Reports the Task, unless it is over already: then its end says all, and a commit is saved. A Task that
    /// goes on although the attempt has failed has to be known, or nobody could cancel it; so has a relay's.
    async fn bind(&self, follower: &Follower, ending: Option<&Ending>) {
        let is_over = match ending {
            None => false,
            // A pause names its Task itself.
            Some(Ending::Answered(_) | Ending::Completed(_) | Ending::Paused(_)) => true,
            Some(Ending::WentOn | Ending::Withheld | Ending::AnswerRefused(..)) => false,
            Some(Ending::Failed(defeat)) => defeat.remote_ended,
        };
        if let Some(task) = follower.task()
            && (!is_over || self.relays)
        {
            self.reporter.bound(&self.intent.agent, task.clone()).await;
        }
    }

    pub(super) fn request(&self, return_immediately: bool) -> SendMessageRequest {
        SendMessageRequest {
            message: Some(Message::clone(&self.message)),
            configuration: Some(SendMessageConfiguration {
                return_immediately,
                accepted_output_modes: self.accepts.clone(),
                task_push_notification_config: self.callback().map(Callback::config),
                ..SendMessageConfiguration::default()
            }),
            ..SendMessageRequest::default()
        }
    }

    /// What the agent is asked to call. A Task that is known has it already.
    fn callback(&self) -> Option<&Callback> {
        self.intent.callback.as_ref().filter(|_| self.bound().is_none())
    }

    /// An error before anything is bound.
    fn refused(&self, error: &protocol::client::ClientError) -> Ending {
        let refusal = self.relays.then(|| Refusal::of(error)).flatten().map(Box::new);
        Ending::Failed(Defeat { refusal, ..failure::refusal(error) })
    }

    fn unanswered(&self) -> Defeat {
        Defeat::new(
            planner::ErrorClass::Unavailable,
            format!(
                "agent `{}` at {} closed the connection before it answered with a Task or a Message",
                self.intent.agent,
                self.peer.preferred().interface().url
            ),
        )
    }
}
