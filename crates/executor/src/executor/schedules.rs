//! Up to when the schedules of workflows are decided.
//!
//! One row for each schedule. It moves on in the commit that opens the run, on condition that nobody moved it
//! meanwhile: an occurrence starts one run, whoever looks, and however often.

use std::collections::BTreeSet;

use bytes::Bytes;
use jiff::Timestamp;
use planner::Schedule;
use serde::{Deserialize, Serialize};
use store::{AccountId, Batch, BlobId, Expect, PageQuery, StoreError, Table, Tags, Version, Write};

use super::Executor;
use crate::{ExecutorError, journal::sort_key};

/// One row for each schedule that was seen.
const SCHEDULES: Table = Table::new("schedules");

/// How far a schedule of a workflow is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    key: String,
    /// Nothing up to this instant starts any more; `None` for a schedule that nobody has seen before.
    pub until: Option<Timestamp>,
    version: Option<Version>,
}

/// Rows that are looked through at once.
const AT_ONCE: usize = 500;

/// What a row holds.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    until: Timestamp,
}

impl Decided {
    /// Under which the schedule is known.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The write that moves it on. It conflicts when somebody else did since it was read.
    pub(crate) fn put(
        &self,
        account: &AccountId,
        until: Timestamp,
    ) -> Result<Write, ExecutorError> {
        Ok(Write::Put {
            account: account.clone(),
            table: SCHEDULES,
            key: self.key.clone(),
            sort: sort_key(until),
            tags: Tags::default(),
            value: Bytes::from(serde_json::to_vec(&Row { until })?),
            expect: self.version.map_or(Expect::Absent, Expect::Version),
        })
    }
}

impl Executor {
    /// How far a schedule is decided. A schedule that is changed is another one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn decided(
        &self,
        workflow: &str,
        schedule: &Schedule,
    ) -> Result<Decided, ExecutorError> {
        let what = (&schedule.cron, &schedule.timezone, &schedule.inputs);
        let key = format!("{workflow}/{}", BlobId::of(&serde_json::to_vec(&what)?));
        let row = self.shared.store.row(&self.shared.account, SCHEDULES, &key).await?;
        let Some(row) = row else { return Ok(Decided { key, until: None, version: None }) };
        let Row { until } = serde_json::from_slice(&row.value)?;
        Ok(Decided { key, until: Some(until), version: Some(row.version) })
    }

    /// Forgets how far schedules are decided that are none of these any more: one that comes back waits for its time, as
    /// a new one does.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn keep_schedules(&self, known: &BTreeSet<String>) -> Result<(), ExecutorError> {
        let mut query = PageQuery::new(Some(self.shared.account.clone()), SCHEDULES);
        query.limit = AT_ONCE;
        loop {
            let page = self.shared.store.page(&query).await?;
            let gone = page.rows.into_iter().filter(|row| !known.contains(&row.key));
            let writes: Vec<Write> = gone
                .map(|row| Write::Delete {
                    account: row.account,
                    table: SCHEDULES,
                    key: row.key,
                    expect: Expect::Version(row.version),
                })
                .collect();
            if !writes.is_empty() {
                match self.shared.store.commit(Batch { fences: Vec::new(), writes }).await {
                    // Somebody else looks as well.
                    Ok(()) | Err(StoreError::Conflict(_)) => (),
                    Err(error) => return Err(error.into()),
                }
            }
            match page.next {
                Some(next) => query.cursor = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Decides that nothing starts up to an instant.
    ///
    /// # Errors
    /// When somebody else decided meanwhile (a conflict), or the store fails.
    pub async fn pass_over(
        &self,
        decided: &Decided,
        until: Timestamp,
    ) -> Result<(), ExecutorError> {
        let writes = vec![decided.put(&self.shared.account, until)?];
        Ok(self.shared.store.commit(Batch { fences: Vec::new(), writes }).await?)
    }
}
