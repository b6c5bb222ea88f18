//! Who may drive a journal: leases, epochs, claims.
//!
//! A process holds one [`Lease`], renewed before it ends. A journal names the incarnation that owns
//! it and an epoch. [`Owned`] is both as they were when the journal was opened or claimed, and it is
//! the fence of every commit: it holds while the lease is alive *and* the epoch is still the
//! journal's. So two processes never both write one journal: a claim needs a dead lease, and raises
//! the epoch, which fences the former owner even if its clock, or its network, was late.
//!
//! A lease that ended cannot be renewed; its process stops sending before that, acquires another,
//! and claims again what is free.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{AccountId, Epoch, Incarnation, JournalId, Seq};

/// The right of one process to own journals until `expires_at`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Which life of which process.
    pub incarnation: Incarnation,
    /// When it ends, by the store's clock.
    pub expires_at: Timestamp,
}

/// The right to write one journal, as given by an opening or a claim; the fence of a [`Batch`](crate::Batch).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owned {
    /// The account of the journal.
    pub account: AccountId,
    /// The journal.
    pub journal: JournalId,
    /// The owner.
    pub incarnation: Incarnation,
    /// The epoch in which it became the owner.
    pub epoch: Epoch,
}

impl Owned {
    /// Names the ownership that [`Write::Open`](crate::Write::Open) gives: epoch 1.
    pub fn opened(account: AccountId, journal: JournalId, owner: Incarnation) -> Self {
        Self { account, journal, incarnation: owner, epoch: Epoch(1) }
    }
}

/// Which journals to claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Any that are free, longest opened first, at most `limit`.
    Any {
        /// How many at most.
        limit: usize,
    },
    /// This one, if it is free.
    One {
        /// The account of the journal.
        account: AccountId,
        /// The journal.
        journal: JournalId,
    },
}

/// A journal that now belongs to the claimant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The fence to commit with.
    pub owned: Owned,
    /// The journal's last sequence when it was claimed. The former owner can add nothing to it.
    pub last: Seq,
}
