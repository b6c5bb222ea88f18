//! The driver of one run: gathers inputs, lets the core decide, commits, then acts. One commit in flight.
//!
//! Lives in a task per run, owned by the executor. When it is dropped, nothing but memory is lost; an error of
//! the store ends it, and whoever drives the run next replays the journal.

mod act;
mod answer;
mod ask;
mod clean_up;
mod hints;
mod judge;
mod outcomes;
mod passages;
mod references;
mod relay;
mod render;
mod resolve;
mod results;
mod reuse;
mod serving;
mod shared;
mod sub_run;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use planner::{PassThrough, Plan};
use protocol::v1::Message;
use registry::Noted;
use store::{Batch, Owned, Seq, Write};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    ExecutorError, RunId,
    answer::{Answer, Mailbox, Waiting},
    callback::Listening,
    context::Contexts,
    executor::SubRuns,
    flights::{Flights, Slot},
    id::RunKey,
    journal::{self, RunSummary},
    report::{QUEUE, Report, Reporter},
    run::{
        Effect, Header, Input, Outcome, Run, RunEvent, StepIndex, name_blob, projection::RunState,
    },
    seats::Seat,
    streamed::Streamed,
    tally::Tally,
};

use self::{passages::Passages, results::Results};
pub(crate) use self::{
    reuse::RESULTS,
    shared::{Shared, Uncallable},
};

/// Drives one run from wherever its journal stands to its end.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    id: RunId,
    plan: Arc<Plan>,
    run: Run,
    owned: Owned,
    seq: Seq,
    results: Results,
    contexts: Contexts,
    /// What of each step's artifacts goes on while it comes.
    through: Vec<PassThrough>,
    /// What has gone on of those that are not settled.
    streamed: Streamed,
    /// Messages built and not yet sent, so that sending need not read them back.
    messages: HashMap<(StepIndex, u32), Arc<Message>>,
    flights: Flights,
    /// Callbacks of the attempts that go on.
    listening: HashMap<(StepIndex, u32), Listening>,
    reports: mpsc::Receiver<Report>,
    report_to: mpsc::Sender<Report>,
    /// Somebody asks for the end of the run. Outlives this driver, so that the wish does too.
    cancel: CancellationToken,
    /// Answers to pauses arrive here. Outlives this driver as well.
    mailbox: Mailbox,
    /// Its place among the runs that are driven. Outlives this driver, too.
    seat: Arc<Seat>,
    /// Whose answers are drafted and not committed.
    waiting: Vec<Waiting>,
    /// Answers on their way to sub-runs.
    passages: Passages,
    /// What cleans up after it, once that is drafted.
    clean_up: Option<RunId>,
    /// What drives its sub-runs; nothing where it has none.
    sub_runs: Option<Arc<dyn SubRuns>>,
    /// What it and its sub-runs have sent.
    tally: Arc<Tally>,
    draft: Draft,
}

/// What the next commit will hold.
#[derive(Debug, Default)]
struct Draft {
    events: Vec<RunEvent>,
    writes: Vec<Write>,
    /// How attempts at agents of the directory ended.
    noted: Vec<Noted>,
}

/// A run to be driven, as it stands.
pub(crate) struct Standing {
    pub(crate) id: RunId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) owned: Owned,
    /// Its state after the last event of its journal.
    pub(crate) run: Run,
    pub(crate) seq: Seq,
    pub(crate) contexts: Contexts,
    /// What has gone on of its artifacts.
    pub(crate) streamed: Streamed,
    /// Asks for the end of the run.
    pub(crate) cancel: CancellationToken,
    /// Where answers to pauses arrive.
    pub(crate) mailbox: Mailbox,
    /// Its place among the runs that are driven.
    pub(crate) seat: Arc<Seat>,
    /// What drives its sub-runs.
    pub(crate) sub_runs: Option<Arc<dyn SubRuns>>,
    /// What it and its sub-runs have sent.
    pub(crate) tally: Arc<Tally>,
}

impl Driver {
    /// Prepares to drive a run from where it stands.
    pub(crate) fn new(shared: Arc<Shared>, standing: Standing) -> Self {
        let (report_to, reports) = mpsc::channel(QUEUE);
        standing.tally.set(standing.run.calls());
        Self {
            results: Results::new(&standing.plan, &standing.run),
            through: PassThrough::of(&standing.plan.workflow),
            streamed: standing.streamed,
            shared,
            id: standing.id,
            plan: standing.plan,
            run: standing.run,
            owned: standing.owned,
            seq: standing.seq,
            contexts: standing.contexts,
            messages: HashMap::new(),
            flights: Flights::default(),
            listening: HashMap::new(),
            reports,
            report_to,
            cancel: standing.cancel,
            mailbox: standing.mailbox,
            seat: standing.seat,
            waiting: Vec::new(),
            passages: Passages::default(),
            clean_up: None,
            sub_runs: standing.sub_runs,
            tally: standing.tally,
            draft: Draft::default(),
        }
    }

    /// Commits the first decision of a new run together with its existence, and starts what it wants. One whose
    /// turn has not come is queued.
    ///
    /// # Errors
    /// When the store does not take it: then the run does not exist.
    pub(crate) async fn open(
        &mut self,
        header: Box<Header>,
        writes: Vec<Write>,
        inputs: Arc<serde_json::Map<String, serde_json::Value>>,
        start: Arc<[protocol::v1::Part]>,
    ) -> Result<(), ExecutorError> {
        let at = self.seat.since();
        let input = if self.seat.is_granted() {
            self.results.set_start(inputs, start);
            Input::Start { at, header }
        } else {
            // Many may wait: what they start with is read when their turn has come.
            Input::Queue { at, header }
        };
        if self.seq == Seq(0) {
            self.draft.writes.push(Write::Open {
                account: self.shared.account.clone(),
                journal: self.id.journal(),
                owner: self.owned.incarnation,
            });
        }
        self.draft.writes.extend(writes);
        self.take(Report::of(input));
        self.turn().await
    }

    /// Takes up a run whose journal was replayed.
    pub(crate) async fn resume(&mut self) -> Result<(), ExecutorError> {
        self.listen_all();
        self.take(Report::of(Input::Resumed { at: Timestamp::now() }));
        self.turn().await
    }

    /// Drives the run to its end.
    ///
    /// # Errors
    /// When the store fails or another process owns the run now. The run stays as its journal has it.
    pub(crate) async fn drive(mut self) -> Result<Outcome, ExecutorError> {
        loop {
            if let Some(outcome) = self.run.outcome().cloned() {
                self.hand_over().await;
                return Ok(outcome);
            }
            self.gather().await?;
            self.turn().await?;
        }
    }

    /// Waits for one report, then takes all that have come meanwhile: they share one flush.
    async fn gather(&mut self) -> Result<(), ExecutorError> {
        enum Woke {
            Report(Option<Report>),
            Broken(Slot, String),
            Answer(Answer),
            Admitted,
            CancelWanted,
        }
        let woke = tokio::select! {
            report = self.reports.recv() => Woke::Report(report),
            (slot, why) = self.flights.broken() => Woke::Broken(slot, why),
            answer = self.mailbox.next() => Woke::Answer(answer),
            () = self.seat.granted(), if self.run.is_queued() && self.run.halt().is_none() => {
                Woke::Admitted
            }
            () = self.cancel.cancelled(), if self.run.halt().is_none() => Woke::CancelWanted,
        };
        match woke {
            Woke::Report(Some(report)) => {
                let report = self.judge(report).await?;
                self.take_in_turn(report);
            }
            // Unreachable: this driver holds a sender itself.
            Woke::Report(None) => (),
            Woke::Broken(slot, why) => self.mourn(slot, &why),
            Woke::Answer(answer) => self.take_answer(answer).await?,
            Woke::Admitted => self.take(Report::of(Input::Admitted { at: Timestamp::now() })),
            Woke::CancelWanted => {
                self.take(Report::of(Input::CancelRequested { at: Timestamp::now() }));
            }
        }
        while let Ok(report) = self.reports.try_recv() {
            let report = self.judge(report).await?;
            self.take_in_turn(report);
        }
        Ok(())
    }

    /// Lets the core decide on one report and drafts what has to be committed. What comes along with a report
    /// that changes nothing goes with it: no event names its blobs, and a context seen is seen again.
    fn take(&mut self, report: Report) {
        // The flight has said all it had to say; a new one goes on. One that looks whether an authorization was given
        // elsewhere makes room for the answer.
        let is_farewell = matches!(
            report.input,
            Input::ContextRefused { .. }
                | Input::CallbackRefused { .. }
                | Input::AnswerRefused { .. }
                | Input::Paused { .. }
                | Input::Unpaused { .. }
                | Input::Answered { .. }
                | Input::Resolved { .. }
        );
        let subject = report.input.step().and_then(|step| self.run.find(step));
        if let (Input::Expired { .. }, Some(at)) = (&report.input, subject) {
            self.flights.stop(Slot::Expire(at));
        }
        self.waiting.extend(report.waiting);
        let flown = subject.and_then(|at| self.flown(at, &report.input));
        let events = self.decide(report.input);
        if events.is_empty() {
            return;
        }
        if let Some(at) = subject {
            if is_farewell {
                self.flights.stop(Slot::Flight(at, self.run.at(at).attempts));
            }
            if let Some(result) = report.result
                && self.run.at(at).result().is_some()
            {
                self.results.keep(at, result);
            }
            if let Some(message) = report.message
                && self.run.at(at).flight().is_some()
            {
                self.messages.insert((at, self.run.at(at).attempts), message);
            }
            if let Some(chunk) = report.chunk {
                self.streamed.apply(at, self.run.at(at).attempts, &chunk);
            }
        }
        if let Some(seen) = report.context {
            let learned = self.contexts.learn(&seen.agent, &seen.context_id);
            self.draft.writes.extend(learned);
        }
        self.draft.writes.extend(
            report.blobs.into_iter().filter(
                |write| !matches!(write, Write::Blob { id, .. } if !name_blob(&events, id)),
            ),
        );
        self.note_outcomes(flown.as_ref(), &events);
        self.release_results(&events);
        self.draft.events.extend(events);
    }

    /// Lets the core decide, when nobody else decides whether to send something that the same budget is for.
    fn decide(&mut self, input: Input) -> Vec<RunEvent> {
        let tally = Arc::clone(&self.tally);
        let _gate = tally.gate();
        if matches!(input, Input::Rendered { .. } | Input::Answered { .. }) {
            self.run.set_spare(tally.spare());
        }
        let ended = match &input {
            Input::Counted { step, attempt, .. } => Some((step.clone(), *attempt)),
            _ => None,
        };
        let events = self.run.step(input);
        tally.set(self.run.calls());
        if let Some((step, attempt)) = ended {
            let account = self.shared.account.clone();
            tally.forget(&RunKey { account, id: self.id.of_sub_run(step.as_str(), attempt) });
        }
        events
    }

    /// Builds what the state wants built, commits, acts.
    async fn turn(&mut self) -> Result<(), ExecutorError> {
        self.build_wanted().await?;
        self.keep_results().await?;
        self.draft_clean_up().await?;
        self.commit().await?;
        self.seat.hold(!self.run.is_waiting_for_people());
        self.confirm_answers();
        self.act().await
    }

    /// Evaluates wanted messages and outputs: their events belong to the same decision, hence the same commit.
    async fn build_wanted(&mut self) -> Result<(), ExecutorError> {
        loop {
            let next = self.run.to_render().next();
            if let Some(at) = next {
                let report = self.render(at).await?;
                self.take(report);
            } else if self.run.wanted().contains(Effect::Conclude) {
                let report = self.conclude().await?;
                self.take(report);
            } else {
                return Ok(());
            }
        }
    }

    async fn commit(&mut self) -> Result<(), ExecutorError> {
        let draft = std::mem::take(&mut self.draft);
        if draft.events.is_empty() && draft.writes.is_empty() {
            return Ok(());
        }
        let mut batch = Batch { fences: Vec::new(), writes: draft.writes };
        // A journal that this very commit opens is nobody else's.
        if self.seq != Seq(0) {
            batch.fences.push(self.owned.clone());
        }
        let entries = draft.events.iter().map(journal::encode).collect::<Result<Vec<_>, _>>()?;
        let count = entries.len() as u64;
        batch.writes.push(Write::Append {
            account: self.shared.account.clone(),
            journal: self.id.journal(),
            after: self.seq,
            entries,
        });
        self.summarize(&draft.events, &mut batch)?;
        self.shared.store.commit(batch).await?;
        self.seq = Seq(self.seq.0 + count);
        self.count_outcomes(draft.noted);
        Ok(())
    }

    /// Keeps the run's row in step with its state: written when that changes, and only then.
    fn summarize(&self, events: &[RunEvent], batch: &mut Batch) -> Result<(), ExecutorError> {
        let began_at = self.run.started_at().or(self.run.queued_at());
        let (Some(header), Some(started_at)) = (self.run.header(), began_at) else {
            return Ok(());
        };
        let outcome = self.run.outcome();
        if outcome.is_some() {
            let (account, journal) = (self.shared.account.clone(), self.id.journal());
            batch.writes.push(Write::Close { account, journal });
        }
        // A part of another run is not listed among those that somebody asked for.
        if !header.is_listed() || !self.touches_row(events) {
            return Ok(());
        }
        let summary = RunSummary {
            id: self.id.clone(),
            workflow: Some(header.workflow.clone()),
            context_id: header.context_id.clone(),
            state: RunState::of(&self.run),
            started_at,
            updated_at: self.run.status_since(),
            error: match outcome {
                Some(Outcome::Failed(error)) => Some(error.to_string()),
                _ => None,
            },
        };
        batch.writes.push(summary.put(&self.shared.account)?);
        Ok(())
    }

    fn reporter(&self, at: StepIndex, attempt: u32) -> Reporter {
        Reporter {
            account: self.shared.account.clone(),
            run: self.id.clone(),
            step: self.run.at(at).id.clone(),
            attempt,
            to: self.report_to.clone(),
        }
    }
}
