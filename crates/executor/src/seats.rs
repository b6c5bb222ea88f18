//! How many runs are driven at once, in all and of each group, and which wait for their turn.
//!
//! Nothing is counted: who is driven and who waits are two sets, a run is in one of them for as long as its [`Seat`]
//! lives, and the seat goes with the task that drives the run.

mod group;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::group::Group;
pub(crate) use self::group::{Displaced, GroupName, Membership};
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
    /// Every run is driven at once, unless its workflow says otherwise.
    pub const NONE: Self = Self { max_active: usize::MAX, queue: usize::MAX };
}

/// Names one seat: a run that is taken up anew gets another one before its former seat is gone.
type Ticket = u64;

/// Where a run stands in the queue: those that came first go first.
type Place = (Timestamp, RunId, Ticket);

/// Tells a run that its turn has come.
type Tell = watch::Sender<bool>;

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
    queue: BTreeMap<Place, Tell>,
    groups: HashMap<GroupName, Group>,
    /// How many runs wait for others of their groups, and are not in the queue yet.
    blocked: usize,
    /// Who has asked that nobody's turn comes.
    gates: usize,
}

impl Seats {
    pub(crate) fn new(limits: RunLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// Takes a new run, to be driven at once or in its turn.
    pub(crate) fn admit(
        self: &Arc<Self>,
        id: &RunId,
        at: Timestamp,
        member: Option<Membership>,
    ) -> Admission {
        let mut state = self.state();
        let is_blocked = member.as_ref().is_some_and(|member| state.is_full(member));
        if is_blocked && member.as_ref().is_some_and(Membership::rejects) {
            return Admission::Rejected;
        }
        let is_free = state.queue.is_empty() && state.held.len() < self.limits.max_active;
        let waiting = state.queue.len() + state.blocked;
        if (is_blocked || !is_free) && waiting >= self.limits.queue {
            return Admission::Full;
        }
        let turn = match (is_blocked, is_free) {
            (true, _) => Turn::Blocked,
            (false, true) => Turn::Now,
            (false, false) => Turn::Queued,
        };
        let (place, cancel) = (state.place(id, at), CancellationToken::new());
        let displaced = match &member {
            Some(member) if is_blocked => state.displace(member, &place, &cancel, self),
            _ => None,
        };
        let name = member.as_ref().map(|member| member.name.clone());
        let seat = self.seat(&mut state, place, cancel, member, turn);
        if let Some(name) = name {
            // The limit may have been raised with this run.
            state.unblock(&name);
            self.grant(&mut state);
        }
        Admission::Seated(seat, displaced)
    }

    /// Takes up a run that exists since an instant: one that was queued waits again, any other is driven at once.
    pub(crate) fn take_up(
        self: &Arc<Self>,
        id: &RunId,
        since: Timestamp,
        is_queued: bool,
        member: Option<Membership>,
    ) -> Arc<Seat> {
        let mut state = self.state();
        let turn = match (is_queued, &member) {
            (false, _) => Turn::Now,
            (true, None) => Turn::Queued,
            (true, Some(_)) => Turn::Blocked,
        };
        let name = member.as_ref().map(|member| member.name.clone());
        let place = state.place(id, since);
        let seat = self.seat(&mut state, place.clone(), CancellationToken::new(), member, turn);
        if let Some(name) = name {
            state.unblock_again(&name, &place);
        }
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
        place: Place,
        cancel: CancellationToken,
        member: Option<Membership>,
        turn: Turn,
    ) -> Arc<Seat> {
        let (tell, granted) = watch::channel(turn == Turn::Now);
        let group = member.as_ref().map(|member| member.name.clone());
        if let Some(member) = member {
            let waits = (turn == Turn::Blocked).then(|| tell.clone());
            state.join(member, &place, cancel.clone(), waits);
        }
        match turn {
            Turn::Now => _ = state.held.insert(place.2),
            Turn::Queued => _ = state.queue.insert(place.clone(), tell),
            Turn::Blocked => (),
        }
        Arc::new(Seat { seats: Arc::clone(self), place, group, cancel, granted })
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

/// What became of a new run.
pub(crate) enum Admission {
    /// It has a place; another run of its group has to end for it, if there is one here.
    Seated(Arc<Seat>, Option<Displaced>),
    /// Nothing more may wait.
    Full,
    /// Its group has no room, and it does not wait.
    Rejected,
}

/// When a run is driven.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Now,
    /// When a seat is free.
    Queued,
    /// When its group has room; then when a seat is free.
    Blocked,
}

impl State {
    /// A place of its own for a run that came at an instant.
    fn place(&mut self, id: &RunId, at: Timestamp) -> Place {
        let ticket = self.next;
        self.next += 1;
        (at, id.clone(), ticket)
    }
}

/// Keeps turns from coming while it lives.
pub(crate) struct Gate(Arc<Seats>);

impl Drop for Gate {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.gates -= 1;
        state.unblock_all();
        self.0.grant(&mut state);
    }
}

/// The place of one run among those that are driven, or in the queue. Dropping it leaves it to the next one.
#[derive(Debug)]
pub(crate) struct Seat {
    seats: Arc<Seats>,
    place: Place,
    group: Option<GroupName>,
    /// Asks for the end of the run.
    cancel: CancellationToken,
    granted: watch::Receiver<bool>,
}

impl Seat {
    /// What asks for the end of the run, from the moment at which it has its place.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

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
        if let Some(group) = &self.group {
            state.leave(group, &self.place);
        }
        self.seats.grant(&mut state);
    }
}

#[cfg(test)]
mod tests;
