//! After a commit: start what the state wants done, stop what it no longer wants.

use std::sync::Arc;

use jiff::Timestamp;
use protocol::v1::Message;
use tokio::sync::mpsc;

use super::Driver;
use crate::{
    ExecutorError,
    flights::Slot,
    remote::{Attempt, Cancel, Errand, KnownPause, Passing, confirm_cancel, fly, until},
    report::Report,
    run::{CANCEL_GRACE, Effect, Flight, Input, PauseKind, Phase, StepIndex, after},
};

impl Driver {
    /// Brings the running tasks in step with the wanted effects. Costs O(changes).
    pub(super) async fn act(&mut self) -> Result<(), ExecutorError> {
        for effect in self.run.effects().take_changed() {
            let Some(slot) = Slot::of(effect) else {
                continue;
            };
            if let Some((at, attempt)) = slot.attempt() {
                self.stop_listening(at, attempt);
            }
            let is_wanted = self.wants(slot);
            if !is_wanted {
                self.flights.stop(slot);
            } else if !self.flights.holds(slot) {
                self.begin(slot).await?;
            }
        }
        Ok(())
    }

    fn wants(&self, slot: Slot) -> bool {
        let wanted = self.run.wanted();
        match slot {
            Slot::Flight(at, attempt) => {
                let turn = self.run.at(at).flight().map_or(0, |flight| flight.turn);
                wanted.contains(Effect::Send(at, attempt))
                    || wanted.contains(Effect::Answer(at, attempt, turn))
                    || wanted.contains(Effect::Watch(at, attempt))
            }
            Slot::Sleep(at, attempt) => wanted.contains(Effect::Sleep(at, attempt)),
            // Each ends by itself, and is about no effect.
            Slot::Pass(..) => true,
            Slot::Expire(at) => wanted.contains(Effect::Expire(at)),
            Slot::Cancel(at, attempt) => wanted.contains(Effect::Cancel(at, attempt)),
            Slot::GiveUp(at, attempt) => wanted.contains(Effect::GiveUp(at, attempt)),
            Slot::StepDeadline(at) => wanted.contains(Effect::StepDeadline(at)),
            Slot::Deadline => wanted.contains(Effect::Deadline),
        }
    }

    async fn begin(&mut self, slot: Slot) -> Result<(), ExecutorError> {
        match slot {
            Slot::Flight(at, attempt) => self.begin_flight(at, attempt).await?,
            Slot::Cancel(at, attempt) => self.begin_cancel(at, attempt),
            Slot::Sleep(at, attempt) => {
                if let Phase::BackingOff { until, .. } = self.run.at(at).phase {
                    let step = self.step_id(at);
                    self.remind(slot, until, move || Input::Woken { step, attempt });
                }
            }
            Slot::GiveUp(at, attempt) => {
                if let Phase::Canceling { since, .. } = self.run.at(at).phase {
                    let step = self.step_id(at);
                    self.remind(slot, after(since, CANCEL_GRACE), move || Input::CancelSettled {
                        step,
                        attempt,
                        at: Timestamp::now(),
                        confirmed: false,
                    });
                }
            }
            Slot::Pass(..) => (),
            Slot::Expire(at) => self.remind_of_pause(at)?,
            Slot::StepDeadline(at) => self.remind_of_step(at),
            Slot::Deadline => self.remind_of_deadline(),
        }
        Ok(())
    }

    async fn begin_flight(&mut self, at: StepIndex, attempt: u32) -> Result<(), ExecutorError> {
        let is_new = self.messages.contains_key(&(at, attempt));
        let Some((flight, errand)) = errand(&self.run.at(at).phase, is_new) else {
            return Ok(());
        };
        if flight.intent.is_sub_run {
            return self.attend(at, attempt).await;
        }
        let message = self.message_of(at, &flight).await?;
        let reporter = self.reporter(at, attempt);
        let (limits, interfaces) = (self.shared.limits, Arc::clone(&self.shared.interfaces));
        let peer = match self.peer(at, &flight.intent, errand.task()) {
            Ok(peer) => peer,
            Err(why) => {
                let report = reporter.unusable(&flight.intent, &why)?;
                let to = self.report_to.clone();
                self.flights.start(Slot::Flight(at, attempt), async move {
                    let _ = to.send(report).await;
                });
                return Ok(());
            }
        };
        let is_paused = matches!(self.run.at(at).phase, Phase::Paused { .. });
        let limit = self.run.limit(at, &flight);
        let deadline = (!is_paused).then_some(limit.at);
        let passed = self.streamed.of_attempt(at, attempt);
        let accepts = self.run.header().map(|header| header.accepts.clone()).unwrap_or_default();
        let planned = self.run.planned(at);
        let through = &self.through[planned.position()];
        let step = self.step_id(at);
        let agent = &flight.intent.agent;
        let passing = Passing::new(&self.plan, agent, step, through, &accepts, passed);
        let relays = self.run.is_relay();
        let asked = &self.plan.workflow.steps[planned.position()];
        let (passing, accepts) = match relays {
            true => (passing.map(Passing::unchanged), accepts),
            false => (passing, planner::accepted_output_modes(asked)),
        };
        let turn = flight.turn;
        let hints = self.listen(at);
        let intent = flight.intent;
        let flight = Attempt {
            peer,
            intent,
            message,
            turn,
            errand,
            deadline,
            limit,
            limits,
            interfaces,
            relays,
            accepts,
            passing,
            hints,
            reporter,
        };
        self.flights.start(Slot::Flight(at, attempt), fly(flight));
        Ok(())
    }

    /// The Message of an attempt: from memory when it was built just now, else as the journal has it.
    async fn message_of(
        &mut self,
        at: StepIndex,
        flight: &Flight,
    ) -> Result<Arc<Message>, ExecutorError> {
        if let Some(message) = self.messages.remove(&(at, flight.attempt)) {
            return Ok(message);
        }
        Ok(Arc::new(self.load(&flight.intent.message).await?))
    }

    fn begin_cancel(&mut self, at: StepIndex, attempt: u32) {
        let Some((intent, task, give_up_at)) = self.run.to_cancel(at, attempt) else {
            return;
        };
        if intent.is_sub_run {
            return self.cancel_sub_run(at, attempt);
        }
        let peer = self.peer(at, intent, Some(task));
        let task_id = task.task_id.clone();
        let step = self.step_id(at);
        let to = self.report_to.clone();
        self.flights.start(Slot::Cancel(at, attempt), async move {
            let confirmed = match peer {
                Ok(peer) => confirm_cancel(Cancel { peer, task_id, give_up_at }).await,
                // An agent that cannot be called cannot be told either.
                Err(_) => false,
            };
            let at = Timestamp::now();
            tell(&to, Input::CancelSettled { step, attempt, at, confirmed }).await;
        });
    }

    pub(super) fn remind(
        &mut self,
        slot: Slot,
        at: Timestamp,
        input: impl FnOnce() -> Input + Send + 'static,
    ) {
        let to = self.report_to.clone();
        self.flights.start(slot, async move {
            tokio::time::sleep(until(at)).await;
            tell(&to, input()).await;
        });
    }

    /// A task broke down: its attempt fails, a cancel counts as unconfirmed, a sleep as over. Without that the
    /// run would wait for ever for a report that nobody sends.
    pub(super) fn mourn(&mut self, slot: Slot, why: &str) {
        tracing::error!(run = %self.id, ?slot, why, "a task of the run broke down");
        match slot {
            Slot::Flight(at, attempt) => self.mourn_flight(at, attempt, why),
            Slot::Cancel(at, attempt) | Slot::GiveUp(at, attempt) => {
                let step = self.step_id(at);
                let at = Timestamp::now();
                let input = Input::CancelSettled { step, attempt, at, confirmed: false };
                self.take(Report::of(input));
            }
            Slot::Sleep(at, attempt) => {
                let step = self.step_id(at);
                self.take(Report::of(Input::Woken { step, attempt }));
            }
            // Whoever answered hears nothing, and looks.
            Slot::Pass(at, _) => self.end_passage(at),
            Slot::Expire(at) => {
                if let Err(error) = self.remind_of_pause(at) {
                    tracing::error!(%error, "a pause cannot end");
                }
            }
            Slot::StepDeadline(at) => self.remind_of_step(at),
            Slot::Deadline => self.remind_of_deadline(),
        }
    }

    fn mourn_flight(&mut self, at: StepIndex, attempt: u32, why: &str) {
        let Some(flight) = self.run.at(at).flight().cloned() else {
            return;
        };
        match self.reporter(at, attempt).broken(&flight.intent, why) {
            Ok(report) => self.take(report),
            Err(error) => tracing::error!(%error, "a report cannot be written"),
        }
    }

    fn remind_of_deadline(&mut self) {
        if let Some(deadline) = self.run.deadline() {
            self.remind(Slot::Deadline, deadline, || Input::TimedOut { at: Timestamp::now() });
        }
    }

    fn remind_of_step(&mut self, at: StepIndex) {
        let Some(deadline) = self.run.step_deadline(at) else {
            return;
        };
        let length = self.run.shape_of(at).deadline.unwrap_or_default();
        let reporter = self.reporter(at, self.run.at(at).attempts);
        let to = self.report_to.clone();
        self.flights.start(Slot::StepDeadline(at), async move {
            tokio::time::sleep(until(deadline)).await;
            match reporter.overdue(length) {
                // A driver that is gone has no use for it.
                Ok(report) => drop(to.send(report).await),
                Err(error) => tracing::error!(%error, "a report cannot be written"),
            }
        });
    }

    fn step_id(&self, at: StepIndex) -> crate::run::StepId {
        self.run.at(at).id.clone()
    }
}

async fn tell(to: &mpsc::Sender<Report>, input: Input) {
    // A driver that is gone has no use for it.
    let _ = to.send(Report::of(input)).await;
}

/// What a phase wants done with its attempt's agent.
fn errand(phase: &Phase, is_new: bool) -> Option<(Flight, Errand)> {
    let errand = match phase {
        Phase::Sending(flight) => (flight, Errand::Send),
        Phase::Watching(flight, task) => {
            // The answered question may be seen once more before the agent takes note of the answer.
            let pause = answered(flight);
            (flight, Errand::Watch { task: task.clone(), pause })
        }
        Phase::Paused { flight, task: Some(task), pause, .. } => {
            let message_id = pause.message_id.clone();
            let known = KnownPause { kind: pause.kind, message_id, is_awaited: true };
            (flight, Errand::Watch { task: task.clone(), pause: Some(known) })
        }
        Phase::Answering(flight, task) => {
            let (task, turn) = (task.clone(), flight.turn);
            (flight, Errand::Answer { task, turn, asked: answered(flight), is_new })
        }
        Phase::Canceling { flight, task: None, .. } => (flight, Errand::Send),
        Phase::Canceling { flight, task: Some(task), .. } => {
            (flight, Errand::Watch { task: task.clone(), pause: None })
        }
        Phase::Waiting
        | Phase::Ready
        | Phase::Rendering
        | Phase::Asked { .. }
        | Phase::Unknown { .. }
        | Phase::Paused { task: None, .. }
        | Phase::Answered(..)
        | Phase::BackingOff { .. }
        | Phase::Items
        | Phase::Settled(_) => return None,
    };
    Some((errand.0.clone(), errand.1))
}

/// The question that an attempt answered last.
fn answered(flight: &Flight) -> Option<KnownPause> {
    let message_id = flight.asked.as_ref()?.message_id.clone()?;
    Some(KnownPause { kind: PauseKind::Input, message_id: Some(message_id), is_awaited: false })
}
