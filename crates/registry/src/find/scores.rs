//! What one search counts: kept between searches, for taking its memory anew would cost more than most of them.

use std::cell::RefCell;

thread_local! {
    /// Of the searches of this thread.
    pub(super) static SCORES: RefCell<Scores> = RefCell::default();
}

/// What was counted in one search. All of it is nothing between two.
#[derive(Default)]
pub(super) struct Scores {
    /// The agents that are asked for, a bit each.
    pub(super) wanted: Wanted,
    /// For all words.
    pub(super) sums: Sums,
    /// For the best of the words that stand for the one being looked at.
    pub(super) best: Sums,
}

/// A number per agent; those that are none are not looked at again.
#[derive(Default)]
pub(super) struct Sums {
    of_agents: Vec<f32>,
    /// Those that have one, in no order.
    pub(super) found: Vec<u32>,
}

impl Sums {
    /// What an agent has so far. Every score is worth something, so that one without is new.
    #[inline]
    pub(super) fn entry(&mut self, agent: u32) -> &mut f32 {
        let sum = &mut self.of_agents[agent as usize];
        if *sum == 0.0 {
            self.found.push(agent);
        }
        sum
    }

    /// All there is, which leaves nothing.
    pub(super) fn take(&mut self, mut each: impl FnMut(u32, f32)) {
        for agent in self.found.drain(..) {
            each(agent, std::mem::take(&mut self.of_agents[agent as usize]));
        }
    }
}

/// A set of agents.
#[derive(Default)]
pub(super) struct Wanted(Vec<u64>);

impl Wanted {
    pub(super) fn set(&mut self, agents: &[u32]) {
        self.0.fill(0);
        agents.iter().for_each(|agent| self.0[*agent as usize / 64] |= 1 << (agent % 64));
    }

    #[inline]
    pub(super) fn has(&self, agent: u32) -> bool {
        self.0[agent as usize / 64] & 1 << (agent % 64) != 0
    }
}

impl Scores {
    pub(super) fn fit(&mut self, agents: usize) {
        self.wanted.0.resize(agents.div_ceil(64), 0);
        self.sums.of_agents.resize(agents, 0.0);
        self.best.of_agents.resize(agents, 0.0);
    }
}
