//! SEND and BIND: the only place from which an attempt's Message leaves.

use std::time::Duration;

use futures_util::StreamExt;
use protocol::v1::{
    Message, SendMessageConfiguration, SendMessageRequest, send_message_response::Payload,
};

use super::{Attempt, Defeat, Ending, Follower, failure};

impl Attempt {
    /// Sends as a stream and follows it; a cut stream is taken up by watching.
    pub(super) async fn send_streaming(&self, left: Duration) -> Ending {
        let request = self.request(false);
        let mut stream = match self.client.send_streaming_message(request, left).await {
            Ok(stream) => stream,
            Err(error) => return self.refused(&error),
        };
        let mut follower = Follower::default();
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
            if let Some(ending) = follower.absorb(event) {
                return ending;
            }
            if !was_bound && let Some(task) = follower.task() {
                self.reporter.bound(task.clone()).await;
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
        let response = match self.client.send_message(self.request(true), left).await {
            Ok(response) => response,
            Err(error) => return self.refused(&error),
        };
        let mut follower = Follower::default();
        match response.payload {
            Some(Payload::Message(message)) => return Ending::Answered(Box::new(message)),
            Some(Payload::Task(task)) => {
                if let Some(ending) = follower.snapshot(task) {
                    return ending;
                }
            }
            None => return Ending::Failed(self.unanswered()),
        }
        if let Some(task) = follower.task() {
            self.reporter.bound(task.clone()).await;
        }
        self.poll(follower).await
    }

    fn request(&self, return_immediately: bool) -> SendMessageRequest {
        SendMessageRequest {
            message: Some(Message::clone(&self.message)),
            configuration: Some(SendMessageConfiguration {
                return_immediately,
                ..SendMessageConfiguration::default()
            }),
            ..SendMessageRequest::default()
        }
    }

    /// An error before anything is bound.
    fn refused(&self, error: &protocol::client::ClientError) -> Ending {
        Ending::Failed(failure::defeat(error))
    }

    fn unanswered(&self) -> Defeat {
        Defeat::new(
            planner::ErrorClass::Unavailable,
            format!(
                "agent `{}` at {} closed the connection before it answered with a Task or a Message",
                self.intent.agent, self.intent.interface.url
            ),
        )
    }
}
