//! Reports about a sub-run.

use jiff::Timestamp;
use planner::{ErrorClass, StepResult};
use std::sync::Arc;

use super::{Report, Reporter, body_of};
use crate::{
    remote::Defeat,
    run::{Input, Intent, Pause, RemoteTask},
};

impl Reporter {
    /// It exists.
    pub(crate) async fn bound_sub_run(&self, task: RemoteTask) {
        let input = Input::Bound { step: self.step.clone(), attempt: self.attempt, task };
        self.send(Report::of(input)).await;
    }

    /// It waits for somebody.
    pub(crate) async fn sub_run_paused(&self, task: RemoteTask, pause: Pause) {
        let (step, attempt, at) = (self.step.clone(), self.attempt, Timestamp::now());
        self.send(Report::of(Input::Paused { step, attempt, at, task: Some(task), pause })).await;
    }

    /// It waits for nobody any more.
    pub(crate) async fn went_on(&self) {
        let (step, attempt, at) = (self.step.clone(), self.attempt, Timestamp::now());
        self.send(Report::of(Input::Unpaused { step, attempt, at })).await;
    }

    /// It has ended, and has sent so many Messages.
    pub(crate) async fn counted(&self, calls: u64) {
        let input = Input::Counted { step: self.step.clone(), attempt: self.attempt, calls };
        self.send(Report::of(input)).await;
    }

    /// It has its outputs.
    pub(crate) async fn sub_run_completed(
        &self,
        intent: &Intent,
        task: RemoteTask,
        result: StepResult,
    ) {
        let mut blobs = Vec::new();
        match body_of(&self.account, &result, &mut blobs) {
            Ok(body) => {
                let input = Input::Succeeded {
                    step: self.step.clone(),
                    attempt: self.attempt,
                    at: Timestamp::now(),
                    task: Some(task),
                    result: body,
                };
                let result = Some(Arc::new(result));
                self.send(Report { blobs, result, ..Report::of(input) }).await;
            }
            Err(error) => {
                let why =
                    format!("the outputs of workflow `{}` cannot be kept: {error}", intent.agent);
                self.sub_run_failed(intent, ErrorClass::Invalid, why, true).await;
            }
        }
    }

    /// It did not get to its end, or in no good way.
    pub(crate) async fn sub_run_failed(
        &self,
        intent: &Intent,
        class: ErrorClass,
        why: String,
        has_ended: bool,
    ) {
        let defeat = Defeat { remote_ended: has_ended, ..Defeat::new(class, why) };
        match self.failed(intent, &defeat) {
            Ok(report) => self.send(report).await,
            Err(error) => tracing::error!(%error, step = %self.step, "a report cannot be written"),
        }
    }

    /// It was told to end, and has, or cannot be told.
    pub(crate) async fn cancel_settled(&self, confirmed: bool) {
        let (step, attempt, at) = (self.step.clone(), self.attempt, Timestamp::now());
        self.send(Report::of(Input::CancelSettled { step, attempt, at, confirmed })).await;
    }
}
