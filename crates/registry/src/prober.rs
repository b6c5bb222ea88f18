use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

use document::Severity;
use jiff::Timestamp;
use protocol::auth::Origin;
use protocol::card::interfaces_spoken;
use protocol::client::{Client, Interface};
use protocol::limits::ClientLimits;
use protocol::outbound::Outbound;
use protocol::v1::AgentCard;
use tokio::task::{self, JoinSet};

use crate::registry::{Looked, after};
use crate::{
    Agent, Curation, EvidenceSettings, Finding, Keyrings, Probed, Record, Registry, RegistryError,
    Seen, Shortfall, Tier, probe,
};

/// How long all interfaces of an agent may take together.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many interfaces of an agent are asked.
const MOST_INTERFACES: usize = 8;

/// How many agents of one host are probed at once.
const PER_HOST: usize = 2;

/// How many times as long the pause before the next probe becomes while an agent is not reached.
const LONGEST_PAUSE: u32 = 4;

/// Within what time agents that were never probed are, so that a start is not a burst.
const SETTLING: Duration = Duration::from_secs(30);

/// What a longer interval means: for ever, and without overflows.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How often it is looked whether a probe is due, at most.
const SHORTEST_TICK: Duration = Duration::from_millis(5);

/// How often that is looked, at least.
const TICK: Duration = Duration::from_secs(1);

/// Probes the agents of a directory: whether they are there, and speak A2A as their cards say.
///
/// A probe fetches the card, which also notes what changed in it, and asks over each interface what
/// needs no work and changes nothing: it never sends a Message.
#[derive(Clone)]
pub struct Prober {
    registry: Arc<Registry>,
    keyrings: Keyrings,
    outbound: Outbound,
    settings: EvidenceSettings,
}

impl Prober {
    /// Makes one that calls agents with what the directory has for them.
    #[must_use]
    pub fn new(
        registry: Arc<Registry>,
        keyrings: Keyrings,
        outbound: Outbound,
        settings: EvidenceSettings,
    ) -> Self {
        Self { registry, keyrings, outbound, settings }
    }

    /// Probes agents now, a few at a time, and returns what is known of them then, in their order.
    /// Retired, suspended and rejected agents are probed as well when they are named.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`].
    pub async fn probe_all(
        &self,
        names: &[String],
    ) -> Result<Vec<(String, Option<Arc<Seen>>)>, RegistryError> {
        let mut agents = Vec::new();
        for name in names {
            agents.push(self.registry.get(name)?);
        }
        let mut rounds = Rounds::new(self.clone());
        rounds.waiting = agents.clone();
        while !rounds.waiting.is_empty() || !rounds.running.is_empty() {
            rounds.start();
            rounds.end_one().await?;
        }
        let seen = |agent: Arc<Agent>| (agent.name.clone(), self.registry.seen(&agent.name));
        Ok(agents.into_iter().map(seen).collect())
    }

    /// The names of the agents that are probed: those that are in use, or wait to be.
    #[must_use]
    pub fn watched(&self) -> Vec<String> {
        let index = self.registry.index();
        index.iter().filter(|it| is_watched(it)).map(|it| it.name.clone()).collect()
    }

    /// Probes each agent once in an interval, for ever. Does nothing when there is no interval. May
    /// be dropped at any time: probes that are under way are given up.
    pub async fn run(self) {
        let Some(interval) = self.settings.interval else { return };
        let mut rounds = Rounds::new(self);
        loop {
            rounds.find_due(interval, Timestamp::now());
            rounds.start();
            tokio::select! {
                ended = rounds.end_one(), if !rounds.running.is_empty() => {
                    if let Err(error) = ended {
                        tracing::warn!(%error, "the result of a probe was not kept");
                    }
                }
                () = tokio::time::sleep((interval / 20).clamp(SHORTEST_TICK, TICK)) => {}
            }
        }
    }

    async fn probe(&self, name: &str) -> Result<(), RegistryError> {
        let began = Instant::now();
        let record = self.registry.record(name).await?;
        let (tier, shortfalls) = self.look(record).await?;
        let at = Timestamp::now();
        let is_silent = !shortfalls.is_empty() && shortfalls.iter().all(|it| it.is_silent);
        let fresh_until = after(at, self.settings.stale_after);
        let took = began.elapsed();
        let probed = Probed { at, fresh_until, tier, is_silent, shortfalls, took };
        self.registry.keep_probe(name, probed).await
    }

    /// How far an agent comes, and what keeps it from more.
    async fn look(&self, record: Record) -> Result<(Option<Tier>, Vec<Shortfall>), RegistryError> {
        let findings = match self.registry.look_at_card(&record).await? {
            Looked::Missed(why) => {
                return Ok((None, vec![Shortfall::new("its card", &why, true)]));
            }
            Looked::Card(findings) => findings,
        };
        let is_of_file = record.asked_url.is_empty();
        let errors: Vec<Shortfall> = findings.iter().filter_map(error).collect();
        if !errors.is_empty() {
            // A card that is wrong is not followed to where it leads.
            return Ok(((!is_of_file).then_some(Tier::Reachable), errors));
        }
        // What was fetched just now, when it was another card.
        let agent = self.registry.get(&record.name)?;
        let answers = tokio::time::timeout(PATIENCE, self.ask(&agent)).await;
        let answers = answers.unwrap_or_else(|_| {
            let why = format!("they did not answer within {} s", PATIENCE.as_secs());
            vec![vec![Shortfall::new("its interfaces", &why, true)]]
        });
        let is_gone = !answers.is_empty()
            && answers.iter().all(|it| it.first().is_some_and(|shortfall| shortfall.is_silent));
        let asked: Vec<Shortfall> = answers.into_iter().flatten().collect();
        if is_of_file && is_gone {
            return Ok((None, asked));
        }
        let tier = if asked.is_empty() { Tier::Conformant } else { Tier::Valid };
        Ok((Some(tier), asked))
    }

    /// What each interface falls short of, one after the other.
    async fn ask(&self, agent: &Agent) -> Vec<Vec<Shortfall>> {
        let spoken = interfaces_spoken(&agent.card);
        let mut answers = Vec::new();
        for interface in spoken.into_iter().filter_map(Interface::of).take(MOST_INTERFACES) {
            answers.push(match self.client(agent, interface.clone()) {
                Ok(client) => probe::ask(&client, &agent.card).await,
                Err(why) => {
                    let what = format!("the interface {}", interface.url);
                    vec![Shortfall::new(&what, &why, false)]
                }
            });
        }
        if answers.is_empty() {
            let why = "none is of a binding and version spoken here";
            answers.push(vec![Shortfall::new("its interfaces", why, false)]);
        }
        answers
    }

    fn client(&self, agent: &Agent, interface: Interface) -> Result<Client, String> {
        let keyring = self.keyrings.of(&agent.name, &interface).ok();
        let limits = ClientLimits::default();
        let client = Client::with_limits(self.outbound.clone(), interface, limits);
        let client = client.map_err(|error| error.to_string())?;
        // Credentials are for approved agents alone; others are asked openly.
        Ok(match keyring {
            Some(keyring) => client.with_keyring(keyring),
            None => client,
        })
    }
}

fn error(finding: &Finding) -> Option<Shortfall> {
    let what = format!("its card at {}", finding.pointer);
    let shortfall = Shortfall::new(&what, &finding.message, false);
    (finding.severity == Severity::Error).then_some(shortfall)
}

fn is_watched(agent: &Agent) -> bool {
    matches!(agent.curation, Curation::Proposed | Curation::Approved | Curation::Deprecated)
}

/// Probes that are due and those under way.
struct Rounds {
    prober: Prober,
    waiting: Vec<Arc<Agent>>,
    running: JoinSet<Result<(), RegistryError>>,
    /// The agents under way, each with its host.
    places: HashMap<task::Id, (String, String)>,
    /// When each agent is due.
    due: HashMap<String, Timestamp>,
    chance: std::hash::RandomState,
}

impl Rounds {
    fn new(prober: Prober) -> Self {
        Self {
            prober,
            waiting: Vec::new(),
            running: JoinSet::new(),
            places: HashMap::new(),
            due: HashMap::new(),
            chance: std::hash::RandomState::new(),
        }
    }

    /// Finds the agents that are due, those first that have been for longest.
    fn find_due(&mut self, interval: Duration, now: Timestamp) {
        let index = self.prober.registry.index();
        let mut due: Vec<(Timestamp, Arc<Agent>)> = Vec::new();
        let mut known = HashMap::new();
        for agent in index.iter().filter(|agent| is_watched(agent)) {
            let when = match self.due.remove(&agent.name) {
                Some(when) => when,
                None => self.first(&agent.name, interval, now),
            };
            known.insert(agent.name.clone(), when);
            if when <= now && !self.is_under_way(&agent.name) {
                due.push((when, Arc::clone(agent)));
            }
        }
        self.due = known;
        // The last is taken first.
        due.sort_by_key(|it| std::cmp::Reverse(it.0));
        self.waiting = due.into_iter().map(|it| it.1).collect();
    }

    fn is_under_way(&self, name: &str) -> bool {
        self.places.values().any(|it| it.0 == name)
    }

    /// Starts as many as may be.
    fn start(&mut self) {
        let mut at = self.waiting.len();
        while at > 0 && self.running.len() < self.prober.settings.at_once {
            at -= 1;
            let host = host(&self.waiting[at]);
            if self.places.values().filter(|it| it.1 == host).count() >= PER_HOST {
                continue;
            }
            let agent = self.waiting.remove(at);
            let prober = self.prober.clone();
            let name = agent.name.clone();
            let probe = async move { prober.probe(&agent.name).await };
            self.places.insert(self.running.spawn(probe).id(), (name, host));
        }
    }

    /// Waits for the end of one that is under way, and says when its agent is due again. Cancel safe.
    async fn end_one(&mut self) -> Result<(), RegistryError> {
        let Some(ended) = self.running.join_next_with_id().await else { return Ok(()) };
        let (id, kept) = ended.unwrap_or_else(|error| {
            tracing::error!(%error, "a probe broke down");
            (error.id(), Ok(()))
        });
        let Some((name, _)) = self.places.remove(&id) else { return Ok(()) };
        if let Some(interval) = self.prober.settings.interval {
            let next = self.next(&name, interval, Timestamp::now());
            self.due.insert(name, next);
        }
        match kept {
            Err(RegistryError::UnknownAgent { .. }) => Ok(()), // Removed while it was probed.
            kept => kept,
        }
    }

    /// When an agent is due that this process has not probed yet.
    fn first(&self, name: &str, interval: Duration, now: Timestamp) -> Timestamp {
        let last = self.prober.registry.ledger().probed_at(name);
        let due = last.map(|last| self.next(name, interval, last)).filter(|due| *due > now);
        due.unwrap_or_else(|| after(now, interval.min(SETTLING).mul_f64(self.draw(name))))
    }

    /// When an agent is due again: within an interval, so that one that stops is noticed in that time;
    /// later while it is not reached.
    fn next(&self, name: &str, interval: Duration, last: Timestamp) -> Timestamp {
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

#[cfg(test)]
mod tests;
