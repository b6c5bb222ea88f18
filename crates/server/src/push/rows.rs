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

/// Reads and writes webhooks of all accounts.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) store: Arc<dyn Store>,
}

/// Where a row is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    pub(super) account: AccountId,
    pub(super) key: String,
}

/// A webhook as it was read.
pub(super) struct Known {
    pub(super) registration: Registration,
    pub(super) version: Version,
}

/// Some webhooks, and what is needed to go on.
pub(super) struct Registrations {
    /// Each with whose it is.
    pub(super) registrations: Vec<(AccountId, Registration)>,
    pub(super) next: Option<Cursor>,
    pub(super) total: u64,
}

/// The key of a row. Ids of Tasks hold no slash.
fn key(task: &str, id: &str) -> String {
    format!("{task}/{id}")
}

impl Address {
    pub(super) fn new(account: &AccountId, task: &str, id: &str) -> Self {
        Self { account: account.clone(), key: key(task, id) }
    }
}

impl Registration {
    pub(super) fn address(&self, account: &AccountId) -> Address {
        Address::new(account, &self.config.task_id, &self.config.id)
    }
}

impl Rows {
    pub(super) async fn read(&self, at: &Address) -> Result<Option<Known>, ExecutorError> {
        let row = self.store.row(&at.account, PUSH, &at.key).await?;
        row.map(|row| Ok(Known { registration: registration(&row.value)?, version: row.version }))
            .transpose()
    }

    /// Writes a row on condition that it is as it was read, or not there; says whether that was so.
    pub(super) async fn write(
        &self,
        account: &AccountId,
        next: &Registration,
        version: Option<Version>,
    ) -> Result<bool, ExecutorError> {
        let dead = next.has_dead_letters().then(|| DEAD.to_owned());
        let put = Write::Put {
            account: account.clone(),
            table: PUSH,
            key: next.address(account).key,
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
    pub(super) async fn delete(&self, at: &Address) -> Result<(), ExecutorError> {
        self.delete_if(at, Expect::Any).await
    }

    pub(super) async fn delete_if(
        &self,
        at: &Address,
        expect: Expect,
    ) -> Result<(), ExecutorError> {
        let Address { account, key } = at.clone();
        let delete = Write::Delete { account, table: PUSH, key, expect };
        match self.store.commit(Batch::new().write(delete)).await {
            Ok(()) | Err(StoreError::Conflict(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Webhooks of one Task, in the order in which they were registered.
    pub(super) async fn of_task(
        &self,
        account: &AccountId,
        task: &str,
        limit: usize,
        cursor: Option<Cursor>,
    ) -> Result<Registrations, ExecutorError> {
        let mut query = PageQuery::new(Some(account.clone()), PUSH);
        (query.key_prefix, query.limit, query.cursor) = (key(task, ""), limit, cursor);
        self.page(&query).await
    }

    /// Webhooks of all accounts in a state, or all.
    pub(super) async fn in_state(
        &self,
        state: Option<DeliveryState>,
        cursor: Option<Cursor>,
    ) -> Result<Registrations, ExecutorError> {
        let mut query = PageQuery::new(None, PUSH);
        query.tags[0] = state.map(|state| state.as_str().to_owned());
        (query.limit, query.cursor) = (500, cursor);
        self.page(&query).await
    }

    /// How many webhooks of all accounts missed something that is not sent again by itself.
    pub(super) async fn count_dead(&self) -> Result<u64, ExecutorError> {
        let mut query = PageQuery::new(None, PUSH);
        query.tags[1] = Some(DEAD.to_owned());
        query.limit = 0;
        Ok(self.store.page(&query).await?.total)
    }

    async fn page(&self, query: &PageQuery) -> Result<Registrations, ExecutorError> {
        let page = self.store.page(query).await?;
        let rows = page.rows.into_iter();
        let rows = rows.map(|row| Ok((row.account, registration(&row.value)?)));
        let registrations = rows.collect::<Result<_, ExecutorError>>()?;
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
