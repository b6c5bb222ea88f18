//! Batches, turned into statements.

use bytes::Bytes;
use rusqlite::params;

use super::failure::Doing;
use super::leases;
use super::schema::{MAX_SEQ, entry_id};
use super::session::{Session, WRITING, version};
use crate::batch::{Batch, Expect, Write};
use crate::error::{Conflict, Invalid, StoreError};
use crate::ids::{AccountId, BlobId, Incarnation, JournalId, Seq};
use crate::rows::{Table, Tags};

/// Checks the fences and does the writes. The caller undoes everything after an error.
pub(super) fn apply(session: &mut Session, batch: Batch) -> Result<(), StoreError> {
    for fence in &batch.fences {
        leases::check(session, fence)?;
    }
    batch.writes.into_iter().try_for_each(|write| apply_write(session, write))
}

fn apply_write(session: &mut Session, write: Write) -> Result<(), StoreError> {
    match write {
        Write::Open { account, journal, owner } => open(session, account, journal, owner),
        Write::Append { account, journal, after, entries } => {
            append(session, account, journal, after, &entries)
        }
        Write::Close { account, journal } => close(session, account, journal),
        Write::Put { account, table, key, sort, tags, value, expect } => {
            let new = NewRow { key, sort, tags, value };
            put(session, &account, table, new, expect)
        }
        Write::Delete { account, table, key, expect } => {
            delete(session, &account, table, key, expect)
        }
        Write::Blob { account, id, bytes } => blob(session, &account, &id, &bytes),
    }
}

fn open(
    session: &mut Session,
    account: AccountId,
    journal: JournalId,
    owner: Incarnation,
) -> Result<(), StoreError> {
    leases::check_alive(session, owner)?;
    let number = session.account(&account)?;
    let opened = session.execute(
        "INSERT INTO journals (account, name, last, owner, epoch, open) VALUES (?1, ?2, 0, ?3, 1, 1)
         ON CONFLICT (account, name) DO NOTHING",
        params![number, journal.as_str(), owner.0.as_bytes()],
    )?;
    if opened == 0 {
        return Err(Conflict::JournalExists { account, journal }.into());
    }
    Ok(())
}

fn append(
    session: &mut Session,
    account: AccountId,
    journal: JournalId,
    after: Seq,
    entries: &[Bytes],
) -> Result<(), StoreError> {
    let number = session.account(&account)?;
    let last = Seq(after.0.saturating_add(entries.len() as u64));
    if last.0 > MAX_SEQ {
        return Err(full(moved(session, number, account, journal, after)?));
    }
    let id = session.first(
        "UPDATE journals SET last = ?3 WHERE account = ?1 AND name = ?2 AND last = ?4 RETURNING id",
        params![number, journal.as_str(), last.0.cast_signed(), after.0.cast_signed()],
        |row| row.get::<_, i64>(0),
    )?;
    let Some(id) = id else {
        return Err(moved(session, number, account, journal, after)?.into());
    };
    if entries.is_empty() {
        return Ok(());
    }
    insert_entries(session, entry_id(id, after), entries)?;
    session.note((account, journal, last));
    Ok(())
}

fn insert_entries(session: &Session, before: i64, entries: &[Bytes]) -> Result<(), StoreError> {
    let mut insert = session
        .connection()
        .prepare_cached("INSERT INTO entries (id, at, bytes) VALUES (?1, ?2, ?3)")
        .doing_in(session.connection(), WRITING)?;
    for (id, bytes) in (before + 1..).zip(entries) {
        insert
            .execute(params![id, session.now(), &bytes[..]])
            .doing_in(session.connection(), WRITING)?;
    }
    Ok(())
}

/// Finds out why an append did not match.
fn moved(
    session: &Session,
    number: i64,
    account: AccountId,
    journal: JournalId,
    expected: Seq,
) -> Result<Conflict, StoreError> {
    let last = session.first(
        "SELECT last FROM journals WHERE account = ?1 AND name = ?2",
        params![number, journal.as_str()],
        |row| row.get::<_, i64>(0),
    )?;
    Ok(match last {
        Some(last) => {
            let found = Seq(last.cast_unsigned());
            Conflict::JournalMoved { account, journal, expected, found }
        }
        None => Conflict::JournalUnknown { account, journal },
    })
}

/// Tells a journal that really is full from a writer that is wrong about its end.
fn full(conflict: Conflict) -> StoreError {
    match conflict {
        Conflict::JournalMoved { journal, expected, found, .. } if expected == found => {
            Invalid::JournalFull { journal, limit: MAX_SEQ }.into()
        }
        conflict => conflict.into(),
    }
}

fn close(session: &mut Session, account: AccountId, journal: JournalId) -> Result<(), StoreError> {
    let number = session.account(&account)?;
    let closed = session.execute(
        "UPDATE journals SET open = 0, owner = NULL WHERE account = ?1 AND name = ?2",
        params![number, journal.as_str()],
    )?;
    if closed == 0 {
        return Err(Conflict::JournalUnknown { account, journal }.into());
    }
    Ok(())
}

struct NewRow {
    key: String,
    sort: String,
    tags: Tags,
    value: Bytes,
}

/// What is there before a row is written.
struct OldRow {
    id: i64,
    version: i64,
    /// Whether it stands in the indexes as the new one will.
    is_same_place: bool,
}

fn put(
    session: &mut Session,
    account: &AccountId,
    table: Table,
    new: NewRow,
    expect: Expect,
) -> Result<(), StoreError> {
    let place = (session.account(account)?, session.table(table)?);
    let old = find(session, place, &new)?;
    check(expect, table, &new.key, old.as_ref())?;
    let version = session.next_version();
    let NewRow { key, sort, tags: [tag0, tag1, tag2, tag3], value } = new;
    match old {
        // The common case by far, and the cheap one: no index is touched.
        Some(OldRow { id, is_same_place: true, .. }) => session.execute(
            "UPDATE rows SET version = ?2, value = ?3 WHERE id = ?1",
            params![id, version, &value[..]],
        )?,
        Some(OldRow { id, .. }) => session.execute(
            "UPDATE rows SET version = ?2, value = ?3, sort = ?4, tag0 = ?5, tag1 = ?6, tag2 = ?7,
             tag3 = ?8 WHERE id = ?1",
            params![id, version, &value[..], sort, tag0, tag1, tag2, tag3],
        )?,
        None => session.execute(
            "INSERT INTO rows (account, tbl, key, version, value, sort, tag0, tag1, tag2, tag3)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![place.0, place.1, key, version, &value[..], sort, tag0, tag1, tag2, tag3],
        )?,
    };
    Ok(())
}

fn find(
    session: &Session,
    (account, table): (i64, i64),
    new: &NewRow,
) -> Result<Option<OldRow>, StoreError> {
    let [tag0, tag1, tag2, tag3] = &new.tags;
    session.first(
        "SELECT id, version, (sort, tag0, tag1, tag2, tag3) IS (?4, ?5, ?6, ?7, ?8)
         FROM rows WHERE account = ?1 AND tbl = ?2 AND key = ?3",
        params![account, table, new.key, new.sort, tag0, tag1, tag2, tag3],
        |row| Ok(OldRow { id: row.get(0)?, version: row.get(1)?, is_same_place: row.get(2)? }),
    )
}

fn check(expect: Expect, table: Table, key: &str, old: Option<&OldRow>) -> Result<(), StoreError> {
    let found = old.map(|old| version(old.version));
    let conflict = match (expect, found) {
        (Expect::Any, _) | (Expect::Absent, None) => return Ok(()),
        (Expect::Version(expected), Some(found)) if expected == found => return Ok(()),
        (Expect::Absent, Some(found)) => Conflict::RowExists { table, key: key.to_owned(), found },
        (Expect::Version(expected), found) => {
            Conflict::RowMoved { table, key: key.to_owned(), expected, found }
        }
    };
    Err(conflict.into())
}

fn delete(
    session: &mut Session,
    account: &AccountId,
    table: Table,
    key: String,
    expect: Expect,
) -> Result<(), StoreError> {
    let place = (session.account(account)?, session.table(table)?);
    let gone = NewRow { key, sort: String::new(), tags: Tags::default(), value: Bytes::new() };
    let old = find(session, place, &gone)?;
    check(expect, table, &gone.key, old.as_ref())?;
    if let Some(old) = old {
        session.execute("DELETE FROM rows WHERE id = ?1", [old.id])?;
    }
    Ok(())
}

fn blob(
    session: &mut Session,
    account: &AccountId,
    id: &BlobId,
    bytes: &Bytes,
) -> Result<(), StoreError> {
    let account = session.account(account)?;
    session.execute(
        "INSERT INTO blobs (account, hash, bytes) VALUES (?1, ?2, ?3)
         ON CONFLICT (account, hash) DO NOTHING",
        params![account, id.as_bytes(), &bytes[..]],
    )?;
    Ok(())
}
