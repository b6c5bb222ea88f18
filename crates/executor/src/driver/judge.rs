//! What an attempt's answer is worth, before the core decides what follows from it.

use std::sync::Arc;

use planner::{ErrorClass, StepResult};
use store::Write;

use super::Driver;
use crate::{
    ExecutorError,
    body::Body,
    report::{Report, body_of},
    run::Input,
};

impl Driver {
    /// Evaluates what a step makes of its agent's answer; an attempt fails whose answer it cannot be made of. Any
    /// other report stays as it is.
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
        if plan.workflow.steps[planned].outputs.is_none() {
            return Ok(report);
        }
        let (attempt, result) = (*attempt, Arc::clone(result));
        let mut scope = self.scope(&plan.workflow.steps[planned].reads).await?;
        scope.item = self.item(at).await?;
        scope.this = Some(Arc::clone(&result));
        let why = match planner::evaluate_step_outputs(&plan.workflow, planned, &scope) {
            Ok(made) => {
                // Those of a sub-run are there, too.
                let mut outputs = result.outputs.clone();
                outputs.extend(made);
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

    fn with_result(
        &self,
        result: StepResult,
    ) -> Result<(Body, Vec<Write>, Arc<StepResult>), ExecutorError> {
        let mut blobs = Vec::new();
        let body = body_of(&self.shared.account, &result, &mut blobs)?;
        Ok((body, blobs, Arc::new(result)))
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
