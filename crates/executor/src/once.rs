//! Messages that count once: whoever sends an equal one again gets the Task that the first made.
//!
//! The row of a Message is written in the commit that takes it in, on condition that there is none yet: of two equal
//! Messages at the same moment one is taken, and the other one finds it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::{
    AccountId, Batch, BlobId, Expect, PageQuery, Row, Store, StoreError, Table, Tags, Version,
    Write,
};

use crate::{ExecutorError, RunId, Runs, driver::RESULTS, journal::sort_key, run::after};

/// One row for each Message that was taken in lately, ordered by when it is forgotten.
const MESSAGES: Table = Table::new("messages");

/// How often what has had its time is looked for.
const SWEEP: Duration = Duration::from_mins(1);

/// Rows that one commit of a sweep deletes at most: others wait for the writer meanwhile.
const SWEPT_AT_ONCE: usize = 500;

/// Identifies a Message by its content, for as long as an equal one counts as the same.
#[derive(Clone, Debug)]
pub struct Once {
    key: String,
    window: Duration,
    /// The row of an equal Message that was found.
    found: Option<Version>,
    /// The row of an equal Message that counts no more: it has had its time, or nothing came of it.
    outdated: Option<Version>,
}

/// What a row holds.
#[derive(Debug, Serialize, Deserialize)]
struct Taken {
    run: RunId,
    until: Timestamp,
}

impl Once {
    /// Identifies a Message by all that makes it what it is: its id, and everything it says.
    ///
    /// # Errors
    /// When that cannot be written as JSON.
    pub fn of<T: Serialize>(content: &T, window: Duration) -> Result<Self, ExecutorError> {
        let key = BlobId::of(&serde_json::to_vec(content)?).to_string();
        Ok(Self { key, window, found: None, outdated: None })
    }

    /// Lets the Message be taken in once more, although an equal one was found: nothing has come of that.
    pub fn anew(&mut self) {
        self.outdated = self.found;
    }

    /// The write that goes into the commit which takes the Message in. It conflicts when an equal one was taken in
    /// since [`Runs::taken`] looked.
    pub(crate) fn put(&self, account: &AccountId, run: &RunId) -> Result<Write, ExecutorError> {
        let expect = self.outdated.map_or(Expect::Absent, Expect::Version);
        self.write(account, run, expect)
    }

    /// As [`Once::put`], for whoever has looked and is the only one that writes it.
    pub(crate) fn put_alone(
        &self,
        account: &AccountId,
        run: &RunId,
    ) -> Result<Write, ExecutorError> {
        self.write(account, run, Expect::Any)
    }

    fn write(
        &self,
        account: &AccountId,
        run: &RunId,
        expect: Expect,
    ) -> Result<Write, ExecutorError> {
        let until = after(Timestamp::now(), self.window);
        let taken = Taken { run: run.clone(), until };
        Ok(Write::Put {
            account: account.clone(),
            table: MESSAGES,
            key: self.key.clone(),
            sort: sort_key(until),
            tags: Tags::default(),
            value: Bytes::from(serde_json::to_vec(&taken)?),
            expect,
        })
    }
}

impl Runs {
    /// The Task that an equal Message has made or gone to within the window.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn taken(&self, once: &mut Once) -> Result<Option<RunId>, ExecutorError> {
        taken(&*self.store, &self.account, once).await
    }
}

/// As [`Runs::taken`].
pub(crate) async fn taken(
    store: &dyn Store,
    account: &AccountId,
    once: &mut Once,
) -> Result<Option<RunId>, ExecutorError> {
    let row = store.row(account, MESSAGES, &once.key).await?;
    (once.found, once.outdated) = (row.as_ref().map(|row| row.version), None);
    let Some(row) = row else { return Ok(None) };
    let taken: Taken = serde_json::from_slice(&row.value)?;
    if taken.until > Timestamp::now() {
        return Ok(Some(taken.run));
    }
    once.outdated = Some(row.version);
    Ok(None)
}

/// Forgets Messages, and results of steps, that have had their time, again and again. Ends with the task that it is.
pub(crate) async fn forget(store: Arc<dyn Store>) {
    loop {
        for table in [MESSAGES, RESULTS] {
            if let Err(error) = sweep(&*store, table, Timestamp::now()).await {
                tracing::warn!(%error, ?table, "what has had its time could not be forgotten yet");
            }
        }
        tokio::time::sleep(SWEEP).await;
    }
}

/// Deletes the rows of all accounts, ordered by when their time is over, whose time was over at an instant.
async fn sweep(store: &dyn Store, table: Table, now: Timestamp) -> Result<(), StoreError> {
    let mut query = PageQuery::new(None, table);
    query.limit = SWEPT_AT_ONCE;
    let now = sort_key(now);
    loop {
        let page = store.page(&query).await?;
        let outdated: Vec<Row> = page.rows.into_iter().take_while(|row| row.sort <= now).collect();
        let is_last = outdated.len() < SWEPT_AT_ONCE;
        if outdated.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new();
        batch.writes.extend(outdated.into_iter().map(|row| Write::Delete {
            account: row.account,
            table,
            key: row.key,
            // One that was written anew meanwhile has its time before it.
            expect: Expect::Version(row.version),
        }));
        match store.commit(batch).await {
            Ok(()) if is_last => return Ok(()),
            Ok(()) | Err(StoreError::Conflict(_)) => (),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use store::{OpenOptions, SqliteStore};

    use super::*;

    fn open() -> (tempfile::TempDir, Arc<dyn Store>, AccountId) {
        let folder = tempfile::TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        (folder, Arc::new(store), AccountId::new("local"))
    }

    async fn keep(store: &Arc<dyn Store>, account: &AccountId, once: &Once, run: &RunId) -> bool {
        let batch = Batch::new().write(once.put(account, run).unwrap());
        match store.commit(batch).await {
            Ok(()) => true,
            Err(StoreError::Conflict(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    #[tokio::test]
    async fn of_two_equal_messages_at_once_one_is_taken() {
        let (_folder, store, account) = open();
        let runs = Runs::new(Arc::clone(&store), account.clone());
        let hour = Duration::from_hours(1);
        let mut once = Once::of(&("m", "text"), hour).unwrap();
        assert_eq!(runs.taken(&mut once).await.unwrap(), None);
        let (first, second) = (RunId::generate(), RunId::generate());
        assert!(keep(&store, &account, &once, &first).await);
        assert!(!keep(&store, &account, &once, &second).await);
        assert_eq!(runs.taken(&mut once).await.unwrap(), Some(first));
        let mut other = Once::of(&("m", "other text"), hour).unwrap();
        assert_eq!(runs.taken(&mut other).await.unwrap(), None);
        let elsewhere = Runs::new(store, AccountId::new("else"));
        assert_eq!(elsewhere.taken(&mut once).await.unwrap(), None, "another caller's");
    }

    #[tokio::test]
    async fn after_its_time_a_message_is_new_again() {
        let (_folder, store, account) = open();
        let runs = Runs::new(Arc::clone(&store), account.clone());
        let mut once = Once::of(&"m", Duration::ZERO).unwrap();
        assert!(keep(&store, &account, &once, &RunId::generate()).await);
        assert_eq!(runs.taken(&mut once).await.unwrap(), None);
        assert!(keep(&store, &account, &once, &RunId::generate()).await, "it takes the old place");
        assert!(!keep(&store, &account, &once, &RunId::generate()).await, "and only once");
    }

    #[tokio::test]
    async fn results_that_may_not_be_reused_any_more_are_forgotten_as_well() {
        let (_folder, store, account) = open();
        let kept = |key: &str, until: Timestamp| Write::Put {
            account: account.clone(),
            table: RESULTS,
            key: key.to_owned(),
            sort: sort_key(until),
            tags: Tags::default(),
            value: Bytes::new(),
            expect: Expect::Any,
        };
        let now = Timestamp::now();
        let mut batch = Batch::new();
        batch.writes.extend([kept("over", now), kept("open", after(now, SWEEP * 60))]);
        store.commit(batch).await.unwrap();
        let sweeper = tokio::spawn(forget(Arc::clone(&store)));
        let gone = async {
            while store.row(&account, RESULTS, "over").await.unwrap().is_some() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it is swept away");
        assert!(store.row(&account, RESULTS, "open").await.unwrap().is_some());
        sweeper.abort();
    }

    #[tokio::test]
    async fn what_has_had_its_time_is_swept_away_and_nothing_else() {
        let (_folder, store, account) = open();
        for n in 0..3 {
            let once = Once::of(&n, Duration::from_secs(n * 100)).unwrap();
            keep(&store, &account, &once, &RunId::generate()).await;
        }
        let once = Once::of(&0, Duration::ZERO).unwrap();
        assert!(keep(&store, &AccountId::new("else"), &once, &RunId::generate()).await);
        let left = async || {
            let mut query = PageQuery::new(None, MESSAGES);
            query.limit = 0;
            store.page(&query).await.unwrap().total
        };
        let now = Timestamp::now();
        sweep(&*store, MESSAGES, now).await.unwrap();
        assert_eq!(left().await, 2);
        sweep(&*store, MESSAGES, now).await.unwrap();
        assert_eq!(left().await, 2);
        sweep(&*store, MESSAGES, after(now, Duration::from_secs(150))).await.unwrap();
        assert_eq!(left().await, 1);
    }
}
