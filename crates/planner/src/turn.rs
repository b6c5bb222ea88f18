//! What a step does when its turn comes: whether it runs, for which items, what it computes; and what it makes of
//! its agent's answer.

use document::Diagnostic;
use serde_json::{Map, Value as Json};

use crate::expression::{Context, Expression, ExpressionError};
use crate::result::{StepResult, StepState};
use crate::scope::Scope;
use crate::workflow::Workflow;

/// The most items that a step runs for.
pub const MAX_ITEMS: usize = 10_000;

/// Evaluates the `when` of a step; true without one.
///
/// # Errors
/// The expression fails, or gives anything but true or false.
pub fn evaluate_when(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<bool, ExpressionError> {
    let Some(when) = &workflow.steps[step].when else { return Ok(true) };
    let help = "compare it, as in `steps.a.text == \"yes\"`, or test it, \
                as in `steps.a.data is defined`";
    truth(workflow, when, scope, ("when", help))
}

/// Evaluates the `until` of a step over what a round yielded, [`Scope::this`]; true without `repeat`.
///
/// # Errors
/// The expression fails, or gives anything but true or false.
pub fn evaluate_until(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<bool, ExpressionError> {
    let Some(repeat) = &workflow.steps[step].repeat else { return Ok(true) };
    let help = "compare it, as in `this.data.score > 7`, or test it, as in `\"done\" in this.text`";
    truth(workflow, &repeat.until, scope, ("until", help))
}

fn truth(
    workflow: &Workflow,
    expression: &Expression,
    scope: &Scope,
    (key, help): (&str, &str),
) -> Result<bool, ExpressionError> {
    match expression.evaluate(scope, &Context::new(scope), &workflow.source)? {
        Json::Bool(value) => Ok(value),
        other => {
            let message = format!("`{key}` must give true or false, not {other}");
            let problem =
                Diagnostic::error("expression::not-boolean", message).at(expression.span(), "");
            Err(ExpressionError::new(&workflow.source, problem.help(help)))
        }
    }
}

/// Evaluates the `for_each` of a step; none without one.
///
/// # Errors
/// The expression fails, gives anything but a list, or one of more than [`MAX_ITEMS`] items.
pub fn evaluate_items(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Option<Vec<Json>>, ExpressionError> {
    let Some(for_each) = &workflow.steps[step].for_each else { return Ok(None) };
    let wrong = |code, message: String, help: &str| {
        let problem = Diagnostic::error(code, message).at(for_each.span, "").help(help);
        Err(ExpressionError::new(&workflow.source, problem))
    };
    match for_each.list.evaluate(scope, &Context::new(scope), &workflow.source)? {
        Json::Array(items) if items.len() > MAX_ITEMS => {
            let message = format!("`for_each` gives {} items", items.len());
            let help = format!("a step runs for at most {MAX_ITEMS}: let an item hold several");
            wrong("expression::too-many-items", message, &help)
        }
        Json::Array(items) => Ok(Some(items)),
        other => {
            let message = format!("`for_each` must give a list, not {}", kind(&other));
            let help = "make one of it, as in `steps.a.text | lines` or `inputs.pairs | items`";
            wrong("expression::not-a-list", message, help)
        }
    }
}

/// Evaluates the `set` of a step; none without one.
///
/// # Errors
/// An expression fails.
pub fn evaluate_set(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Option<StepResult>, ExpressionError> {
    let Some(set) = &workflow.steps[step].set else { return Ok(None) };
    let computed = set.evaluate(scope, &Context::new(scope), &workflow.source)?;
    let result = StepResult::new(StepState::Completed);
    Ok(Some(StepResult { computed: Some(computed), ..result }))
}

/// Evaluates the `outputs` of a step over what its attempt yielded, [`Scope::this`].
///
/// # Errors
/// An expression fails.
pub fn evaluate_step_outputs(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Map<String, Json>, ExpressionError> {
    let Some(outputs) = &workflow.steps[step].outputs else { return Ok(Map::new()) };
    match outputs.evaluate(scope, &Context::new(scope), &workflow.source)? {
        Json::Object(outputs) => Ok(outputs),
        _ => Ok(Map::new()),
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests;
