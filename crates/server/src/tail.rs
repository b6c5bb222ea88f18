//! Following the journal of a Task, one event after the other.

use std::{collections::VecDeque, time::Duration};

use executor::{ExecutorError, RunId, Runs, TaskRecord, run::RunEvent};
use store::Seq;

use crate::relay;

/// How long one wait for news lasts before the next one begins.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Task as it is after some event, and the events that were read and not applied yet.
///
/// It advances by one event at a time: how many of them one read brings depends on the reader, what a Task
/// looks like after each does not.
pub(crate) struct Tail {
    runs: Runs,
    pub(crate) record: TaskRecord,
    news: VecDeque<RunEvent>,
}

impl Tail {
    /// Begins with the Task as it is now.
    pub(crate) async fn of(runs: Runs, id: &RunId) -> Result<Self, ExecutorError> {
        let record = runs.task(id).await?;
        Ok(Self { runs, record, news: VecDeque::new() })
    }

    /// Begins with the Task as it was after an event.
    pub(crate) async fn after(runs: Runs, id: &RunId, seq: Seq) -> Result<Self, ExecutorError> {
        let record = runs.task_as_of(id, seq).await?;
        Ok(Self { runs, record, news: VecDeque::new() })
    }

    /// Begins with the Task as it was when it had just taken a Message: who follows what comes of it sees the same,
    /// however late, and however busy this process is.
    pub(crate) async fn taking(
        runs: Runs,
        id: &RunId,
        message_id: &str,
    ) -> Result<Self, ExecutorError> {
        let record = runs.task_that_took(id, message_id).await?;
        Ok(Self { runs, record, news: VecDeque::new() })
    }

    /// What it reads from.
    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Waits for the next event, and applies it. Not to be called when the Task has ended: nothing follows.
    pub(crate) async fn next(&mut self) -> Result<RunEvent, ExecutorError> {
        loop {
            if let Some(event) = self.news.pop_front() {
                self.runs.advance(&mut self.record, event.clone()).await?;
                return Ok(event);
            }
            let (id, seq) = (self.record.id(), self.record.seq());
            self.news = self.runs.news(id, seq, PATIENCE).await?.into();
        }
    }

    /// Waits until the agent of a relay has said something; at once for any other run.
    pub(crate) async fn heard(&mut self) -> Result<(), ExecutorError> {
        while matches!(&self.record, TaskRecord::Run(recorded) if relay::is_silent(recorded)) {
            self.next().await?;
        }
        Ok(())
    }

    /// Waits until the Task has ended, or asks for something.
    pub(crate) async fn settled(&mut self) -> Result<(), ExecutorError> {
        while !self.is_over() && !self.record.state().task_state().is_interrupted() {
            self.next().await?;
        }
        Ok(())
    }

    /// Waits until the Task has ended.
    pub(crate) async fn over(&mut self) -> Result<(), ExecutorError> {
        while !self.is_over() {
            self.next().await?;
        }
        Ok(())
    }

    /// Whether nothing follows.
    pub(crate) fn is_over(&self) -> bool {
        self.record.state().task_state().is_terminal()
    }
}
