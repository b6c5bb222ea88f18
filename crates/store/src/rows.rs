//! Tables of rows: what a row is, and how a table is paged through.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Invalid, StoreError};
use crate::ids::{AccountId, Version, from_hex, to_hex};

/// A table's name. Tables need no declaration; they are constants of the crate that uses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table(&'static str);

impl Table {
    /// Names a table.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What a row can be filtered by: four places whose meaning the table's owner decides.
pub type Tags = [Option<String>; 4];

/// A row as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Who it belongs to.
    pub account: AccountId,
    /// Its key.
    pub key: String,
    /// What it is ordered by.
    pub sort: String,
    /// What it can be filtered by.
    pub tags: Tags,
    /// The content.
    pub value: Bytes,
    /// What [`Expect::Version`](crate::Expect::Version) takes.
    pub version: Version,
}

/// Which way a page runs through (sort key, key), both compared bytewise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Smallest first.
    #[default]
    Ascending,
    /// Largest first.
    Descending,
}

/// Which rows of a table to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// Whose rows; `None` for everybody's, which only the operator's own work may ask for.
    pub account: Option<AccountId>,
    /// The table.
    pub table: Table,
    /// Tags that rows must have; `None` matches everything.
    pub tags: Tags,
    /// What keys must start with; empty matches everything.
    pub key_prefix: String,
    /// The smallest sort key that rows may have; `None` matches everything.
    pub sort_from: Option<String>,
    /// Which way.
    pub order: Order,
    /// Where the page before ended; `None` for the first page.
    pub cursor: Option<Cursor>,
    /// How many rows at most; 0 only counts.
    pub limit: usize,
}

impl PageQuery {
    /// Asks for the first 100 rows of a table, in ascending order, without a filter.
    pub fn new(account: Option<AccountId>, table: Table) -> Self {
        Self {
            account,
            table,
            tags: Tags::default(),
            key_prefix: String::new(),
            sort_from: None,
            order: Order::default(),
            cursor: None,
            limit: 100,
        }
    }

    /// Identifies everything a cursor depends on, so that one is never used with another query.
    fn fingerprint(&self) -> String {
        let shape = (
            self.account.as_ref(),
            self.table.name(),
            &self.tags,
            &self.key_prefix,
            &self.sort_from,
            self.order == Order::Descending,
        );
        let json = serde_json::to_vec(&shape).expect("strings and options are always JSON");
        to_hex(&Sha256::digest(json)[..8])
    }
}

/// Rows, and what is needed to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// Where the next page starts; `None` when this was the last.
    pub next: Option<Cursor>,
    /// How many rows match, on all pages together.
    pub total: u64,
}

/// A place in the answer to one query, between two rows: opaque, safe in a URL, and valid as long as
/// the store lives. Rows put or deleted meanwhile move nothing: no row that stays is skipped or
/// given twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// Takes a cursor back from the outside. It is checked when it is used.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text to hand out.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The row a page ended with.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) sort: String,
    pub(crate) key: String,
    pub(crate) account: AccountId,
    query: String,
}

impl Position {
    /// Reads the query's cursor, if it has one.
    pub(crate) fn of(query: &PageQuery) -> Result<Option<Self>, StoreError> {
        let Some(cursor) = &query.cursor else {
            return Ok(None);
        };
        from_hex(&cursor.0)
            .and_then(|json| serde_json::from_slice::<Self>(&json).ok())
            .filter(|position| position.query == query.fingerprint())
            .map(Some)
            .ok_or_else(|| Invalid::Cursor.into())
    }

    /// Makes the cursor of the page that starts after this row.
    pub(crate) fn after(row: &Row, query: &PageQuery) -> Cursor {
        let position = Self {
            sort: row.sort.clone(),
            key: row.key.clone(),
            account: row.account.clone(),
            query: query.fingerprint(),
        };
        let json = serde_json::to_vec(&position).expect("strings are always JSON");
        Cursor(to_hex(&json))
    }
}

/// Returns the smallest text that is larger than every text starting with `prefix`, if there is one.
pub(crate) fn prefix_end(prefix: &str) -> Option<String> {
    let kept = prefix.trim_end_matches(char::MAX);
    let last = kept.chars().next_back()?;
    // The character after U+D7FF is U+E000: what lies between are surrogates, which no text holds.
    let next = (u32::from(last) + 1..).find_map(char::from_u32)?;
    let mut end = kept[..kept.len() - last.len_utf8()].to_owned();
    end.push(next);
    Some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::prefix_end;

    #[test]
    fn the_end_of_a_prefix_follows_all_that_start_with_it() {
        assert_eq!(prefix_end("ab").as_deref(), Some("ac"));
        assert_eq!(prefix_end("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(prefix_end("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(prefix_end("\u{10ffff}"), None);
        assert_eq!(prefix_end(""), None);
    }

    proptest! {
        #[test]
        fn the_range_of_a_prefix_holds_exactly_what_starts_with_it(prefix in any::<String>(), text in any::<String>()) {
            for text in [format!("{prefix}{text}"), text] {
                let in_range = *text >= *prefix && prefix_end(&prefix).is_none_or(|end| text < end);
                assert_eq!(in_range, text.starts_with(&prefix));
            }
        }
    }
}
