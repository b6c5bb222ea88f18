//! The few words the cases are written in.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::{
    AccountId, Batch, Entry, Expect, Incarnation, JournalId, Lease, Owned, PageQuery, Row, Seq,
    Store, StoreError, Table, Tags, Write,
};

/// Longer than any case takes.
pub(super) const LONG: Duration = Duration::from_secs(600);

pub(super) const TABLE: Table = Table::new("things");

pub(super) type Shared = Arc<dyn Store>;

pub(super) fn me() -> AccountId {
    AccountId::from("me")
}

pub(super) fn you() -> AccountId {
    AccountId::from("you")
}

pub(super) fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

pub(super) async fn lease(store: &Shared) -> Lease {
    store.acquire(LONG).await.expect("a lease can always be acquired")
}

/// Ends a lease as if its time were up.
pub(super) async fn expire(store: &Shared, lease: &Lease) {
    store.renew(lease, Duration::ZERO).await.expect("the lease was alive");
}

pub(super) fn opening(account: &AccountId, name: &str, owner: Incarnation) -> Write {
    Write::Open { account: account.clone(), journal: name.into(), owner }
}

/// Opens a journal of mine under a lease.
pub(super) async fn open(store: &Shared, lease: &Lease, name: &str) -> Owned {
    let batch = Batch::new().write(opening(&me(), name, lease.incarnation));
    store.commit(batch).await.expect("a new journal can be opened");
    Owned::opened(me(), name.into(), lease.incarnation)
}

/// Opens a journal of mine under a lease of its own.
pub(super) async fn journal(store: &Shared, name: &str) -> JournalId {
    open(store, &lease(store).await, name).await.journal
}

pub(super) fn appending(account: &AccountId, name: &str, after: u64, texts: &[&str]) -> Write {
    Write::Append {
        account: account.clone(),
        journal: name.into(),
        after: Seq(after),
        entries: texts.iter().map(|text| bytes(text)).collect(),
    }
}

pub(super) async fn append(
    store: &Shared,
    name: &str,
    after: u64,
    texts: &[&str],
) -> Result<(), StoreError> {
    store.commit(Batch::new().write(appending(&me(), name, after, texts))).await
}

pub(super) async fn entries(store: &Shared, account: &AccountId, name: &str) -> Vec<Entry> {
    store
        .entries(account, &name.into(), Seq::ZERO, usize::MAX)
        .await
        .expect("a journal can be read")
}

/// Reads a journal of mine as texts.
pub(super) async fn texts(store: &Shared, name: &str) -> Vec<String> {
    entries(store, &me(), name).await.iter().map(|entry| text(&entry.bytes)).collect()
}

pub(super) fn text(bytes: &Bytes) -> String {
    String::from_utf8(bytes.to_vec()).expect("the cases write text")
}

/// A write of a row without tags, sorted by its key.
pub(super) fn putting(account: &AccountId, key: &str, value: &str, expect: Expect) -> Write {
    Write::Put {
        account: account.clone(),
        table: TABLE,
        key: key.to_owned(),
        sort: String::new(),
        tags: Tags::default(),
        value: bytes(value),
        expect,
    }
}

/// A write of a row with a sort key and up to four tags; an empty tag is none.
pub(super) fn tagging(account: &AccountId, key: &str, sort: &str, tags: [&str; 4]) -> Write {
    Write::Put {
        account: account.clone(),
        table: TABLE,
        key: key.to_owned(),
        sort: sort.to_owned(),
        tags: tags.map(|tag| (!tag.is_empty()).then(|| tag.to_owned())),
        value: Bytes::new(),
        expect: Expect::Any,
    }
}

pub(super) fn deleting(account: &AccountId, key: &str, expect: Expect) -> Write {
    Write::Delete { account: account.clone(), table: TABLE, key: key.to_owned(), expect }
}

pub(super) async fn write(store: &Shared, write: Write) -> Result<(), StoreError> {
    store.commit(Batch::new().write(write)).await
}

pub(super) async fn write_all(store: &Shared, writes: impl IntoIterator<Item = Write>) {
    let batch = Batch { fences: Vec::new(), writes: writes.into_iter().collect() };
    store.commit(batch).await.expect("rows can be written");
}

pub(super) async fn row(store: &Shared, account: &AccountId, key: &str) -> Option<Row> {
    store.row(account, TABLE, key).await.expect("a row can be read")
}

pub(super) fn query() -> PageQuery {
    PageQuery::new(Some(me()), TABLE)
}

/// Asserts that a value matches a pattern, and shows it when it does not.
macro_rules! assert_matches {
    ($value:expr, $pattern:pat $(if $guard:expr)?) => {{
        let value = $value;
        assert!(
            matches!(&value, $pattern $(if $guard)?),
            "expected {}, got {value:?}",
            stringify!($pattern)
        );
    }};
}
pub(super) use assert_matches;
