use rusqlite::{Connection, params_from_iter};

use super::{Filter, Position};
use crate::rows::{Order, PageQuery, Row, Table, Tags};
use crate::{AccountId, Version};

/// Explains how SQLite would read a page, and how it would count.
fn plan(connection: &Connection, query: &PageQuery, is_first: bool) -> String {
    let counting = format!("SELECT count(*) FROM rows{}", Filter::of(query).sql);
    let mut filter = Filter::of(query);
    if !is_first {
        let row = Row {
            account: AccountId::from("me"),
            key: String::new(),
            sort: String::new(),
            tags: Tags::default(),
            value: bytes::Bytes::new(),
            version: Version(1),
        };
        let cursor = Some(Position::after(&row, query));
        let query = PageQuery { cursor, ..query.clone() };
        filter.start_after(Position::of(&query).unwrap().unwrap(), &query);
    }
    let mut lines = explain(connection, &filter.page_sql(query));
    lines.extend(explain(connection, &counting));
    lines.join("\n")
}

fn explain(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nulls = vec![rusqlite::types::Value::Null; statement.parameter_count()];
    let rows = statement.query_map(params_from_iter(nulls), |row| row.get(3)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn no_page_without_a_prefix_sorts_or_reads_more_than_its_index_range() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (connection, _) = super::super::schema::open(folder.path(), &path).unwrap();
    for account in [None, Some(AccountId::from("me"))] {
        for order in [Order::Ascending, Order::Descending] {
            for (tag, is_first) in [(None, true), (None, false), (Some(2), true), (Some(2), false)]
            {
                let mut query = PageQuery::new(account.clone(), Table::new("things"));
                query.order = order;
                if let Some(tag) = tag {
                    query.tags[tag] = Some("x".to_owned());
                }
                let plan = plan(&connection, &query, is_first);
                assert!(!plan.contains("TEMP B-TREE"), "{query:?}\n{plan}");
                assert!(!plan.contains("SCAN rows"), "{query:?}\n{plan}");
                let index = match (&account, tag) {
                    (Some(_), Some(_)) => "rows_tag2",
                    (Some(_), None) => "rows_of_account",
                    (None, _) => "rows_of_all",
                };
                assert!(plan.contains(index), "{query:?}\n{plan}");
            }
        }
    }
}

#[test]
fn a_prefix_reads_only_the_keys_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (connection, _) = super::super::schema::open(folder.path(), &path).unwrap();
    let mut query = PageQuery::new(Some("me".into()), Table::new("things"));
    query.key_prefix = "run/".to_owned();
    let plan = plan(&connection, &query, true);
    assert!(plan.contains("(account=? AND tbl=? AND key>? AND key<?)"), "{plan}");
}
