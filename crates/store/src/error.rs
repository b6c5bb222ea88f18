//! What can go wrong, in words a person can act on.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{AccountId, BlobId, Incarnation, JournalId, Seq, Version};
use crate::rows::Table;

/// Why the store did not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Something is not as the writer expected it; nothing was written. Read again and decide anew.
    #[error(transparent)]
    Conflict(#[from] Conflict),

    /// The right to write is lost; nothing was written. Stop driving what it was for.
    #[error(transparent)]
    Fenced(#[from] Fencing),

    /// The storage fails for now: full, read-only, busy or broken. The one retryable error.
    ///
    /// Of a commit: the outcome is unknown, and nothing was acknowledged.
    #[error(
        "{doing} failed: {cause}; nothing was acknowledged. Check that the data folder is writable and its disk has room, then try again"
    )]
    Unavailable {
        /// What was being done.
        doing: String,
        /// What the storage said.
        #[source]
        cause: Arc<dyn Error + Send + Sync>,
    },

    /// Another process has the data folder open.
    #[error(
        "the data folder {} is in use by {}. Stop that process first, or use another data folder",
        folder.display(),
        holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string)
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Who holds it, when it could be read.
        holder: Option<Holder>,
    },

    /// A later Convoke has written the data folder.
    #[error(
        "the data folder {} has schema {found}, and this version reads up to schema {known}. Run the version of Convoke that wrote it or a later one, or use another data folder; nothing was changed",
        folder.display()
    )]
    NewerSchema {
        /// The folder.
        folder: PathBuf,
        /// The schema it has.
        found: i64,
        /// The newest schema known here.
        known: i64,
    },

    /// What is stored cannot be right. Not retryable.
    #[error(
        "{doing} found damaged data: {what}. Stop Convoke, keep a copy of the data folder, and restore it from a backup"
    )]
    Corrupt {
        /// What was being done.
        doing: String,
        /// What was found.
        what: String,
    },

    /// The request breaks a rule of the store and would never succeed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl StoreError {
    /// Tells whether the same call may succeed later without a change by the caller.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }

    /// Makes the retryable error of something that was being done.
    pub(crate) fn unavailable(
        doing: impl Into<String>,
        cause: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Unavailable { doing: doing.into(), cause: Arc::from(cause.into()) }
    }
}

/// What differs from what the writer expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The journal to open is there already.
    #[error("journal `{journal}` of account `{account}` exists already")]
    JournalExists {
        /// The account.
        account: AccountId,
        /// The journal.
        journal: JournalId,
    },
    /// The journal was never opened.
    #[error("account `{account}` has no journal `{journal}`; open it before writing to it")]
    JournalUnknown {
        /// The account.
        account: AccountId,
        /// The journal.
        journal: JournalId,
    },
    /// The journal's last entry is another one.
    #[error("journal `{journal}` of account `{account}` ends at {found}, not at {expected}")]
    JournalMoved {
        /// The account.
        account: AccountId,
        /// The journal.
        journal: JournalId,
        /// Where the writer thought it ends.
        expected: Seq,
        /// Where it ends.
        found: Seq,
    },
    /// The row to create is there already.
    #[error("table `{table}` has a row `{key}` already")]
    RowExists {
        /// The table.
        table: Table,
        /// The key.
        key: String,
        /// The version it has.
        found: Version,
    },
    /// The row has changed, or gone, since it was read.
    #[error("row `{key}` of table `{table}` has changed since it was read")]
    RowMoved {
        /// The table.
        table: Table,
        /// The key.
        key: String,
        /// The version that was read.
        expected: Version,
        /// The version it has; `None` when it is gone.
        found: Option<Version>,
    },
}

/// Which right is lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fencing {
    /// The lease has ended, or was released, or never was.
    #[error(
        "the lease of incarnation {incarnation} has ended; acquire a new one and claim what is free"
    )]
    LeaseEnded {
        /// Whose lease.
        incarnation: Incarnation,
    },
    /// The journal belongs to someone else now, or to nobody because it is closed or unknown.
    #[error("journal `{journal}` of account `{account}` is no longer owned by this process")]
    NotOwned {
        /// The account.
        account: AccountId,
        /// The journal.
        journal: JournalId,
    },
}

/// Which rule was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Larger than the store takes.
    #[error("the {what} is {bytes} bytes long; the store takes at most {limit}")]
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A journal that can take no more entries.
    #[error("journal `{journal}` is full: it takes at most {limit} entries")]
    JournalFull {
        /// The journal.
        journal: JournalId,
        /// The limit.
        limit: u64,
    },
    /// Text that holds a NUL character, which not every database can keep.
    #[error("the {what} {text:?} holds a NUL character, which cannot be stored")]
    Nul {
        /// What it was for.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// A blob whose id is not the digest of its bytes.
    #[error("{id} is not the SHA-256 of the blob's bytes")]
    BlobDigest {
        /// The id that was given.
        id: BlobId,
    },
    /// A text that is no blob id.
    #[error("`{text}` is not a blob id, which is 64 hexadecimal digits")]
    BlobId {
        /// The text.
        text: String,
    },
    /// A cursor that this query did not give out.
    #[error("the cursor does not belong to this query; start again without one")]
    Cursor,
}

/// The process that holds a data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// When it opened the folder.
    pub started_at: Timestamp,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pid, command, started_at } = self;
        write!(f, "process {pid} (`{command}`), since {started_at:.0}")
    }
}

#[cfg(test)]
mod tests;
