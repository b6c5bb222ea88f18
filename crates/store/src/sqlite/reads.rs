//! Reads of journals and blobs.

use bytes::Bytes;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::failure::{Doing, damaged};
use super::schema::{MAX_SEQ, entry_id, entry_seq};
use crate::batch::Entry;
use crate::error::StoreError;
use crate::ids::{AccountId, BlobId, JournalId, Seq};

const READING: &str = "reading a journal";

/// Reads entries after `after`, and makes sure that none is missing between them.
pub(super) fn entries(
    connection: &Connection,
    account: &AccountId,
    journal: &JournalId,
    after: Seq,
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let Some((id, _)) = find(connection, account, journal)? else {
        return Ok(Vec::new());
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection
        .prepare_cached(
            "SELECT id, at, bytes FROM entries WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
        )
        .doing_in(connection, READING)?;
    let mut rows = statement
        .query(params![entry_id(id, after), entry_id(id, Seq(MAX_SEQ)), limit])
        .doing_in(connection, READING)?;
    let mut entries = Vec::new();
    let mut expected = after;
    while let Some(row) = rows.next().doing_in(connection, READING)? {
        let entry = read_entry(row).doing_in(connection, READING)?;
        expected = expected.next();
        if entry.seq != expected {
            let what = format!("entry {expected} of journal `{journal}` is missing");
            return Err(damaged(READING, &what));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn read_entry(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    let micros = row.get(1)?;
    Ok(Entry {
        seq: entry_seq(row.get(0)?),
        at: Timestamp::from_microsecond(micros)
            .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(1, micros))?,
        bytes: Bytes::from(row.get::<_, Vec<u8>>(2)?),
    })
}

/// Reads the last sequence of a journal; 0 for one that is unknown.
pub(super) fn last(
    connection: &Connection,
    account: &AccountId,
    journal: &JournalId,
) -> Result<Seq, StoreError> {
    Ok(find(connection, account, journal)?.map_or(Seq::ZERO, |(_, last)| last))
}

fn find(
    connection: &Connection,
    account: &AccountId,
    journal: &JournalId,
) -> Result<Option<(i64, Seq)>, StoreError> {
    connection
        .prepare_cached(
            "SELECT id, last FROM journals
             WHERE account = (SELECT id FROM accounts WHERE name = ?1) AND name = ?2",
        )
        .and_then(|mut statement| {
            statement
                .query_row([account.as_str(), journal.as_str()], |row| {
                    Ok((row.get(0)?, Seq(row.get::<_, i64>(1)?.cast_unsigned())))
                })
                .optional()
        })
        .doing_in(connection, READING)
}

/// Reads a blob.
pub(super) fn blob(
    connection: &Connection,
    account: &AccountId,
    id: &BlobId,
) -> Result<Option<Bytes>, StoreError> {
    connection
        .prepare_cached(
            "SELECT bytes FROM blobs
             WHERE account = (SELECT id FROM accounts WHERE name = ?1) AND hash = ?2",
        )
        .and_then(|mut statement| {
            statement
                .query_row(params![account.as_str(), id.as_bytes()], |row| row.get::<_, Vec<u8>>(0))
                .optional()
        })
        .map(|bytes| bytes.map(Bytes::from))
        .doing_in(connection, "reading a blob")
}
