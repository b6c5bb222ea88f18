//! Answers to pauses, on their way from a person to the driver of the run.

use std::sync::Arc;

use protocol::{auth::CallerToken, v1::Message};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::{once::Once, run::StepId};

/// Answers that may wait for a driver that is busy committing.
const QUEUE: usize = 64;

/// What somebody says to a run that waits.
#[derive(Clone, Debug)]
pub struct Said {
    /// As they have put it.
    pub message: Message,
    /// What makes it the same as one that was taken before.
    pub once: Option<Once>,
    /// The token they came with, where that may be exchanged for those of agents. It is kept in memory alone.
    pub token: Option<CallerToken>,
}

impl From<Message> for Said {
    fn from(message: Message) -> Self {
        Self { message, once: None, token: None }
    }
}

/// An answer to a paused step.
pub(crate) struct Answer {
    /// The step; the only paused one when absent.
    pub(crate) step: Option<StepId>,
    pub(crate) said: Said,
    /// Told once the answer is durable.
    pub(crate) taken: oneshot::Sender<Result<StepId, ReplyError>>,
}

/// Somebody who waits until an answer is durable.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// What it then hears.
    pub(crate) told: Result<StepId, ReplyError>,
    pub(crate) taken: oneshot::Sender<Result<StepId, ReplyError>>,
}

/// Why an answer was not taken. Nothing of it is kept, unless it says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// Nothing in the run waits for an answer.
    #[error("the run waits for no answer")]
    NotPaused,
    /// The named step waits for none.
    #[error("step `{step}` waits for no answer; those that do: {}", names(open))]
    StepNotPaused {
        /// The step that was named.
        step: StepId,
        /// Steps that wait.
        open: Vec<StepId>,
    },
    /// Several steps wait, and none was named.
    #[error("several steps wait for an answer, name one of: {}", names(open))]
    Ambiguous {
        /// Steps that wait.
        open: Vec<StepId>,
    },
    /// It does not fit what was asked for. It is kept, and the step waits for another one.
    #[error("the answer to step `{step}` does not fit: {why}; the step still waits")]
    Unfit {
        /// The step.
        step: StepId,
        /// Where and why.
        why: String,
    },
    /// The answer is larger than what can be kept.
    #[error("the answer cannot be kept: {why}")]
    Unkept {
        /// Why.
        why: String,
    },
    /// The run waits for a token of its caller, and this came without one.
    #[error(
        "the run waits for a token of its caller, to exchange it for those of its agents: send the Message to the server \
         that runs it, with a bearer token that is good now"
    )]
    CallerAway,
    /// The step asks what became of its Message, and the answer does not say what to do.
    #[error(
        "step `{step}` asks what to do about a Message that its agent may have received: answer `resend`, `failed` or \
         `task ID`, or with data such as {{\"outcome\": \"resend\"}} or {{\"outcome\": \"task\", \"task\": \"ID\"}}"
    )]
    Undecided {
        /// The step.
        step: StepId,
    },
    /// It was taken before, and nothing was done again.
    #[error("the answer was taken before")]
    Repeated,
    /// The driver of the run went away before it could say.
    #[error(
        "it is not known whether the answer was taken; look at the run, and reply again if not"
    )]
    Unknown,
}

fn names(steps: &[StepId]) -> String {
    let names: Vec<&str> = steps.iter().map(StepId::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Where answers to a run arrive. Outlives its drivers, of which at most one listens.
#[derive(Clone)]
pub(crate) struct Mailbox {
    to: mpsc::Sender<Answer>,
    inbox: Arc<Mutex<mpsc::Receiver<Answer>>>,
}

impl Default for Mailbox {
    fn default() -> Self {
        let (to, inbox) = mpsc::channel(QUEUE);
        Self { to, inbox: Arc::new(Mutex::new(inbox)) }
    }
}

impl Mailbox {
    /// Leaves an answer and waits until it is durable or refused.
    pub(crate) async fn leave(
        &self,
        step: Option<StepId>,
        said: Said,
    ) -> Result<StepId, ReplyError> {
        let (taken, heard) = oneshot::channel();
        let answer = Answer { step, said, taken };
        self.to.send(answer).await.map_err(|_| ReplyError::Unknown)?;
        heard.await.unwrap_or(Err(ReplyError::Unknown))
    }

    /// Leaves an answer that somebody else waits for.
    pub(crate) async fn pass(&self, answer: Answer) {
        if let Err(refused) = self.to.send(answer).await {
            // Unreachable while the mailbox is held; whoever asked may be gone.
            drop(refused.0.taken.send(Err(ReplyError::Unknown)));
        }
    }

    /// Waits for the next answer. Cancel safe.
    pub(crate) async fn next(&self) -> Answer {
        let answer = self.inbox.lock().await.recv().await;
        match answer {
            Some(answer) => answer,
            // Unreachable: this mailbox holds a sender itself.
            None => std::future::pending().await,
        }
    }
}
