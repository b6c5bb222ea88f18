//! What an attempt's answer is worth, before the core decides what follows from it.

use std::sync::Arc;

use planner::{ErrorClass, ExpressionError, Scope, StepError, StepResult, StepState, Workflow};
use protocol::v1::Message;
use store::Write;

use super::Driver;
use crate::{
    ExecutorError,
    body::Body,
    report::{Report, body_of},
    run::{Input, NextRound, Phase, RemoteTask, StepIndex},
};

impl Driver {
    /// Holds an agent's answer against what its step expects, evaluates what the step makes of it, and whether it is good
    /// enough; an attempt fails whose answer nothing can be made of. Any other report stays as it is.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn judge(&mut self, report: Report) -> Result<Report, ExecutorError> {
        let (Input::Succeeded { step, attempt, .. }, Some(result)) =
            (&report.input, &report.result)
        else {
            return Ok(report);
        };
        let plan = Arc::clone(&self.plan);
        let Some(at) = self.run.find(step).filter(|at| self.run.at(*at).is_current(*attempt))
        else {
            return Ok(report);
        };
        let planned = self.run.planned(at).position();
        let of_file = &plan.workflow.steps[planned];
        if let Some(why) = planner::mismatch(of_file, result) {
            return self.unexpected(at, report, &why);
        }
        if of_file.outputs.is_none() && of_file.repeat.is_none() {
            return Ok(report);
        }
        let result = StepResult::clone(result);
        let result = match self.round_before(at).await? {
            Some(before) => result.after_round(&before, self.run.at(at).rounds()),
            None => result,
        };
        let mut scope = self.scope(&of_file.reads).await?;
        scope.item = self.item(at).await?;
        match judged(&plan.workflow, planned, scope, result) {
            Ok(Judged::Good(result)) => self.completed(at, report, result),
            Ok(Judged::NotYet(result)) => self.round_ended(at, report, &result),
            Err(error) => self.unfit(at, report, error.to_string()),
        }
    }

    /// The same report with what was made of the result.
    fn completed(
        &self,
        at: StepIndex,
        report: Report,
        result: StepResult,
    ) -> Result<Report, ExecutorError> {
        match self.with_result(result) {
            Ok((body, blobs, result)) => Ok(replaced(report, body, blobs, result)),
            Err(error @ ExecutorError::TooLarge { .. }) => {
                let of_file = &self.plan.workflow.steps[self.run.planned(at).position()];
                let what = match of_file.repeat {
                    Some(_) => "all versions of its artifacts together",
                    None => "the `outputs` of the step",
                };
                self.unfit(at, report, format!("{what} are too large: {error}"))
            }
            Err(error) => Err(error),
        }
    }

    /// Another round follows, if there is one.
    fn round_ended(
        &self,
        at: StepIndex,
        report: Report,
        result: &StepResult,
    ) -> Result<Report, ExecutorError> {
        let of_file = &self.plan.workflow.steps[self.run.planned(at).position()];
        let step = self.run.at(at);
        let report = self.completed(at, report, result.clone())?;
        let Some(repeat) = of_file.repeat.as_ref().filter(|it| step.rounds() + 1 >= it.max) else {
            return Ok(ended(report, NextRound::Again));
        };
        let error = StepError {
            step: step.id.to_string(),
            class: ErrorClass::NotConverged,
            message: format!(
                "`until: {}` was false in all of {} rounds",
                repeat.until.source(),
                repeat.max
            ),
            attempt: step.attempts,
        };
        let last =
            StepResult { state: StepState::Failed, error: Some(error.clone()), ..result.clone() };
        match self.with_result(last) {
            Ok((body, blobs, last)) => {
                let mut report = ended(report, NextRound::GiveUp { result: body, error });
                report.blobs.extend(blobs);
                Ok(Report { result: Some(last), ..report })
            }
            Err(error @ ExecutorError::TooLarge { .. }) => {
                self.unfit(at, report, format!("its last answer is too large: {error}"))
            }
            Err(error) => Err(error),
        }
    }

    fn unfit(&self, at: StepIndex, report: Report, why: String) -> Result<Report, ExecutorError> {
        let Some(flight) = self.run.at(at).flight() else { return Ok(report) };
        self.reporter(at, flight.attempt).unfit(&flight.intent, ErrorClass::Invalid, why)
    }

    /// What the round before yielded that was not good enough; nothing in the first round.
    pub(super) async fn round_before(
        &self,
        at: StepIndex,
    ) -> Result<Option<Arc<StepResult>>, ExecutorError> {
        match &self.run.at(at).round {
            Some(round) => Ok(Some(Arc::new(self.load(&round.result).await?))),
            None => Ok(None),
        }
    }

    /// What an answer comes to that is not what the step expects: a failed attempt, or a question where the agent made
    /// no Task for it.
    fn unexpected(
        &self,
        at: StepIndex,
        report: Report,
        why: &str,
    ) -> Result<Report, ExecutorError> {
        let Some(flight) = self.run.at(at).flight() else { return Ok(report) };
        let reporter = self.reporter(at, flight.attempt);
        if let Some(message) = direct_message(&report) {
            let asked = reporter.asked_back(message, self.task_at_work(at), why)?;
            return Ok(Report { context: report.context, ..asked });
        }
        let agent = &flight.intent.agent;
        let why = format!("the answer of agent `{agent}` is not what the step expects: {why}");
        reporter.unfit(&flight.intent, ErrorClass::ExpectMismatch, why)
    }

    /// The Task of an attempt under way.
    fn task_at_work(&self, at: StepIndex) -> Option<RemoteTask> {
        match &self.run.at(at).phase {
            Phase::Watching(_, task) | Phase::Answering(_, task) => Some(task.clone()),
            _ => None,
        }
    }

    fn with_result(
        &self,
        result: StepResult,
    ) -> Result<(Body, Vec<Write>, Arc<StepResult>), ExecutorError> {
        let mut blobs = Vec::new();
        let body = body_of(&self.shared.account, &result, &mut blobs)?;
        Ok((body, blobs, Arc::new(result)))
    }
}

/// The Message that an agent answered with instead of a Task.
fn direct_message(report: &Report) -> Option<&Message> {
    match &report.input {
        Input::Succeeded { task: None, .. } => report.result.as_ref()?.message.as_ref(),
        _ => None,
    }
}

/// What an answer is worth.
enum Judged {
    Good(StepResult),
    /// Another round is wanted.
    NotYet(StepResult),
}

/// Makes the `outputs` of an answer and asks `until` of them.
fn judged(
    workflow: &Workflow,
    step: usize,
    mut scope: Scope,
    result: StepResult,
) -> Result<Judged, ExpressionError> {
    scope.this = Some(Arc::new(result.clone()));
    // Those of a sub-run are there, too.
    let mut outputs = result.outputs.clone();
    outputs.extend(planner::evaluate_step_outputs(workflow, step, &scope)?);
    let result = StepResult { outputs, ..result };
    scope.this = Some(Arc::new(result.clone()));
    let is_good = planner::evaluate_until(workflow, step, &scope)?;
    Ok(if is_good { Judged::Good(result) } else { Judged::NotYet(result) })
}

/// The same report of a result that is not the last word.
fn ended(report: Report, next: NextRound) -> Report {
    let input = match report.input {
        Input::Succeeded { step, attempt, at, task, result } => {
            Input::RoundEnded { step, attempt, at, task, result, next }
        }
        other => other,
    };
    Report { input, ..report }
}

/// The same report of another result.
fn replaced(report: Report, body: Body, blobs: Vec<Write>, result: Arc<StepResult>) -> Report {
    let input = match report.input {
        Input::Succeeded { step, attempt, at, task, .. } => {
            Input::Succeeded { step, attempt, at, task, result: body }
        }
        other => other,
    };
    Report { input, blobs, result: Some(result), ..report }
}
