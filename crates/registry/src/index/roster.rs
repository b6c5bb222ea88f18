//! The agents of an index in the order of their names: a tree that never changes and shares with the one it was made
//! from all that is the same, so that another version of one agent costs a branch and not the directory.

use std::sync::Arc;

use jiff::Timestamp;

use crate::Agent;
use crate::find::Standing;

/// How many agents a leaf holds, and how many limbs a branch.
const WIDTH: usize = 32;

/// Agents by their number, which is their place in the order of names.
#[derive(Clone)]
pub(super) struct Roster {
    root: Limb,
    len: usize,
    /// How many agents a child of the root holds; 1 when the root is a leaf.
    span: usize,
}

#[derive(Clone)]
enum Limb {
    Leaf(Arc<Leaf>),
    Branch(Arc<Branch>),
}

#[derive(Clone)]
struct Leaf {
    agents: Vec<Arc<Agent>>,
    /// Beside the agents, because all of them may be asked for it at once.
    standings: Vec<Standing>,
    holds_until: Timestamp,
}

#[derive(Clone)]
struct Branch {
    limbs: Vec<Limb>,
    holds_until: Timestamp,
}

impl Default for Roster {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Roster {
    /// Holds agents that are sorted by name.
    pub(super) fn of(agents: &[Arc<Agent>]) -> Self {
        let (len, mut span) = (agents.len(), 1);
        let mut limbs: Vec<Limb> =
            agents.chunks(WIDTH).map(|agents| Leaf::limb(agents.to_vec())).collect();
        while limbs.len() > 1 {
            limbs = limbs.chunks(WIDTH).map(|limbs| Branch::limb(limbs.to_vec())).collect();
            span *= WIDTH;
        }
        let root = limbs.pop().unwrap_or_else(|| Leaf::limb(Vec::new()));
        Self { root, len, span }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn agent(&self, number: u32) -> &Arc<Agent> {
        &self.leaf(number as usize).agents[number as usize % WIDTH]
    }

    pub(super) fn standing(&self, number: u32) -> Standing {
        self.leaf(number as usize).standings[number as usize % WIDTH]
    }

    /// All of them, in their order.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        let mut leaf = self.leaf(0);
        (0..self.len).map(move |at| {
            if at % WIDTH == 0 {
                leaf = self.leaf(at);
            }
            &leaf.agents[at % WIDTH]
        })
    }

    /// The number of the agent of exactly this name.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let (mut from, mut to) = (0, self.len);
        while from < to {
            let at = from.midpoint(to);
            let number = u32::try_from(at).ok()?;
            match self.agent(number).name.as_str().cmp(name) {
                std::cmp::Ordering::Less => from = at + 1,
                std::cmp::Ordering::Equal => return Some(number),
                std::cmp::Ordering::Greater => to = at,
            }
        }
        None
    }

    /// The same with another agent in a place; costs the way to it.
    pub(super) fn with(&self, number: u32, agent: Arc<Agent>) -> Self {
        Self { root: self.root.with(self.span, number as usize, agent), ..*self }
    }

    /// Until when none of them is different by the clock alone.
    pub(super) fn holds_until(&self) -> Timestamp {
        self.root.holds_until()
    }

    /// Those that are different by the clock at a moment; costs what there are.
    pub(super) fn over(&self, now: Timestamp) -> Vec<&Arc<Agent>> {
        let mut over = Vec::new();
        self.root.over(now, &mut over);
        over
    }

    /// Those that are other versions of themselves in another roster of the same names: as they are there, and here.
    /// Costs what there are.
    pub(super) fn apart<'a>(&'a self, other: &'a Self) -> Vec<(&'a Arc<Agent>, &'a Arc<Agent>)> {
        let mut apart = Vec::new();
        other.root.apart(&self.root, &mut apart);
        apart
    }

    fn leaf(&self, at: usize) -> &Leaf {
        let (mut limb, mut span) = (&self.root, self.span);
        loop {
            match limb {
                Limb::Leaf(leaf) => return leaf,
                Limb::Branch(branch) => limb = &branch.limbs[at / span % WIDTH],
            }
            span /= WIDTH;
        }
    }

    /// How many limbs of this one are not part of another.
    #[cfg(test)]
    pub(super) fn own_limbs(&self, other: &Self) -> usize {
        self.root.own_limbs(&other.root)
    }
}

impl Leaf {
    fn limb(agents: Vec<Arc<Agent>>) -> Limb {
        let standings = agents.iter().map(|agent| Standing::of(agent)).collect();
        let holds_until = agents.iter().map(|agent| agent.holds_until()).min();
        let holds_until = holds_until.unwrap_or(Timestamp::MAX);
        Limb::Leaf(Arc::new(Self { agents, standings, holds_until }))
    }
}

impl Branch {
    fn limb(limbs: Vec<Limb>) -> Limb {
        let holds_until = limbs.iter().map(Limb::holds_until).min().unwrap_or(Timestamp::MAX);
        Limb::Branch(Arc::new(Self { limbs, holds_until }))
    }
}

impl Limb {
    fn holds_until(&self) -> Timestamp {
        match self {
            Self::Leaf(leaf) => leaf.holds_until,
            Self::Branch(branch) => branch.holds_until,
        }
    }

    fn with(&self, span: usize, at: usize, agent: Arc<Agent>) -> Self {
        match self {
            Self::Leaf(leaf) => {
                let mut agents = leaf.agents.clone();
                agents[at % WIDTH] = agent;
                Leaf::limb(agents)
            }
            Self::Branch(branch) => {
                let mut limbs = branch.limbs.clone();
                let limb = &mut limbs[at / span % WIDTH];
                *limb = limb.with(span / WIDTH, at, agent);
                Branch::limb(limbs)
            }
        }
    }

    fn over<'a>(&'a self, now: Timestamp, over: &mut Vec<&'a Arc<Agent>>) {
        if self.holds_until() > now {
            return;
        }
        match self {
            Self::Leaf(leaf) => {
                over.extend(leaf.agents.iter().filter(|agent| agent.holds_until() <= now));
            }
            Self::Branch(branch) => branch.limbs.iter().for_each(|limb| limb.over(now, over)),
        }
    }

    fn apart<'a>(&'a self, now: &'a Self, apart: &mut Vec<(&'a Arc<Agent>, &'a Arc<Agent>)>) {
        match (self, now) {
            (Self::Leaf(was), Self::Leaf(is)) if !Arc::ptr_eq(was, is) => {
                let pairs = was.agents.iter().zip(&is.agents);
                apart.extend(pairs.filter(|(was, is)| !Arc::ptr_eq(was, is)));
            }
            (Self::Branch(was), Self::Branch(is)) if !Arc::ptr_eq(was, is) => {
                was.limbs.iter().zip(&is.limbs).for_each(|(was, is)| was.apart(is, apart));
            }
            _ => {}
        }
    }

    #[cfg(test)]
    fn own_limbs(&self, other: &Self) -> usize {
        match (self, other) {
            (Self::Leaf(one), Self::Leaf(other)) => usize::from(!Arc::ptr_eq(one, other)),
            (Self::Branch(one), Self::Branch(other)) if Arc::ptr_eq(one, other) => 0,
            (Self::Branch(one), Self::Branch(other)) => {
                let limbs = one.limbs.iter().zip(&other.limbs);
                1 + limbs.map(|(one, other)| one.own_limbs(other)).sum::<usize>()
            }
            _ => usize::MAX,
        }
    }
}
