//! Cards as they were, and as they are now.

use serde::{Deserialize, Serialize};
use store::{PageQuery, Row, Write};

use super::{Asked, Registry};
use crate::changes::{CardChange, changes};
use crate::intake::{self, Again};
use crate::versions::{CARDS, CardVersion, delete, prefix};
use crate::{ApplyOptions, Drift, RegistryError, Report};

/// How one version of a card differs from an earlier one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// The agent.
    pub name: String,
    /// The earlier version.
    pub from: u32,
    /// The later version.
    pub to: u32,
    /// What the difference means.
    pub drift: Drift,
    /// Every place that differs.
    pub changes: Vec<CardChange>,
}

impl Difference {
    /// Compares two of these versions of an agent's card: without `from` the one before `to`, without `to` the last one.
    ///
    /// # Errors
    /// [`RegistryError::NoVersion`], and when a card can no longer be read.
    pub fn between(
        name: &str,
        versions: &[CardVersion],
        from: Option<u32>,
        to: Option<u32>,
    ) -> Result<Self, RegistryError> {
        let of = |number: u32| versions.iter().find(|it| it.number == number);
        let kept = || versions.iter().map(|it| it.number).collect();
        let missing =
            |number: u32| RegistryError::NoVersion { name: name.to_owned(), number, kept: kept() };
        let to = to.or(versions.last().map(|it| it.number)).unwrap_or_default();
        let new = of(to).ok_or_else(|| missing(to))?;
        let from = from.unwrap_or(to.saturating_sub(1));
        let old = of(from).ok_or_else(|| missing(from))?;
        let (drift, changes) = (drift(old, new)?, changes(&old.card, &new.card));
        Ok(Self { name: name.to_owned(), from, to, drift, changes })
    }
}

impl Registry {
    /// The versions of an agent's card that others may see: those that it has had since it is public, and nothing of how
    /// the first of them differs from what was before. None of an agent that is not public.
    ///
    /// # Errors
    /// As [`Registry::versions`].
    pub async fn public_versions(&self, name: &str) -> Result<Vec<CardVersion>, RegistryError> {
        let Some(since) = self.record(name).await?.public_since() else { return Ok(Vec::new()) };
        let mut versions = self.versions(name).await?;
        versions.retain(|version| version.number >= since);
        if let Some(first) = versions.first_mut() {
            first.drift = None;
        }
        Ok(versions)
    }

    /// The versions of an agent's card that are kept, oldest first.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Damaged`].
    pub async fn versions(&self, name: &str) -> Result<Vec<CardVersion>, RegistryError> {
        let record = self.record(name).await?;
        let rows = self.version_rows(&record.name).await?;
        let mut versions: Vec<CardVersion> =
            rows.iter().map(CardVersion::of_row).collect::<Result<_, _>>()?;
        if versions.is_empty() {
            // Taken in before versions were kept.
            versions.push(CardVersion::of(&record));
        }
        Ok(versions)
    }

    /// Compares two versions of an agent's card: without `from` the one before `to`, without `to`
    /// the present one.
    ///
    /// # Errors
    /// Those of [`Registry::versions`], and [`RegistryError::NoVersion`].
    pub async fn diff(
        &self,
        name: &str,
        from: Option<u32>,
        to: Option<u32>,
    ) -> Result<Difference, RegistryError> {
        Difference::between(name, &self.versions(name).await?, from, to)
    }

    /// Looks again at the cards of these agents, or of all when none are named. Agents whose card
    /// came from a file have nowhere to be looked at: they are left out, or a failure when named.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], [`RegistryError::Store`], [`RegistryError::Contended`]. A
    /// card that cannot be had is a failure of its agent in the report.
    pub async fn refresh(
        &self,
        names: &[String],
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        let (index, policy, documents) = (self.index(), self.policy(), self.documents());
        let mut agents = Vec::new();
        let mut of_files = Vec::new();
        let all: Vec<String> = index.iter().map(|agent| agent.name.clone()).collect();
        for name in if names.is_empty() { &all } else { names } {
            let record = self.record(name).await?;
            let again = Again::of(&record);
            if again.asked_url.is_empty() { of_files.push(again) } else { agents.push(again) }
        }
        let mut taken = intake::take_again(&agents, self.intake(&index, &policy, &documents)).await;
        if !names.is_empty() {
            taken.missed.extend(of_files.into_iter().map(intake::nowhere));
        }
        self.take_in(taken, Asked { catalog: None, options, is_again: true }, policy).await
    }

    /// The writes that drop the versions of an agent which goes with them.
    pub(super) async fn version_deletes(
        &self,
        name: &str,
    ) -> Result<impl Iterator<Item = Write>, RegistryError> {
        let rows = self.version_rows(name).await?;
        Ok(rows.into_iter().map(|row| delete(&self.account, row.key)))
    }

    async fn version_rows(&self, name: &str) -> Result<Vec<Row>, RegistryError> {
        let mut query = PageQuery::new(Some(self.account.clone()), CARDS);
        query.key_prefix = prefix(name);
        Ok(self.store.page(&query).await?.rows)
    }
}

fn drift(old: &CardVersion, new: &CardVersion) -> Result<Drift, RegistryError> {
    let read =
        |version: &CardVersion| protocol::card::read(&version.card).map_err(RegistryError::from);
    let drift = Drift::between(&read(old)?, &read(new)?);
    Ok(match old.trust.lost(&new.trust) {
        Some(lost) => drift.and_broken(lost),
        None => drift,
    })
}
