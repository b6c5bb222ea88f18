//! What is done when a run has ended: what its steps did is undone, and steps of their own are run. All of it is one more
//! run, of a plan that is made of the first one's.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::dag::{self, Edge, Reason, ReasonKind};
use crate::plan::{Binding, Left, Plan, served_by};
use crate::references::{nearest_ancestors, take_named};
use crate::step::{Asks, Join, OnError, RunIf, Selector, Step, item_id};
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

/// Says what came of a run, as far as it matters for what is done after it.
pub struct Ended<'a> {
    /// Whether it completed.
    pub is_completed: bool,
    /// What is undone, newest first, each by the agent that did it.
    pub undone: Vec<(Undoes, Binding)>,
    /// For each step, the agent that served it, or would have.
    pub served: Vec<Option<Binding>>,
    /// The Tasks that a step has left with agents.
    pub left: &'a dyn Fn(usize) -> Vec<Left>,
}

/// Makes the plan of what is done after a run: one after the other what undoes its steps, then `on_failure`, then
/// `finally`. The first two only after a run that did not complete. Nothing when there is nothing to do.
///
/// Its first steps are those of the run, in their order, and those that are not done; [`Plan::stages`] says of each step
/// when it is its turn, 0 for those that have had it.
#[must_use]
pub fn clean_up(plan: &Plan, ended: Ended<'_>) -> Option<Plan> {
    let Ended { is_completed, mut undone, served, left } = ended;
    let workflow = &plan.workflow;
    let own = &workflow.clean_up;
    let first = workflow.steps.len();
    undone.retain(|_| !is_completed);
    let is_done = !undone.is_empty() || own.steps.len() > own.on_failure;
    if !is_done && (is_completed || own.on_failure == 0) {
        return None;
    }
    let mut end = End::of(plan, is_completed, served);
    let mut references = end.references(first);
    let fallbacks = fallbacks(plan, first);
    let left = referable(&end.steps, first, &references, !fallbacks.is_empty())
        .map(|step| (step, left(step)))
        .filter(|(_, left)| !left.is_empty())
        .collect();
    for (undoes, by) in undone {
        end.undo(workflow, undoes, by);
    }
    let End { steps, stages, bindings, edges } = end;
    references.resize(steps.len(), Vec::new());
    let (dependencies, dependents) = dag::neighbours(steps.len(), &edges);
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
        left,
        stages,
        children: plan.children.clone(),
        fallbacks,
        clean_up_bindings: Vec::new(),
        warnings: Vec::new(),
    })
}

/// The steps of a clean-up, those of the run before them.
struct End {
    steps: Vec<Step>,
    stages: Vec<u32>,
    bindings: Vec<Option<Binding>>,
    edges: Vec<Edge>,
}

impl End {
    /// Those that do not depend on what is undone.
    fn of(plan: &Plan, is_completed: bool, served: Vec<Option<Binding>>) -> End {
        let (run, own) = (&plan.workflow.steps, &plan.workflow.clean_up);
        let mut steps: Vec<Step> = run.iter().map(of_the_run).collect();
        steps
            .extend(own.steps.iter().map(|step| Step { on_error: on_error(step), ..step.clone() }));
        let mut stages = vec![0; run.len()];
        stages.extend((0..own.steps.len()).map(|at| match (at < own.on_failure, is_completed) {
            (true, true) => 0,
            (true, false) => 2,
            (false, _) => 3,
        }));
        let mut bindings = [served, plan.clean_up_bindings.clone()].concat();
        follow(&steps, run.len(), &mut bindings);
        End { steps, stages, bindings, edges: own.edges.clone() }
    }

    /// Which Tasks each step refers to: what it names, or else the nearest of the steps before it and of those of the run
    /// that any of them has to do with.
    fn references(&self, first: usize) -> Vec<Vec<usize>> {
        let steps = &self.steps;
        let of_run = (first..steps.len()).flat_map(|to| {
            let from = steps[to].looks_at().filter(|from| *from < first);
            from.map(move |from| Edge { from, to, reasons: Vec::new() }).collect::<Vec<_>>()
        });
        let edges: Vec<Edge> = self.edges.iter().cloned().chain(of_run).collect();
        let (dependencies, dependents) = dag::neighbours(steps.len(), &edges);
        let order = dag::order(steps.len(), &edges).expect("a checked workflow has no cycle");
        let served_by = served_by(&self.bindings);
        let mut references = nearest_ancestors(&served_by, &order, &dependencies, &dependents);
        // What there is to warn of was said when the plan was made.
        take_named(steps.iter(), &served_by, &mut references);
        references
    }

    /// Adds a step that undoes something, after all others that do.
    fn undo(&mut self, workflow: &Workflow, undoes: Undoes, by: Binding) {
        let at = self.steps.len();
        if let Some(before) = at.checked_sub(1).filter(|before| self.stages[*before] == 1) {
            let span = workflow.steps[undoes.step].span;
            let reasons = vec![Reason { kind: ReasonKind::Needs, span }];
            self.edges.push(Edge { from: before, to: at, reasons });
        }
        self.steps.push(undo_step(workflow, undoes));
        self.stages.push(1);
        self.bindings.push(Some(by));
    }
}

/// Gives each step that is `same_as` another one the agent of that.
fn follow(steps: &[Step], first: usize, bindings: &mut [Option<Binding>]) {
    for at in first..steps.len() {
        let mut other = at;
        while let Some(Selector::SameAs(next)) = steps[other].selector {
            other = next;
        }
        bindings[at] = bindings[other].clone();
    }
}

/// The steps of the run whose Tasks may be referred to. Where an agent may have others after it, they are looked for among
/// all that steps have to do with.
fn referable(
    steps: &[Step],
    first: usize,
    references: &[Vec<usize>],
    has_fallbacks: bool,
) -> impl Iterator<Item = usize> {
    let own = first..references.len();
    let found: BTreeSet<usize> = match has_fallbacks {
        true => own.flat_map(|at| steps[at].looks_at()).collect(),
        false => own.flat_map(|at| references[at].iter().copied()).collect(),
    };
    found.into_iter().filter(move |step| *step < first)
}

/// Those of the steps that are done, none where none has any. Those of the run have been served.
fn fallbacks(plan: &Plan, first: usize) -> Vec<Vec<Binding>> {
    let own = plan.fallbacks.get(first..).unwrap_or_default();
    match own.iter().all(Vec::is_empty) {
        true => Vec::new(),
        false => [vec![Vec::new(); first], own.to_vec()].concat(),
    }
}

/// A step that has had its turn: only its result is of interest, and who served it, which is known.
fn of_the_run(step: &Step) -> Step {
    Step { reads: Vec::new(), selector: None, fallback: Vec::new(), ..step.clone() }
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
        // It is whoever did what is undone.
        selector: None,
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
