use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::observed::{Observed, Probed, Probes, Work};
use super::seen::services;
use super::{Grounds, Seen, Service};

/// What was observed of all agents, in memory.
#[derive(Default)]
pub(crate) struct Ledger {
    agents: HashMap<String, Account>,
    /// What was counted since the store began to be read anew, while it is.
    since_reading: Option<Vec<(String, Work)>>,
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
        if !work.is_unmeasured {
            account.next = account.next.max(work.number + 1);
        }
        account.observed.add_work(work);
    }

    /// Adds work that ended just now.
    pub(crate) fn add_new_work(&mut self, name: &str, work: Work) {
        if let Some(since) = &mut self.since_reading {
            since.push((name.to_owned(), work.clone()));
        }
        self.add_work(name, work);
    }

    /// Notes from now on what [`Ledger::end_reading`] has to add to what is read of the store meanwhile.
    pub(crate) fn begin_reading(&mut self) {
        self.since_reading = Some(Vec::new());
    }

    /// Notes nothing any more: what was to be read cannot be.
    pub(crate) fn give_up_reading(&mut self) {
        self.since_reading = None;
    }

    /// Holds what was read, and what was counted since that began.
    pub(crate) fn end_reading(&mut self, mut read: Self) {
        for (name, work) in self.since_reading.take().into_iter().flatten() {
            read.add_work(&name, work);
        }
        // Numbers that were given out may still be on their way to the store.
        for (name, account) in std::mem::take(&mut self.agents) {
            let known = read.agents.entry(name).or_default();
            known.next = known.next.max(account.next);
        }
        self.agents = read.agents;
    }

    /// The number of the next work at an agent.
    pub(crate) fn next(&mut self, name: &str) -> u64 {
        let account = self.agents.entry(name.to_owned()).or_default();
        let next = account.next;
        account.next += 1;
        next
    }

    /// The results of probes with one more; they are not changed.
    pub(crate) fn with_probe(&self, name: &str, probed: Probed, grounds: &Grounds) -> Probes {
        let mut probes =
            self.agents.get(name).map(|it| it.observed.probes.clone()).unwrap_or_default();
        probes.add(probed, grounds);
        probes
    }

    /// What follows for an agent at a moment.
    pub(crate) fn seen(&self, name: &str, grounds: &Grounds, now: Timestamp) -> Option<Arc<Seen>> {
        Seen::of(&self.agents.get(name)?.observed, grounds, now).map(Arc::new)
    }

    pub(crate) fn services(&self, name: &str, grounds: &Grounds) -> Vec<Service> {
        self.agents.get(name).map(|it| services(&it.observed, grounds)).unwrap_or_default()
    }

    /// The results of probes that are kept, oldest first.
    pub(crate) fn probes(&self, name: &str) -> Vec<Probed> {
        let probes = self.agents.get(name).map(|it| it.observed.probes.recent.iter().cloned());
        probes.into_iter().flatten().collect()
    }

    /// How many probes in a row found nobody, the newest included.
    pub(crate) fn misses(&self, name: &str) -> usize {
        let probes = self.agents.get(name).map(|it| it.observed.probes.measured());
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
