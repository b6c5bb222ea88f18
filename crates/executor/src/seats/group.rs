//! Runs that are counted together: those of one workflow of one account whose keys are equal.
//!
//! A run is a member of its group from the moment at which the group has room for it to its end, also while it waits
//! for a seat or for people. Those for which there is no room wait in the group.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use planner::{Concurrency, OnConflict};
use store::AccountId;
use tokio_util::sync::CancellationToken;

use super::{Place, Seats, State, Tell};

/// Names a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupName {
    pub(crate) account: AccountId,
    pub(crate) workflow: String,
    pub(crate) key: String,
}

/// The group of a run, and what its workflow says of it.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(super) name: GroupName,
    limit: usize,
    on_conflict: OnConflict,
}

impl Membership {
    pub(crate) fn new(name: GroupName, concurrency: &Concurrency) -> Self {
        let limit = usize::try_from(concurrency.limit).unwrap_or(usize::MAX);
        Self { name, limit, on_conflict: concurrency.on_conflict }
    }

    /// Whether one more is turned away.
    pub(super) fn rejects(&self) -> bool {
        self.on_conflict == OnConflict::Reject
    }
}

/// The runs of one group that have not ended.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// As the run that came last has it.
    limit: usize,
    /// Each with what asks for its end.
    members: BTreeMap<Place, CancellationToken>,
    waiting: BTreeMap<Place, Waiting>,
    /// Those whose end was asked for, to make room.
    displaced: BTreeSet<Place>,
}

/// A run for which there is no room yet.
#[derive(Debug)]
struct Waiting {
    tell: Tell,
    cancel: CancellationToken,
    on_conflict: OnConflict,
}

impl Group {
    fn has_room(&self) -> bool {
        self.members.len() < self.limit
    }

    /// The oldest run whose end nobody has asked for yet, of those before a place.
    fn oldest(&self, before: &Place) -> Option<(Place, CancellationToken)> {
        let waiting = self.waiting.iter().map(|(place, it)| (place, &it.cancel));
        let runs = self.members.iter().chain(waiting);
        let oldest =
            runs.filter(|(place, _)| !self.displaced.contains(place)).min_by_key(|it| it.0);
        oldest.filter(|(place, _)| *place < before).map(|(place, it)| (place.clone(), it.clone()))
    }

    /// Has a run end for one that waits since before a restart: who was to end may not have learned it.
    fn displace_again(&mut self, place: &Place) {
        let Some(Waiting { cancel, on_conflict, .. }) = self.waiting.get(place) else { return };
        match on_conflict {
            OnConflict::Queue | OnConflict::Reject => (),
            OnConflict::CancelNewest => cancel.cancel(),
            OnConflict::CancelOldest => {
                if let Some((oldest, cancel)) = self.oldest(place) {
                    self.displaced.insert(oldest);
                    cancel.cancel();
                }
            }
        }
    }
}

impl State {
    /// Whether a run would have to wait for others of its group.
    pub(super) fn is_full(&self, member: &Membership) -> bool {
        let group = self.groups.get(&member.name);
        group.is_some_and(|group| group.members.len() >= member.limit || !group.waiting.is_empty())
    }

    /// Finds the run that has to end for one more, which is going to have this place.
    pub(super) fn displace(
        &mut self,
        member: &Membership,
        place: &Place,
        cancel: &CancellationToken,
        seats: &Arc<Seats>,
    ) -> Option<Displaced> {
        match member.on_conflict {
            OnConflict::Queue | OnConflict::Reject => None,
            OnConflict::CancelNewest => Some(Displaced { cancel: cancel.clone(), claim: None }),
            OnConflict::CancelOldest => {
                let group = self.groups.get_mut(&member.name)?;
                let (place, cancel) = group.oldest(place)?;
                group.displaced.insert(place.clone());
                let (seats, name) = (Arc::clone(seats), member.name.clone());
                Some(Displaced { cancel, claim: Some(Claim { place, name, seats }) })
            }
        }
    }

    /// Takes a run into its group: as one that waits there when there is something to tell it.
    pub(super) fn join(
        &mut self,
        member: Membership,
        place: &Place,
        cancel: CancellationToken,
        waits: Option<Tell>,
    ) {
        let group = self.groups.entry(member.name).or_default();
        group.limit = member.limit;
        match waits {
            Some(tell) => {
                let waiting = Waiting { tell, cancel, on_conflict: member.on_conflict };
                group.waiting.insert(place.clone(), waiting);
                self.blocked += 1;
            }
            None => _ = group.members.insert(place.clone(), cancel),
        }
    }

    /// Takes a run out of its group, for whatever end.
    pub(super) fn leave(&mut self, name: &GroupName, place: &Place) {
        let Some(group) = self.groups.get_mut(name) else { return };
        group.members.remove(place);
        group.displaced.remove(place);
        self.blocked -= usize::from(group.waiting.remove(place).is_some());
        if group.members.is_empty() && group.waiting.is_empty() {
            self.groups.remove(name);
        } else {
            self.unblock(name);
        }
    }

    /// Lets those who wait in a group go on to the queue while it has room.
    pub(super) fn unblock(&mut self, name: &GroupName) {
        let Some(group) = self.groups.get_mut(name).filter(|_| self.gates == 0) else { return };
        while group.has_room()
            && let Some((place, Waiting { tell, cancel, .. })) = group.waiting.pop_first()
        {
            self.blocked -= 1;
            group.members.insert(place.clone(), cancel);
            self.queue.insert(place, tell);
        }
    }

    /// As [`State::unblock`], for a run that was taken up.
    pub(super) fn unblock_again(&mut self, name: &GroupName, place: &Place) {
        self.unblock(name);
        if self.gates == 0
            && let Some(group) = self.groups.get_mut(name)
        {
            group.displace_again(place);
        }
    }

    /// As [`State::unblock`], for all groups, once all their runs are there again.
    pub(super) fn unblock_all(&mut self) {
        let names: Vec<GroupName> = self.groups.keys().cloned().collect();
        for name in names {
            self.unblock(&name);
            let Some(group) = self.groups.get_mut(&name).filter(|_| self.gates == 0) else {
                continue;
            };
            let waiting: Vec<Place> = group.waiting.keys().cloned().collect();
            waiting.iter().for_each(|place| group.displace_again(place));
        }
    }
}

/// A run that has to end because there is one too many of its group. Unless that is confirmed, the run is left to
/// whoever comes next.
pub(crate) struct Displaced {
    /// Asks for its end.
    cancel: CancellationToken,
    claim: Option<Claim>,
}

/// An older run that was chosen.
struct Claim {
    place: Place,
    name: GroupName,
    seats: Arc<Seats>,
}

impl Displaced {
    /// Asks for the end of the run, which may not be driven yet.
    pub(crate) fn confirm(mut self) {
        self.claim = None;
        self.cancel.cancel();
    }
}

impl Drop for Displaced {
    fn drop(&mut self) {
        if let Some(Claim { place, name, seats }) = &self.claim
            && let Some(group) = seats.state().groups.get_mut(name)
        {
            group.displaced.remove(place);
        }
    }
}
