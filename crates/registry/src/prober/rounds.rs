//! Which agent is probed when: by time, by host, and not too many at once.
//!
//! Nothing here goes through the whole directory but at the start and when agents came or went: what is asked often
//! costs what is due.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use protocol::auth::Origin;
use protocol::client::Interface;
use protocol::v1::AgentCard;
use store::AccountId;
use tokio::task::{self, JoinSet};

use super::{Found, Prober};
use crate::registry::after;
use crate::{Agent, Curation, Index, Registry, RegistryError};

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

/// Probes that are planned, those that are due, and those under way.
pub(super) struct Rounds {
    /// The one that was asked; what its settings say holds for all.
    pub(super) prober: Prober,
    /// Its directory, and those of other accounts.
    followed: BTreeMap<AccountId, Followed>,
    agents: HashMap<Whose, State>,
    /// Agents that are not due yet, the next one first.
    planned: BTreeSet<Turn>,
    hosts: HashMap<String, Host>,
    /// Hosts that one more agent may be probed of, that first whose agent has been due for longest.
    ready: BTreeSet<(Timestamp, String)>,
    running: JoinSet<Result<(), RegistryError>>,
    /// The agents under way.
    places: HashMap<task::Id, Place>,
    chance: std::hash::RandomState,
}

/// A directory, as it was when it was last looked at.
struct Followed {
    prober: Prober,
    index: Arc<Index>,
}

impl Followed {
    fn by(prober: Prober) -> Self {
        Self { prober, index: Arc::default() }
    }
}

/// When it is whose turn.
type Turn = (Timestamp, Whose);

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
    whose: Whose,
    host: String,
    began: Instant,
}

impl Rounds {
    pub(super) fn new(prober: Prober) -> Self {
        let home = (prober.account(), Followed::by(prober.clone()));
        Self {
            prober,
            followed: BTreeMap::from([home]),
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
            let whose = (self.prober.account(), agent.name.clone());
            self.wait(&whose, &host(agent), now);
        }
    }

    /// Takes the directories of other accounts along, and lets go of those that are no more.
    pub(super) fn join(&mut self, registries: Vec<Arc<Registry>>) {
        let mut known = std::mem::take(&mut self.followed);
        let home = self.prober.account();
        self.followed.extend(known.remove_entry(&home));
        for registry in registries {
            let account = registry.account().clone();
            let same = known.remove(&account);
            let same = same.filter(|it| Arc::ptr_eq(&it.prober.registry, &registry));
            let followed = same.unwrap_or_else(|| Followed::by(self.prober.of(registry)));
            self.followed.insert(account, followed);
        }
        if known.is_empty() {
            return;
        }
        let gone = |whose: &&Whose| known.contains_key(&whose.0);
        let gone: Vec<Whose> = self.agents.keys().filter(gone).cloned().collect();
        gone.iter().for_each(|whose| self.drop(whose));
    }

    fn agent(&self, (account, name): &Whose) -> Option<&Arc<Agent>> {
        self.followed.get(account)?.index.fitting(name, &[])
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
        let accounts: Vec<AccountId> = self.followed.keys().cloned().collect();
        let mut looked: usize =
            accounts.iter().map(|account| self.follow(account, interval, now)).sum();
        while self.planned.first().is_some_and(|(when, _)| *when <= now) {
            let Some((when, whose)) = self.planned.pop_first() else { break };
            looked += 1;
            match self.agent(&whose).map(|agent| host(agent)) {
                Some(host) => self.wait(&whose, &host, when),
                None => _ = self.agents.remove(&whose),
            }
        }
        looked
    }

    /// Takes over what changed in a directory.
    fn follow(&mut self, account: &AccountId, interval: Duration, now: Timestamp) -> usize {
        let Some(followed) = self.followed.get_mut(account) else { return 0 };
        let index = followed.prober.registry.index();
        if Arc::ptr_eq(&index, &followed.index) {
            return 0;
        }
        let before = std::mem::replace(&mut followed.index, Arc::clone(&index));
        if let Some(changed) = index.changed_since(&before) {
            changed.iter().for_each(|(_, agent)| self.watch(account, agent, interval, now));
            return changed.len();
        }
        let is_gone =
            |whose: &&Whose| whose.0 == *account && index.fitting(&whose.1, &[]).is_none();
        let gone: Vec<Whose> = self.agents.keys().filter(is_gone).cloned().collect();
        gone.iter().for_each(|whose| self.drop(whose));
        index.iter().for_each(|agent| self.watch(account, agent, interval, now));
        index.len()
    }

    /// Plans an agent that is watched and was not before, and drops one that is not any more.
    fn watch(&mut self, account: &AccountId, agent: &Agent, interval: Duration, now: Timestamp) {
        let whose = (account.clone(), agent.name.clone());
        if !is_watched(agent) {
            self.drop(&whose);
        } else if !self.agents.contains_key(&whose)
            && let Some(Followed { prober, .. }) = self.followed.get(account)
        {
            let when = self.first(prober, &agent.name, interval, now);
            self.plan(whose, when);
        }
    }

    fn plan(&mut self, whose: Whose, when: Timestamp) {
        self.agents.insert(whose.clone(), State::Planned(when));
        self.planned.insert((when, whose));
    }

    /// One that is under way comes to its end.
    fn drop(&mut self, whose: &Whose) {
        match self.agents.get(whose).cloned() {
            Some(State::Planned(when)) => _ = self.planned.remove(&(when, whose.clone())),
            Some(State::Waiting(since, host)) => {
                if let Some(it) = self.hosts.get_mut(&host) {
                    it.waiting.remove(&(since, whose.clone()));
                }
                self.settle(&host);
            }
            Some(State::UnderWay) | None => return,
        }
        self.agents.remove(whose);
    }

    fn wait(&mut self, whose: &Whose, host: &str, since: Timestamp) {
        self.agents.insert(whose.clone(), State::Waiting(since, host.to_owned()));
        let of_host = self.hosts.entry(host.to_owned()).or_default();
        of_host.waiting.insert((since, whose.clone()));
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
            let Some((_, whose)) = of_host.waiting.pop_first() else { return };
            let Some(Followed { prober, .. }) = self.followed.get(&whose.0) else { return };
            let (prober, name) = (prober.clone(), whose.1.clone());
            of_host.running += 1;
            self.settle(&host);
            self.agents.insert(whose.clone(), State::UnderWay);
            let (budget, at) = (prober.budget.clone(), host.clone());
            let probe = async move {
                let _turn = budget.turn(&at).await;
                prober.probe(&name).await
            };
            let place = Place { whose, host, began: Instant::now() };
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
        let Some(Place { whose, host, began }) = self.places.remove(&id) else { return Ok(()) };
        if let Some(it) = self.hosts.get_mut(&host) {
            it.running -= 1;
        }
        self.settle(&host);
        self.agents.remove(&whose);
        let followed = self.followed.get(&whose.0).map(|it| it.prober.clone());
        // Its directory is no more.
        let Some(prober) = followed else { return Ok(()) };
        let name = whose.1.as_str();
        let is_due = prober.registry.index().fitting(name, &[]).is_some_and(|it| is_watched(it));
        if let Some(interval) = self.prober.settings.interval.filter(|_| is_due) {
            let next = self.next(&prober, name, interval, Timestamp::now());
            self.plan(whose.clone(), next);
        }
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                tracing::error!(%error, agent = name, "a probe broke down");
                let found = Found::default().unmeasured(format!("the probe broke down: {error}"));
                prober.registry.keep_probe(name, prober.probed(found, began)).await
            }
        };
        match kept {
            // Removed while it was probed.
            Err(RegistryError::UnknownAgent { .. } | RegistryError::Gone { .. }) => Ok(()),
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

    /// Has the probe of an agent break down.
    #[cfg(test)]
    pub(super) fn break_down(&mut self, name: &str) {
        let whose = (self.prober.account(), name.to_owned());
        let place = Place { whose, host: String::new(), began: Instant::now() };
        let broken = async { panic!("as the test wants it") };
        self.places.insert(self.running.spawn(broken).id(), place);
    }

    /// The agents that wait for their hosts.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .hosts
            .values()
            .flat_map(|host| host.waiting.iter().map(|(_, whose)| whose.1.clone()))
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
