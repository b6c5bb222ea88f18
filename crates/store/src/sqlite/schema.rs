//! The tables of the database, and how an older folder is brought up to date.
//!
//! - Accounts and tables are kept as numbers, so that rows and index entries stay short.
//! - An entry's number is its journal's shifted by 32 bits plus its sequence ([`entry_id`]): entries
//!   of one journal lie side by side in the one B-tree they need, and appending goes to its end.
//! - Every order in which rows can be paged has an index that ends in (sort, key), so that no page
//!   sorts. A tag's index holds only the rows that have it.
//! - Leases live here like everything else, although none outlives the process: so fencing is the
//!   same few lines for a replica that lost its lease and for a process that lost its folder.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::failure::Doing;
use crate::error::StoreError;
use crate::ids::Seq;

/// What brings a folder from each schema to the next. Never changed once released, only added to.
const STEPS: [&str; 1] = [include_str!("schema/1.sql")];

/// How long to wait for a foreign process, such as a backup tool, that locks the database.
const BUSY: Duration = Duration::from_secs(5);

/// Statements a connection keeps prepared; more than there are in the crate, pages included.
const STATEMENTS: usize = 128;

/// How many bits of an entry's number are its sequence.
const SEQ_BITS: u32 = 32;

/// The largest sequence an entry can have here.
pub(super) const MAX_SEQ: u64 = (1 << SEQ_BITS) - 1;

/// Composes the number of an entry. Journal 2³¹ would overflow; a folder opens that many never.
pub(super) fn entry_id(journal: i64, seq: Seq) -> i64 {
    (journal << SEQ_BITS) | seq.0.min(MAX_SEQ).cast_signed()
}

/// Returns the sequence in an entry's number.
pub(super) fn entry_seq(id: i64) -> Seq {
    Seq(id.cast_unsigned() & MAX_SEQ)
}

/// Opens the writing connection, up to date and without leases, and counts this opening.
///
/// The count makes row versions unique without a write for each: see [`Session`](super::session::Session).
pub(super) fn open(folder: &Path, path: &Path) -> Result<(Connection, i64), StoreError> {
    let doing = format!("opening the database {}", path.display());
    let mut connection = Connection::open(path).doing(&doing)?;
    let found = connection
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        .doing(&doing)?;
    let known = STEPS.len().cast_signed() as i64;
    if found > known {
        return Err(StoreError::NewerSchema { folder: folder.to_owned(), found, known });
    }
    configure(&connection).doing(&doing)?;
    let opening = prepare(&mut connection, found).doing(&doing)?;
    Ok((connection, opening))
}

/// Opens a connection that can only read.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    use rusqlite::OpenFlags;
    let doing = format!("opening the database {}", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).doing(&doing)?;
    keep_statements(&connection).doing(&doing)?;
    connection.busy_timeout(BUSY).doing(&doing)?;
    Ok(connection)
}

/// Keeps statements prepared. Left alone, SQLite prepares one with a bound limit anew each time it is
/// used, in case another plan fits the value better: there is one plan here, and preparing costs more
/// than most reads.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    keep_statements(connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A commit is acknowledged when it is on the disk, not when the system means to write it.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -8 * 1024)?;
    // A burst may grow the log; afterwards it is cut back to this.
    connection.pragma_update(None, "journal_size_limit", 64 << 20)
}

fn prepare(connection: &mut Connection, found: i64) -> rusqlite::Result<i64> {
    let transaction = connection.transaction()?;
    for (step, number) in STEPS.iter().zip(1..) {
        if number > found {
            transaction.execute_batch(step)?;
            transaction.pragma_update(None, "user_version", number)?;
        }
    }
    transaction.execute("DELETE FROM leases", [])?;
    let opening = transaction.query_row(
        "UPDATE store SET openings = openings + 1 RETURNING openings",
        [],
        |row| row.get(0),
    )?;
    transaction.commit()?;
    Ok(opening)
}
