//! What is asked of the holder of a data folder, and what comes back.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use executor::{ExecutorError, RunId, run::StepId};
use jiff::Timestamp;
use protocol::v1::Message;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use store::{
    AccountId, BlobId, Cursor, Entry, JournalId, Order, Page, PageQuery, Row, Seq, StoreError,
    Table, Tags, Version,
};

use crate::access::KeyRecord;

/// Tables that can be read from outside, beside those of the directory.
const TABLES: [Table; 3] = [executor::RUNS, crate::push::PUSH, crate::access::KEYS];

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Whether somebody is there: `null`.
    Hello,
    /// Entries of a journal: an array of [`EntryOut`]. See [`store::Store::entries`].
    Entries {
        /// Whose.
        account: AccountId,
        /// Which.
        journal: JournalId,
        /// After this one.
        after: Seq,
        /// At most so many.
        limit: usize,
    },
    /// The last sequence of a journal, once it is another one, or time is up, or the holder stops: a [`Seq`]. See
    /// [`store::Store::appended`].
    Appended {
        /// Whose.
        account: AccountId,
        /// Which.
        journal: JournalId,
        /// The last one known.
        after: Seq,
        /// How long to wait, at most [`LONGEST_WAIT`](super::LONGEST_WAIT).
        at_most_ms: u64,
    },
    /// A row: a [`RowOut`] or `null`. See [`store::Store::row`].
    Row {
        /// Whose.
        account: AccountId,
        /// Of which table.
        table: String,
        /// Which.
        key: String,
    },
    /// A page of rows: a [`PageOut`]. See [`store::Store::page`].
    Page(PageIn),
    /// A blob: [`Octets`] or `null`. See [`store::Store::blob`].
    Blob {
        /// Whose.
        account: AccountId,
        /// Which.
        id: BlobId,
    },
    /// Whether the holder drives a run: a boolean.
    IsDriven {
        /// Whose.
        account: AccountId,
        /// The run.
        run: RunId,
    },
    /// An answer to a pause, which is durable when the response comes: the [`StepId`] that has it.
    Reply {
        /// Whose.
        account: AccountId,
        /// The run.
        run: RunId,
        /// The step; the only one that waits when absent.
        step: Option<StepId>,
        /// The answer.
        message: Box<Message>,
    },
    /// The wish that a run ends. The response says that it is under way: `null`.
    Cancel {
        /// Whose.
        account: AccountId,
        /// The run.
        run: RunId,
    },
    /// The wish that webhooks get what they did not take: the ids of the configurations that this concerns. See
    /// [`retry_deliveries`](crate::retry_deliveries).
    RetryDeliveries {
        /// Whose.
        account: AccountId,
        /// The Task.
        task: String,
        /// The configuration; all of the Task when absent.
        id: Option<String>,
    },
    /// An API key to be taken in, without the key itself: `null`. See [`ApiKeys::add`](crate::access::ApiKeys::add).
    AddKey {
        /// In whose rows.
        account: AccountId,
        /// What is kept of it.
        record: Box<KeyRecord>,
    },
    /// The wish that an API key ends: whether there is such a key. See
    /// [`ApiKeys::revoke`](crate::access::ApiKeys::revoke).
    RevokeKey {
        /// In whose rows.
        account: AccountId,
        /// Its id.
        id: String,
    },
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What went wrong, for people.
    pub message: String,
    /// Whether something else has to be asked for; else the same may succeed later.
    pub is_of_the_question: bool,
}

/// A [`PageQuery`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageIn {
    account: Option<AccountId>,
    table: String,
    tags: Tags,
    key_prefix: String,
    sort_from: Option<String>,
    is_descending: bool,
    cursor: Option<Cursor>,
    limit: usize,
}

/// A [`Page`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageOut {
    rows: Vec<RowOut>,
    next: Option<Cursor>,
    total: u64,
}

/// A [`Row`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowOut {
    account: AccountId,
    key: String,
    sort: String,
    tags: Tags,
    value: Octets,
    version: Version,
}

/// An [`Entry`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EntryOut {
    seq: Seq,
    at: Timestamp,
    bytes: Octets,
}

/// Bytes, in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Octets(pub Bytes);

impl Refusal {
    /// Something that cannot be asked here.
    pub(super) fn of_the_question(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_of_the_question: true }
    }
}

impl From<ExecutorError> for Refusal {
    fn from(error: ExecutorError) -> Self {
        Self { message: error.to_string(), is_of_the_question: error.is_of_the_question() }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self { message: error.to_string(), is_of_the_question: false }
    }
}

/// The table of a name, if it can be read from outside.
pub(super) fn table(name: &str) -> Result<Table, Refusal> {
    let mut tables = TABLES.into_iter().chain(registry::TABLES);
    let found = tables.find(|table| table.name() == name);
    found.ok_or_else(|| Refusal::of_the_question(format!("there is no table `{name}`")))
}

impl From<&PageQuery> for PageIn {
    fn from(query: &PageQuery) -> Self {
        Self {
            account: query.account.clone(),
            table: query.table.name().to_owned(),
            tags: query.tags.clone(),
            key_prefix: query.key_prefix.clone(),
            sort_from: query.sort_from.clone(),
            is_descending: query.order == Order::Descending,
            cursor: query.cursor.clone(),
            limit: query.limit,
        }
    }
}

impl TryFrom<PageIn> for PageQuery {
    type Error = Refusal;

    fn try_from(query: PageIn) -> Result<Self, Refusal> {
        Ok(Self {
            account: query.account,
            table: table(&query.table)?,
            tags: query.tags,
            key_prefix: query.key_prefix,
            sort_from: query.sort_from,
            order: if query.is_descending { Order::Descending } else { Order::Ascending },
            cursor: query.cursor,
            limit: query.limit,
        })
    }
}

impl From<Page> for PageOut {
    fn from(page: Page) -> Self {
        let rows = page.rows.into_iter().map(RowOut::from).collect();
        Self { rows, next: page.next, total: page.total }
    }
}

impl From<PageOut> for Page {
    fn from(page: PageOut) -> Self {
        let rows = page.rows.into_iter().map(Row::from).collect();
        Self { rows, next: page.next, total: page.total }
    }
}

impl From<Row> for RowOut {
    fn from(row: Row) -> Self {
        let Row { account, key, sort, tags, value, version } = row;
        Self { account, key, sort, tags, value: Octets(value), version }
    }
}

impl From<RowOut> for Row {
    fn from(row: RowOut) -> Self {
        let RowOut { account, key, sort, tags, value, version } = row;
        Self { account, key, sort, tags, value: value.0, version }
    }
}

impl From<Entry> for EntryOut {
    fn from(Entry { seq, at, bytes }: Entry) -> Self {
        Self { seq, at, bytes: Octets(bytes) }
    }
}

impl From<EntryOut> for Entry {
    fn from(EntryOut { seq, at, bytes }: EntryOut) -> Self {
        Self { seq, at, bytes: bytes.0 }
    }
}

impl Serialize for Octets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Octets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(|bytes| Self(bytes.into())).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
        serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
    }

    #[test]
    fn a_query_comes_back_as_it_was() {
        let query = PageQuery {
            account: Some("me".into()),
            table: executor::RUNS,
            tags: [None, Some("working".to_owned()), None, Some("x".to_owned())],
            key_prefix: "a".to_owned(),
            sort_from: Some("b".to_owned()),
            order: Order::Descending,
            cursor: Some(Cursor::new("c")),
            limit: 7,
        };
        let back: PageQuery = there_and_back(&PageIn::from(&query)).try_into().unwrap();
        assert_eq!(back, query);
        let agents = PageQuery::new(None, registry::AGENTS);
        let back: PageQuery = there_and_back(&PageIn::from(&agents)).try_into().unwrap();
        assert_eq!(back, agents);
    }

    #[test]
    fn a_page_and_an_entry_come_back_as_they_were() {
        let row = Row {
            account: "me".into(),
            key: "k".to_owned(),
            sort: "s".to_owned(),
            tags: [Some("t".to_owned()), None, None, None],
            value: Bytes::from_static(b"\x00\xff{}"),
            version: Version(3),
        };
        let page = Page { rows: vec![row], next: Some(Cursor::new("n")), total: 9 };
        assert_eq!(Page::from(there_and_back(&PageOut::from(page.clone()))), page);
        let entry = Entry {
            seq: Seq(4),
            at: Timestamp::from_microsecond(1_700_000_000_000_001).unwrap(),
            bytes: Bytes::from_static(b"{\"v\":1}"),
        };
        assert_eq!(Entry::from(there_and_back(&EntryOut::from(entry.clone()))), entry);
    }

    #[test]
    fn a_table_that_is_nobodys_business_is_not_read() {
        let hidden = PageQuery::new(None, Table::new("contexts"));
        let refused = PageQuery::try_from(PageIn::from(&hidden)).unwrap_err();
        assert_eq!(refused, Refusal::of_the_question("there is no table `contexts`"));
    }
}
