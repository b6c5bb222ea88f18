//! The writing connection and what the writer remembers beside it.

use std::collections::HashMap;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::failure::{Doing, damaged};
use crate::error::StoreError;
use crate::ids::{AccountId, JournalId, Seq, Version};
use crate::rows::Table;

/// Said of every failed write; the cause is in SQLite's own words.
pub(super) const WRITING: &str = "writing to the store";

/// An append that watchers are to hear of once it is durable.
pub(super) type Appended = (AccountId, JournalId, Seq);

/// What requests run against. Only the writer thread has one.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    /// Microseconds since 1970, never going back while the folder is open.
    now: i64,
    /// The last version given out: the number of this opening, then 32 bits that count. So a version
    /// is never given twice, whatever was rolled back, and costs no write.
    version: i64,
    /// Numbers of accounts and tables; empty again after every rollback, which may have undone one.
    accounts: HashMap<AccountId, i64>,
    tables: HashMap<Table, i64>,
    appended: Vec<Appended>,
}

impl Session {
    pub(super) fn new(connection: Connection, opening: i64) -> Self {
        Self {
            connection,
            now: 0,
            version: opening << 32,
            accounts: HashMap::new(),
            tables: HashMap::new(),
            appended: Vec::new(),
        }
    }

    /// Starts the transaction of a group.
    pub(super) fn begin(&mut self) -> Result<(), StoreError> {
        self.appended.clear();
        self.execute("BEGIN IMMEDIATE", []).map(drop)
    }

    /// Makes the group durable: this is the flush.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        self.execute("COMMIT", []).map(drop)
    }

    /// Undoes the group, whatever state a failure has left it in.
    pub(super) fn abandon(&mut self) {
        self.accounts.clear();
        self.tables.clear();
        self.appended.clear();
        // SQLite rolls back by itself after the gravest errors.
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK", [])
        {
            tracing::error!(%error, "could not roll back");
        }
    }

    /// Does one request's work whole or not at all, inside the group's transaction.
    ///
    /// The outer error is one that has taken the whole group with it.
    pub(super) fn isolated<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        self.now = self.now.max(Timestamp::now().as_microsecond());
        let mark = self.appended.len();
        self.execute("SAVEPOINT request", [])?;
        let result = work(self);
        if let Err(error) = &result {
            if self.connection.is_autocommit() {
                return Err(error.clone());
            }
            self.accounts.clear();
            self.tables.clear();
            self.appended.truncate(mark);
            self.execute("ROLLBACK TO request", [])?;
        }
        self.execute("RELEASE request", [])?;
        Ok(result)
    }

    /// Returns the time of the request, in microseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        self.now
    }

    /// Gives out a version.
    pub(super) fn next_version(&mut self) -> i64 {
        self.version += 1;
        self.version
    }

    /// Notes an append, for the watchers.
    pub(super) fn note(&mut self, appended: Appended) {
        self.appended.push(appended);
    }

    /// Returns what was appended since the group began.
    pub(super) fn appended(&self) -> &[Appended] {
        &self.appended
    }

    /// Returns the number of an account, given now if it has none.
    pub(super) fn account(&mut self, account: &AccountId) -> Result<i64, StoreError> {
        if let Some(id) = self.accounts.get(account) {
            return Ok(*id);
        }
        self.execute("INSERT OR IGNORE INTO accounts (name) VALUES (?1)", [account.as_str()])?;
        let id = self.number("SELECT id FROM accounts WHERE name = ?1", account.as_str())?;
        self.accounts.insert(account.clone(), id);
        Ok(id)
    }

    /// Returns the number of a table, given now if it has none.
    pub(super) fn table(&mut self, table: Table) -> Result<i64, StoreError> {
        if let Some(id) = self.tables.get(&table) {
            return Ok(*id);
        }
        self.execute("INSERT OR IGNORE INTO tables (name) VALUES (?1)", [table.name()])?;
        let id = self.number("SELECT id FROM tables WHERE name = ?1", table.name())?;
        self.tables.insert(table, id);
        Ok(id)
    }

    fn number(&self, sql: &str, name: &str) -> Result<i64, StoreError> {
        self.first(sql, [name], |row| row.get(0))?
            .ok_or_else(|| damaged(WRITING, &format!("`{name}` has no number")))
    }

    /// Runs a statement and returns how many rows it changed.
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .doing_in(&self.connection, WRITING)
    }

    /// Runs a statement and returns its first row, if any.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, read).optional())
            .doing_in(&self.connection, WRITING)
    }

    /// Runs a statement and returns all its rows.
    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, read)?.collect())
            .doing_in(&self.connection, WRITING)
    }

    /// Gives access to the connection, for statements that run many times in a row.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Gives a test the connection to prepare a failure with.
    #[cfg(test)]
    pub(super) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Converts a version as it is kept.
pub(super) fn version(stored: i64) -> Version {
    Version(stored.cast_unsigned())
}
