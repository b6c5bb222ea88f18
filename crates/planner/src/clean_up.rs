//! What is done when a run has ended: what its steps did is undone, and steps of their own are run. All of it is one more
//! run, of a plan that is made of the first one's.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::dag::{self, Edge, Reason, ReasonKind};
use crate::plan::Plan;
use crate::step::{Asks, Join, OnError, RunIf, Step, item_id};
use crate::template::PartTemplate;
use crate::workflow::Workflow;

/// Holds the steps of `on_failure` and `finally`. They are counted on from those of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CleanUp {
    /// Those of `on_failure`, then those of `finally`.
    pub steps: Vec<Step>,
    /// How many of them are of `on_failure`.
    pub on_failure: usize,
    /// Why they wait for each other.
    pub edges: Vec<Edge>,
}

/// Holds the Message that undoes a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// Its Parts.
    pub message: Vec<PartTemplate>,
    /// The steps that it reads.
    pub reads: Vec<usize>,
}

/// Names what a step of a clean-up undoes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undoes {
    /// The step of the run.
    pub step: usize,
    /// The number of the item of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The item itself.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub value: Json,
}

impl CleanUp {
    /// Whether nothing is done in the end, whatever that is.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Makes the plan of what is done after a run: one after the other what undoes these, then `on_failure`, then `finally`.
/// The first two only after a run that did not complete. Nothing when there is nothing to do.
///
/// Its first steps are those of the run, in their order, and those that are not done; [`Plan::stages`] says of each step
/// when it is its turn, 0 for those that have had it.
#[must_use]
pub fn clean_up(plan: &Plan, is_completed: bool, undone: &[Undoes]) -> Option<Plan> {
    let workflow = &plan.workflow;
    let own = &workflow.clean_up;
    let first = workflow.steps.len();
    let is_done = !undone.is_empty() || own.steps.len() > own.on_failure;
    if !is_done && (is_completed || own.on_failure == 0) {
        return None;
    }
    let mut steps: Vec<Step> = workflow.steps.iter().map(of_the_run).collect();
    steps.extend(own.steps.iter().map(|step| Step { on_error: on_error(step), ..step.clone() }));
    let mut stages = vec![0; first];
    stages.extend((0..own.steps.len()).map(|at| match (at < own.on_failure, is_completed) {
        (true, true) => 0,
        (true, false) => 2,
        (false, _) => 3,
    }));
    let mut bindings: Vec<_> =
        plan.bindings.iter().chain(&plan.clean_up_bindings).cloned().collect();
    let mut edges = own.edges.clone();
    for undoes in undone.iter().filter(|_| !is_completed) {
        let at = steps.len();
        if let Some(before) = at.checked_sub(1).filter(|before| stages[*before] == 1) {
            let span = workflow.steps[undoes.step].span;
            let reasons = vec![Reason { kind: ReasonKind::Needs, span }];
            edges.push(Edge { from: before, to: at, reasons });
        }
        steps.push(undo_step(workflow, undoes.clone()));
        stages.push(1);
        bindings.push(plan.bindings[undoes.step].clone());
    }
    let (dependencies, dependents) = dag::neighbours(steps.len(), &edges);
    let references = vec![Vec::new(); steps.len()];
    let workflow = Workflow {
        steps,
        edges,
        outputs: Vec::new(),
        outputs_read: Vec::new(),
        clean_up: CleanUp::default(),
        budget: None,
        concurrency: None,
        schedule: Vec::new(),
        ..Workflow::clone(workflow)
    };
    Some(Plan {
        workflow: Arc::new(workflow),
        dependencies,
        dependents,
        bindings,
        references,
        stages,
        children: plan.children.clone(),
        fallbacks: Vec::new(),
        clean_up_bindings: Vec::new(),
        warnings: Vec::new(),
    })
}

/// A step that has had its turn: only its result is of interest.
fn of_the_run(step: &Step) -> Step {
    Step { reads: Vec::new(), ..step.clone() }
}

/// A step that fails does not keep the others from being done.
fn on_error(step: &Step) -> OnError {
    match step.on_error {
        OnError::Fail => OnError::SkipDependents,
        other => other,
    }
}

fn undo_step(workflow: &Workflow, undoes: Undoes) -> Step {
    let step = &workflow.steps[undoes.step];
    let undo = step.undo.as_ref();
    let mut reads = undo.map(|undo| undo.reads.clone()).unwrap_or_default();
    reads.push(undoes.step);
    reads.sort_unstable();
    reads.dedup();
    let id = undoes.item.map_or_else(|| step.id.clone(), |item| item_id(&step.id, item));
    Step {
        id: format!("undo.{id}"),
        message: undo.map(|undo| undo.message.clone()),
        reads,
        undoes: Some(undoes),
        needs: Vec::new(),
        when: None,
        for_each: None,
        outputs: None,
        undo: None,
        repeat: None,
        asks: Asks::default(),
        cache: None,
        fallback: Vec::new(),
        deadline: None,
        join: Join::All,
        run_if: RunIf::Succeeded,
        cancel_rest: false,
        on_error: OnError::Continue,
        ..step.clone()
    }
}
