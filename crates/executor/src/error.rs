//! What can go wrong while executing, as opposed to what can go wrong in a step.

use store::StoreError;

use crate::{ReplyError, RunId};

/// A failure of the executor itself. A step that fails is not one: that is an outcome of its run.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The store refused or could not be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record cannot be read or written as JSON.
    #[error("a record cannot be read or written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// What the executor wrote about a run cannot be read back.
    #[error(
        "run `{run}`: its record cannot be read: {source}; restore the data folder from a backup"
    )]
    Unreadable {
        /// The run.
        run: RunId,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A value is too large to be kept.
    #[error(
        "{bytes} bytes of JSON are more than the {limit} that can be kept; let the agent link to large \
         content with a `url` Part"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The largest size the store takes.
        limit: usize,
    },
    /// The journal was written by a newer version.
    #[error(
        "the run was recorded in journal version {version}, and this program reads up to {known}: \
         use a newer version of Convoke"
    )]
    NewerJournal {
        /// Version found.
        version: u32,
        /// Newest version known.
        known: u32,
    },
    /// An answer was not taken.
    #[error(transparent)]
    Reply(#[from] ReplyError),
    /// No such run, or not in this account.
    #[error("no run `{run}` in this data folder; `convoke runs list` shows those there are")]
    UnknownRun {
        /// The id asked for.
        run: RunId,
    },
    /// The Task waits for an answer before a run of it can start, or never had one.
    #[error("`{run}` has no run: it was asked for through `convoke serve`, and did not start")]
    NotStarted {
        /// The id asked for.
        run: RunId,
    },
    /// The run belongs to another process.
    #[error("run `{run}` is being driven by another process")]
    OwnedElsewhere {
        /// The run.
        run: RunId,
    },
    /// The lease under which this process writes has ended.
    #[error(
        "this process lost its lease on the data folder; start it again to go on with its runs"
    )]
    LeaseLost,
    /// A blob that an event names is not there.
    #[error("run `{run}`: its record names content {blob} that the store does not have")]
    MissingBlob {
        /// The run.
        run: RunId,
        /// Its digest.
        blob: store::BlobId,
    },
    /// The driver of a run had to stop.
    #[error("run `{run}` stopped before its end: {why}; it can be resumed from where it stands")]
    DriverStopped {
        /// The run.
        run: RunId,
        /// What stopped it.
        why: String,
    },
    /// As many runs are driven as may be, and no more may wait for their turn. Nothing was kept.
    #[error(
        "all runs that may be driven at once are under way, and the queue behind them is full; try again later"
    )]
    Busy,
    /// As many runs of the workflow are under way for this key as may be, and it turns others away. Nothing was kept.
    #[error(
        "workflow `{workflow}` takes {limit} run{} at once{}; try again when one has ended",
        if *limit == 1 { "" } else { "s" },
        if key.is_empty() { String::new() } else { format!(" for `{key}`") }
    )]
    Crowded {
        /// The workflow.
        workflow: String,
        /// What the runs are counted by; empty where all are.
        key: String,
        /// How many there may be.
        limit: u32,
    },
    /// What the runs of the workflow are counted by cannot be evaluated. Nothing was kept.
    #[error("the run cannot start: {0}")]
    Key(String),
    /// The run has not ended, and nobody here drives it.
    #[error("run `{run}` is not being driven by this process")]
    NotDriven {
        /// The run.
        run: RunId,
    },
}

impl ExecutorError {
    /// Whether the same thing may succeed later: the storage fails for now.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_retryable())
    }

    /// Whether another writer was first; what was read before has to be read again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(StoreError::Conflict(_)))
    }

    /// Whether whoever asked has to ask for something else: trying again changes nothing.
    #[must_use]
    pub fn is_of_the_question(&self) -> bool {
        matches!(self, Self::UnknownRun { .. } | Self::NotStarted { .. } | Self::Reply(_))
    }

    /// Whether the run belongs to somebody else now.
    pub(crate) fn is_fenced(&self) -> bool {
        matches!(self, Self::Store(StoreError::Fenced(_)))
    }
}
