//! Files that come from elsewhere: what they name is read from what came along, never from this
//! machine.

use std::collections::BTreeMap;
use std::path::Path;

use document::{Diagnostic, Limits, Problems, Source};

use crate::Listing;

/// A file that somebody elsewhere wrote, and what it names.
#[derive(Clone, Debug)]
pub struct Brought {
    /// The file.
    pub source: Source,
    /// The texts of the files it names, by the paths it names them with.
    pub files: BTreeMap<String, String>,
    /// What it is known by as a catalog that has no name of its own: what an earlier one of that name listed and this one
    /// does not is removed. Without, nothing is.
    pub catalog: Option<String>,
}

/// Where the files are that a file names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Beside<'a> {
    /// In its folder.
    Folder(&'a Source),
    /// These, by their paths.
    Brought(&'a BTreeMap<String, String>),
}

impl Beside<'_> {
    /// Reads one of them.
    pub(crate) fn read(self, path: &str, limits: &Limits) -> Result<Source, Problems> {
        match self {
            Self::Folder(source) => Source::read(&folder_of(source).join(path), limits),
            Self::Brought(files) => match files.get(path) {
                Some(text) => Ok(Source::new(path, text)),
                None => Err(Problems::one(Source::new(path, ""), missing(path))),
            },
        }
    }

    /// How it is named to people.
    pub(crate) fn shown(self, path: &str) -> String {
        match self {
            Self::Folder(source) => folder_of(source).join(path).display().to_string(),
            Self::Brought(_) => path.to_owned(),
        }
    }
}

fn missing(path: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error("file::not-brought", format!("`{path}` did not come along"));
    diagnostic.help("files are not read on this side: send its text with it, under this path")
}

/// The folder that paths in a file are relative to.
pub(crate) fn folder_of(source: &Source) -> &Path {
    Path::new(source.name()).parent().unwrap_or(Path::new(""))
}

/// Refuses credentials in a file from elsewhere. They name places of this machine (a variable, a
/// file, a program to be run), and who may curate may not for that read or run what is on it.
pub(crate) fn check(listing: &Listing) -> Result<(), Problems> {
    let given = listing.entries.iter().filter(|entry| !entry.details.credentials.is_empty());
    let diagnostics: Vec<_> = given
        .map(|entry| {
            let problem = "credentials cannot be given from elsewhere";
            Diagnostic::error("catalog::credentials-from-elsewhere", problem)
                .at(entry.span, "this agent has some")
                .help(
                    "they name places of the machine that calls the agent: apply this catalog there, on its data \
                     folder",
                )
        })
        .collect();
    if diagnostics.is_empty() {
        return Ok(());
    }
    Err(Problems { source_file: listing.source.clone(), diagnostics })
}
