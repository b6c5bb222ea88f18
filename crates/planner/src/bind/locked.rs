//! Binds as a lock says, and makes the lock of a plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use registry::{Agent, Index};

use super::candidates::Candidates;
use super::{Asking, Choice, Problem, binding, explain};
use crate::lock::Lock;
use crate::plan::Plan;
use crate::step::Selector;
use crate::workflow::Workflow;

/// Makes the lock of a plan: the agents that it chose, with their cards. `index` and `fetched` are what it was bound
/// with, and `file` is what the lock's file will be called.
#[must_use]
pub fn lock(plan: &Plan, index: &Index, fetched: &BTreeMap<String, Agent>, file: &str) -> Lock {
    let workflow = &plan.workflow;
    let mut lock = Lock::new(&workflow.name, file);
    let inline = |name: &str| {
        let url = workflow.agents.iter().find(|it| it.name == name).map(|it| &it.url)?;
        // The card is what counts, and the name it has here.
        fetched.get(url).map(|agent| Agent { name: name.to_owned(), ..agent.clone() })
    };
    let at_url = |name: &str| fetched.values().find(|agent| agent.name == name).cloned();
    let of_registry = |name: &str| index.by_name(name).map(|agent| Agent::clone(agent));
    let bindings = plan.bindings.iter().chain(&plan.clean_up_bindings);
    for (at, (step, bound)) in workflow.all_steps().zip(bindings).enumerate() {
        // What follows another step has no choice of its own but for its fallbacks.
        let follows = matches!(step.selector, Some(Selector::SameAs(_)));
        let first = bound.iter().filter(|_| !follows);
        let agents: Vec<Agent> = first
            .chain(plan.fallbacks(at))
            .filter_map(|it| {
                let name = &it.agent;
                inline(name).or_else(|| at_url(name)).or_else(|| of_registry(name))
            })
            .collect();
        if !agents.is_empty() {
            lock.add(&step.id, &agents);
        }
    }
    lock
}

/// The agent that a step, or one of its fallbacks, is locked to; nothing when there is no lock.
pub(super) fn agent<'a>(
    workflow: &'a Workflow,
    asking: &Asking<'_>,
) -> Result<Option<&'a str>, Problem> {
    let Some(lock) = &workflow.lock else { return Ok(None) };
    let follows = matches!(asking.step.selector, Some(Selector::SameAs(_)));
    let nth = asking.nth - usize::from(follows);
    match lock.agents_of(&asking.step.id).and_then(|agents| agents.get(nth)) {
        Some(agent) => Ok(Some(agent)),
        None => Err(Problem {
            code: "plan::not-locked",
            message: match asking.nth {
                0 => format!("{} does not know the step", lock.file()),
                _ => format!("{} does not know it", lock.file()),
            },
            help: again(workflow),
        }),
    }
}

/// The agent at a URL that a step names: whether it is still the one that the step is locked to.
pub(super) fn url(workflow: &Workflow, asking: &Asking<'_>, agent: &Agent) -> Result<(), Problem> {
    let Some(name) = self::agent(workflow, asking)? else { return Ok(()) };
    if name != agent.name {
        return Err(elsewhere(workflow, name, "is not what the step names now"));
    }
    unchanged(workflow, agent)
}

/// The agent that the lock names, if it is among the candidates, can be used, and has the card it had.
pub(super) fn choose(workflow: &Workflow, candidates: &Candidates<'_>, name: &str) -> Choice {
    let Some(candidate) = candidates.list.iter().find(|it| it.agent.name == name) else {
        return Err(elsewhere(workflow, name, "is not among those that come into question"));
    };
    unchanged(workflow, candidate.agent)?;
    if let Some(reason) = explain::reason(candidate) {
        return Err(elsewhere(workflow, name, &reason));
    }
    let file = workflow.lock.as_ref().map_or("", |lock| lock.file());
    let lost = explain::lost_to_the_lock(candidates, candidate.agent, file);
    Ok(binding(candidate.agent, lost.into()).expect("a usable candidate speaks an interface"))
}

fn elsewhere(workflow: &Workflow, name: &str, why: &str) -> Problem {
    let file = workflow.lock.as_ref().map_or("", |lock| lock.file());
    Problem {
        code: "plan::locked-agent",
        message: format!("{file} has `{name}` for it, which {why}"),
        help: again(workflow),
    }
}

fn unchanged(workflow: &Workflow, agent: &Agent) -> Result<(), Problem> {
    let difference = workflow.lock.as_ref().and_then(|lock| lock.difference(agent));
    let Some(difference) = difference else { return Ok(()) };
    let file = workflow.lock.as_ref().map_or("", |lock| lock.file());
    let name = &agent.name;
    let mut help = String::new();
    for named in &difference.named {
        let _ = writeln!(help, "{named}");
    }
    let _ = write!(help, "when you agree with it: {}", again(workflow));
    Err(Problem {
        code: "plan::locked-card",
        message: format!(
            "the card of `{name}` is another than in {file} ({} change)",
            difference.class
        ),
        help,
    })
}

/// What makes the lock fit again.
fn again(workflow: &Workflow) -> String {
    format!("`convoke plan --lock {}` writes the lock anew", workflow.source.name())
}
