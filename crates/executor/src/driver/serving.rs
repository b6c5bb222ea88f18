//! Which of its agents serves a step: the first, one of its fallbacks, or whoever served another step.

use planner::{Binding, Plan, Selector};

use super::Driver;
use crate::run::{Items, Run, StepIndex};

/// The agent of a step's or an item's present attempt, or of its last one; nothing for a step without.
pub(super) fn serving<'p>(plan: &'p Plan, run: &Run, at: StepIndex) -> Option<&'p Binding> {
    let planned = run.planned(at);
    let candidate = run.at(at).candidate as usize;
    if let Some(before) = candidate.checked_sub(1) {
        return plan.fallbacks(planned.position()).get(before);
    }
    match plan.workflow.steps.get(planned.position())?.selector {
        Some(Selector::SameAs(other)) if plan.has_fallbacks() => served(plan, run, index(other)),
        _ => plan.bindings.get(planned.position())?.as_ref(),
    }
}

/// The agent that served a step: that of its first item that got so far, where it has items.
fn served<'p>(plan: &'p Plan, run: &Run, at: StepIndex) -> Option<&'p Binding> {
    let mut items = run.at(at).items.iter().flat_map(Items::indices);
    serving(plan, run, items.find(|item| run.at(*item).attempts > 0).unwrap_or(at))
}

impl Driver {
    /// The Tasks that a step has left with an agent, those of all its items.
    pub(super) fn tasks_with(&self, agent: &Binding, at: StepIndex) -> Vec<String> {
        let items = self.run.at(at).items.iter().flat_map(Items::indices);
        let own = std::iter::once(at).chain(items);
        let there = own.filter(|at| {
            serving(&self.plan, &self.run, *at).is_some_and(|other| is_same(agent, other))
        });
        there.filter_map(|at| self.run.at(at).task.as_ref()).map(|it| it.task_id.clone()).collect()
    }

    /// The steps to look at first for Tasks that a step may refer to, and those behind a step without any. Who serves a
    /// step is not always known when it is planned: then all that it waits for are looked at.
    pub(super) fn referable(&self, at: StepIndex) -> Vec<usize> {
        let at = at.position();
        match (&self.plan.workflow.steps[at].asks.references, self.plan.has_fallbacks()) {
            (_, false) => self.plan.references[at].clone(),
            (Some(named), true) => named.iter().map(|it| it.step).collect(),
            (None, true) => self.plan.dependencies[at].clone(),
        }
    }
}

/// Whether two agents of one plan are one, as far as Tasks are concerned.
fn is_same(one: &Binding, other: &Binding) -> bool {
    (&one.agent, &one.interface.tenant) == (&other.agent, &other.interface.tenant)
}

fn index(position: usize) -> StepIndex {
    StepIndex(u32::try_from(position).expect("a plan has fewer than 2^32 steps"))
}
