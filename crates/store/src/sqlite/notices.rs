//! Wakes those who wait for appends.
//!
//! Whoever waits is on the board before reading the journal, and the writer announces after its
//! flush: an append is seen by the read, or announced after it, so none is missed. What was announced
//! of late is remembered, and known without a read: the writer of this process is the only one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::session::Appended;
use crate::ids::{AccountId, JournalId, Seq};

type Key = (AccountId, JournalId);

/// Journals in each half of what is remembered.
const REMEMBERED: usize = 1024;

/// The last announced sequence of every journal that someone waits for, and of those that were
/// appended to of late.
#[derive(Debug, Default)]
pub(super) struct Notices {
    board: Mutex<Board>,
}

#[derive(Debug, Default)]
struct Board {
    watched: HashMap<Key, watch::Sender<Seq>>,
    /// The last sequence of journals, in two halves: when the newer is full, it becomes the older,
    /// which is forgotten.
    newer: HashMap<Key, Seq>,
    older: HashMap<Key, Seq>,
}

impl Board {
    fn remember(&mut self, key: Key, last: Seq) {
        if self.newer.len() >= REMEMBERED && !self.newer.contains_key(&key) {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(key, last);
    }

    fn remembered(&self, key: &Key) -> Option<Seq> {
        self.newer.get(key).or_else(|| self.older.get(key)).copied()
    }
}

impl Notices {
    /// Starts watching a journal. Its sequence reads as the one that is remembered, and as 0 until
    /// something is announced when none is.
    pub(super) fn watch(&self, account: &AccountId, journal: &JournalId) -> Watch<'_> {
        let key = (account.clone(), journal.clone());
        let mut board = self.lock();
        let remembered = board.remembered(&key);
        let sender = board.watched.entry(key.clone());
        let sender = sender.or_insert_with(|| watch::Sender::new(remembered.unwrap_or(Seq::ZERO)));
        let receiver = sender.subscribe();
        drop(board);
        Watch { notices: self, key, receiver, is_known: remembered.is_some() }
    }

    /// Tells the watchers what has become durable, in commit order.
    pub(super) fn announce(&self, appended: &[Appended]) {
        if appended.is_empty() {
            return;
        }
        let mut board = self.lock();
        for (account, journal, last) in appended {
            // Two clones of a pointer: cheaper than a map that can be asked with borrowed pairs.
            let key = (account.clone(), journal.clone());
            if let Some(sender) = board.watched.get(&key) {
                sender.send_replace(*last);
            }
            board.remember(key, *last);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place on the board, given up when dropped.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    notices: &'a Notices,
    key: Key,
    receiver: watch::Receiver<Seq>,
    is_known: bool,
}

impl Watch<'_> {
    /// Whether the sequence was known when the watch began: then the journal need not be read for it,
    /// because all that is appended since is announced.
    pub(super) fn is_known(&self) -> bool {
        self.is_known
    }

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
        let mut board = self.notices.lock();
        // This receiver still counts: 1 means that nobody else waits.
        if board.watched.get(&self.key).is_some_and(|sender| sender.receiver_count() <= 1) {
            board.watched.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Notices, REMEMBERED};
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
        assert!(notices.lock().watched.is_empty());
        notices.announce(&[(account, journal, Seq(4))]);
        assert!(notices.lock().watched.is_empty());
    }

    #[test]
    fn a_journal_is_known_once_it_was_announced() {
        let (account, journal) = (AccountId::from("a"), JournalId::from("j"));
        let notices = Notices::default();
        let before = notices.watch(&account, &journal);
        assert!(!before.is_known());
        notices.announce(&[(account.clone(), journal.clone(), Seq(3))]);
        assert!(!before.is_known(), "it may have had entries before");
        drop(before);
        notices.announce(&[(account.clone(), journal.clone(), Seq(4))]);
        let after = notices.watch(&account, &journal);
        assert_eq!((after.is_known(), after.latest()), (true, Seq(4)));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_was_appended_to_last_is_kept() {
        let account = AccountId::from("a");
        let notices = Notices::default();
        let journal = |number: usize| JournalId::from(number.to_string().as_str());
        for number in 0..3 * REMEMBERED {
            notices.announce(&[(account.clone(), journal(number), Seq(1))]);
        }
        let board = notices.lock();
        assert!(board.newer.len() + board.older.len() <= 2 * REMEMBERED);
        drop(board);
        assert!(notices.watch(&account, &journal(3 * REMEMBERED - 1)).is_known());
        assert!(notices.watch(&account, &journal(2 * REMEMBERED)).is_known());
        assert!(!notices.watch(&account, &journal(0)).is_known());
    }
}
