//! Whoever sees to it that every webhook is being told what it has not been told yet.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, PoisonError},
    time::Duration,
};

use executor::ExecutorError;
use jiff::Timestamp;
use store::Expect;
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use super::{
    Push,
    delivery::End,
    registration::DeliveryState,
    rows::{Address, Known},
};

/// How often the rows are looked at without being told to: others may have written them, as `deliveries retry` does.
const LOOK: Duration = Duration::from_secs(2);

/// How often what has had its time is looked for.
const SWEEP: Duration = Duration::from_mins(1);

/// The place of a delivery that is under way.
pub(super) struct Place {
    /// Of the row with which it began.
    turn: u32,
    pub(super) stop: CancellationToken,
}

/// A delivery under way. Its place is free again when this is dropped.
struct UnderWay {
    push: Arc<Push>,
    at: Address,
}

impl Push {
    /// Delivers to every webhook until it is told to stop. Each delivery is a task of its own that ends with this; what
    /// it has not noted is sent again after the next start. An error of the store is logged, and the rows are looked at
    /// again later.
    pub(crate) async fn deliver(self: Arc<Self>, stop: CancellationToken) {
        let mut deliveries = JoinSet::new();
        let (mut look, mut sweep) = (interval(LOOK), interval(SWEEP));
        for timer in [&mut look, &mut sweep] {
            timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        loop {
            let is_due = tokio::select! {
                () = stop.cancelled() => break,
                () = self.news.notified() => true,
                _ = look.tick() => true,
                _ = sweep.tick() => {
                    self.clean_up(Timestamp::now()).await;
                    false
                }
                Some(ended) = deliveries.join_next() => !matches!(ended, Ok(End::Rest)),
            };
            if is_due && let Err(error) = self.begin(&mut deliveries, &stop).await {
                tracing::warn!(%error, "webhooks cannot be looked at just now");
            }
        }
        deliveries.shutdown().await;
    }

    /// Begins the deliveries that are not under way.
    async fn begin(
        self: &Arc<Self>,
        deliveries: &mut JoinSet<End>,
        stop: &CancellationToken,
    ) -> Result<(), ExecutorError> {
        let mut cursor = None;
        loop {
            let page = self.rows.in_state(Some(DeliveryState::Open), cursor).await?;
            for (account, registration) in page.registrations {
                let (at, turn) = (registration.address(&account), registration.turn);
                if let Some((under_way, stop)) = self.occupy(at, turn, stop) {
                    deliveries.spawn(run(under_way, stop));
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    /// The place of a delivery, if it is free, and what ends it. One that began with the row as it was before somebody
    /// else changed it is told to end.
    fn occupy(
        self: &Arc<Self>,
        at: Address,
        turn: u32,
        stop: &CancellationToken,
    ) -> Option<(UnderWay, CancellationToken)> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.entry(at.clone()) {
            Entry::Occupied(place) => {
                if place.get().turn != turn {
                    place.get().stop.cancel();
                }
                None
            }
            Entry::Vacant(place) => {
                let stop = stop.child_token();
                place.insert(Place { turn, stop: stop.clone() });
                Some((UnderWay { push: Arc::clone(self), at }, stop))
            }
        }
    }

    /// Forgets webhooks to which nothing is delivered any more, and replaces keys.
    async fn clean_up(&self, now: Timestamp) {
        if let Err(why) = self.keys.renew(now) {
            tracing::warn!(why, "the key that signs notifications could not be replaced yet");
        }
        if let Err(error) = self.sweep(now).await {
            tracing::warn!(%error, "webhooks of Tasks that have ended could not be forgotten yet");
        }
    }

    pub(super) async fn sweep(&self, now: Timestamp) -> Result<(), ExecutorError> {
        for state in [DeliveryState::Done, DeliveryState::Parked] {
            let mut cursor = None;
            loop {
                let page = self.rows.in_state(Some(state), cursor).await?;
                for (account, registration) in page.registrations {
                    let until = registration.since.checked_add(self.settings.keep);
                    if until.unwrap_or(Timestamp::MAX) <= now {
                        self.forget(&registration.address(&account), state).await?;
                    }
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Deletes a row that is still in a state, unless its Task goes on: so long it has to be kept (A2A §3.1.7).
    async fn forget(&self, at: &Address, state: DeliveryState) -> Result<(), ExecutorError> {
        let Some(Known { registration, version }) = self.rows.read(at).await? else {
            return Ok(());
        };
        if registration.state != state {
            return Ok(());
        }
        if let Ok(task) = registration.config.task_id.parse()
            && !self.runs.of(&at.account).task(&task).await?.state().task_state().is_terminal()
        {
            return Ok(());
        }
        self.rows.delete_if(at, Expect::Version(version)).await
    }
}

async fn run(under_way: UnderWay, stop: CancellationToken) -> End {
    let delivered = stop.run_until_cancelled(under_way.push.deliver_to(&under_way.at)).await;
    match delivered {
        Some(Ok(end)) => end,
        Some(Err(error)) => {
            tracing::warn!(webhook = under_way.at.key, %error, "notifications wait");
            End::Rest
        }
        None => End::Changed,
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut under_way = self.push.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.remove(&self.at);
    }
}
