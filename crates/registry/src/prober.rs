mod budget;
mod rounds;

use std::sync::Arc;
use std::time::{Duration, Instant};

use document::Severity;
use jiff::Timestamp;
use protocol::auth::Vault;
use protocol::card::interfaces_spoken;
use protocol::client::{Client, Interface, InterfaceError};
use protocol::limits::ClientLimits;
use protocol::outbound::Outbound;

use self::budget::Budget;
use self::rounds::{Rounds, is_watched};
use crate::evidence::tame;
use crate::probe::Answers;
use crate::registry::{Looked, after};
use crate::{
    Agent, CardDigest, Curation, EvidenceSettings, Finding, Keyrings, Probed, Record, Registry,
    RegistryError, Seen, Shortfall, Tier, probe,
};

/// How long all interfaces of an agent may take together.
const PATIENCE: Duration = Duration::from_secs(120);

/// How many interfaces of an agent are asked.
const MOST_INTERFACES: usize = 8;

/// How often it is looked whether a probe is due, at most.
const SHORTEST_TICK: Duration = Duration::from_millis(5);

/// How often that is looked, at least.
const TICK: Duration = Duration::from_secs(1);

/// Probes the agents of a directory: whether they are there, and speak A2A as their cards say.
///
/// A probe fetches the card, which also notes what changed in it, and asks over each interface what
/// needs no work and changes nothing. It sends a Message where the operator wrote one down for that, and
/// nowhere else.
#[derive(Clone)]
pub struct Prober {
    registry: Arc<Registry>,
    keyrings: Keyrings,
    outbound: Outbound,
    settings: EvidenceSettings,
    /// The text that agents are tried out with whose entries say nothing of it.
    message: Option<Arc<str>>,
    /// Whether agents are tried out at all.
    tries_out: bool,
    /// What all probes share, whoever wants them and of whichever account.
    budget: Budget,
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
        let budget = Budget::new(settings.at_once);
        Self { registry, keyrings, outbound, settings, message: None, tries_out: true, budget }
    }

    /// Sends this text to approved agents whose entries have no probe message of their own.
    #[must_use]
    pub fn with_message(self, text: Option<&str>) -> Self {
        Self { message: text.map(Arc::from), ..self }
    }

    /// Makes one like it of another account's directory, which has rules of its own for what may be called, and no
    /// credentials of people who logged in. It sends no Messages: work is for the operator to give.
    #[must_use]
    pub fn of(&self, registry: Arc<Registry>) -> Self {
        let outbound = registry.cards().outbound().clone();
        let keyrings = Keyrings::new(Arc::clone(&registry), outbound.clone(), Vault::none());
        let (settings, budget) = (self.settings, self.budget.clone());
        Self { registry, keyrings, outbound, settings, message: None, tries_out: false, budget }
    }

    /// Whose directory it probes.
    pub(crate) fn account(&self) -> store::AccountId {
        self.registry.account().clone()
    }

    /// What the agents of the directory are called with.
    #[must_use]
    pub fn keyrings(&self) -> &Keyrings {
        &self.keyrings
    }

    /// Probes agents now, a few at a time together with all that are probed by it or its clones, and returns what is known of
    /// them then, in their order. Retired, suspended and rejected agents are probed as well when they are named.
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
        rounds.want(&agents);
        while !rounds.are_over() {
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

    /// Probes each agent of the directory, and of those that others are at each moment, once in an interval, for ever: two of
    /// one host at once at most, whoever knows them. Does nothing when there is no interval. May be dropped at any time:
    /// probes that are under way are given up.
    pub async fn run<F>(self, others: impl Fn() -> F)
    where
        F: Future<Output = Vec<Arc<Registry>>>,
    {
        let Some(interval) = self.settings.interval else { return };
        let mut rounds = Rounds::new(self);
        loop {
            rounds.join(others().await);
            rounds.find_due(interval, Timestamp::now());
            rounds.start();
            tokio::select! {
                ended = rounds.end_one(), if rounds.are_under_way() => {
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
        let mut found = self.look(record).await?;
        if found.fell_silent() {
            found = self.look_after(name, found).await?;
        }
        self.registry.keep_probe(name, self.probed(found, began)).await
    }

    /// What is true of an agent that was there and fell silent: when its card is gone as well, it has stopped while it was
    /// probed, and is not one that has its card and speaks badly.
    async fn look_after(&self, name: &str, found: Found) -> Result<Found, RegistryError> {
        let record = self.registry.record(name).await?;
        Ok(match self.registry.look_at_card(&record).await? {
            Looked::Missed(error) if !error.is_ours() => {
                found.short(None, vec![Shortfall::new("its card", &error.to_string(), true)])
            }
            Looked::Missed(_) | Looked::Card(_) => found,
        })
    }

    fn probed(&self, found: Found, began: Instant) -> Probed {
        let Found { card, tier, shortfalls, unmeasured } = found;
        let at = Timestamp::now();
        Probed {
            at,
            fresh_until: after(at, self.settings.stale_after),
            tier,
            is_silent: are_silent(&shortfalls),
            shortfalls,
            took: began.elapsed(),
            card,
            unmeasured: unmeasured.as_deref().map(tame),
        }
    }

    /// How far an agent comes, and what keeps it from more.
    async fn look(&self, record: Record) -> Result<Found, RegistryError> {
        let of = Found::of(record.digest);
        let findings = match self.registry.look_at_card(&record).await? {
            Looked::Missed(error) if error.is_ours() => return Ok(of.unmeasured(error.to_string())),
            Looked::Missed(error) => {
                return Ok(
                    of.short(None, vec![Shortfall::new("its card", &error.to_string(), true)])
                );
            }
            Looked::Card(findings) => findings,
        };
        // What was fetched just now, when it was another card.
        let agent = self.registry.get(&record.name)?;
        let of = Found::of(agent.digest);
        let is_of_file = record.asked_url.is_empty();
        let errors: Vec<Shortfall> = findings.iter().filter_map(error).collect();
        if !errors.is_empty() {
            // A card that is wrong is not followed to where it leads.
            return Ok(of.short((!is_of_file).then_some(Tier::Reachable), errors));
        }
        let answers = tokio::time::timeout(PATIENCE, self.ask(&agent)).await;
        let answers = answers.unwrap_or_else(|_| {
            let why = format!("they did not answer within {} s", PATIENCE.as_secs());
            vec![answer(Shortfall::new("its interfaces", &why, true))]
        });
        let is_silent = |it: &Answers| it.shortfalls.first().is_some_and(|first| first.is_silent);
        let is_gone = answers.iter().all(is_silent);
        let unasked = answers.iter().find_map(|it| it.unasked.clone());
        let asked: Vec<Shortfall> = answers.into_iter().flat_map(|it| it.shortfalls).collect();
        // What was answered wrongly stays wrong, whatever else could not be asked.
        let is_wrong = asked.iter().any(|shortfall| !shortfall.is_silent);
        match unasked {
            Some(why) if !is_wrong => return Ok(of.unmeasured(why)),
            _ if is_of_file && is_gone => return Ok(of.short(None, asked)),
            _ if !asked.is_empty() => return Ok(of.short(Some(Tier::Valid), asked)),
            _ => (),
        }
        let missed = self.try_out(&record, &agent).await;
        let tier = if missed.is_none() { Tier::Conformant } else { Tier::Valid };
        Ok(of.short(Some(tier), missed.into_iter().collect()))
    }

    /// Gives an approved agent work, where its operator wants that, and says what it falls short of.
    async fn try_out(&self, record: &Record, agent: &Agent) -> Option<Shortfall> {
        let own = record.details.probe_message.as_deref();
        let text = own.or(self.message.as_deref()).filter(|text| !text.is_empty())?;
        if !self.tries_out || agent.curation != Curation::Approved {
            return None;
        }
        let interface = interfaces_spoken(&agent.card).into_iter().find_map(Interface::of)?;
        match self.client(agent, interface) {
            Ok(client) => probe::try_out(&client, &agent.card, text).await,
            Err(why) => Some(Shortfall::new("the probe message", &why.to_string(), false)),
        }
    }

    /// What came of each interface, one after the other; never nothing.
    async fn ask(&self, agent: &Agent) -> Vec<Answers> {
        let spoken = interfaces_spoken(&agent.card);
        let mut answers = Vec::new();
        for interface in spoken.into_iter().filter_map(Interface::of).take(MOST_INTERFACES) {
            answers.push(match self.client(agent, interface.clone()) {
                Ok(client) => probe::ask(&client, &agent.card).await,
                Err(error) if error.is_ours() => {
                    Answers { shortfalls: Vec::new(), unasked: Some(error.to_string()) }
                }
                Err(error) => {
                    let what = format!("the interface {}", interface.url);
                    answer(Shortfall::new(&what, &error.to_string(), false))
                }
            });
        }
        if answers.is_empty() {
            let why = "none is of a binding and version spoken here";
            answers.push(answer(Shortfall::new("its interfaces", why, false)));
        }
        answers
    }

    fn client(&self, agent: &Agent, interface: Interface) -> Result<Client, InterfaceError> {
        let keyring = self.keyrings.of(&agent.name, &interface).ok();
        let limits = ClientLimits::default();
        let client = Client::with_limits(self.outbound.clone(), interface, limits)?;
        // Credentials are for approved agents alone; others are asked openly.
        Ok(match keyring {
            Some(keyring) => client.with_keyring(keyring),
            None => client,
        })
    }
}

/// Whether there are some, and nothing came where they are.
fn are_silent(shortfalls: &[Shortfall]) -> bool {
    !shortfalls.is_empty() && shortfalls.iter().all(|it| it.is_silent)
}

fn error(finding: &Finding) -> Option<Shortfall> {
    let what = format!("its card at {}", finding.pointer);
    let shortfall = Shortfall::new(&what, &finding.message, false);
    (finding.severity == Severity::Error).then_some(shortfall)
}

/// One interface that falls short of something.
fn answer(shortfall: Shortfall) -> Answers {
    Answers { shortfalls: vec![shortfall], unasked: None }
}

/// What was found out of an agent by one of its cards.
#[derive(Default)]
struct Found {
    card: Option<CardDigest>,
    tier: Option<Tier>,
    shortfalls: Vec<Shortfall>,
    unmeasured: Option<String>,
}

impl Found {
    fn of(card: CardDigest) -> Self {
        Self { card: Some(card), ..Self::default() }
    }

    fn short(self, tier: Option<Tier>, shortfalls: Vec<Shortfall>) -> Self {
        Self { tier, shortfalls, ..self }
    }

    /// Whether the agent was there, and then nothing came from it.
    fn fell_silent(&self) -> bool {
        self.tier.is_some() && are_silent(&self.shortfalls)
    }

    /// Nothing, for a reason on this side.
    fn unmeasured(self, why: String) -> Self {
        Self { unmeasured: Some(why), ..self }
    }
}

#[cfg(test)]
mod tests;
