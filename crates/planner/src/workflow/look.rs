//! What others ask a workflow.

use std::collections::HashSet;

use super::Workflow;
use crate::link::SubWorkflow;
use crate::step::{Selector, Step};

impl Workflow {
    /// The URLs of the agents the file itself names, and those of the workflows that it uses, which must be fetched
    /// before it can be bound: each once.
    #[must_use]
    pub fn urls(&self) -> Vec<&str> {
        let all = || std::iter::once(self).chain(self.uses.values().map(|used| &**used));
        let inline = all().flat_map(|it| &it.agents).map(|agent| agent.url.as_str());
        let selectors = all().flat_map(Workflow::all_steps).flat_map(|step| {
            step.selector.iter().chain(step.fallback.iter().map(|it| &it.selector))
        });
        let selected = selectors.filter_map(|selector| match selector {
            Selector::Url(url) => Some(url.as_str()),
            Selector::Match(_) | Selector::SameAs(_) => None,
        });
        let mut seen = HashSet::new();
        inline.chain(selected).filter(|url| seen.insert(*url)).collect()
    }

    /// Its steps, then those of `on_failure` and `finally`.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().chain(&self.clean_up.steps)
    }

    /// One of [`Workflow::all_steps`].
    pub(crate) fn step_at(&self, at: usize) -> &Step {
        self.steps.get(at).unwrap_or_else(|| &self.clean_up.steps[at - self.steps.len()])
    }

    /// The workflows that its steps are, one for each such step.
    pub fn subs(&self) -> impl Iterator<Item = &SubWorkflow> {
        self.all_steps().filter_map(|step| step.workflow.as_ref())
    }

    /// The index of a step.
    #[must_use]
    pub fn step(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// The steps that no other step waits for, in ascending order.
    #[must_use]
    pub fn last_steps(&self) -> Vec<usize> {
        let mut has_dependents = vec![false; self.steps.len()];
        for edge in &self.edges {
            has_dependents[edge.from] = true;
        }
        (0..self.steps.len()).filter(|step| !has_dependents[*step]).collect()
    }
}
