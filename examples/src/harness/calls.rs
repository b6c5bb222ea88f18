//! Every Message an agent was sent, so that tests can count them.

use std::sync::{Arc, Mutex};

use axum::{Json, Router, routing};
use protocol::v1::Message;
use serde::Serialize;

/// The calls of one agent, in the order they came; also served at `GET /calls`.
#[derive(Clone, Debug, Default)]
pub struct CallLog {
    calls: Arc<Mutex<Vec<ReceivedCall>>>,
}

/// One SendMessage or SendStreamingMessage that reached an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReceivedCall {
    /// `messageId` of the Message.
    pub message_id: String,
    /// Its text Parts, joined by newline.
    pub text: String,
    /// Its `referenceTaskIds`.
    pub reference_task_ids: Vec<String>,
    /// Its `contextId`; empty when it had none.
    pub context_id: String,
    /// Its `taskId`; empty when it was to start a Task.
    pub task_id: String,
    /// Whether it came as SendStreamingMessage.
    pub streaming: bool,
    /// What the agent did with it.
    pub outcome: CallOutcome,
}

/// What became of a received Message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Work was begun, or a direct answer given.
    Accepted,
    /// The same Message had come before; the same Task was the answer.
    Repeated,
    /// An error was the answer, or the connection was dropped.
    Refused,
}

impl CallLog {
    /// All calls so far.
    #[must_use]
    pub fn all(&self) -> Vec<ReceivedCall> {
        self.lock().clone()
    }

    /// How many calls there were so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn record(&self, message: &Message, streaming: bool, outcome: CallOutcome) {
        let call = ReceivedCall {
            message_id: message.message_id.clone(),
            text: message.text(),
            reference_task_ids: message.reference_task_ids.clone(),
            context_id: message.context_id.clone(),
            task_id: message.task_id.clone(),
            streaming,
            outcome,
        };
        self.lock().push(call);
    }

    /// `GET /calls`: the calls as a JSON array.
    pub(crate) fn router(&self) -> Router {
        let log = self.clone();
        Router::new().route("/calls", routing::get(async move || Json(log.all())))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<ReceivedCall>> {
        self.calls.lock().expect("nothing panics under this lock")
    }
}
