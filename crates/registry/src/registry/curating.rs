//! What is decided about agents: by a person, by the rules, by the calendar.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use store::{Batch, Expect, Tags, Write};

use super::{Registry, TRIES};
use crate::agent::fold;
use crate::apply::Change;
use crate::policy::{DIRECTORY, POLICY};
use crate::record::{Record, Stored};
use crate::{Curation, Decision, Policy, RegistryError};

impl Registry {
    /// Moves an agent to another standing; a move to where it stands already changes nothing.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Transition`], [`RegistryError::Store`],
    /// [`RegistryError::Contended`].
    pub async fn transition(
        &self,
        name: &str,
        to: Curation,
        by: &Decision,
    ) -> Result<Record, RegistryError> {
        let policy = self.policy();
        self.change(name, |record| {
            let moved = record.move_to(to, by.clone(), &policy);
            moved.map_err(|cause| RegistryError::Transition { name: record.name.clone(), cause })
        })
        .await
    }

    /// Says by when an approval has to be reviewed, or that it has not to be.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`].
    pub async fn review_by(
        &self,
        name: &str,
        when: Option<Timestamp>,
    ) -> Result<Record, RegistryError> {
        self.change(name, |record| {
            record.review_by = when;
            Ok(true)
        })
        .await
    }

    /// Says whether others may learn of an agent, once it is approved.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`].
    pub async fn publish(&self, name: &str, is_public: bool) -> Result<Record, RegistryError> {
        self.change(name, |record| {
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
        self.change(name, |record| {
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

    /// Changes the record of one agent; nothing is written when `decide` says that nothing changed.
    pub(super) async fn change(
        &self,
        name: &str,
        decide: impl Fn(&mut Record) -> Result<bool, RegistryError>,
    ) -> Result<Record, RegistryError> {
        let _only = self.changing.lock().await;
        for _ in 0..TRIES {
            let Stored { mut record, version } = self.stored(name).await?;
            if !decide(&mut record)? {
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
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives the directory other rules, and decides by them about every agent that waits. Cards
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
        let value = serde_json::to_vec(&policy).expect("a policy has only text keys");
        let put = Write::Put {
            account: self.account.clone(),
            table: DIRECTORY,
            key: POLICY.to_owned(),
            sort: POLICY.to_owned(),
            tags: Tags::default(),
            value: value.into(),
            expect: Expect::Any,
        };
        self.store.commit(Batch { fences: Vec::new(), writes: vec![put] }).await?;
        self.reload().await?;
        self.settle(at, true).await
    }

    /// Does what is due: approvals whose review is due are taken back, and what the rules approve is
    /// approved. Returns the names of the agents that stand elsewhere now.
    ///
    /// # Errors
    /// [`RegistryError::Store`], [`RegistryError::Damaged`], [`RegistryError::Contended`].
    pub async fn review(&self, now: Timestamp) -> Result<Vec<String>, RegistryError> {
        self.settle(now, false).await
    }

    async fn settle(&self, now: Timestamp, is_checked: bool) -> Result<Vec<String>, RegistryError> {
        let _only = self.changing.lock().await;
        let policy = self.policy();
        for _ in 0..TRIES {
            let mut changes = Vec::new();
            for row in self.rows(None).await? {
                let Ok(Stored { mut record, version }) = self.read(&row) else { continue };
                let before = record.clone();
                if is_checked {
                    self.check_again(&policy, &mut record, now).await;
                }
                expire(&mut record, now);
                record.settle(&policy, now);
                if record != before {
                    changes.push(Change::Put(Box::new(record), Expect::Version(version)));
                }
            }
            if self.commit(&changes).await? {
                return Ok(changes.iter().filter_map(name_of).collect());
            }
        }
        Err(RegistryError::Contended)
    }

    /// Under other keys the same card may be by another signer.
    async fn check_again(&self, policy: &Policy, record: &mut Record, at: Timestamp) {
        if record.card.get("signatures").is_none() {
            return;
        }
        let url = (!record.url.is_empty()).then_some(record.url.as_str());
        let text = record.card.to_string();
        let trust = self.signers.check(policy, text.as_bytes(), url).await;
        if let Some(lost) = record.trust.lost(&trust) {
            let why = format!("the pinned keys changed: {lost}");
            record.hold(Decision { who: "policy".to_owned(), why, at });
        }
        record.trust = trust;
    }

    pub(super) async fn reload_policy(&self) -> Result<(), RegistryError> {
        let row = self.store.row(&self.account, DIRECTORY, POLICY).await?;
        let policy = match row {
            Some(row) => serde_json::from_slice(&row.value).map_err(|error| {
                RegistryError::Damaged { name: POLICY.to_owned(), why: error.to_string() }
            })?,
            None => Policy::default(),
        };
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
        Ok(())
    }
}

/// Takes an approval back when its time is over.
fn expire(record: &mut Record, now: Timestamp) {
    if let Some(due) = record.review_by.filter(|due| *due <= now) {
        let why = format!("its approval had to be reviewed by {}", due.strftime("%Y-%m-%d"));
        record.hold(Decision { who: "policy".to_owned(), why, at: now });
        record.review_by = None;
    }
}

fn name_of(change: &Change) -> Option<String> {
    match change {
        Change::Put(record, _) | Change::PutCard(record, _) => Some(record.name.clone()),
        Change::Delete(..) => None,
    }
}

#[cfg(test)]
mod tests;
