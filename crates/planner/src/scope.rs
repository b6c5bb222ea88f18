//! What the expressions of one step can see.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::v1::Part;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::result::{StepError, StepResult};

/// Holds what the expressions of one step, or of the outputs, can see. Cheap to build: everything
/// large is shared.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The checked inputs of the run, defaults filled in.
    pub inputs: Arc<Map<String, Json>>,
    /// The results of the steps that are read: those of [`crate::Step::reads`], or of
    /// [`crate::Workflow::outputs_read`].
    pub steps: BTreeMap<String, Arc<StepResult>>,
    /// The run itself.
    pub run: RunView,
    /// The item that a step with `for_each` runs for.
    pub item: Option<Item>,
    /// What the attempt yielded whose `outputs` or `until` are evaluated; for a message, what the round before did.
    pub this: Option<Arc<StepResult>>,
    /// The Parts of the Message that started the run: what a step without `message` sends on.
    pub start: Arc<[Part]>,
}

/// Holds one item of a `for_each`: `item` and `index`.
#[derive(Clone, Debug)]
pub struct Item {
    /// The item.
    pub value: Arc<Json>,
    /// Its position in the list, from 0.
    pub index: usize,
}

/// Holds what an expression can see of the run, as `run.…`; times are data, so that a replay sees
/// the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// The id of the run, which is the id of its Task.
    pub id: String,
    /// The context of the run.
    pub context_id: String,
    /// The name of the workflow.
    pub workflow: String,
    /// Why the run failed, where that can be known.
    pub error: Option<StepError>,
    /// When the run started, as RFC 3339 text.
    pub started_at: String,
    /// The time of the schedule that started the run, as RFC 3339 text; none when something else did.
    pub scheduled_at: Option<String>,
}
