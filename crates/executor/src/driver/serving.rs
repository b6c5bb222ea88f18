//! Which of its agents serves a step: the first, one of its fallbacks, or whoever served another step.

use planner::{Binding, Left, Plan, Selector};

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
        let before = self.plan.left.get(&at.position()).into_iter().flatten().cloned();
        let left = self.left(at).into_iter().chain(before);
        left.filter(|it| it.is_with(agent)).map(|it| it.task_id).collect()
    }

    /// The Tasks that a step has left with agents, those of all its items.
    pub(super) fn left(&self, at: StepIndex) -> Vec<Left> {
        let items = self.run.at(at).items.iter().flat_map(Items::indices);
        let own = std::iter::once(at).chain(items);
        own.filter_map(|at| {
            let (by, task) = (serving(&self.plan, &self.run, at)?, self.run.at(at).task.as_ref()?);
            let (agent, tenant) = (by.agent.clone(), by.interface.tenant.clone());
            Some(Left { agent, tenant, task_id: task.task_id.clone() })
        })
        .collect()
    }

    /// The steps to look at first for Tasks that a step may refer to, and those behind a step without any. Who serves a
    /// step is not always known when it is planned: then all that it waits for are looked at, and in a clean-up those of the
    /// run that it has to do with. What undoes something refers to that alone.
    pub(super) fn referable(&self, at: StepIndex) -> Vec<usize> {
        let at = at.position();
        let step = &self.plan.workflow.steps[at];
        match &step.asks.references {
            _ if step.undoes.is_some() => Vec::new(),
            _ if !self.plan.has_fallbacks() => self.plan.references[at].clone(),
            Some(named) => named.iter().map(|it| it.step).collect(),
            None => self.plan.dependencies[at].iter().copied().chain(step.looks_at()).collect(),
        }
    }

    /// The agents that can serve a step which has not begun, in the order in which they are tried.
    pub(super) fn candidates(&self, at: StepIndex) -> Vec<Binding> {
        let first = serving(&self.plan, &self.run, at).into_iter();
        first.chain(self.plan.fallbacks(at.position())).cloned().collect()
    }

    /// The agent that served a step, and all items of it; nothing where there were several, or none.
    pub(super) fn only_server(&self, at: StepIndex) -> Option<&Binding> {
        let items = self.run.at(at).items.as_ref();
        let all: Vec<StepIndex> = items.map_or_else(|| vec![at], |items| items.indices().collect());
        let mut serving = all.into_iter().map(|at| serving(&self.plan, &self.run, at));
        let first = serving.next()??;
        serving.all(|other| other.is_some_and(|it| is_same(first, it))).then_some(first)
    }
}

/// Whether two agents of one plan are one, as far as Tasks are concerned.
fn is_same(one: &Binding, other: &Binding) -> bool {
    (&one.agent, &one.interface.tenant) == (&other.agent, &other.interface.tenant)
}

/// The step at a position in the plan.
pub(super) fn index(position: usize) -> StepIndex {
    StepIndex(u32::try_from(position).expect("a plan has fewer than 2^32 steps"))
}
