//! Cards that come in: by a URL, in a file, from elsewhere.

use document::Source;

use super::{Registry, Request};
use crate::ard::Documents;
use crate::brought::{self, Beside};
use crate::intake::{self, Intake};
use crate::{
    ApplyOptions, Brought, Details, Index, Listing, Policy, RegistryError, Report, catalog, name,
};

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
        let (wanted, missed) = (&*taken.wanted, &*taken.missed);
        let (catalog, policy, is_again) = (None, &*policy, false);
        self.take_in(&Request { wanted, missed, catalog, options, policy, is_again }).await
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
        let catalog = catalog_of(&listing.source).filter(|_| is_whole);
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
        let request = Request {
            wanted: &taken.wanted,
            missed: &taken.missed,
            catalog: catalog.as_deref(),
            options,
            policy: &policy,
            is_again: false,
        };
        self.take_in(&request).await
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
        Documents::new(self.cards.outbound())
    }
}

/// What a catalog is known by: its file, wherever the process runs. One that came through a pipe is
/// known by nothing, and so never removes what another pipe brought.
fn catalog_of(source: &Source) -> Option<String> {
    let path = std::fs::canonicalize(source.name()).ok()?;
    Some(path.display().to_string())
}
