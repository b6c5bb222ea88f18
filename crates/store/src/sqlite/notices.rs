//! Wakes those who wait for appends.
//!
//! Whoever waits is on the board before reading the journal, and the writer announces after its
//! flush: an append is seen by the read, or announced after it, so none is missed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::session::Appended;
use crate::ids::{AccountId, JournalId, Seq};

type Key = (AccountId, JournalId);

/// The last announced sequence of every journal that someone waits for.
#[derive(Debug, Default)]
pub(super) struct Notices {
    watched: Mutex<HashMap<Key, watch::Sender<Seq>>>,
}

impl Notices {
    /// Starts watching a journal; until something is announced its sequence reads as 0.
    pub(super) fn watch(&self, account: &AccountId, journal: &JournalId) -> Watch<'_> {
        let key = (account.clone(), journal.clone());
        let mut watched = self.lock();
        let sender = watched.entry(key.clone()).or_insert_with(|| watch::Sender::new(Seq::ZERO));
        let receiver = sender.subscribe();
        drop(watched);
        Watch { notices: self, key, receiver }
    }

    /// Tells the watchers what has become durable, in commit order.
    pub(super) fn announce(&self, appended: &[Appended]) {
        if appended.is_empty() {
            return;
        }
        let watched = self.lock();
        if watched.is_empty() {
            return;
        }
        for (account, journal, last) in appended {
            // Two clones of a pointer: cheaper than a map that can be asked with borrowed pairs.
            if let Some(sender) = watched.get(&(account.clone(), journal.clone())) {
                sender.send_replace(*last);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, watch::Sender<Seq>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place on the board, given up when dropped.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    notices: &'a Notices,
    key: Key,
    receiver: watch::Receiver<Seq>,
}

impl Watch<'_> {
    /// Returns the last announced sequence, or 0.
    pub(super) fn latest(&self) -> Seq {
        *self.receiver.borrow()
    }

    /// Waits until a sequence beyond `after` is announced.
    pub(super) async fn beyond(&mut self, after: Seq) {
        // The sender stays on the board as long as this watch does, so there is no other outcome.
        let _ = self.receiver.wait_for(|last| *last > after).await;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watched = self.notices.lock();
        // This receiver still counts: 1 means that nobody else waits.
        if watched.get(&self.key).is_some_and(|sender| sender.receiver_count() <= 1) {
            watched.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Notices;
    use crate::{AccountId, JournalId, Seq};

    #[test]
    fn the_board_keeps_only_journals_that_someone_watches() {
        let (account, journal) = (AccountId::from("a"), JournalId::from("j"));
        let notices = Notices::default();
        let first = notices.watch(&account, &journal);
        let second = notices.watch(&account, &journal);
        notices.announce(&[(account.clone(), journal.clone(), Seq(3))]);
        drop(first);
        assert_eq!(second.latest(), Seq(3));
        assert_eq!(notices.watch(&account, &journal).latest(), Seq(3));
        drop(second);
        assert!(notices.lock().is_empty());
        notices.announce(&[(account, journal, Seq(4))]);
        assert!(notices.lock().is_empty());
    }
}
