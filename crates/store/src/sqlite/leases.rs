//! Leases, fences and claims.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::params;
use uuid::Uuid;

use super::failure::damaged;
use super::session::{Session, WRITING};
use crate::error::{Fencing, StoreError};
use crate::ids::{AccountId, Epoch, Incarnation, JournalId, Seq};
use crate::lease::{Claim, Claimed, Lease, Owned};

/// Checks that an ownership holds: its lease is alive, and its epoch is the journal's.
pub(super) fn check(session: &Session, fence: &Owned) -> Result<(), StoreError> {
    check_alive(session, fence.incarnation)?;
    let held = session.first(
        "SELECT 1 FROM journals
         WHERE account = (SELECT id FROM accounts WHERE name = ?1) AND name = ?2
           AND owner = ?3 AND epoch = ?4",
        params![
            fence.account.as_str(),
            fence.journal.as_str(),
            fence.incarnation.0.as_bytes(),
            fence.epoch.0.cast_signed(),
        ],
        |_| Ok(()),
    )?;
    if held.is_some() {
        return Ok(());
    }
    let (account, journal) = (fence.account.clone(), fence.journal.clone());
    Err(Fencing::NotOwned { account, journal }.into())
}

/// Checks that a lease is alive.
pub(super) fn check_alive(session: &Session, incarnation: Incarnation) -> Result<(), StoreError> {
    // The instant is compared here: as a parameter of a range it makes SQLite plan the statement anew
    // at every commit, which costs more than the statement.
    let expires_at: Option<i64> = session.first(
        "SELECT expires_at FROM leases WHERE incarnation = ?1",
        params![incarnation.0.as_bytes()],
        |row| row.get(0),
    )?;
    match expires_at {
        Some(expires_at) if expires_at > session.now() => Ok(()),
        _ => Err(Fencing::LeaseEnded { incarnation }.into()),
    }
}

/// Starts a lease, and forgets those that have ended.
pub(super) fn acquire(session: &mut Session, ttl: Duration) -> Result<Lease, StoreError> {
    session.execute("DELETE FROM leases WHERE expires_at <= ?1", [session.now()])?;
    let incarnation = Incarnation(Uuid::new_v4());
    let expires_at = later(session.now(), ttl);
    session.execute(
        "INSERT INTO leases (incarnation, expires_at) VALUES (?1, ?2)",
        params![incarnation.0.as_bytes(), expires_at.as_microsecond()],
    )?;
    Ok(Lease { incarnation, expires_at })
}

/// Moves the end of a living lease.
pub(super) fn renew(
    session: &mut Session,
    incarnation: Incarnation,
    ttl: Duration,
) -> Result<Lease, StoreError> {
    let expires_at = later(session.now(), ttl);
    let renewed = session.execute(
        "UPDATE leases SET expires_at = ?2 WHERE incarnation = ?1 AND expires_at > ?3",
        params![incarnation.0.as_bytes(), expires_at.as_microsecond(), session.now()],
    )?;
    if renewed == 0 {
        return Err(Fencing::LeaseEnded { incarnation }.into());
    }
    Ok(Lease { incarnation, expires_at })
}

/// Ends a lease.
pub(super) fn release(session: &mut Session, incarnation: Incarnation) -> Result<(), StoreError> {
    session
        .execute("DELETE FROM leases WHERE incarnation = ?1", [incarnation.0.as_bytes()])
        .map(drop)
}

/// Gives free journals to a living lease.
pub(super) fn claim(
    session: &mut Session,
    incarnation: Incarnation,
    which: &Claim,
) -> Result<Vec<Claimed>, StoreError> {
    check_alive(session, incarnation)?;
    let free = match which {
        Claim::Any { limit } => free(session, *limit)?,
        Claim::One { account, journal } => free_one(session, account, journal)?,
    };
    free.into_iter().map(|free| take(session, incarnation, free)).collect()
}

struct Free {
    id: i64,
    account: AccountId,
    journal: JournalId,
    last: Seq,
}

/// Selects journals that need a driver and have none alive.
macro_rules! select_free {
    ($($more:literal),*) => {
        concat!(
            "SELECT id, (SELECT name FROM accounts WHERE id = journals.account), name, last
             FROM journals WHERE open = 1 AND NOT EXISTS
             (SELECT 1 FROM leases WHERE incarnation = journals.owner AND expires_at > ?1) ",
            $($more),*
        )
    };
}

fn free(session: &Session, limit: usize) -> Result<Vec<Free>, StoreError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    session.all(select_free!("ORDER BY id LIMIT ?2"), [session.now(), limit], read_free)
}

fn free_one(
    session: &Session,
    account: &AccountId,
    journal: &JournalId,
) -> Result<Vec<Free>, StoreError> {
    session.all(
        select_free!("AND account = (SELECT id FROM accounts WHERE name = ?2) AND name = ?3"),
        params![session.now(), account.as_str(), journal.as_str()],
        read_free,
    )
}

fn read_free(row: &rusqlite::Row<'_>) -> rusqlite::Result<Free> {
    Ok(Free {
        id: row.get(0)?,
        account: row.get::<_, String>(1)?.into(),
        journal: row.get::<_, String>(2)?.into(),
        last: Seq(row.get::<_, i64>(3)?.cast_unsigned()),
    })
}

fn take(session: &Session, incarnation: Incarnation, free: Free) -> Result<Claimed, StoreError> {
    let Free { id, account, journal, last } = free;
    let epoch = session
        .first(
            "UPDATE journals SET owner = ?2, epoch = epoch + 1 WHERE id = ?1 RETURNING epoch",
            params![id, incarnation.0.as_bytes()],
            |row| row.get::<_, i64>(0),
        )?
        .ok_or_else(|| damaged(WRITING, &format!("journal `{journal}` went while claimed")))?;
    let epoch = Epoch(epoch.cast_unsigned());
    Ok(Claimed { owned: Owned { account, journal, incarnation, epoch }, last })
}

/// Returns the time `ttl` after a moment, or the last there is.
fn later(now: i64, ttl: Duration) -> Timestamp {
    let micros = i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_microsecond(now.saturating_add(micros)).unwrap_or(Timestamp::MAX)
}
