//! Reading runs: what anybody may do without driving them.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use planner::{StepResult, StepState};
use protocol::v1::{Artifact, Message, TaskArtifactUpdateEvent};
use serde::de::DeserializeOwned;
use store::{AccountId, Conflict, Cursor, Order, PageQuery, Seq, Store, StoreError};

use crate::{
    ExecutorError, RunId,
    body::Body,
    journal::{self, RUNS, RunSummary},
    record::{Opening, Recorded, TaskRecord},
    run::{Chunk, Outcome, RunEvent, Step, StepId, projection::RunState},
};

/// Runs of one account, read only.
#[derive(Clone)]
pub struct Runs {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) account: AccountId,
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

/// What to list.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Only runs of this context.
    pub context_id: Option<String>,
    /// Only runs that stand so.
    pub state: Option<RunState>,
    /// Only runs whose status changed at this time or later.
    pub since: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<Cursor>,
}

impl Runs {
    /// Reads the runs of an account.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, account: AccountId) -> Self {
        Self { store, account }
    }

    /// Reads the runs of another account in the same store.
    #[must_use]
    pub fn of(&self, account: &AccountId) -> Self {
        Self { store: Arc::clone(&self.store), account: account.clone() }
    }

    /// Lists runs, and Tasks that have none yet, those whose status changed last first.
    ///
    /// # Errors
    /// When the store fails or the cursor came from another list.
    pub async fn list(&self, wanted: RunQuery) -> Result<RunPage, ExecutorError> {
        let mut query = PageQuery::new(Some(self.account.clone()), RUNS);
        query.order = Order::Descending;
        query.tags[1] = wanted.state.map(|state| state.as_str().to_owned());
        query.tags[2] = wanted.context_id;
        query.sort_from = wanted.since.map(journal::sort_key);
        query.limit = wanted.limit;
        query.cursor = wanted.cursor;
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
    /// When there is no such run in the account, it has not started, or the store fails.
    pub async fn read(&self, id: &RunId) -> Result<Recorded, ExecutorError> {
        match self.task(id).await? {
            TaskRecord::Run(recorded) => Ok(*recorded),
            TaskRecord::Opening(_) => Err(ExecutorError::NotStarted { run: id.clone() }),
        }
    }

    /// Reads one Task by replaying its journal, whether its run has started or not.
    ///
    /// # Errors
    /// When there is no such Task in the account, or the store fails.
    pub async fn task(&self, id: &RunId) -> Result<TaskRecord, ExecutorError> {
        self.task_as_of(id, Seq(u64::MAX)).await
    }

    /// Reads one Task as it was after an event, by replaying its journal up to there: as it is now when the
    /// journal does not reach so far, and before all events at [`Seq::ZERO`].
    ///
    /// # Errors
    /// As [`Runs::task`].
    pub async fn task_as_of(&self, id: &RunId, last: Seq) -> Result<TaskRecord, ExecutorError> {
        let wanted = usize::try_from(last.0).unwrap_or(usize::MAX);
        let mut record = TaskRecord::Opening(Box::new(Opening::new(id)));
        for event in self.events(id).await?.into_iter().take(wanted) {
            self.advance(&mut record, event).await?;
        }
        Ok(record)
    }

    /// Reads one Task as it was when it had just taken the Message of this id: as it is now when none of its
    /// Messages has it.
    ///
    /// # Errors
    /// As [`Runs::task`].
    pub async fn task_that_took(
        &self,
        id: &RunId,
        message_id: &str,
    ) -> Result<TaskRecord, ExecutorError> {
        let mut record = TaskRecord::Opening(Box::new(Opening::new(id)));
        for event in self.events(id).await? {
            let said = event.said().cloned();
            self.advance(&mut record, event).await?;
            if let Some(said) = said {
                let said: Message = self.load(id, &said).await?;
                if said.message_id == message_id {
                    break;
                }
            }
        }
        Ok(record)
    }

    /// All events of a Task, of which there is one at least.
    async fn events(&self, id: &RunId) -> Result<Vec<RunEvent>, ExecutorError> {
        let (events, _) = journal::read(&*self.store, &self.account, id, Seq(0)).await?;
        if events.is_empty() {
            return Err(ExecutorError::UnknownRun { run: id.clone() });
        }
        Ok(events)
    }

    /// A Task whose run has not started; a conflict when it has.
    pub(crate) async fn opening(&self, id: &RunId) -> Result<Opening, ExecutorError> {
        match self.task(id).await? {
            TaskRecord::Opening(opening) if opening.state == RunState::InputRequired => {
                Ok(*opening)
            }
            record => Err(StoreError::from(Conflict::JournalMoved {
                account: self.account.clone(),
                journal: id.journal(),
                expected: Seq(0),
                found: record.seq(),
            })
            .into()),
        }
    }

    /// Applies the event that follows those recorded. What a Task looks like after an event depends on the
    /// events up to it alone, so that all who follow it see the same.
    ///
    /// # Errors
    /// When the plan of a run that starts cannot be read.
    pub async fn advance(
        &self,
        record: &mut TaskRecord,
        event: RunEvent,
    ) -> Result<(), ExecutorError> {
        match record {
            TaskRecord::Run(recorded) => self.apply(recorded, event).await?,
            TaskRecord::Opening(opening) => match &event {
                RunEvent::RunStarted { header, .. } | RunEvent::RunQueued { header, .. } => {
                    let plan = Arc::new(self.load(&opening.id, &header.plan).await?);
                    let before = Opening::clone(opening);
                    let recorded = Recorded::started(before, plan, event);
                    *record = TaskRecord::Run(Box::new(recorded));
                }
                _ => opening.apply(event),
            },
        }
        Ok(())
    }

    /// Waits for events after a sequence; returns those that came, none when `at_most` passed without. Cancel
    /// safe.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn news(
        &self,
        id: &RunId,
        after: Seq,
        at_most: Duration,
    ) -> Result<Vec<RunEvent>, ExecutorError> {
        self.store.appended(&self.account, &id.journal(), after, at_most).await?;
        let (events, _) = journal::read(&*self.store, &self.account, id, after).await?;
        Ok(events)
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
        let events = self.news(&recorded.id, recorded.seq, at_most).await?;
        for event in &events {
            self.apply(recorded, event.clone()).await?;
        }
        Ok(events)
    }

    async fn apply(&self, recorded: &mut Recorded, event: RunEvent) -> Result<(), ExecutorError> {
        let update = match &event {
            RunEvent::ArtifactChunked { chunk, .. } => Some(self.chunk(&recorded.id, chunk).await?),
            _ => None,
        };
        recorded.apply(event, update.as_ref());
        Ok(())
    }

    /// Reads a chunk of an artifact as those who follow the run get it, but for the ids of the Task.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn chunk(
        &self,
        id: &RunId,
        chunk: &Chunk,
    ) -> Result<TaskArtifactUpdateEvent, ExecutorError> {
        let artifact = Some(self.load(id, &chunk.artifact).await?);
        let (append, last_chunk) = (chunk.append, chunk.last_chunk);
        Ok(TaskArtifactUpdateEvent { artifact, append, last_chunk, ..Default::default() })
    }

    /// Reads a value that an event of a run holds or names.
    ///
    /// # Errors
    /// When the store fails, or the value is not a `T`.
    pub async fn load<T: DeserializeOwned>(
        &self,
        id: &RunId,
        body: &Body,
    ) -> Result<T, ExecutorError> {
        load(&*self.store, &self.account, id, body).await
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

    /// The run that cleans up after another one; `None` where there is none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn clean_up(&self, id: &RunId) -> Result<Option<Recorded>, ExecutorError> {
        match self.read(&id.of_clean_up()).await {
            Ok(recorded) => Ok(Some(recorded)),
            Err(ExecutorError::UnknownRun { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The result of a step that completed or failed, or of an item of one; `None` for any other.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn result(
        &self,
        recorded: &Recorded,
        step: &StepId,
    ) -> Result<Option<StepResult>, ExecutorError> {
        let Some(step) = recorded.run.find(step).map(|at| recorded.run.at(at)) else {
            return Ok(None);
        };
        let has_ended = matches!(step.state(), StepState::Completed | StepState::Failed);
        let Some(items) = step.items.as_ref().filter(|_| has_ended) else {
            return self.own_result(recorded, step).await;
        };
        let mut results = Vec::new();
        for item in items.indices().map(|at| recorded.run.at(at)) {
            let result = self.own_result(recorded, item).await?;
            results.push(Arc::new(result.unwrap_or_else(|| StepResult::new(item.state()))));
        }
        Ok(Some(StepResult::of_items(step.state(), results)))
    }

    async fn own_result(
        &self,
        recorded: &Recorded,
        step: &Step,
    ) -> Result<Option<StepResult>, ExecutorError> {
        match step.result() {
            Some(body) => self.load(&recorded.id, body).await.map(Some),
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
