//! What a batch may hold at most, checked before it reaches a backend.
//!
//! The limits on text are those under which every index entry fits the smallest index page of the
//! databases we mean to run on (2,700 bytes in PostgreSQL, which also refuses NUL in text).

use crate::batch::{Batch, Write};
use crate::error::{Invalid, StoreError};
use crate::ids::BlobId;
use crate::rows::Tags;

/// Longest account or journal id, in bytes.
pub const MAX_ID_BYTES: usize = 512;
/// Longest key of a row, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// Longest sort key of a row, in bytes.
pub const MAX_SORT_BYTES: usize = 512;
/// Longest tag of a row, in bytes.
pub const MAX_TAG_BYTES: usize = 512;
/// Largest entry, row value or blob, in bytes (64 MiB).
pub const MAX_VALUE_BYTES: usize = 64 << 20;

/// Checks that a batch could be written by any backend.
pub(crate) fn check(batch: &Batch) -> Result<(), StoreError> {
    batch.writes.iter().try_for_each(check_write)
}

fn check_write(write: &Write) -> Result<(), StoreError> {
    match write {
        Write::Open { account, journal, .. } | Write::Close { account, journal } => {
            text("account", account.as_str(), MAX_ID_BYTES)?;
            text("journal", journal.as_str(), MAX_ID_BYTES)
        }
        Write::Append { account, journal, entries, .. } => {
            text("account", account.as_str(), MAX_ID_BYTES)?;
            text("journal", journal.as_str(), MAX_ID_BYTES)?;
            entries.iter().try_for_each(|bytes| size("entry", bytes.len(), MAX_VALUE_BYTES))
        }
        Write::Put { account, key, sort, tags, value, .. } => {
            text("account", account.as_str(), MAX_ID_BYTES)?;
            text("key", key, MAX_KEY_BYTES)?;
            text("sort key", sort, MAX_SORT_BYTES)?;
            check_tags(tags)?;
            size("value", value.len(), MAX_VALUE_BYTES)
        }
        Write::Delete { account, key, .. } => {
            text("account", account.as_str(), MAX_ID_BYTES)?;
            text("key", key, MAX_KEY_BYTES)
        }
        Write::Blob { account, id, bytes } => {
            text("account", account.as_str(), MAX_ID_BYTES)?;
            size("blob", bytes.len(), MAX_VALUE_BYTES)?;
            if BlobId::of(bytes) == *id {
                Ok(())
            } else {
                Err(Invalid::BlobDigest { id: *id }.into())
            }
        }
    }
}

fn check_tags(tags: &Tags) -> Result<(), StoreError> {
    tags.iter().flatten().try_for_each(|tag| text("tag", tag, MAX_TAG_BYTES))
}

fn text(what: &'static str, text: &str, limit: usize) -> Result<(), StoreError> {
    size(what, text.len(), limit)?;
    if text.contains('\0') {
        return Err(Invalid::Nul { what, text: text.to_owned() }.into());
    }
    Ok(())
}

fn size(what: &'static str, bytes: usize, limit: usize) -> Result<(), StoreError> {
    if bytes > limit {
        return Err(Invalid::TooLarge { what, bytes, limit }.into());
    }
    Ok(())
}
