//! What is seen of agents, and the index that shows it.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use protocol::client::Interface;
use store::{Batch, Expect, PageQuery, Row, Table, Write};

use super::{Asked, Registry};
use crate::evidence::{EVIDENCE, Ledger, OUTCOMES, Probed, Probes, Work, forget_outcomes};
use crate::intake::{self, Again, Taken};
use crate::keyrings::is_its;
use crate::{
    Agent, ApplyOptions, Decision, Finding, Index, Record, RegistryError, Seen, Service, Tier,
};

/// How much newer a look has to be to be shown when it shows the same.
const NEWS: SignedDuration = SignedDuration::from_secs(10);

/// What came of a look at an agent's card.
pub(crate) enum Looked {
    /// The card was had, or came from a file; what is wrong with it.
    Card(Vec<Finding>),
    /// Why it was not.
    Missed(RegistryError),
}

impl Registry {
    /// The directory as it is now. Keep it for as long as decisions must agree with each other.
    #[must_use]
    pub fn index(&self) -> Arc<Index> {
        let (index, now) = (self.shown(), Timestamp::now());
        if now < index.holds_until() { index } else { self.age(now) }
    }

    /// What is known of an agent now, and why; nothing when it was not looked at yet.
    #[must_use]
    pub fn seen(&self, name: &str) -> Option<Arc<Seen>> {
        let agent = self.index().fitting(name, &[]).cloned()?;
        self.ledger().seen(name, &agent.grounds, Timestamp::now())
    }

    /// The results of the newest probes of an agent, oldest first; at most [`crate::MOST_PROBES`].
    #[must_use]
    pub fn probes(&self, name: &str) -> Vec<Probed> {
        self.ledger().probes(name)
    }

    /// How an agent did in our runs, by skill, as far as that counts.
    #[must_use]
    pub fn services(&self, name: &str) -> Vec<Service> {
        let index = self.index();
        let grounds = index.fitting(name, &[]).map(|agent| &agent.grounds);
        grounds.map(|grounds| self.ledger().services(name, grounds)).unwrap_or_default()
    }

    /// What the card of an agent should be better at, and what it declares that the newest probe did not find.
    ///
    /// # Errors
    /// Those of [`Record::lint`].
    pub fn lint(&self, record: &Record) -> Result<Vec<Finding>, RegistryError> {
        let mut findings = record.lint()?;
        let probes = self.probes(&record.name);
        let newest = probes.iter().rfind(|probed| probed.unmeasured.is_none());
        let of_this_card = newest.filter(|probed| probed.card == Some(record.digest));
        findings.extend(of_this_card.into_iter().flat_map(Probed::findings));
        Ok(findings)
    }

    /// How much was seen of the agent of a record, as far as that counts now.
    pub(super) fn tier(&self, record: &Record) -> Option<Tier> {
        let seen = self.ledger().seen(&record.name, &record.grounds(), Timestamp::now());
        seen.and_then(|seen| seen.tier)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent of the directory that is called by a name over an interface; nothing when another
    /// agent is meant, such as a workflow's own.
    pub(crate) fn called(&self, name: &str, interface: &Interface) -> Option<Arc<Agent>> {
        self.shown().by_name(name).filter(|agent| is_its(agent, interface)).cloned()
    }

    /// Looks at the card of an agent again, and takes it in when it changed.
    pub(crate) async fn look_at_card(&self, record: &Record) -> Result<Looked, RegistryError> {
        if record.asked_url.is_empty() {
            return Ok(Looked::Card(record.lint()?));
        }
        let (index, policy, documents) = (self.index(), self.policy(), self.documents());
        let intake = self.intake(&index, &policy, &documents);
        let wanted = match intake::look_again(&Again::of(record), intake).await {
            Ok(wanted) => wanted,
            Err(error) => return Ok(Looked::Missed(error)),
        };
        let by = Decision { who: "probe".to_owned(), why: String::new(), at: Timestamp::now() };
        let options = &ApplyOptions { approve: false, dry_run: false, by };
        let findings = wanted.findings.clone();
        let taken = Taken { wanted: vec![wanted], missed: Vec::new() };
        self.take_in(taken, Asked { catalog: None, options, is_again: true }, policy).await?;
        Ok(Looked::Card(findings))
    }

    /// Keeps the result of a probe, shows it, and lets the rules decide about an agent that waits.
    pub(crate) async fn keep_probe(&self, name: &str, probed: Probed) -> Result<(), RegistryError> {
        let at = probed.at;
        {
            let _only = self.changing.lock().await;
            if self.store.row(&self.account, crate::AGENTS, name).await?.is_none() {
                return Ok(()); // Removed while it was probed.
            }
            let grounds = self.shown().fitting(name, &[]).map(|agent| Arc::clone(&agent.grounds));
            // One that cannot be read is not shown.
            let Some(grounds) = grounds else { return Ok(()) };
            let probes = self.ledger().with_probe(name, probed, &grounds);
            let write = probes.write(&self.account, name);
            self.store.commit(Batch::new().write(write)).await?;
            self.ledger().add_probes(name, probes);
        }
        self.show_seen(name);
        if self.policy().approve.iter().any(|rule| rule.evidence.is_some()) {
            self.change(name, |record, policy| Ok(record.settle(policy, at))).await?;
        }
        Ok(())
    }

    /// The write that keeps the outcome of work, to be committed with what it is the outcome of.
    pub(crate) fn work_write(&self, name: &str, work: &Work) -> Write {
        work.write(&self.account, name)
    }

    /// Counts the outcome of work that was committed.
    pub(crate) fn count_work(&self, name: &str, work: Work) {
        self.ledger().add_new_work(name, work);
        self.show_seen(name);
    }

    /// Reads everything that was observed, for what other processes saw. What is counted here meanwhile stays.
    pub(super) async fn reload_evidence(&self) -> Result<(), RegistryError> {
        self.ledger().begin_reading();
        let read = self.read_evidence().await;
        let mut ledger = self.ledger();
        match read {
            Ok(read) => ledger.end_reading(read),
            Err(error) => {
                ledger.give_up_reading();
                return Err(error);
            }
        }
        Ok(())
    }

    async fn read_evidence(&self) -> Result<Ledger, RegistryError> {
        let mut ledger = Ledger::default();
        for row in self.all(EVIDENCE).await? {
            match Probes::of_row(&row) {
                Ok(probes) => ledger.add_probes(&row.key, probes),
                Err(error) => tracing::warn!(agent = row.key, %error, "evidence is left out"),
            }
        }
        for row in self.all(OUTCOMES).await? {
            match Work::of_row(&row) {
                Ok((name, work)) => ledger.add_work(name, work),
                Err(error) => tracing::warn!(row = row.key, %error, "an outcome is left out"),
            }
        }
        Ok(ledger)
    }

    /// The writes that forget what was observed of an agent which goes with them.
    pub(super) fn evidence_deletes(&self, name: &str) -> impl Iterator<Item = Write> {
        let account = self.account.clone();
        let (table, key, expect) = (EVIDENCE, name.to_owned(), Expect::Any);
        let probes = Write::Delete { account, table, key, expect };
        [probes].into_iter().chain(forget_outcomes(&self.account, name))
    }

    async fn all(&self, table: Table) -> Result<Vec<Row>, RegistryError> {
        let mut query = PageQuery::new(Some(self.account.clone()), table);
        query.limit = 500;
        self.pages(query).await
    }

    fn shown(&self) -> Arc<Index> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another index in place of the present one. What was seen of its agents is added here, so
    /// that nothing is lost which was seen while the change was on its way.
    pub(super) fn reindex(&self, make: impl FnOnce(&Index, &dyn Fn(Agent) -> Arc<Agent>) -> Index) {
        let _one_at_a_time = self.indexing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        let seeing = |agent: Agent| {
            let seen = self.ledger().seen(&agent.name, &agent.grounds, now);
            Arc::new(agent.at(now, seen))
        };
        self.swap(make(&self.shown(), &seeing));
    }

    fn swap(&self, index: Index) {
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(index);
    }

    /// Shows what is known of an agent now, when that is news.
    fn show_seen(&self, name: &str) {
        let _one_at_a_time = self.indexing.lock().unwrap_or_else(PoisonError::into_inner);
        let (index, now) = (self.shown(), Timestamp::now());
        let Some(agent) = index.fitting(name, &[]) else { return };
        let seen = self.ledger().seen(name, &agent.grounds, now);
        if !is_news(agent.seen.as_deref(), seen.as_deref()) {
            return;
        }
        let agent = Agent::clone(agent).at(now, seen);
        if let Some(index) = index.replacing([Arc::new(agent)]) {
            self.swap(index);
        }
    }

    /// Takes from agents what no longer counts: evidence that is stale, approvals whose review is due.
    fn age(&self, now: Timestamp) -> Arc<Index> {
        let _one_at_a_time = self.indexing.lock().unwrap_or_else(PoisonError::into_inner);
        let index = self.shown();
        if now < index.holds_until() {
            return index;
        }
        let over = index.over_at(now).into_iter().map(|agent| {
            let seen = self.ledger().seen(&agent.name, &agent.grounds, now);
            Arc::new(Agent::clone(agent).at(now, seen))
        });
        let over: Vec<Arc<Agent>> = over.collect();
        let aged = index.replacing(over.iter().map(Arc::clone));
        // Notes that are out of date are not found any more.
        self.swap(aged.unwrap_or_else(|| self.index_of(index.iter().cloned().chain(over))));
        self.shown()
    }
}

/// Whether what is seen now has to be shown: it is something else, or much newer.
fn is_news(shown: Option<&Seen>, seen: Option<&Seen>) -> bool {
    let (Some(shown), Some(seen)) = (shown, seen) else { return shown != seen };
    let said = |it: &Seen| (it.tier, it.last, it.since, it.is_stale, it.unmeasured.is_some());
    said(shown) != said(seen)
        || seen.at.duration_since(shown.at) >= NEWS
        || shown.holds_until.duration_since(seen.at) < NEWS
}

/// When something that lasts so long and begins now is over.
pub(crate) fn after(now: Timestamp, lasts: Duration) -> Timestamp {
    SignedDuration::try_from(lasts)
        .ok()
        .and_then(|it| now.checked_add(it).ok())
        .unwrap_or(Timestamp::MAX)
}
