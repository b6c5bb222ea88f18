use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::observed::{Observed, Probed, Probes, Work};
use super::seen::services;
use super::{Seen, Service};

/// What was observed of all agents, in memory.
#[derive(Default)]
pub(crate) struct Ledger {
    agents: HashMap<String, Account>,
}

/// What was observed of one agent.
#[derive(Default)]
struct Account {
    observed: Observed,
    /// The number of the next work.
    next: u64,
}

impl Ledger {
    pub(crate) fn add_probes(&mut self, name: &str, probes: Probes) {
        self.agents.entry(name.to_owned()).or_default().observed.probes = probes;
    }

    /// Adds work as it was kept, in any order.
    pub(crate) fn add_work(&mut self, name: &str, work: Work) {
        let account = self.agents.entry(name.to_owned()).or_default();
        account.next = account.next.max(work.number + 1);
        account.observed.work.push_back(work);
        account.observed.work.make_contiguous().sort_by_key(|work| work.number);
    }

    /// Adds work that ended just now.
    pub(crate) fn add_new_work(&mut self, name: &str, work: Work) {
        self.agents.entry(name.to_owned()).or_default().observed.add_work(work);
    }

    /// The number of the next work at an agent.
    pub(crate) fn next(&mut self, name: &str) -> u64 {
        let account = self.agents.entry(name.to_owned()).or_default();
        let next = account.next;
        account.next += 1;
        next
    }

    /// The results of probes with one more; they are not changed.
    pub(crate) fn with_probe(&self, name: &str, probed: Probed) -> Probes {
        let mut probes =
            self.agents.get(name).map(|it| it.observed.probes.clone()).unwrap_or_default();
        probes.add(probed);
        probes
    }

    /// What follows for an agent at a moment.
    pub(crate) fn seen(&self, name: &str, now: Timestamp) -> Option<Arc<Seen>> {
        Seen::of(&self.agents.get(name)?.observed, now).map(Arc::new)
    }

    pub(crate) fn services(&self, name: &str) -> Vec<Service> {
        self.agents.get(name).map(|it| services(&it.observed)).unwrap_or_default()
    }

    /// The results of probes that are kept, oldest first.
    pub(crate) fn probes(&self, name: &str) -> Vec<Probed> {
        let probes = self.agents.get(name).map(|it| it.observed.probes.recent.iter().cloned());
        probes.into_iter().flatten().collect()
    }

    /// How many probes in a row found nobody, the newest included.
    pub(crate) fn misses(&self, name: &str) -> usize {
        let probes = self.agents.get(name).map(|it| it.observed.probes.recent.iter());
        probes.map_or(0, |it| it.rev().take_while(|probed| probed.tier.is_none()).count())
    }

    /// When an agent was probed last.
    pub(crate) fn probed_at(&self, name: &str) -> Option<Timestamp> {
        self.agents.get(name)?.observed.probes.recent.back().map(|probed| probed.at)
    }

    pub(crate) fn forget(&mut self, name: &str) {
        self.agents.remove(name);
    }
}
