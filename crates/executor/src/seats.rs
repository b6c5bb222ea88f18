//! How many runs are driven at once, and which wait for their turn.
//!
//! Nothing is counted: who is driven and who waits are two sets, a run is in one of them for as long as its [`Seat`]
//! lives, and the seat goes with the task that drives the run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use tokio::sync::watch;

use crate::RunId;

/// How many runs an executor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Runs that are driven at once. One that waits for people only does not count; one that goes on after that is
    /// driven at once, even beyond the limit, and so is one that was driven before a restart.
    pub max_active: usize,
    /// Runs that are kept and wait until one of those ends.
    pub queue: usize,
}

impl RunLimits {
    /// Every run is driven at once.
    pub const NONE: Self = Self { max_active: usize::MAX, queue: 0 };
}

/// Names one seat: a run that is taken up anew gets another one before its former seat is gone.
type Ticket = u64;

/// Where a run stands in the queue: those that came first go first.
type Place = (Timestamp, RunId, Ticket);

/// The seats of an executor.
#[derive(Debug)]
pub(crate) struct Seats {
    limits: RunLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: Ticket,
    held: BTreeSet<Ticket>,
    queue: BTreeMap<Place, watch::Sender<bool>>,
    /// Who has asked that nobody's turn comes.
    gates: usize,
}

impl Seats {
    pub(crate) fn new(limits: RunLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Takes a new run, to be driven at once or in its turn; `None` when even the queue is full.
    pub(crate) fn admit(self: &Arc<Self>, id: &RunId, at: Timestamp) -> Option<Arc<Seat>> {
        let mut state = self.state();
        let is_free = state.queue.is_empty() && state.held.len() < self.limits.max_active;
        if !is_free && state.queue.len() >= self.limits.queue {
            return None;
        }
        Some(self.seat(&mut state, id, at, !is_free))
    }

    /// Takes up a run that exists: one that was queued at an instant waits again, any other is driven at once.
    pub(crate) fn take_up(self: &Arc<Self>, id: &RunId, queued_at: Option<Timestamp>) -> Arc<Seat> {
        let mut state = self.state();
        let at = queued_at.unwrap_or(Timestamp::UNIX_EPOCH);
        let seat = self.seat(&mut state, id, at, queued_at.is_some());
        self.grant(&mut state);
        seat
    }

    /// Lets nobody's turn come until the gate is dropped: runs that are taken up one after the other stand in their
    /// order only once all are there.
    pub(crate) fn gate(self: &Arc<Self>) -> Gate {
        self.state().gates += 1;
        Gate(Arc::clone(self))
    }

    fn seat(
        self: &Arc<Self>,
        state: &mut State,
        id: &RunId,
        at: Timestamp,
        is_queued: bool,
    ) -> Arc<Seat> {
        let ticket = state.next;
        state.next += 1;
        let place = (at, id.clone(), ticket);
        let (tell, granted) = watch::channel(!is_queued);
        if is_queued {
            state.queue.insert(place.clone(), tell);
        } else {
            state.held.insert(ticket);
        }
        Arc::new(Seat { seats: Arc::clone(self), place, granted })
    }

    /// Turns come while seats are free.
    fn grant(&self, state: &mut State) {
        while state.gates == 0
            && state.held.len() < self.limits.max_active
            && let Some(((_, _, ticket), tell)) = state.queue.pop_first()
        {
            state.held.insert(ticket);
            tell.send_replace(true);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds it can panic halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps turns from coming while it lives.
pub(crate) struct Gate(Arc<Seats>);

impl Drop for Gate {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.gates -= 1;
        self.0.grant(&mut state);
    }
}

/// The place of one run among those that are driven, or in the queue. Dropping it leaves it to the next one.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    place: Place,
    granted: watch::Receiver<bool>,
}

impl Seat {
    /// When it was asked for: its place in the queue.
    pub(crate) fn since(&self) -> Timestamp {
        self.place.0
    }

    /// Whether its turn has come.
    pub(crate) fn is_granted(&self) -> bool {
        *self.granted.borrow()
    }

    /// Waits for its turn. Cancel safe.
    pub(crate) async fn granted(&self) {
        let mut granted = self.granted.clone();
        if granted.wait_for(|is_granted| *is_granted).await.is_err() && !self.is_granted() {
            // Unreachable: who queues keeps its end until the turn has come.
            std::future::pending::<()>().await;
        }
    }

    /// Says whether the run needs it now; before its turn has come that changes nothing.
    pub(crate) fn hold(&self, is_needed: bool) {
        let mut state = self.seats.state();
        if !self.is_granted() {
            return;
        }
        if is_needed {
            state.held.insert(self.place.2);
        } else if state.held.remove(&self.place.2) {
            self.seats.grant(&mut state);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.seats.state();
        state.queue.remove(&self.place);
        state.held.remove(&self.place.2);
        self.seats.grant(&mut state);
    }
}

#[cfg(test)]
mod tests;
