//! What a webhook has not been told yet, on its way there.

use std::time::Duration;

use executor::{ExecutorError, RunId};
use jiff::Timestamp;
use protocol::{
    push::{self, Attempt, Body, PushError},
    v1::{StreamResponse, stream_response::Payload},
};
use store::Version;

use super::{
    Push,
    registration::{DeliveryState, Failing, Position, Registration},
    rows::{Address, Known},
};
use crate::{
    tail::Tail,
    view::{self, Extent},
};

/// The longest wait between two attempts that is not asked for by the webhook.
pub(super) const LONGEST_WAIT: Duration = Duration::from_mins(10);

/// How a delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There is nothing more to do for this row.
    Rest,
    /// Somebody else has written the row: it is to be looked at again.
    Changed,
}

/// A row in the hands of whoever delivers it.
struct Held<'a> {
    push: &'a Push,
    at: &'a Address,
    row: Registration,
    version: Version,
}

impl Push {
    /// Delivers to one webhook until its Task has ended, it counts as gone, or somebody else changes its row. Dropping
    /// the future is no harm: what has not been noted is sent again.
    pub(super) async fn deliver_to(&self, at: &Address) -> Result<End, ExecutorError> {
        let Some(Known { registration, version }) = self.rows.read(at).await? else {
            return Ok(End::Rest);
        };
        let mut held = Held { push: self, at, row: registration, version };
        let Ok(task) = held.row.config.task_id.parse::<RunId>() else { return Ok(End::Rest) };
        let mut tail = Tail::after(self.runs.of(&at.account), &task, held.row.at.seq).await?;
        while held.row.state == DeliveryState::Open {
            if tail.is_over() {
                held.row = held.row.with_state(DeliveryState::Done);
                return held.note().await.map(|is_ours| End::of(is_ours, End::Rest));
            }
            let event = tail.next().await?;
            let updates = view::updates(tail.runs(), &tail.record, &event).await?;
            let after = Position { seq: tail.record.seq(), told: 0 };
            let count = updates.len();
            for (index, update) in updates.into_iter().enumerate().skip(held.row.at.told) {
                let next = if index + 1 == count {
                    after
                } else {
                    Position { told: index + 1, ..held.row.at }
                };
                let is_over = next == after && tail.is_over();
                let body = held.body(&tail, &update).await?;
                if !held.tell(body, next, is_over).await? {
                    return Ok(End::Changed);
                }
                if held.row.state != DeliveryState::Open {
                    return Ok(End::Rest);
                }
            }
            held.row.at = after;
        }
        Ok(End::Rest)
    }
}

impl Held<'_> {
    /// What an update is to its webhook: itself, or before 1.0 the Task as it then is, each time that its status is
    /// told. Nothing where such a webhook is told nothing.
    async fn body(
        &self,
        tail: &Tail,
        update: &StreamResponse,
    ) -> Result<Option<Result<Body, PushError>>, ExecutorError> {
        if self.row.spoken.is_current() {
            return Ok(Some(push::body(update)));
        }
        if matches!(update.payload, Some(Payload::ArtifactUpdate(_))) {
            return Ok(None);
        }
        let task = view::task(tail.runs(), &tail.record, Extent::with_history(None)).await?;
        Ok(Some(push::older_body(self.row.spoken.0, task)))
    }

    /// Sends a notification until it has arrived, is refused, or its webhook counts as gone, and notes which; says
    /// whether the row is still ours.
    async fn tell(
        &mut self,
        body: Option<Result<Body, PushError>>,
        next: Position,
        is_last: bool,
    ) -> Result<bool, ExecutorError> {
        let refused = match body {
            Some(Ok(body)) => {
                let is_ours = self.send(body).await?;
                if !is_ours {
                    return Ok(false);
                }
                None
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        if let Some(error) = refused {
            self.row.refuse(self.row.words(&error));
        }
        if self.row.state == DeliveryState::Open {
            self.row.at = next;
            if is_last {
                self.row = self.row.clone().with_state(DeliveryState::Done);
            }
        }
        self.note().await
    }

    /// Sends a body again and again; says whether the row is still ours.
    async fn send(&mut self, body: Body) -> Result<bool, ExecutorError> {
        loop {
            if let Some(failing) = &self.row.failing {
                tokio::time::sleep(until(failing.next)).await;
            }
            let passage = self.push.gates.pass(&self.row.config.url).await;
            let attempt = self.push.sender.send(&self.row.config, body.clone()).await;
            drop(passage);
            match attempt {
                Attempt::Delivered => {
                    self.row.failing = None;
                    return Ok(true);
                }
                Attempt::Refused(error) => {
                    let why = self.row.words(&error);
                    tracing::warn!(
                        task = self.row.config.task_id,
                        why,
                        "a notification is left out"
                    );
                    self.row.failing = None;
                    self.row.refuse(why);
                    return Ok(true);
                }
                Attempt::Gone(error) => {
                    let why = self.row.words(&error);
                    tracing::info!(
                        task = self.row.config.task_id,
                        why,
                        "a webhook wants nothing more"
                    );
                    self.row = self.row.clone().with_state(DeliveryState::Done);
                    self.row.failing = None;
                    return Ok(true);
                }
                Attempt::Failed { error, after } => {
                    let why = self.row.words(&error);
                    if self.failed(why.clone(), after) {
                        tracing::warn!(
                            task = self.row.config.task_id,
                            why,
                            "a webhook counts as gone"
                        );
                        return Ok(true);
                    }
                    if !self.note().await? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Counts a failure; says whether that was the last attempt.
    fn failed(&mut self, why: String, asked: Option<Duration>) -> bool {
        let now = Timestamp::now();
        let (attempts, since) = match &self.row.failing {
            Some(failing) => (failing.attempts.saturating_add(1), failing.since),
            None => (1, now),
        };
        let wait = self.push.backoff.wait_within(attempts, asked, draw());
        let next = wait.map(|wait| now.checked_add(wait).unwrap_or(Timestamp::MAX));
        let latest = since.checked_add(self.push.settings.give_up_after).unwrap_or(Timestamp::MAX);
        let next = next.filter(|next| *next <= latest);
        let failing = Failing { attempts, since, next: next.unwrap_or(now), why };
        self.row.failing = Some(failing);
        if next.is_none() {
            self.row = self.row.clone().with_state(DeliveryState::Parked);
        }
        next.is_none()
    }

    /// Writes the row; says whether it is still ours.
    async fn note(&mut self) -> Result<bool, ExecutorError> {
        let rows = &self.push.rows;
        if !rows.write(&self.at.account, &self.row, Some(self.version)).await? {
            return Ok(false);
        }
        match rows.read(self.at).await? {
            Some(known) if known.registration == self.row => {
                self.version = known.version;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl End {
    fn of(is_ours: bool, end: Self) -> Self {
        if is_ours { end } else { Self::Changed }
    }
}

/// How long it is until an instant.
fn until(at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or_default()
}

/// A number from 0..1 for the jitter of a back-off.
fn draw() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    // The version and variant bits of a v4 are not in the upper half of the first word.
    f64::from(u32::try_from(high >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}
