//! Tasks before their run: a Message that does not say enough is answered with a question, one that nothing
//! can be made of is rejected. Both are facts in the journal that the run goes on in.

use std::sync::Arc;

use jiff::Timestamp;
use protocol::v1::{Message, Part};
use store::{Batch, Owned, Seq, Write};
use uuid::Uuid;

use super::Executor;
use crate::{
    ExecutorError, RunId,
    id::RunKey,
    journal::{self, RunSummary},
    once::Once,
    record::Opening,
    report::body_of,
    run::{OpeningTurn, Outcome, RunEvent, projection::RunState},
    supervise::Idle,
};

/// A Message from which no run starts, and our answer to it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The Task it continues; a new one when absent.
    pub task: Option<RunId>,
    /// The workflow meant, once that is clear.
    pub workflow: Option<String>,
    /// The Message.
    pub message: Message,
    /// What is asked, or why nothing can be started.
    pub answer: Vec<Part>,
    /// Media types that outputs may have; empty says nothing about that.
    pub accepts: Vec<String>,
    /// What makes an equal Message the same one.
    pub once: Option<Once>,
}

impl Executor {
    /// Keeps a Message that does not say enough, as a Task that waits for more. When this returns, the Task
    /// exists durably.
    ///
    /// # Errors
    /// When the Task has ended, its run has started or an equal Message was taken meanwhile (a conflict), or the
    /// store fails.
    pub async fn defer(&self, exchange: Exchange) -> Result<RunId, ExecutorError> {
        self.exchange(exchange, false).await
    }

    /// Keeps a Message from which nothing can be started, as a Task that is rejected.
    ///
    /// # Errors
    /// As [`Executor::defer`].
    pub async fn reject(&self, exchange: Exchange) -> Result<RunId, ExecutorError> {
        self.exchange(exchange, true).await
    }

    /// Cancels a Task whose run has not started.
    ///
    /// # Errors
    /// When it has started meanwhile (a conflict), or the store fails.
    pub async fn abandon(&self, opening: &Opening) -> Result<(), ExecutorError> {
        let at = Timestamp::now();
        let event = RunEvent::RunFinished { at, outcome: Outcome::Canceled };
        self.commit_opening(opening, event, Vec::new(), None).await
    }

    async fn exchange(
        &self,
        exchange: Exchange,
        is_rejection: bool,
    ) -> Result<RunId, ExecutorError> {
        self.check_lease()?;
        let opening = match &exchange.task {
            Some(id) => self.runs().opening(id).await?,
            None => Opening::new(&RunId::generate()),
        };
        let context_id = match (&opening.context_id, &exchange.message.context_id) {
            (known, _) if !known.is_empty() => known.clone(),
            (_, named) if !named.is_empty() => named.clone(),
            _ => Uuid::new_v4().to_string(),
        };
        let id = opening.id.clone();
        let ours = |message: Message| message.with_task(id.as_str()).with_context(&context_id);
        let (message, answer) = (ours(exchange.message), ours(Message::agent(exchange.answer)));
        let account = &self.shared.account;
        let mut writes = Vec::new();
        let turn = Box::new(OpeningTurn {
            context_id: context_id.clone(),
            workflow: exchange.workflow,
            accepts: exchange.accepts,
            message: body_of(account, &message, &mut writes)?,
            answer: body_of(account, &answer, &mut writes)?,
        });
        if let Some(once) = &exchange.once {
            writes.push(once.put(account, &id)?);
        }
        let at = Timestamp::now();
        let (event, error) = match is_rejection {
            false => (RunEvent::RunDeferred { at, turn }, None),
            true => (RunEvent::RunRejected { at, turn }, Some(answer.text())),
        };
        self.commit_opening(&opening, event, writes, error).await?;
        Ok(id)
    }

    async fn commit_opening(
        &self,
        before: &Opening,
        event: RunEvent,
        writes: Vec<Write>,
        error: Option<String>,
    ) -> Result<(), ExecutorError> {
        self.check_lease()?;
        let account = &self.shared.account;
        let entries = vec![journal::encode(&event)?];
        let mut after = Opening { events: Vec::new(), ..before.clone() };
        after.apply(event);
        let journal = after.id.journal();
        let mut batch = Batch { fences: Vec::new(), writes };
        let account = account.clone();
        let held = if before.seq == Seq(0) {
            let owner = self.lease.incarnation;
            let (account, journal) = (account.clone(), journal.clone());
            batch.writes.push(Write::Open { account, journal, owner });
            Held::new(self, &after.id)
        } else {
            let held = self.hold(&after.id).await?;
            batch.fences.push(held.owned.clone());
            held
        };
        let is_over = after.state != RunState::InputRequired;
        batch.writes.push(Write::Append {
            account: account.clone(),
            journal: journal.clone(),
            after: before.seq,
            entries,
        });
        batch.writes.push(summary(&after, error).put(&account)?);
        if is_over {
            batch.writes.push(Write::Close { account, journal });
        }
        let committed = self.shared.store.commit(batch).await;
        held.settle(committed.map_err(ExecutorError::from), !is_over)
    }

    /// Takes the right to write the journal of a Task that nobody drives: ours already, or claimed now. Until it
    /// is settled, nobody else in this process has it.
    pub(super) async fn hold(&self, id: &RunId) -> Result<Held, ExecutorError> {
        let key = self.key(id);
        let owned = match self.idle.remove(&key) {
            Some((_, owned)) => owned,
            None => self.claim(id).await?,
        };
        Ok(Held { key, owned, idle: Arc::clone(&self.idle), is_returned: true })
    }
}

/// The right to write a journal, out of the hands of everybody else. Goes back to where it came from when it is
/// dropped.
pub(super) struct Held {
    key: RunKey,
    pub(super) owned: Owned,
    idle: Arc<Idle>,
    is_returned: bool,
}

impl Held {
    /// The right that opening the journal will give.
    pub(super) fn new(executor: &Executor, id: &RunId) -> Self {
        let account = executor.shared.account.clone();
        let owned = Owned::opened(account, id.journal(), executor.lease.incarnation);
        let idle = Arc::clone(&executor.idle);
        Self { key: executor.key(id), owned, idle, is_returned: false }
    }

    /// Ends the hold after a commit: the right is kept for later when the Task still waits then. After a commit
    /// that failed everything is as before, unless the right itself is lost; one of unknown outcome may have opened
    /// the journal, and then the right is needed to go on with it.
    pub(super) fn settle<T>(
        mut self,
        committed: Result<T, ExecutorError>,
        is_waiting: bool,
    ) -> Result<T, ExecutorError> {
        match &committed {
            Ok(_) => self.is_returned = is_waiting,
            Err(error) => {
                self.is_returned |= error.is_retryable();
                self.is_returned &= !error.is_fenced();
            }
        }
        committed
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_returned {
            self.idle.insert(self.key.clone(), self.owned.clone());
        }
    }
}

fn summary(opening: &Opening, error: Option<String>) -> RunSummary {
    RunSummary {
        id: opening.id.clone(),
        workflow: opening.workflow.clone(),
        context_id: opening.context_id.clone(),
        state: opening.state,
        started_at: opening.started_at,
        updated_at: opening.since,
        error,
    }
}
