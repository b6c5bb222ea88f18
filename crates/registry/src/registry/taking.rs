//! Cards that come in: by a URL, in a file, from elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::Source;

use super::{Registry, TRIES};
use crate::apply::{self, Change, Request, Step, Wanted};
use crate::ard::Documents;
use crate::brought::{self, Beside};
use crate::intake::{self, Intake, Taken};
use crate::record::{AGENTS, Stored};
use crate::{
    ApplyOptions, Brought, Details, Index, Listing, Policy, RegistryError, Report, catalog, name,
};

/// How cards are taken in.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The catalog they come from, whose other agents are removed.
    pub(super) catalog: Option<&'a str>,
    pub(super) options: &'a ApplyOptions,
    /// Whether only agents that are there are changed.
    pub(super) is_again: bool,
}

impl Registry {
    /// Takes in the agent at a URL, or looks at its card again. Without a name it gets that of its
    /// card; without details, what is known beside the card stays. Where there is no card but a catalog
    /// that the host publishes (`ai-catalog.json`), the agents that it lists are proposed, whatever
    /// the options say.
    ///
    /// # Errors
    /// [`RegistryError::Card`] when there is none to be read, [`RegistryError::AiCatalog`],
    /// [`RegistryError::Name`], [`RegistryError::Store`]. A name that another agent has is a failure in the report.
    pub async fn add_url(
        &self,
        url: &str,
        asked_name: Option<&str>,
        details: Option<Details>,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        if let Some(problem) = asked_name.and_then(name::problem) {
            return Err(RegistryError::Name { problem });
        }
        let (index, policy, documents) = (self.index(), self.policy(), self.documents());
        let intake = self.intake(&index, &policy, &documents);
        let mut taken = intake::take_address(url, asked_name, details, intake, true).await?;
        taken.name_listed(&index);
        self.take_in(taken, Asked { catalog: None, options, is_again: false }, policy).await
    }

    /// Takes in what a file lists (a catalog, a list of cards or one card) beside what is there.
    ///
    /// # Errors
    /// [`RegistryError::File`] with everything wrong in the file, [`RegistryError::Store`]. A card
    /// that cannot be had is a failure of its agent in the report, and the others are taken in.
    pub async fn add_file(
        &self,
        source: Source,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        self.take_file(source, false, options).await
    }

    /// Makes the directory what a catalog says: as [`Registry::add_file`], and what an earlier
    /// version of the same file listed and this one does not is removed. Doing it again changes
    /// nothing.
    ///
    /// # Errors
    /// Those of [`Registry::add_file`].
    pub async fn apply(
        &self,
        source: Source,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        self.take_file(source, true, options).await
    }

    async fn take_file(
        &self,
        source: Source,
        is_whole: bool,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        let listing = catalog::read(source)?;
        let known = || listing.name.clone().or_else(|| catalog_of(&listing.source));
        let catalog = is_whole.then(known).flatten();
        let beside = Beside::Folder(&listing.source);
        self.take_listing(&listing, beside, catalog, options).await
    }

    /// Takes in what a file from elsewhere lists: as [`Registry::apply`] when it is known by a name,
    /// else as [`Registry::add_file`]. Nothing is read from this machine for it.
    ///
    /// # Errors
    /// Those of [`Registry::add_file`]; credentials are wrong in such a file.
    pub async fn take_brought(
        &self,
        brought: Brought,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        let Brought { source, files, catalog } = brought;
        let listing = catalog::read(source)?;
        brought::check(&listing)?;
        let catalog = catalog.map(|catalog| listing.name.clone().unwrap_or(catalog));
        self.take_listing(&listing, Beside::Brought(&files), catalog, options).await
    }

    async fn take_listing(
        &self,
        listing: &Listing,
        beside: Beside<'_>,
        catalog: Option<String>,
        options: &ApplyOptions,
    ) -> Result<Report, RegistryError> {
        let catalog = catalog.filter(|_| listing.is_catalog);
        let (index, policy, documents) = (self.index(), self.policy(), self.documents());
        let intake = self.intake(&index, &policy, &documents);
        let taken = intake::take(listing, beside, intake).await;
        let asked = Asked { catalog: catalog.as_deref(), options, is_again: false };
        self.take_in(taken, asked, policy).await
    }

    /// Decides about cards that were fetched while a policy was in force, by the one that is in force now. Where that
    /// pins other keys, signatures are checked once more, and nobody has to wait for that.
    pub(super) async fn take_in(
        &self,
        mut taken: Taken,
        asked: Asked<'_>,
        mut policy: Arc<Policy>,
    ) -> Result<Report, RegistryError> {
        for _ in 0..TRIES {
            if let Some(report) = self.take_in_under(&taken, asked, &policy).await? {
                return Ok(report);
            }
            policy = self.policy();
            for wanted in &mut taken.wanted {
                let url = Some(wanted.url.as_str()).filter(|url| !url.is_empty());
                wanted.trust = self.signers.check_again(&policy, &wanted.raw, url).await;
            }
        }
        Err(RegistryError::Contended)
    }

    /// As [`Registry::take_in`]; nothing when signatures were checked with other keys than are pinned now.
    async fn take_in_under(
        &self,
        taken: &Taken,
        asked: Asked<'_>,
        checked_by: &Policy,
    ) -> Result<Option<Report>, RegistryError> {
        let _only = self.changing.lock().await;
        for _ in 0..TRIES {
            let policy = self.policy_now().await?;
            if policy.keys != checked_by.keys {
                return Ok(None);
            }
            let Taken { wanted, missed } = taken;
            let Asked { catalog, options, is_again } = asked;
            let request = Request { wanted, missed, catalog, options, policy: &policy, is_again };
            let existing = self.concerned(&request).await?;
            let is_dry_run = options.dry_run;
            let (agents, changes) = split(apply::decide(&existing, &request));
            if is_dry_run || self.commit(&changes).await? {
                return Ok(Some(Report { is_dry_run, agents }));
            }
        }
        Err(RegistryError::Contended)
    }

    /// The records a request may touch: those of its names, and all of its catalog.
    async fn concerned(
        &self,
        request: &Request<'_>,
    ) -> Result<BTreeMap<String, Stored>, RegistryError> {
        let mut existing = BTreeMap::new();
        if let Some(catalog) = request.catalog {
            for row in self.rows(Some(catalog)).await? {
                existing.insert(row.key.clone(), self.read(&row)?);
            }
        }
        for Wanted { name, .. } in request.wanted {
            if existing.contains_key(name) {
                continue;
            }
            if let Some(row) = self.store.row(&self.account, AGENTS, name).await? {
                existing.insert(name.clone(), self.read(&row)?);
            }
        }
        Ok(existing)
    }

    pub(super) fn intake<'a>(
        &'a self,
        index: &'a Index,
        policy: &'a Policy,
        documents: &'a Documents,
    ) -> Intake<'a> {
        Intake { cards: &self.cards, signers: &self.signers, policy, index, documents }
    }

    pub(super) fn documents(&self) -> Documents {
        Documents::new(&self.clients)
    }
}

fn split(steps: Vec<Step>) -> (Vec<crate::Applied>, Vec<Change>) {
    let mut changes = Vec::new();
    let mut agents = Vec::new();
    for step in steps {
        agents.push(step.applied);
        changes.extend(step.change);
    }
    (agents, changes)
}

/// What a catalog is known by that has no name of its own: its file, wherever the process runs. One that came through a pipe is
/// known by nothing, and so never removes what another pipe brought.
fn catalog_of(source: &Source) -> Option<String> {
    let path = std::fs::canonicalize(source.name()).ok()?;
    Some(path.display().to_string())
}
