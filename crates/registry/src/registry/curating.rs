//! What is decided about agents: by a person, by the rules, by the calendar.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use store::{AccountId, Expect, Row, Tags, Version, Write};

use super::{Registry, TRIES};
use crate::agent::fold;
use crate::apply::Change;
use crate::policy::{DIRECTORY, POLICY};
use crate::record::{AGENTS, Record, Stored};
use crate::{Agent, CardDigest, Curation, Decision, Index, Policy, RegistryError, Trust};

impl Registry {
    /// Moves an agent to another standing; a move to where it stands already changes nothing.
    ///
    /// # Errors
    /// Those of [`Registry::decide`].
    pub async fn transition(
        &self,
        name: &str,
        to: Curation,
        by: &Decision,
    ) -> Result<Record, RegistryError> {
        self.decide(name, to, by, None).await
    }

    /// Moves an agent to another standing, and says by when an approval has to be reviewed, in one go. Without that
    /// day the policy says it; for other decisions it means nothing.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Transition`], [`RegistryError::Store`],
    /// [`RegistryError::Contended`].
    pub async fn decide(
        &self,
        name: &str,
        to: Curation,
        by: &Decision,
        review_by: Option<Timestamp>,
    ) -> Result<Record, RegistryError> {
        self.change(name, |record, policy| {
            let moved = record.move_to(to, by.clone(), policy);
            let moved = moved
                .map_err(|cause| RegistryError::Transition { name: record.name.clone(), cause })?;
            let due = review_by.filter(|_| to == Curation::Approved).or(record.review_by);
            let was = std::mem::replace(&mut record.review_by, due);
            Ok(moved || was != due)
        })
        .await
    }

    /// Says whether others may learn of an agent, once it is approved.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`].
    pub async fn publish(&self, name: &str, is_public: bool) -> Result<Record, RegistryError> {
        self.change(name, |record, _| {
            let before = std::mem::replace(&mut record.details.public, is_public);
            Ok(before != is_public)
        })
        .await
    }

    /// Gives an agent curator's tags, and takes some away.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`].
    pub async fn tag(
        &self,
        name: &str,
        added: &[String],
        removed: &[String],
    ) -> Result<Record, RegistryError> {
        self.change(name, |record, _| {
            let tags = &mut record.details.tags;
            let before = tags.clone();
            let gone: HashSet<String> = removed.iter().map(|tag| fold(tag)).collect();
            tags.retain(|tag| !gone.contains(&fold(tag)));
            let mut kept: HashSet<String> = tags.iter().map(|tag| fold(tag)).collect();
            for tag in added.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()) {
                if kept.insert(fold(tag)) {
                    tags.push(tag.to_owned());
                }
            }
            Ok(*tags != before)
        })
        .await
    }

    /// Changes the record of one agent, by the rules that are in force; nothing is written when `decide` says that
    /// nothing changed. An approval that is over is taken back first.
    pub(super) async fn change(
        &self,
        name: &str,
        decide: impl Fn(&mut Record, &Policy) -> Result<bool, RegistryError>,
    ) -> Result<Record, RegistryError> {
        let _only = self.changing.lock().await;
        for _ in 0..TRIES {
            let policy = self.policy_now().await?;
            let Stored { mut record, version } = self.stored(name).await?;
            let is_over = record.expire(Timestamp::now());
            if !decide(&mut record, &policy)? && !is_over {
                return Ok(record);
            }
            let change = Change::Put(Box::new(record.clone()), Expect::Version(version));
            if self.commit(&[change]).await? {
                return Ok(record);
            }
        }
        Err(RegistryError::Contended)
    }

    /// The rules of the directory.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner).policy)
    }

    /// Gives the directory other rules, and decides by them about every agent that waits, in one go. Cards
    /// are checked against the keys they pin. Returns the names of the agents whose standing or
    /// signer is another now.
    ///
    /// # Errors
    /// [`RegistryError::Store`], [`RegistryError::Damaged`], [`RegistryError::Contended`].
    pub async fn set_policy(
        &self,
        policy: Policy,
        at: Timestamp,
    ) -> Result<Vec<String>, RegistryError> {
        let (policy, mut checked) = (Arc::new(policy), Checked::new());
        for _ in 0..TRIES {
            self.check_all(&policy, &mut checked).await?;
            let _only = self.changing.lock().await;
            // A card that came since it was read is checked before anybody has to wait for it.
            let Some(changes) = self.judged(&policy, &checked, at).await? else { continue };
            let write = policy_write(&self.account, &policy);
            if self.commit_with(&changes, vec![write]).await? {
                self.policy_now().await?;
                self.reindex(|index, _| self.index_of(index.iter().cloned()));
                return Ok(changes.iter().filter_map(name_of).collect());
            }
        }
        Err(RegistryError::Contended)
    }

    /// Does what is due: approvals whose review is due are taken back, and what the rules approve is
    /// approved. Returns the names of the agents that stand elsewhere now.
    ///
    /// # Errors
    /// [`RegistryError::Store`], [`RegistryError::Damaged`], [`RegistryError::Contended`].
    pub async fn review(&self, now: Timestamp) -> Result<Vec<String>, RegistryError> {
        for _ in 0..TRIES {
            let (policy, index) = (self.policy_now().await?, self.index());
            let mut changes = Vec::new();
            // Nobody waits while it is read: a record that changes meanwhile is of another version then.
            for name in self.due(&policy, &index, now) {
                let Some(row) = self.store.row(&self.account, AGENTS, &name).await? else {
                    continue;
                };
                changes.extend(self.judge(&row, &policy, now, |_| {}));
            }
            if changes.is_empty() || self.commit_by(&policy, &changes).await? {
                *self.reviewed.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some((policy, index));
                return Ok(changes.iter().filter_map(name_of).collect());
            }
        }
        Err(RegistryError::Contended)
    }

    /// The agents whose approval is over, or which the rules may approve: of these, those that are otherwise than they were
    /// at the last review by the same rules.
    fn due(&self, policy: &Arc<Policy>, index: &Arc<Index>, now: Timestamp) -> BTreeSet<String> {
        let is_over = |agent: &&Arc<Agent>| agent.review_by.is_some_and(|due| due <= now);
        let mut due: BTreeSet<String> =
            index.iter().filter(is_over).map(|agent| agent.name.clone()).collect();
        if policy.approve.is_empty() {
            return due;
        }
        let reviewed = self.reviewed.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = reviewed
            .as_ref()
            .filter(|(by, _)| Arc::ptr_eq(by, policy))
            .and_then(|(_, before)| index.changed_since(before));
        let waits = |agent: &&Arc<Agent>| agent.decided == Curation::Proposed;
        let name = |agent: &Arc<Agent>| agent.name.clone();
        match changed {
            Some(changed) => {
                due.extend(changed.into_iter().map(|(_, is)| is).filter(waits).map(name));
            }
            None => due.extend(index.iter().filter(waits).map(name)),
        }
        due
    }

    /// Commits what was decided by these rules, unless they or the records are others meanwhile.
    async fn commit_by(
        &self,
        policy: &Arc<Policy>,
        changes: &[Change],
    ) -> Result<bool, RegistryError> {
        let _only = self.changing.lock().await;
        Ok(Arc::ptr_eq(policy, &self.policy_now().await?) && self.commit(changes).await?)
    }

    /// What a policy means for every agent, whose signatures were checked by it; nothing when some were not.
    async fn judged(
        &self,
        policy: &Policy,
        checked: &Checked,
        now: Timestamp,
    ) -> Result<Option<Vec<Change>>, RegistryError> {
        let mut changes = Vec::new();
        let mut is_whole = true;
        for row in self.rows(None).await? {
            changes.extend(self.judge(&row, policy, now, |record| {
                let trust = checked.get(&(record.digest, record.url.clone()));
                is_whole &= trust.is_some();
                if let Some(trust) = trust {
                    trust_anew(record, trust, now);
                }
            }));
        }
        Ok(is_whole.then_some(changes))
    }

    /// What a policy means for the agent of a row, after something else is done to it; nothing for one that cannot be
    /// read.
    fn judge(
        &self,
        row: &Row,
        policy: &Policy,
        now: Timestamp,
        first: impl FnOnce(&mut Record),
    ) -> Option<Change> {
        let Stored { mut record, version } = self.read(row).ok()?;
        let before = record.clone();
        first(&mut record);
        record.expire(now);
        record.settle(policy, now);
        (record != before).then(|| Change::Put(Box::new(record), Expect::Version(version)))
    }

    /// Checks every card against the keys that a policy pins, unless it was already.
    async fn check_all(&self, policy: &Policy, checked: &mut Checked) -> Result<(), RegistryError> {
        for row in self.rows(None).await? {
            let Ok(Stored { record, .. }) = self.read(&row) else { continue };
            let url = Some(record.url.as_str()).filter(|url| !url.is_empty());
            if let Entry::Vacant(vacant) = checked.entry((record.digest, record.url.clone())) {
                vacant.insert(self.signers.check_again(policy, &record.card, url).await);
            }
        }
        Ok(())
    }

    /// The rules as they stand in the store; read anew when they are others.
    pub(super) async fn policy_now(&self) -> Result<Arc<Policy>, RegistryError> {
        let row = self.store.row(&self.account, DIRECTORY, POLICY).await?;
        let version = row.as_ref().map(|row| row.version);
        let known = self.policy.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known.version == version {
            return Ok(known.policy);
        }
        let policy = match row {
            Some(row) => serde_json::from_slice(&row.value).map_err(|error| {
                RegistryError::Damaged { name: POLICY.to_owned(), why: error.to_string() }
            })?,
            None => Policy::default(),
        };
        let policy = Arc::new(policy);
        let now = InForce { version, policy: Arc::clone(&policy) };
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(policy)
    }
}

/// What the signatures of cards are worth under a policy, by the card and where it was found.
type Checked = HashMap<(CardDigest, String), Trust>;

/// The rules, and in which version of their row they stand.
#[derive(Clone, Default)]
pub(super) struct InForce {
    version: Option<Version>,
    policy: Arc<Policy>,
}

fn policy_write(account: &AccountId, policy: &Policy) -> Write {
    let value = serde_json::to_vec(policy).expect("a policy has only text keys");
    Write::Put {
        account: account.clone(),
        table: DIRECTORY,
        key: POLICY.to_owned(),
        sort: POLICY.to_owned(),
        tags: Tags::default(),
        value: value.into(),
        expect: Expect::Any,
    }
}

/// Under other keys the same card may be by another signer.
fn trust_anew(record: &mut Record, trust: &Trust, at: Timestamp) {
    if let Some(lost) = record.trust.lost(trust) {
        let why = format!("the pinned keys changed: {lost}");
        record.hold(Decision { who: "policy".to_owned(), why, at });
    }
    record.trust = trust.clone();
}

fn name_of(change: &Change) -> Option<String> {
    match change {
        Change::Put(record, _) | Change::PutCard(record, _) => Some(record.name.clone()),
        Change::Delete(..) => None,
    }
}

#[cfg(test)]
mod tests;
