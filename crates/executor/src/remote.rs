//! One attempt seen from the outside: send or re-attach, follow to the end, report to the driver.
//!
//! A task per attempt, owned by its driver. Cancel drops the connection and nothing else: telling the agent
//! is [`cancel`]'s work. An error becomes a report; nothing is retried here that could be a second send.

mod answer;
mod cancel;
mod failure;
mod follow;
mod passing;
mod send;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use planner::ErrorClass;
use protocol::{
    auth::{Caller, Keyring},
    client::{Interface, Peer},
    v1::{Message, Part},
};

#[cfg(test)]
pub(crate) use self::follow::Finished;
pub(crate) use self::{
    cancel::{Cancel, confirm_cancel},
    follow::{Defeat, Ending, Follower, KnownPause, Question},
    passing::Passing,
};
use crate::{
    Limits,
    callback::Hints,
    interfaces::Interfaces,
    report::Reporter,
    run::{Intent, Limit, RemoteTask},
};

/// How far behind the attempt's deadline the client's own lies, so that it is always the attempt's that speaks.
const SLACK: Duration = Duration::from_secs(5);

/// How long a pause is followed in one go.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// All that one attempt needs.
pub(crate) struct Attempt {
    /// The agent, by the interface to be called and those behind it.
    pub(crate) peer: Peer,
    /// What it is called with.
    pub(crate) keyring: Option<Keyring>,
    /// On whose behalf.
    pub(crate) caller: Caller,
    /// Whether it waits for that caller, and people know.
    pub(crate) is_withheld: bool,
    pub(crate) intent: Arc<Intent>,
    pub(crate) message: Arc<Message>,
    /// How many answers were given before it.
    pub(crate) turn: u32,
    pub(crate) errand: Errand,
    /// Absent while a pause stops the clock.
    pub(crate) deadline: Option<Timestamp>,
    /// What that is, for people.
    pub(crate) limit: Limit,
    pub(crate) limits: Limits,
    /// What is known of agents' interfaces.
    pub(crate) interfaces: Arc<Interfaces>,
    /// Whether what the agent says of its Task is told as it is.
    pub(crate) relays: bool,
    /// Media types that the answer may have; empty for any.
    pub(crate) accepts: Vec<String>,
    /// Hands artifacts on while they come; absent where nobody waits for them.
    pub(crate) passing: Option<Passing>,
    /// What the agent tells of its Task between two looks; absent where it has no callback.
    pub(crate) hints: Option<Hints>,
    pub(crate) reporter: Reporter,
}

/// What there is to do for an attempt.
pub(crate) enum Errand {
    /// Send its Message, of which no Task is known.
    Send,
    /// Follow its Task.
    Watch {
        task: RemoteTask,
        /// The pause it is in.
        pause: Option<KnownPause>,
    },
    /// Send the answer its Task waits for.
    Answer {
        task: RemoteTask,
        turn: u32,
        /// The question that is answered.
        asked: Option<KnownPause>,
        /// Whether it cannot have been sent before.
        is_new: bool,
    },
}

impl Errand {
    /// The Task, when one is known.
    pub(crate) fn task(&self) -> Option<&RemoteTask> {
        match self {
            Self::Send => None,
            Self::Watch { task, .. } | Self::Answer { task, .. } => Some(task),
        }
    }
}

/// Sends or re-attaches, follows, and reports how it ended. Cancel safe: every report stands alone.
pub(crate) async fn fly(attempt: Attempt) {
    if let Some(ending) = attempt.without_caller().await {
        return attempt.reporter.ended(&attempt, ending).await;
    }
    let left = attempt.left();
    let ending = match left.is_zero() {
        true => attempt.look_once().await,
        false => tokio::time::timeout(left, attempt.run(left + SLACK)).await.ok(),
    };
    let ending = match ending.unwrap_or_else(|| Ending::Failed(attempt.too_late())) {
        Ending::Failed(defeat) if attempt.has_lost_caller(&defeat) => Ending::Withheld,
        ending => ending,
    };
    attempt.reporter.ended(&attempt, ending).await;
}

impl Attempt {
    /// What there is to say before an agent is called on behalf of a caller who has to come again; nothing where it can be
    /// called. A pause that people know of ends here, an answer that is on its way waits unseen.
    async fn without_caller(&self) -> Option<Ending> {
        let is_away = self.awaits_caller();
        if self.is_withheld {
            if is_away {
                self.caller.back().await;
            }
            return Some(Ending::WentOn);
        }
        if !is_away {
            return None;
        }
        if !matches!(self.errand, Errand::Answer { .. }) {
            return Some(Ending::Withheld);
        }
        // When its time is up, the call says what is missing.
        let _ = tokio::time::timeout(self.left(), self.caller.back()).await;
        None
    }

    /// What is asked of a caller who has to come again.
    pub(crate) fn wish(&self) -> Message {
        Message::agent(vec![Part::text(format!(
            "Agent `{}` is called with a token in exchange for yours, and yours has ended or was not kept over a \
             restart: send a Message to this Task with a bearer token that is good now, and it goes on",
            self.intent.agent
        ))])
    }

    /// Whether an attempt failed only because the token of its caller has ended meanwhile: then nothing was done.
    fn has_lost_caller(&self, defeat: &Defeat) -> bool {
        let is_refusal = defeat.class == ErrorClass::Unauthorized && !defeat.remote_ended;
        is_refusal && !matches!(self.errand, Errand::Answer { .. }) && self.awaits_caller()
    }

    fn awaits_caller(&self) -> bool {
        self.keyring.as_ref().is_some_and(Keyring::awaits_caller)
    }

    async fn run(&self, left: Duration) -> Ending {
        match &self.errand {
            Errand::Watch { task, pause } => {
                self.watch(self.heard(follower_of(task, pause.as_ref()))).await
            }
            Errand::Answer { task, turn, asked, is_new } => {
                let follower = self.heard(follower_of(task, asked.as_ref()));
                self.deliver(follower, *turn, *is_new, left).await
            }
            Errand::Send if self.intent.streaming => self.send_streaming(left).await,
            Errand::Send => self.send_and_poll(left).await,
        }
    }

    /// The Task, when one is known.
    fn bound(&self) -> Option<&RemoteTask> {
        self.errand.task()
    }

    /// Takes note of the interface that took the Message, and returns it where the intent names another.
    fn note_interface(&self) -> Option<Box<Interface>> {
        let taken_by = self.peer.preferred().interface();
        self.interfaces.note(&self.intent, taken_by);
        (*taken_by != self.intent.interface).then(|| Box::new(taken_by.clone()))
    }

    /// A follower that keeps what those who follow the run are told.
    fn heard(&self, follower: Follower) -> Follower {
        follower.passing(self.passing.clone()).relaying(self.relays)
    }

    /// Hands on what has come of artifacts, and of a relay's Task, once that is known to the driver.
    async fn pass_on(&self, follower: &mut Follower, ending: Option<&Ending>) {
        for chunk in follower.take_chunks(ending) {
            let bytes = self.reporter.chunk(chunk).await;
            follower.spend(bytes);
        }
        if let Some(status) = follower.take_status() {
            self.reporter.reported(&status).await;
        }
    }

    /// Time left for the attempt.
    fn left(&self) -> Duration {
        self.deadline.map_or(LONGEST, until)
    }

    fn too_late(&self) -> Defeat {
        let Limit { field, length, .. } = self.limit;
        let (agent, seconds) = (&self.intent.agent, length.as_secs_f64());
        let why =
            format!("agent `{agent}` did not finish within the step's {field} of {seconds} s");
        Defeat::new(ErrorClass::Timeout, why)
    }
}

fn follower_of(task: &RemoteTask, known: Option<&KnownPause>) -> Follower {
    let follower = Follower::of(task.clone());
    match known {
        Some(known) => follower.knowing(known.clone()),
        None => follower,
    }
}

/// Time left until an instant of the wall clock; zero when it has passed.
pub(crate) fn until(at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default()
}
