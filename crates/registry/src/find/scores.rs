//! What one search counts: kept between searches, for taking its memory anew would cost more than most of them.

use std::cell::RefCell;

thread_local! {
    /// Of the searches of this thread.
    pub(super) static SCORES: RefCell<Scores> = RefCell::default();
}

/// What was counted in one search. All of it is nothing between two.
#[derive(Default)]
pub(super) struct Scores {
    /// The agents that are asked for.
    pub(super) wanted: Wanted,
    /// For all words.
    pub(super) sums: Sums,
    /// For the best of the words that stand for the one being looked at.
    pub(super) best: Sums,
    /// Of the list being looked at.
    pub(super) met: Met,
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

/// An agent that has a word, and what that is worth: side by side, because both are read together.
#[derive(Clone, Copy)]
pub(super) struct Scored {
    pub(super) agent: u32,
    pub(super) score: f32,
}

/// What is met of the list being looked at.
#[derive(Default)]
pub(super) struct Met {
    /// Where it stands.
    pub(super) places: Vec<u32>,
    /// What stands there.
    pub(super) read: Vec<Scored>,
}

impl Met {
    /// Keeps the places of what is met: with no branch, because a processor would guess it wrong half of the time.
    #[inline]
    pub(super) fn keep(&mut self, most: usize, candidates: impl Iterator<Item = (u32, bool)>) {
        self.places.resize(most, 0);
        let mut kept = 0;
        for (place, is_met) in candidates {
            self.places[kept] = place;
            kept += usize::from(is_met);
        }
        self.places.truncate(kept);
    }
}

/// A set of agents, a bit each.
#[derive(Default)]
pub(super) struct Wanted(Vec<u64>);

/// The agents that are asked for: their list, and the same as a set once that is needed.
pub(super) struct Among<'a> {
    pub(super) list: &'a [u32],
    set: &'a mut Wanted,
    is_set: bool,
}

impl Wanted {
    pub(super) fn of<'a>(&'a mut self, list: &'a [u32]) -> Among<'a> {
        Among { list, set: self, is_set: false }
    }

    /// Takes a sorted list; each word is written once.
    fn fill(&mut self, list: &[u32]) {
        self.0.fill(0);
        let (mut at, mut bits) = (0, 0);
        for agent in list {
            let next = *agent as usize / 64;
            if next != at {
                self.0[at] = bits;
                (at, bits) = (next, 0);
            }
            bits |= 1_u64 << (agent % 64);
        }
        if let Some(last) = self.0.get_mut(at) {
            *last = bits;
        }
    }

    #[inline]
    pub(super) fn has(&self, agent: u32) -> bool {
        self.0[agent as usize / 64] & 1 << (agent % 64) != 0
    }
}

impl Among<'_> {
    pub(super) fn set(&mut self) -> &Wanted {
        if !self.is_set {
            self.set.fill(self.list);
            self.is_set = true;
        }
        self.set
    }
}

impl Scores {
    pub(super) fn fit(&mut self, agents: usize) {
        self.wanted.0.resize(agents.div_ceil(64), 0);
        self.sums.of_agents.resize(agents, 0.0);
        self.best.of_agents.resize(agents, 0.0);
    }
}
