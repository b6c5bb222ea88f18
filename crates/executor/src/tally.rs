//! How many Messages a run and its sub-runs have sent, against the budget of each run that they are inside of.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use dashmap::DashMap;

use crate::id::RunKey;

/// Tallies of runs that are driven here, or whose sub-runs are.
pub(crate) type Tallies = DashMap<RunKey, Arc<Tally>>;

/// What one run has sent, and those inside of it that go on. What one that has ended has sent is in the journal of the
/// run that it was inside of, and counts there.
#[derive(Debug)]
pub(crate) struct Tally {
    own: AtomicU64,
    limit: AtomicU64,
    below: Mutex<HashMap<RunKey, Weak<Tally>>>,
    above: OnceLock<Arc<Tally>>,
    /// Held, at the top, while somebody decides whether to send: two must not take the last call both.
    gate: Mutex<()>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            own: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
            below: Mutex::default(),
            above: OnceLock::new(),
            gate: Mutex::default(),
        }
    }
}

impl Tally {
    /// The tally of a run, in place from now on.
    pub(crate) fn of(
        tallies: &Tallies,
        run: &RunKey,
        limit: u64,
        above: Option<&RunKey>,
    ) -> Arc<Self> {
        let tally = Arc::clone(&tallies.entry(run.clone()).or_default());
        tally.limit.store(limit, Ordering::Relaxed);
        if let Some(above) = above {
            let above = Arc::clone(&tallies.entry(above.clone()).or_default());
            lock(&above.below).insert(run.clone(), Arc::downgrade(&tally));
            // It is inside of the same run for ever.
            let _ = tally.above.set(above);
        }
        tally
    }

    /// Keeps others from sending until the guard is dropped.
    pub(crate) fn gate(&self) -> MutexGuard<'_, ()> {
        let mut top = self;
        while let Some(above) = top.above.get() {
            top = above;
        }
        lock(&top.gate)
    }

    /// How many more calls there may be before some budget is spent.
    pub(crate) fn spare(&self) -> u64 {
        let mut spare = u64::MAX;
        let mut next = Some(self);
        while let Some(tally) = next {
            let limit = tally.limit.load(Ordering::Relaxed);
            if limit != u64::MAX {
                spare = spare.min(limit.saturating_sub(tally.total()));
            }
            next = tally.above.get().map(|above| &**above);
        }
        spare
    }

    /// Takes note of what the run has sent.
    pub(crate) fn set(&self, calls: u64) {
        self.own.store(calls, Ordering::Relaxed);
    }

    /// A sub-run has ended, and what it has sent is counted as the run's own.
    pub(crate) fn forget(&self, sub_run: &RunKey) {
        lock(&self.below).remove(sub_run);
    }

    fn total(&self) -> u64 {
        let below: Vec<Arc<Tally>> = lock(&self.below).values().filter_map(Weak::upgrade).collect();
        let own = self.own.load(Ordering::Relaxed);
        below.iter().fold(own, |sum, tally| sum.saturating_add(tally.total()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use store::AccountId;

    use super::*;
    use crate::RunId;

    #[test]
    fn a_run_sends_no_more_than_the_least_that_is_left_above_it() {
        let tallies = Tallies::default();
        let key = || RunKey { account: AccountId::new("local"), id: RunId::generate() };
        let (top, left, right) = (key(), key(), key());
        let below = |run| Tally::of(&tallies, run, 9, Some(&top));
        let (left_tally, right_tally) = (below(&left), below(&right));
        assert_eq!(left_tally.spare(), 9, "nothing is known of the run above");
        let top_tally = Tally::of(&tallies, &top, 5, None);
        left_tally.set(2);
        top_tally.set(1);
        assert_eq!([&left_tally, &right_tally, &top_tally].map(|it| it.spare()), [2, 2, 2]);
        // It ends, and the run above counts it.
        top_tally.set(3);
        top_tally.forget(&left);
        assert_eq!(right_tally.spare(), 2);
        right_tally.set(2);
        assert_eq!((right_tally.spare(), top_tally.spare()), (0, 0));
    }
}
