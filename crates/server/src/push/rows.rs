//! Webhooks in the store.

use std::sync::Arc;

use bytes::Bytes;
use executor::ExecutorError;
use store::{
    AccountId, Batch, Cursor, Expect, PageQuery, Store, StoreError, Table, Tags, Version, Write,
};

use super::registration::{DeliveryState, Registration, VERSION};

/// One row for each webhook of a Task, ordered by when it was registered.
pub(crate) const PUSH: Table = Table::new("push");

/// The tag of webhooks that missed something which is not sent again by itself.
const DEAD: &str = "dead";

/// Reads and writes webhooks.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) store: Arc<dyn Store>,
    pub(super) account: AccountId,
}

/// A webhook as it was read.
pub(super) struct Known {
    pub(super) registration: Registration,
    pub(super) version: Version,
}

/// Some webhooks, and what is needed to go on.
pub(super) struct Registrations {
    pub(super) registrations: Vec<Registration>,
    pub(super) next: Option<Cursor>,
    pub(super) total: u64,
}

/// The key of a row. Ids of Tasks hold no slash.
pub(super) fn key(task: &str, id: &str) -> String {
    format!("{task}/{id}")
}

impl Registration {
    pub(super) fn key(&self) -> String {
        key(&self.config.task_id, &self.config.id)
    }
}

impl Rows {
    pub(super) async fn read(&self, key: &str) -> Result<Option<Known>, ExecutorError> {
        let row = self.store.row(&self.account, PUSH, key).await?;
        row.map(|row| Ok(Known { registration: registration(&row.value)?, version: row.version }))
            .transpose()
    }

    /// Writes a row on condition that it is as it was read, or not there; says whether that was so.
    pub(super) async fn write(
        &self,
        next: &Registration,
        version: Option<Version>,
    ) -> Result<bool, ExecutorError> {
        let dead = next.has_dead_letters().then(|| DEAD.to_owned());
        let put = Write::Put {
            account: self.account.clone(),
            table: PUSH,
            key: next.key(),
            sort: format!("{:.6}", next.created_at),
            tags: Tags::from([Some(next.state.as_str().to_owned()), dead, None, None]),
            value: Bytes::from(serde_json::to_vec(next)?),
            expect: version.map_or(Expect::Absent, Expect::Version),
        };
        match self.store.commit(Batch::new().write(put)).await {
            Ok(()) => Ok(true),
            Err(StoreError::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes a row, if it is there.
    pub(super) async fn delete(&self, key: &str) -> Result<(), ExecutorError> {
        self.delete_if(key, Expect::Any).await
    }

    pub(super) async fn delete_if(&self, key: &str, expect: Expect) -> Result<(), ExecutorError> {
        let account = self.account.clone();
        let delete = Write::Delete { account, table: PUSH, key: key.to_owned(), expect };
        match self.store.commit(Batch::new().write(delete)).await {
            Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Webhooks of one Task, in the order in which they were registered.
    pub(super) async fn of_task(
        &self,
        task: &str,
        limit: usize,
        cursor: Option<Cursor>,
    ) -> Result<Registrations, ExecutorError> {
        let mut query = self.query();
        (query.key_prefix, query.limit, query.cursor) = (key(task, ""), limit, cursor);
        self.page(&query).await
    }

    /// Webhooks in a state, or all.
    pub(super) async fn in_state(
        &self,
        state: Option<DeliveryState>,
        cursor: Option<Cursor>,
    ) -> Result<Registrations, ExecutorError> {
        let mut query = self.query();
        query.tags[0] = state.map(|state| state.as_str().to_owned());
        (query.limit, query.cursor) = (500, cursor);
        self.page(&query).await
    }

    /// How many webhooks missed something that is not sent again by itself.
    pub(super) async fn count_dead(&self) -> Result<u64, ExecutorError> {
        let mut query = self.query();
        query.tags[1] = Some(DEAD.to_owned());
        query.limit = 0;
        Ok(self.store.page(&query).await?.total)
    }

    fn query(&self) -> PageQuery {
        PageQuery::new(Some(self.account.clone()), PUSH)
    }

    async fn page(&self, query: &PageQuery) -> Result<Registrations, ExecutorError> {
        let page = self.store.page(query).await?;
        let rows = page.rows.iter().map(|row| registration(&row.value));
        let registrations = rows.collect::<Result<_, _>>()?;
        Ok(Registrations { registrations, next: page.next, total: page.total })
    }
}

fn registration(value: &[u8]) -> Result<Registration, ExecutorError> {
    let registration: Registration = serde_json::from_slice(value)?;
    match registration.v {
        VERSION => Ok(registration),
        version => Err(ExecutorError::NewerJournal { version, known: VERSION }),
    }
}
