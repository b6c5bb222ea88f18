//! What the runs of a workflow may use: how many go on at once, for each key, and how often each calls agents.

use document::{Diagnostic, Span};
use serde::{Deserialize, Serialize};

use crate::expression::{Context, Expression, ExpressionError};
use crate::scope::Scope;
use crate::template::text_of;
use crate::workflow::Workflow;

/// The longest key, in bytes: it stands in the record of each run.
pub const MAX_KEY_BYTES: usize = 1024;

/// Says how many runs of a workflow go on at once, and what becomes of one more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Runs that give the same are counted together; without it all runs of the workflow are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Expression>,
    /// How many of them go on at once; at least 1.
    pub limit: u32,
    /// What becomes of one more.
    pub on_conflict: OnConflict,
    /// Where it stands in the file.
    pub span: Span,
}

/// Says what becomes of a run for which there is no room among those of its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConflict {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It is turned away: its Task is rejected.
    Reject,
    /// The oldest run of the key is canceled, and it takes that one's place.
    CancelOldest,
    /// The newest run of the key, which is itself, is canceled.
    CancelNewest,
}

impl OnConflict {
    /// Every policy as workflows write it.
    pub const ALL: [(&'static str, OnConflict); 4] = [
        ("queue", OnConflict::Queue),
        ("reject", OnConflict::Reject),
        ("cancel_oldest", OnConflict::CancelOldest),
        ("cancel_newest", OnConflict::CancelNewest),
    ];
}

/// Says how much a run may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Messages that are sent to agents, by the run and those below it, repeated ones counted; at least 1.
    pub calls: u64,
}

/// Evaluates the key under which a run is counted; none for a workflow whose runs are not.
///
/// `scope` has the inputs; no step has run.
///
/// # Errors
/// The expression fails, or gives more than [`MAX_KEY_BYTES`].
pub fn evaluate_key(workflow: &Workflow, scope: &Scope) -> Result<Option<String>, ExpressionError> {
    let Some(concurrency) = &workflow.concurrency else { return Ok(None) };
    let Some(expression) = &concurrency.key else { return Ok(Some(String::new())) };
    let key = text_of(expression.evaluate(scope, &Context::new(scope), &workflow.source)?);
    if key.len() > MAX_KEY_BYTES {
        let message = format!("the key has {} bytes, and at most {MAX_KEY_BYTES} fit", key.len());
        let problem = Diagnostic::error("workflow::long-key", message).at(expression.span(), "");
        let help = "take a shorter input, or a part of it, as in `inputs.text[:100]`";
        return Err(ExpressionError::new(&workflow.source, problem.help(help)));
    }
    Ok(Some(key))
}
