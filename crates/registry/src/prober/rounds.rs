//! Which agents are probed when, and how many at once.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use protocol::auth::Origin;
use protocol::client::Interface;
use protocol::v1::AgentCard;
use store::AccountId;
use tokio::task::{self, JoinSet};

use super::{Prober, is_watched};
use crate::registry::after;
use crate::{Agent, Registry, RegistryError};

/// How many agents of one host are probed at once.
pub(super) const PER_HOST: usize = 2;

/// How many times as long the pause before the next probe becomes while an agent is not reached.
const LONGEST_PAUSE: u32 = 4;

/// Within what time agents that were never probed are, so that a start is not a burst.
pub(super) const SETTLING: Duration = Duration::from_secs(30);

/// What a longer interval means: for ever, and without overflows.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// An agent: whose directory it is of, and its name there.
type Whose = (AccountId, String);

/// Probes that are due and those under way.
pub(super) struct Rounds {
    /// The one that was asked; what its settings say holds for all.
    pub(super) prober: Prober,
    /// Those of other accounts' directories.
    others: BTreeMap<AccountId, Prober>,
    pub(super) waiting: Vec<Waiting>,
    pub(super) running: JoinSet<Result<(), RegistryError>>,
    /// The agents under way, each with its host.
    places: HashMap<task::Id, (Whose, String)>,
    /// When each agent is due.
    due: HashMap<Whose, Timestamp>,
    chance: std::hash::RandomState,
}

/// An agent that is to be probed.
pub(super) struct Waiting {
    pub(super) prober: Prober,
    pub(super) agent: Arc<Agent>,
}

impl Waiting {
    fn whose(&self) -> Whose {
        (self.prober.registry.account().clone(), self.agent.name.clone())
    }
}

impl Rounds {
    pub(super) fn new(prober: Prober) -> Self {
        Self {
            prober,
            others: BTreeMap::new(),
            waiting: Vec::new(),
            running: JoinSet::new(),
            places: HashMap::new(),
            due: HashMap::new(),
            chance: std::hash::RandomState::new(),
        }
    }

    /// Probes agents of the one directory once.
    pub(super) async fn once(mut self, agents: &[Arc<Agent>]) -> Result<(), RegistryError> {
        let waiting =
            |agent: &Arc<Agent>| Waiting { prober: self.prober.clone(), agent: agent.clone() };
        self.waiting = agents.iter().map(waiting).collect();
        while !self.waiting.is_empty() || self.are_under_way() {
            self.start();
            self.end_one().await?;
        }
        Ok(())
    }

    pub(super) fn are_under_way(&self) -> bool {
        !self.running.is_empty()
    }

    /// Takes the directories of other accounts along, and lets go of those that are no more.
    pub(super) fn join(&mut self, registries: Vec<Arc<Registry>>) {
        let mut known = std::mem::take(&mut self.others);
        for registry in registries {
            let account = registry.account().clone();
            let same = known.remove(&account).filter(|it| Arc::ptr_eq(&it.registry, &registry));
            self.others.insert(account, same.unwrap_or_else(|| self.prober.of(registry)));
        }
    }

    fn probers(&self) -> impl Iterator<Item = &Prober> {
        std::iter::once(&self.prober).chain(self.others.values())
    }

    /// Finds the agents that are due, those first that have been for longest.
    pub(super) fn find_due(&mut self, interval: Duration, now: Timestamp) {
        let mut due: Vec<(Timestamp, Waiting)> = Vec::new();
        let mut known = HashMap::new();
        for prober in self.probers() {
            let index = prober.registry.index();
            for agent in index.iter().filter(|agent| is_watched(agent)) {
                let whose = (prober.registry.account().clone(), agent.name.clone());
                let when = self.due.get(&whose).copied();
                let when = when.unwrap_or_else(|| self.first(prober, &agent.name, interval, now));
                if when <= now && !self.is_under_way(&whose) {
                    let (prober, agent) = (prober.clone(), Arc::clone(agent));
                    due.push((when, Waiting { prober, agent }));
                }
                known.insert(whose, when);
            }
        }
        self.due = known;
        // The last is taken first.
        due.sort_by_key(|it| std::cmp::Reverse(it.0));
        self.waiting = due.into_iter().map(|it| it.1).collect();
    }

    fn is_under_way(&self, whose: &Whose) -> bool {
        self.places.values().any(|it| it.0 == *whose)
    }

    /// Starts as many as may be.
    pub(super) fn start(&mut self) {
        let mut at = self.waiting.len();
        while at > 0 && self.running.len() < self.prober.settings.at_once {
            at -= 1;
            let host = host(&self.waiting[at].agent);
            if self.places.values().filter(|it| it.1 == host).count() >= PER_HOST {
                continue;
            }
            let waiting = self.waiting.remove(at);
            let whose = waiting.whose();
            let probe = async move { waiting.prober.probe(&waiting.agent.name).await };
            self.places.insert(self.running.spawn(probe).id(), (whose, host));
        }
    }

    /// Waits for the end of one that is under way, and says when its agent is due again. Cancel safe.
    pub(super) async fn end_one(&mut self) -> Result<(), RegistryError> {
        let Some(ended) = self.running.join_next_with_id().await else { return Ok(()) };
        let (id, kept) = ended.unwrap_or_else(|error| {
            tracing::error!(%error, "a probe broke down");
            (error.id(), Ok(()))
        });
        let Some((whose, _)) = self.places.remove(&id) else { return Ok(()) };
        let prober = self.probers().find(|it| *it.registry.account() == whose.0);
        if let (Some(interval), Some(prober)) = (self.prober.settings.interval, prober) {
            let next = self.next(prober, &whose.1, interval, Timestamp::now());
            self.due.insert(whose, next);
        }
        match kept {
            Err(RegistryError::UnknownAgent { .. }) => Ok(()), // Removed while it was probed.
            kept => kept,
        }
    }

    /// When an agent is due that this process has not probed yet.
    pub(super) fn first(
        &self,
        prober: &Prober,
        name: &str,
        interval: Duration,
        now: Timestamp,
    ) -> Timestamp {
        let last = prober.registry.ledger().probed_at(name);
        let due = last.map(|last| self.next(prober, name, interval, last));
        let due = due.filter(|due| *due > now);
        due.unwrap_or_else(|| after(now, interval.min(SETTLING).mul_f64(self.draw(name))))
    }

    /// When an agent is due again: within an interval, so that one that stops is noticed in that time;
    /// later while it is not reached.
    pub(super) fn next(
        &self,
        prober: &Prober,
        name: &str,
        interval: Duration,
        last: Timestamp,
    ) -> Timestamp {
        let misses = u32::try_from(prober.registry.ledger().misses(name)).unwrap_or(u32::MAX);
        let times = 1 << misses.saturating_sub(1).min(LONGEST_PAUSE.ilog2());
        let pause = interval.min(LONGEST_INTERVAL) * times;
        after(last, pause.mul_f64(0.8 + 0.15 * self.draw(name)))
    }

    /// Something between 0 and 1, for an agent another one each time.
    fn draw(&self, name: &str) -> f64 {
        let drawn = self.chance.hash_one((name, Timestamp::now()));
        f64::from(u32::try_from(drawn >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }
}

/// What is not asked by too many at once: where the card is, else the first interface.
fn host(agent: &Agent) -> String {
    let of_card = |card: &AgentCard| {
        let interface = card.supported_interfaces.first().and_then(Interface::of)?;
        Some(interface.address())
    };
    let url = match agent.url.as_str() {
        "" => of_card(&agent.card).unwrap_or_default(),
        url => url.to_owned(),
    };
    url.parse::<Origin>().map_or(url, |origin| origin.to_string())
}
