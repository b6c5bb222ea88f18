//! What SQLite's errors mean to the store.

use rusqlite::{Connection, ErrorCode};

use crate::error::StoreError;

/// Says what was being done when SQLite failed.
pub(super) trait Doing<T> {
    /// Turns SQLite's error into the store's.
    fn doing(self, what: &str) -> Result<T, StoreError>;

    /// Turns SQLite's error into the store's, and says in which database it was.
    fn doing_in(self, connection: &Connection, what: &str) -> Result<T, StoreError>;
}

impl<T> Doing<T> for rusqlite::Result<T> {
    fn doing(self, what: &str) -> Result<T, StoreError> {
        self.map_err(|error| classify(what, error))
    }

    fn doing_in(self, connection: &Connection, what: &str) -> Result<T, StoreError> {
        self.map_err(|error| {
            let database = connection.path().unwrap_or("memory");
            classify(&format!("{what} in {database}"), error)
        })
    }
}

/// Tells damage, which stays, from trouble, which may pass: a full or read-only disk, a lock held by
/// a foreign tool, a failed read or flush.
fn classify(doing: &str, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch,
        ) => damaged(doing, &error),
        Some(_) => StoreError::unavailable(doing, error),
        // Not from SQLite itself: a column of another type or range than the schema says.
        None => damaged(doing, &error),
    }
}

/// Makes the error of data that cannot be right.
pub(super) fn damaged(doing: &str, what: &impl ToString) -> StoreError {
    StoreError::Corrupt { doing: doing.to_owned(), what: what.to_string() }
}
