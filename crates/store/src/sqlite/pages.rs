//! Reads of rows: one by key, or page after page.

use bytes::Bytes;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::failure::Doing;
use super::session::version;
use crate::error::StoreError;
use crate::ids::AccountId;
use crate::rows::{Order, Page, PageQuery, Position, Row, Table, prefix_end};

const READING: &str = "reading a table";

/// The columns of a row. The account's name is looked up and not joined, because a join would let
/// the planner start from the accounts and lose the order of the index.
const COLUMNS: &str = "SELECT (SELECT name FROM accounts WHERE id = rows.account), key, sort,
     tag0, tag1, tag2, tag3, value, version FROM rows";

/// Reads one row.
pub(super) fn row(
    connection: &Connection,
    account: &AccountId,
    table: Table,
    key: &str,
) -> Result<Option<Row>, StoreError> {
    let sql = format!(
        "{COLUMNS} WHERE account = (SELECT id FROM accounts WHERE name = ?1)
           AND tbl = (SELECT id FROM tables WHERE name = ?2) AND key = ?3"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| {
            statement.query_row(params![account.as_str(), table.name(), key], read).optional()
        })
        .doing_in(connection, READING)
}

/// Reads a page and the total, both of one moment.
pub(super) fn page(connection: &Connection, query: &PageQuery) -> Result<Page, StoreError> {
    let position = Position::of(query)?;
    let filter = Filter::of(query);
    let snapshot = connection.unchecked_transaction().doing_in(connection, READING)?;
    let total = count(&snapshot, &filter)?;
    let mut rows = match query.limit {
        0 => Vec::new(),
        // One more than asked for tells whether there is a next page.
        limit => select(&snapshot, filter, query, position, limit.saturating_add(1))?,
    };
    snapshot.finish().doing_in(connection, READING)?;
    let has_more = query.limit > 0 && rows.len() > query.limit;
    rows.truncate(query.limit);
    let next = rows.last().filter(|_| has_more).map(|last| Position::after(last, query));
    Ok(Page { rows, next, total })
}

fn count(connection: &Connection, filter: &Filter) -> Result<u64, StoreError> {
    connection
        .prepare_cached(&format!("SELECT count(*) FROM rows{}", filter.sql))
        .and_then(|mut statement| {
            statement.query_row(params_from_iter(&filter.values), |row| row.get::<_, i64>(0))
        })
        .map(i64::cast_unsigned)
        .doing_in(connection, READING)
}

fn select(
    connection: &Connection,
    mut filter: Filter,
    query: &PageQuery,
    position: Option<Position>,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    if let Some(position) = position {
        filter.start_after(position, query);
    }
    filter.values.push(Value::Integer(i64::try_from(limit).unwrap_or(i64::MAX)));
    connection
        .prepare_cached(&filter.page_sql(query))
        .and_then(|mut statement| {
            statement.query_map(params_from_iter(&filter.values), read)?.collect()
        })
        .doing_in(connection, READING)
}

/// The conditions of a query, and the values of their places.
struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    fn of(query: &PageQuery) -> Self {
        let mut filter = Self { sql: String::new(), values: Vec::new() };
        filter.and("tbl = (SELECT id FROM tables WHERE name = ?)", [query.table.name()]);
        if let Some(account) = &query.account {
            filter.and("account = (SELECT id FROM accounts WHERE name = ?)", [account.as_str()]);
        }
        let tags = ["tag0 = ?", "tag1 = ?", "tag2 = ?", "tag3 = ?"];
        for (condition, tag) in tags.into_iter().zip(&query.tags) {
            if let Some(tag) = tag {
                filter.and(condition, [tag.as_str()]);
            }
        }
        if !query.key_prefix.is_empty() {
            filter.and("key >= ?", [query.key_prefix.as_str()]);
            if let Some(end) = prefix_end(&query.key_prefix) {
                filter.and("key < ?", [end]);
            }
        }
        if let Some(least) = &query.sort_from {
            filter.and("sort >= ?", [least.as_str()]);
        }
        filter
    }

    fn and<T: Into<String>>(&mut self, condition: &str, values: impl IntoIterator<Item = T>) {
        self.sql.push_str(if self.sql.is_empty() { " WHERE " } else { " AND " });
        self.sql.push_str(condition);
        self.values.extend(values.into_iter().map(|value| Value::Text(value.into())));
    }

    /// Leaves out everything up to a row that was given already.
    fn start_after(&mut self, position: Position, query: &PageQuery) {
        let beyond = match query.order {
            Order::Ascending => ">",
            Order::Descending => "<",
        };
        let Position { sort, key, account, .. } = position;
        if query.account.is_some() {
            self.and(&format!("(sort, key) {beyond} (?, ?)"), [sort, key]);
        } else {
            // Accounts may have rows of equal sort and key; their number decides between them.
            let condition = format!(
                "(sort, key, account) {beyond} (?, ?, (SELECT id FROM accounts WHERE name = ?))"
            );
            self.and(&condition, [sort, key, account.as_str().to_owned()]);
        }
    }

    fn page_sql(&self, query: &PageQuery) -> String {
        let order = match query.order {
            Order::Ascending => "ORDER BY sort, key, account",
            Order::Descending => "ORDER BY sort DESC, key DESC, account DESC",
        };
        format!("{COLUMNS}{} {order} LIMIT ?", self.sql)
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        account: row.get::<_, String>(0)?.into(),
        key: row.get(1)?,
        sort: row.get(2)?,
        tags: [row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?],
        value: Bytes::from(row.get::<_, Vec<u8>>(7)?),
        version: version(row.get(8)?),
    })
}

#[cfg(test)]
mod tests;
