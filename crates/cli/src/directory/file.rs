//! A file that goes to a server, with what it names.

use std::{collections::BTreeMap, path::Path};

use document::{Limits, Source};
use registry::{CardAt, read_catalog};
use server::directory::wire::FileIn;

use super::wrong;
use crate::failure::Failure;

/// A file as it is sent: what is wrong with it is found before, and shown as if it stayed here.
pub(super) struct Sent {
    pub(super) file: FileIn,
    /// The texts of the cards that it names by their paths. One that cannot be read does not come along, and its agent
    /// fails there.
    pub(super) files: BTreeMap<String, String>,
    /// What it is known by, where it is a catalog.
    pub(super) catalog: Option<String>,
}

impl Sent {
    pub(super) fn of(source: Source) -> Result<Self, Failure> {
        let listing = read_catalog(source).map_err(|problems| wrong(&problems))?;
        let source = &listing.source;
        let folder = Path::new(source.name()).parent().unwrap_or(Path::new(""));
        let limits = Limits::default();
        let mut files = BTreeMap::new();
        for entry in &listing.entries {
            let CardAt::File(path) = &entry.card else { continue };
            if let Ok(card) = Source::read(&folder.join(path), &limits) {
                files.insert(path.clone(), card.text().to_owned());
            }
        }
        let file = FileIn { name: source.name().to_owned(), text: source.text().to_owned() };
        // By its own name, else by that of its file: wherever somebody keeps it, and whoever applies it.
        let path = Path::new(source.name());
        let of_file = path.file_name().filter(|_| path.is_file());
        let of_file = of_file.map(|name| name.to_string_lossy().into_owned());
        let catalog = listing.name.clone().or(of_file);
        Ok(Self { file, files, catalog })
    }
}
