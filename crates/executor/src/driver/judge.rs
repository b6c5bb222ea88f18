//! What an attempt's answer is worth, before the core decides what follows from it.

use std::sync::Arc;

use planner::{ErrorClass, StepResult};
use protocol::v1::Message;
use store::Write;

use super::Driver;
use crate::{
    ExecutorError,
    body::Body,
    report::{Report, body_of},
    run::{Input, Phase, RemoteTask, StepIndex},
};

impl Driver {
    /// Holds an agent's answer against what its step expects, and evaluates what the step makes of it; an attempt
    /// fails whose answer it cannot be made of. Any other report stays as it is.
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
        if let Some(why) = planner::mismatch(&plan.workflow.steps[planned], result) {
            return self.unexpected(at, report, &why);
        }
        if plan.workflow.steps[planned].outputs.is_none() {
            return Ok(report);
        }
        let (attempt, result) = (*attempt, Arc::clone(result));
        let mut scope = self.scope(&plan.workflow.steps[planned].reads).await?;
        scope.item = self.item(at).await?;
        scope.this = Some(Arc::clone(&result));
        let why = match planner::evaluate_step_outputs(&plan.workflow, planned, &scope) {
            Ok(outputs) => {
                let result = StepResult { outputs, ..StepResult::clone(&result) };
                match self.with_result(result) {
                    Ok((body, blobs, result)) => return Ok(replaced(report, body, blobs, result)),
                    Err(error @ ExecutorError::TooLarge { .. }) => {
                        format!("the `outputs` of the step are too large: {error}")
                    }
                    Err(error) => return Err(error),
                }
            }
            Err(error) => error.to_string(),
        };
        let Some(flight) = self.run.at(at).flight() else { return Ok(report) };
        self.reporter(at, attempt).unfit(&flight.intent, ErrorClass::Invalid, why)
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
