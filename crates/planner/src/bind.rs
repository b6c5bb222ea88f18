//! Chooses the agent of every step: why this one, and why not the others.
//!
//! The choice depends on the workflow and the snapshot of the registry only. An agent must pass
//! every filter of the selector, may be bound (approved, or deprecated with a warning) and offers
//! an interface spoken here; of those that remain, approved goes before deprecated, then what the selector
//! prefers (evidence or latency, as they are in the snapshot), then the higher priority, then the name in
//! alphabetical order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use document::{Diagnostic, Span};
use protocol::card::interfaces_spoken;
use protocol::client::Interface;
use protocol::v1::AgentCapabilities;
use registry::{Agent, Curation, Index, Tier};

use crate::criteria::{Criteria, Preference};
use crate::dag;
use crate::plan::{Binding, Lost, Plan, served_by};
use crate::references::{nearest_ancestors, take_named};
use crate::step::Selector;
use crate::workflow::Workflow;

mod answers;
mod asking;
mod candidates;
mod explain;
mod locked;
mod uses;

use asking::{Asking, OTHER};
use candidates::candidates;
pub use locked::lock;
use uses::{Inside as _, not_found};

/// Binds every step of a workflow to an agent, and those of the workflows that it uses.
///
/// `fetched` holds the agents of [`Workflow::urls`] by their URL.
///
/// # Errors
/// For every step without an agent: what was asked for, and why each candidate cannot be used.
pub fn bind(
    workflow: Arc<Workflow>,
    index: &Index,
    fetched: &BTreeMap<String, Agent>,
) -> Result<Plan, Vec<Diagnostic>> {
    let mut plan = bind_one(workflow, index, fetched)?;
    let workflow = Arc::clone(&plan.workflow);
    let mut problems: Vec<Diagnostic> = workflow
        .subs()
        .filter(|sub| !workflow.uses.contains_key(&sub.name))
        .map(not_found)
        .collect();
    for (name, child) in &workflow.uses {
        match bind_one(Arc::clone(child), index, fetched) {
            Ok(child) => {
                let warnings = child.warnings.iter().map(|it| it.inside(&workflow, name));
                plan.warnings.extend(warnings);
                plan.children.insert(name.clone(), Arc::new(child));
            }
            Err(found) => problems.extend(found.iter().map(|it| it.inside(&workflow, name))),
        }
    }
    if problems.is_empty() { Ok(plan) } else { Err(problems) }
}

/// Binds one workflow by itself.
fn bind_one(
    workflow: Arc<Workflow>,
    index: &Index,
    fetched: &BTreeMap<String, Agent>,
) -> Result<Plan, Vec<Diagnostic>> {
    let of_run = workflow.steps.len();
    let (dependencies, dependents) = dag::neighbours(of_run, &workflow.edges);
    let edges = [&workflow.edges[..], &workflow.clean_up.edges].concat();
    let order = dag::order(workflow.all_steps().count(), &edges);
    let mut order = order.expect("a checked workflow has no cycle");
    // Those of the run have ended before: what comes in the end may be `same_as` one of them.
    order.sort_by_key(|step| *step >= of_run);
    let mut binder = Binder::new(&workflow, index, fetched);
    // `same_as` is an edge, so the step it names is bound before.
    for step in &order {
        binder.bind(*step);
    }
    let Bound { mut bindings, fallbacks, mut warnings } = binder.finish()?;
    order.truncate(of_run);
    let served_by = served_by(&bindings);
    let of_steps = &served_by[..of_run];
    let mut references = nearest_ancestors(of_steps, &order, &dependencies, &dependents);
    warnings.extend(take_named(workflow.all_steps(), &served_by, &mut references));
    let clean_up_bindings = bindings.split_off(of_run);
    let children = BTreeMap::new();
    let stages = Vec::new();
    Ok(Plan {
        workflow,
        dependencies,
        dependents,
        bindings,
        fallbacks,
        references,
        left: BTreeMap::new(),
        stages,
        clean_up_bindings,
        children,
        warnings,
    })
}

/// What a selector came to; steps with the same selector share it.
type Choice = Result<Binding, Problem>;

/// What comes of all selectors: a binding for each step that has one, those that are tried after it, and warnings.
struct Bound {
    bindings: Vec<Option<Binding>>,
    fallbacks: Vec<Vec<Binding>>,
    warnings: Vec<Diagnostic>,
}

/// Why nothing fits: the message without the step, and what can be done.
#[derive(Clone)]
struct Problem {
    code: &'static str,
    message: String,
    help: String,
}

impl Problem {
    fn new(message: String, help: String) -> Self {
        Self { code: "plan::no-agent", message, help }
    }
}

struct Binder<'a> {
    workflow: &'a Workflow,
    index: &'a Index,
    /// The file's own agents, under the names the file gives them.
    inline: Vec<Arc<Agent>>,
    fetched: &'a BTreeMap<String, Agent>,
    /// By what is asked for, and the agent that the lock names.
    choices: HashMap<(String, Option<&'a str>), Choice>,
    bindings: Vec<Option<Binding>>,
    fallbacks: Vec<Vec<Binding>>,
    problems: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl<'a> Binder<'a> {
    fn new(workflow: &'a Workflow, index: &'a Index, fetched: &'a BTreeMap<String, Agent>) -> Self {
        let mut binder = Binder {
            workflow,
            index,
            inline: Vec::new(),
            fetched,
            choices: HashMap::new(),
            bindings: vec![None; workflow.all_steps().count()],
            fallbacks: vec![Vec::new(); workflow.all_steps().count()],
            problems: Vec::new(),
            warnings: Vec::new(),
        };
        for agent in &workflow.agents {
            match fetched.get(&agent.url) {
                Some(found) => {
                    // What the directory saw of this card, or of one that it breaks nothing of, was seen of this agent as
                    // well.
                    let known = index.by_url(&found.url);
                    let known = known.filter(|it| it.grounds.covers(found.digest));
                    let (tier, seen) =
                        known.map(|it| (it.tier, it.seen.clone())).unwrap_or_default();
                    let name = agent.name.clone();
                    binder.inline.push(Arc::new(Agent { name, tier, seen, ..found.clone() }));
                }
                None => {
                    binder.not_fetched(&format!("agent `{}`", agent.name), &agent.url, agent.span);
                }
            }
        }
        binder
    }

    fn not_fetched(&mut self, what: &str, url: &str, span: Span) {
        let message = format!("the card of {what} at {url} could not be had");
        let problem = Diagnostic::error("plan::no-card", message).at(span, "");
        self.problems
            .push(problem.help("check that the agent is running and serves its card there"));
    }

    fn bind(&mut self, step: usize) {
        let workflow = self.workflow;
        let step_of_file = workflow.step_at(step);
        let Some(selector) = &step_of_file.selector else { return };
        let asking = Asking::of(step_of_file);
        self.bindings[step] = self.select(&asking, selector, &[]);
        // What is tried after nobody is of no interest: that has been reported.
        if self.bindings[step].is_none() {
            return;
        }
        let mut before = self.may_serve(step);
        for (nth, further) in (1..).zip(&step_of_file.fallback) {
            let asking = Asking { nth, span: further.span, ..asking };
            let bound = self.select(&asking, &further.selector, &before);
            before.extend(bound.clone());
            self.fallbacks[step].extend(bound);
        }
    }

    /// All agents that a step, as far as it is bound, may be served by.
    fn may_serve(&self, step: usize) -> Vec<Binding> {
        let first = match &self.workflow.step_at(step).selector {
            Some(Selector::SameAs(other)) => self.may_serve(*other),
            _ => self.bindings[step].iter().cloned().collect(),
        };
        first.into_iter().chain(self.fallbacks[step].iter().cloned()).collect()
    }

    /// The agent of a selector. `before` are tried before it.
    fn select(
        &mut self,
        asking: &Asking<'_>,
        selector: &Selector,
        before: &[Binding],
    ) -> Option<Binding> {
        let bound = match selector {
            Selector::SameAs(other) => self.bindings[*other]
                .clone()
                .map(|binding| Binding { lost: Arc::from([]), ..binding }),
            Selector::Url(url) => self.bind_url(asking, url, before),
            Selector::Match(asked) => {
                let accept = asking.step.asks.accept.clone();
                self.bind_match(asking, &Criteria { accept, ..asked.clone() }, before)
            }
        };
        bound.filter(|it| self.may_answer(asking, selector, it))
    }

    fn bind_url(&mut self, asking: &Asking<'_>, url: &str, before: &[Binding]) -> Option<Binding> {
        let Some(agent) = self.fetched.get(url) else {
            self.not_fetched(&asking.to_string(), url, asking.span);
            return None;
        };
        let bound = locked::url(self.workflow, asking, agent).and_then(|()| {
            let bound = binding(agent, Arc::from([])).ok_or_else(|| {
                Problem::new(explain::not_spoken(agent), explain::SPOKEN.to_owned())
            })?;
            match before.iter().any(|other| other.is_same_agent(&bound)) {
                true => Err(Problem::new("it is tried before".to_owned(), OTHER.to_owned())),
                false => Ok(bound),
            }
        });
        let problem = match bound {
            Ok(bound) => return Some(bound),
            Err(problem) => problem,
        };
        self.no_agent(asking, &format!("the agent at {url}"), &problem);
        None
    }

    fn bind_match(
        &mut self,
        asking: &Asking<'_>,
        asked: &Criteria,
        before: &[Binding],
    ) -> Option<Binding> {
        // A file may name an agent of its own that could not be fetched, which has been reported.
        if asked.name.as_deref().is_some_and(|name| self.is_unfetched(name)) {
            return None;
        }
        let locked = match locked::agent(self.workflow, asking) {
            Ok(locked) => locked,
            Err(problem) => {
                self.no_agent(asking, &asked.to_string(), &problem);
                return None;
            }
        };
        let key = (asked.to_string(), locked);
        let choice = match self.choices.get(&key).filter(|_| before.is_empty()) {
            Some(choice) => choice.clone(),
            None => {
                let choice = self.choose(asked, locked, before);
                if before.is_empty() {
                    self.choices.insert(key, choice.clone());
                }
                choice
            }
        };
        match choice {
            Ok(binding) => {
                self.warn_of_deprecated(asking, &binding);
                Some(binding)
            }
            Err(problem) => {
                self.no_agent(asking, &asked.to_string(), &problem);
                None
            }
        }
    }

    fn is_unfetched(&self, name: &str) -> bool {
        self.workflow.agents.iter().any(|agent| agent.name == name)
            && !self.inline.iter().any(|agent| agent.name == name)
    }

    fn choose(&self, asked: &Criteria, locked: Option<&str>, before: &[Binding]) -> Choice {
        let candidates = candidates(asked, self.index, &self.inline, before);
        if let Some(name) = locked {
            return locked::choose(self.workflow, &candidates, name);
        }
        let Some(winner) = candidates.best() else {
            return Err(explain::nothing_fits(asked, &candidates, self.index));
        };
        let lost = explain::lost(asked, &candidates, winner);
        Ok(binding(winner.agent, lost.into()).expect("a usable candidate speaks an interface"))
    }

    fn no_agent(&mut self, asking: &Asking<'_>, asked: &str, problem: &Problem) {
        let message = format!("no agent for {asking} ({asked}): {}", problem.message);
        let problem =
            Diagnostic::error(problem.code, message).at(asking.span, "").help(&problem.help);
        self.problems.push(problem);
    }

    fn warn_of_deprecated(&mut self, asking: &Asking<'_>, binding: &Binding) {
        let agent = self.index.by_name(&binding.agent);
        let is_deprecated = agent.is_some_and(|agent| {
            agent.curation == Curation::Deprecated && agent.digest == binding.digest
        });
        if is_deprecated {
            let agent = &binding.agent;
            let message = format!("{asking} is served by `{agent}`, which is deprecated");
            let warning = Diagnostic::warning("plan::deprecated", message).at(asking.span, "");
            self.warnings.push(warning.help("select another agent"));
        }
    }

    /// A step with an agent has a binding, or a problem was reported.
    fn finish(self) -> Result<Bound, Vec<Diagnostic>> {
        let mut problems = self.problems;
        if !problems.is_empty() {
            problems.sort_by_key(Diagnostic::span);
            return Err(problems);
        }
        let (bindings, mut fallbacks) = (self.bindings, self.fallbacks);
        if fallbacks.iter().all(Vec::is_empty) {
            fallbacks.clear();
        }
        Ok(Bound { bindings, fallbacks, warnings: self.warnings })
    }
}

/// The order of preference but for names; the least comes first.
fn rank(agent: &Agent, asked: &Criteria) -> Rank {
    let tier = agent.tier.filter(|_| asked.prefer == Preference::Evidence);
    let latency = match asked.prefer {
        Preference::Latency => agent.latency(asked.skill.as_deref()).unwrap_or(Duration::MAX),
        Preference::Evidence | Preference::Priority => Duration::ZERO,
    };
    let is_deprecated = agent.curation != Curation::Approved;
    (is_deprecated, Reverse(tier), latency, Reverse(agent.priority))
}

/// What agents are compared by, one after the other.
type Rank = (bool, Reverse<Option<Tier>>, Duration, Reverse<i32>);

/// Binds to the interface the agent prefers among those spoken here, if any, with the others behind it.
fn binding(agent: &Agent, lost: Arc<[Lost]>) -> Option<Binding> {
    let mut interfaces = interfaces_spoken(&agent.card).into_iter().filter_map(Interface::of);
    let interface = interfaces.next()?;
    let fallbacks = interfaces.collect();
    let capabilities = agent.card.capabilities.as_ref();
    let is_able = |flag: fn(&AgentCapabilities) -> Option<bool>| capabilities.and_then(flag);
    Some(Binding {
        agent: agent.name.clone(),
        digest: agent.digest,
        interface,
        fallbacks,
        streaming: is_able(|it| it.streaming).unwrap_or(false),
        push: is_able(|it| it.push_notifications).unwrap_or(false),
        lost,
    })
}

#[cfg(test)]
mod tests;
