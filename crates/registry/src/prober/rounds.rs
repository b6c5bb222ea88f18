//! Which agent is probed when: by time, by host, and not too many at once.
//!
//! Nothing here goes through the whole directory but at the start and when agents came or went: what is asked often
//! costs what is due.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use protocol::auth::Origin;
use protocol::client::Interface;
use protocol::v1::AgentCard;
use tokio::task::{self, JoinSet};

use super::{Found, Prober};
use crate::registry::after;
use crate::{Agent, Curation, Index, RegistryError};

/// How many agents of one host are probed at once.
pub(super) const PER_HOST: usize = 2;

/// How many times as long the pause before the next probe becomes while an agent is not reached.
const LONGEST_PAUSE: u32 = 4;

/// Within what time agents that were never probed are, so that a start is not a burst.
pub(super) const SETTLING: Duration = Duration::from_secs(30);

/// What a longer interval means: for ever, and without overflows.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Probes that are planned, those that are due, and those under way.
pub(super) struct Rounds {
    pub(super) prober: Prober,
    /// The directory as it was when it was last looked at.
    index: Arc<Index>,
    agents: HashMap<String, State>,
    /// Agents that are not due yet, the next one first.
    planned: BTreeSet<Turn>,
    hosts: HashMap<String, Host>,
    /// Hosts that one more agent may be probed of, that first whose agent has been due for longest.
    ready: BTreeSet<Turn>,
    running: JoinSet<Result<(), RegistryError>>,
    /// The agents under way.
    places: HashMap<task::Id, Place>,
    chance: std::hash::RandomState,
}

/// When it is whose turn.
type Turn = (Timestamp, String);

/// Where a probe of an agent is.
#[derive(Clone)]
enum State {
    Planned(Timestamp),
    /// It has been due since then, and waits for its host.
    Waiting(Timestamp, String),
    UnderWay,
}

/// The agents of one host.
#[derive(Default)]
struct Host {
    running: usize,
    waiting: BTreeSet<Turn>,
    /// Under which time it stands among those that are ready.
    ready: Option<Timestamp>,
}

/// An agent under way.
struct Place {
    name: String,
    host: String,
    began: Instant,
}

impl Rounds {
    pub(super) fn new(prober: Prober) -> Self {
        Self {
            prober,
            index: Arc::default(),
            agents: HashMap::new(),
            planned: BTreeSet::new(),
            hosts: HashMap::new(),
            ready: BTreeSet::new(),
            running: JoinSet::new(),
            places: HashMap::new(),
            chance: std::hash::RandomState::new(),
        }
    }

    /// Has these agents probed now, in their order.
    pub(super) fn want(&mut self, agents: &[Arc<Agent>]) {
        let now = Timestamp::now();
        for agent in agents {
            self.wait(&agent.name, &host(agent), now);
        }
    }

    /// Whether none waits and none is under way.
    pub(super) fn are_over(&self) -> bool {
        self.running.is_empty() && self.ready.is_empty()
    }

    pub(super) fn are_under_way(&self) -> bool {
        !self.running.is_empty()
    }

    /// Finds the agents that are due. Returns how many agents had to be looked at.
    pub(super) fn find_due(&mut self, interval: Duration, now: Timestamp) -> usize {
        let mut looked = self.follow(interval, now);
        while self.planned.first().is_some_and(|(when, _)| *when <= now) {
            let Some((when, name)) = self.planned.pop_first() else { break };
            looked += 1;
            match self.index.fitting(&name, &[]).map(|agent| host(agent)) {
                Some(host) => self.wait(&name, &host, when),
                None => _ = self.agents.remove(&name),
            }
        }
        looked
    }

    /// Takes over what changed in the directory.
    fn follow(&mut self, interval: Duration, now: Timestamp) -> usize {
        let index = self.prober.registry.index();
        if Arc::ptr_eq(&index, &self.index) {
            return 0;
        }
        let before = std::mem::replace(&mut self.index, Arc::clone(&index));
        if let Some(changed) = index.changed_since(&before) {
            changed.iter().for_each(|(_, agent)| self.watch(agent, interval, now));
            return changed.len();
        }
        let names: Vec<String> = self.agents.keys().cloned().collect();
        names.iter().filter(|name| index.fitting(name, &[]).is_none()).for_each(|it| self.drop(it));
        index.iter().for_each(|agent| self.watch(agent, interval, now));
        index.len()
    }

    /// Plans an agent that is watched and was not before, and drops one that is not any more.
    fn watch(&mut self, agent: &Agent, interval: Duration, now: Timestamp) {
        if !is_watched(agent) {
            self.drop(&agent.name);
        } else if !self.agents.contains_key(&agent.name) {
            let when = self.first(&agent.name, interval, now);
            self.plan(&agent.name, when);
        }
    }

    fn plan(&mut self, name: &str, when: Timestamp) {
        self.agents.insert(name.to_owned(), State::Planned(when));
        self.planned.insert((when, name.to_owned()));
    }

    /// One that is under way comes to its end.
    fn drop(&mut self, name: &str) {
        match self.agents.get(name).cloned() {
            Some(State::Planned(when)) => _ = self.planned.remove(&(when, name.to_owned())),
            Some(State::Waiting(since, host)) => {
                if let Some(it) = self.hosts.get_mut(&host) {
                    it.waiting.remove(&(since, name.to_owned()));
                }
                self.settle(&host);
            }
            Some(State::UnderWay) | None => return,
        }
        self.agents.remove(name);
    }

    fn wait(&mut self, name: &str, host: &str, since: Timestamp) {
        self.agents.insert(name.to_owned(), State::Waiting(since, host.to_owned()));
        let of_host = self.hosts.entry(host.to_owned()).or_default();
        of_host.waiting.insert((since, name.to_owned()));
        self.settle(host);
    }

    /// Puts a host where it belongs among those that are ready.
    fn settle(&mut self, name: &str) {
        let Some(host) = self.hosts.get_mut(name) else { return };
        let has_room = host.running < PER_HOST;
        let first = host.waiting.first().map(|(since, _)| *since).filter(|_| has_room);
        let was = std::mem::replace(&mut host.ready, first);
        let is_idle = host.running == 0 && host.waiting.is_empty();
        if let Some(was) = was {
            self.ready.remove(&(was, name.to_owned()));
        }
        if let Some(first) = first {
            self.ready.insert((first, name.to_owned()));
        }
        if is_idle {
            self.hosts.remove(name);
        }
    }

    /// Starts as many as may be.
    pub(super) fn start(&mut self) {
        while self.running.len() < self.prober.settings.at_once {
            let Some((_, host)) = self.ready.first().cloned() else { return };
            let Some(of_host) = self.hosts.get_mut(&host) else { return };
            let Some((_, name)) = of_host.waiting.pop_first() else { return };
            of_host.running += 1;
            self.settle(&host);
            self.agents.insert(name.clone(), State::UnderWay);
            let (prober, agent) = (self.prober.clone(), name.clone());
            let probe = async move { prober.probe(&agent).await };
            let place = Place { name, host, began: Instant::now() };
            self.places.insert(self.running.spawn(probe).id(), place);
        }
    }

    /// Waits for the end of one that is under way, and says when its agent is due again.
    ///
    /// Cancel safe: it is taken off only when it has ended, and what is awaited after that is the note of one that broke
    /// down, which is made again at the next probe.
    pub(super) async fn end_one(&mut self) -> Result<(), RegistryError> {
        let Some(ended) = self.running.join_next_with_id().await else { return Ok(()) };
        let (id, kept) = match ended {
            Ok((id, kept)) => (id, Ok(kept)),
            Err(error) => (error.id(), Err(error)),
        };
        let Some(Place { name, host, began }) = self.places.remove(&id) else { return Ok(()) };
        if let Some(it) = self.hosts.get_mut(&host) {
            it.running -= 1;
        }
        self.settle(&host);
        self.agents.remove(&name);
        let agent = self.prober.registry.index().fitting(&name, &[]).cloned();
        if let (Some(interval), Some(_)) =
            (self.prober.settings.interval, agent.filter(|agent| is_watched(agent)))
        {
            let next = self.next(&name, interval, Timestamp::now());
            self.plan(&name, next);
        }
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                tracing::error!(%error, agent = name, "a probe broke down");
                let found = Found::default().unmeasured(format!("the probe broke down: {error}"));
                self.prober.registry.keep_probe(&name, self.prober.probed(found, began)).await
            }
        };
        match kept {
            // Removed while it was probed.
            Err(RegistryError::UnknownAgent { .. } | RegistryError::Gone { .. }) => Ok(()),
            kept => kept,
        }
    }

    /// When an agent is due that this process has not probed yet.
    pub(super) fn first(&self, name: &str, interval: Duration, now: Timestamp) -> Timestamp {
        let last = self.prober.registry.ledger().probed_at(name);
        let due = last.map(|last| self.next(name, interval, last)).filter(|due| *due > now);
        due.unwrap_or_else(|| after(now, interval.min(SETTLING).mul_f64(self.draw(name))))
    }

    /// When an agent is due again: within an interval, so that one that stops is noticed in that time;
    /// later while it is not reached.
    pub(super) fn next(&self, name: &str, interval: Duration, last: Timestamp) -> Timestamp {
        let misses = u32::try_from(self.prober.registry.ledger().misses(name)).unwrap_or(u32::MAX);
        let times = 1 << misses.saturating_sub(1).min(LONGEST_PAUSE.ilog2());
        let pause = interval.min(LONGEST_INTERVAL) * times;
        after(last, pause.mul_f64(0.8 + 0.15 * self.draw(name)))
    }

    /// Something between 0 and 1, for an agent another one each time.
    fn draw(&self, name: &str) -> f64 {
        let drawn = self.chance.hash_one((name, Timestamp::now()));
        f64::from(u32::try_from(drawn >> 32).unwrap_or_default()) / f64::from(u32::MAX)
    }

    /// Has the probe of an agent break down.
    #[cfg(test)]
    pub(super) fn break_down(&mut self, name: &str) {
        let place = Place { name: name.to_owned(), host: String::new(), began: Instant::now() };
        let broken = async { panic!("as the test wants it") };
        self.places.insert(self.running.spawn(broken).id(), place);
    }

    /// The agents that wait for their hosts.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .hosts
            .values()
            .flat_map(|host| host.waiting.iter().map(|(_, name)| name.clone()))
            .collect();
        names.sort_unstable();
        names
    }

    /// How many are under way.
    #[cfg(test)]
    pub(super) fn under_way(&self) -> usize {
        self.running.len()
    }
}

/// Whether an agent is in use, or waits to be.
pub(super) fn is_watched(agent: &Agent) -> bool {
    matches!(agent.curation, Curation::Proposed | Curation::Approved | Curation::Deprecated)
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
