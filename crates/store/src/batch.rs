//! What is written: batches, and the entries that come of them.

use bytes::Bytes;
use jiff::Timestamp;

use crate::ids::{AccountId, BlobId, Incarnation, JournalId, Seq, Version};
use crate::lease::Owned;
use crate::rows::{Table, Tags};

/// Writes that happen together, on condition of every fence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Ownerships that must all hold, checked before anything is written.
    pub fences: Vec<Owned>,
    /// The writes, done in this order.
    pub writes: Vec<Write>,
}

impl Batch {
    /// Makes an empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition.
    #[must_use]
    pub fn fence(mut self, owned: Owned) -> Self {
        self.fences.push(owned);
        self
    }

    /// Adds a write.
    #[must_use]
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Opens a new, empty journal that belongs to `owner` in epoch 1.
    ///
    /// Conflict when it exists; fenced when the owner's lease is not alive.
    Open {
        /// The account of the journal.
        account: AccountId,
        /// Its name.
        journal: JournalId,
        /// Who drives it.
        owner: Incarnation,
    },
    /// Appends entries, in order, all stamped with the time of the commit.
    ///
    /// Conflict when the last sequence is not `after`, or the journal is unknown. Without entries
    /// it only checks that.
    Append {
        /// The account of the journal.
        account: AccountId,
        /// The journal.
        journal: JournalId,
        /// Its last sequence, as the writer knows it.
        after: Seq,
        /// The entries' bytes, each at most [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES).
        entries: Vec<Bytes>,
    },
    /// Says that a journal needs no driver any more: it has no owner and is never claimed again.
    ///
    /// Its entries stay. Conflict when it is unknown; closing twice is no error.
    Close {
        /// The account of the journal.
        account: AccountId,
        /// The journal.
        journal: JournalId,
    },
    /// Writes a row, under a new version.
    Put {
        /// The account of the row.
        account: AccountId,
        /// Its table.
        table: Table,
        /// Its key, unique in account and table, at most [`MAX_KEY_BYTES`](crate::MAX_KEY_BYTES).
        key: String,
        /// What pages are ordered by, bytewise, before the key.
        sort: String,
        /// What pages can be filtered by.
        tags: Tags,
        /// The content.
        value: Bytes,
        /// The condition; conflict when it is not met.
        expect: Expect,
    },
    /// Deletes a row. One that is not there is no error unless a version was expected.
    Delete {
        /// The account of the row.
        account: AccountId,
        /// Its table.
        table: Table,
        /// Its key.
        key: String,
        /// The condition; conflict when it is not met.
        expect: Expect,
    },
    /// Stores bytes under their SHA-256. Storing them again changes nothing.
    Blob {
        /// The account of the blob.
        account: AccountId,
        /// The digest; [`Invalid::BlobDigest`](crate::Invalid::BlobDigest) when it is not that of the bytes.
        id: BlobId,
        /// The content, at most [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES).
        bytes: Bytes,
    },
}

impl Write {
    /// Makes the write that stores bytes under their digest.
    pub fn blob(account: AccountId, bytes: Bytes) -> Self {
        Self::Blob { account, id: BlobId::of(&bytes), bytes }
    }
}

/// What a row must be for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Anything, or nothing.
    Any,
    /// Not there.
    Absent,
    /// Unchanged since this version was read.
    Version(Version),
}

/// What a journal holds at one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The position.
    pub seq: Seq,
    /// When it was committed, by the store's clock (microseconds). For people: `seq` alone is the
    /// order, because a clock may be set back between two lives of a process.
    pub at: Timestamp,
    /// The content.
    pub bytes: Bytes,
}
