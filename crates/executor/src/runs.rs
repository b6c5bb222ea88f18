//! Reading runs: what anybody may do without driving them.

use std::{sync::Arc, time::Duration};

use planner::{Plan, StepResult};
use protocol::v1::Artifact;
use serde::de::DeserializeOwned;
use store::{AccountId, Cursor, Order, PageQuery, Seq, Store};

use crate::{
    ExecutorError, RunId,
    body::Body,
    journal::{self, RUNS, RunSummary},
    run::{Outcome, Run, RunEvent, Shape, StepId},
};

/// Runs of one account, read only.
#[derive(Clone)]
pub struct Runs {
    store: Arc<dyn Store>,
    account: AccountId,
}

/// One page of a list of runs.
#[derive(Debug)]
pub struct RunPage {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
    /// How many runs there are in all.
    pub total: u64,
}

/// A run as its journal has it up to some event, and its plan.
pub struct Recorded {
    /// The run.
    pub id: RunId,
    /// The plan it is pinned to.
    pub plan: Arc<Plan>,
    /// Its state.
    pub run: Run,
    /// The events so far.
    pub events: Vec<RunEvent>,
    /// The sequence of the last of them.
    pub seq: Seq,
}

impl Runs {
    /// Reads the runs of an account.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, account: AccountId) -> Self {
        Self { store, account }
    }

    /// Lists runs, those whose state changed last first.
    ///
    /// # Errors
    /// When the store fails or the cursor came from another list.
    pub async fn list(
        &self,
        limit: usize,
        cursor: Option<Cursor>,
    ) -> Result<RunPage, ExecutorError> {
        let mut query = PageQuery::new(Some(self.account.clone()), RUNS);
        query.order = Order::Descending;
        query.limit = limit;
        query.cursor = cursor;
        let page = self.store.page(&query).await?;
        let runs = page
            .rows
            .iter()
            .map(|row| serde_json::from_slice(&row.value))
            .collect::<Result<_, _>>()?;
        Ok(RunPage { runs, next: page.next, total: page.total })
    }

    /// Reads one run by replaying its journal.
    ///
    /// # Errors
    /// When there is no such run in the account, or the store fails.
    pub async fn read(&self, id: &RunId) -> Result<Recorded, ExecutorError> {
        let (events, seq) = journal::read(&*self.store, &self.account, id, Seq(0)).await?;
        let Some(RunEvent::RunStarted { header, .. }) = events.first() else {
            return Err(ExecutorError::UnknownRun { run: id.clone() });
        };
        let plan: Arc<Plan> = Arc::new(load(&*self.store, &self.account, id, &header.plan).await?);
        let mut run = Run::new(Arc::new(Shape::of(&plan)));
        for event in &events {
            run.apply(event);
        }
        Ok(Recorded { id: id.clone(), plan, run, events, seq })
    }

    /// Waits for events after the last one recorded and applies them; returns those that came, none when
    /// `at_most` passed without. Cancel safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn follow(
        &self,
        recorded: &mut Recorded,
        at_most: Duration,
    ) -> Result<Vec<RunEvent>, ExecutorError> {
        let journal = recorded.id.journal();
        self.store.appended(&self.account, &journal, recorded.seq, at_most).await?;
        let (events, seq) =
            journal::read(&*self.store, &self.account, &recorded.id, recorded.seq).await?;
        for event in &events {
            recorded.run.apply(event);
        }
        recorded.events.extend(events.iter().cloned());
        recorded.seq = seq;
        Ok(events)
    }

    /// The outputs of a completed run; none for any other.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn outputs(&self, recorded: &Recorded) -> Result<Vec<Artifact>, ExecutorError> {
        match recorded.run.outcome() {
            Some(Outcome::Completed(body)) => {
                load(&*self.store, &self.account, &recorded.id, body).await
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The result of a step that completed or failed; `None` for any other.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn result(
        &self,
        recorded: &Recorded,
        step: &StepId,
    ) -> Result<Option<StepResult>, ExecutorError> {
        let found = recorded.run.shape().find(step).map(|at| recorded.run.at(at));
        match found.and_then(|step| step.result()) {
            Some(body) => load(&*self.store, &self.account, &recorded.id, body).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Reads a value that a run's journal holds or names.
pub(crate) async fn load<T: DeserializeOwned>(
    store: &dyn Store,
    account: &AccountId,
    run: &RunId,
    body: &Body,
) -> Result<T, ExecutorError> {
    let unreadable = |source| ExecutorError::Unreadable { run: run.clone(), source };
    let blob = match body {
        Body::Inline(json) => return json.read().map_err(unreadable),
        Body::Blob(blob) => blob,
    };
    let bytes = store.blob(account, blob).await?;
    let bytes =
        bytes.ok_or_else(|| ExecutorError::MissingBlob { run: run.clone(), blob: *blob })?;
    serde_json::from_slice(&bytes).map_err(unreadable)
}
