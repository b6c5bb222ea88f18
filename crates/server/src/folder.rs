//! The folder of workflow files, read again whenever a file changes.
//!
//! It is looked at every second: a handful of file sizes and times costs nothing, and works for every editor, on
//! network mounts and in containers, where notices of the operating system come twice, late or never.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use document::{Limits, Problems, Source};
use planner::Workflow;

use crate::Workflows;

/// How often a folder is looked at.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// A folder whose `*.yaml` files are workflows.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    files: BTreeMap<PathBuf, File>,
    /// Why the folder could not be read when it was looked at last.
    unreadable: Option<String>,
}

/// One file, as it was when it was looked at last.
#[derive(Debug)]
struct File {
    stamp: Stamp,
    /// What was wrong with it then, by itself.
    problems: Option<Problems>,
    /// The workflow of the newest content that was one.
    good: Option<Arc<Workflow>>,
}

/// What differs once a file has changed.
type Stamp = (u64, Option<SystemTime>);

impl Folder {
    /// Reads every `*.yaml` of a folder.
    ///
    /// # Errors
    /// When the folder cannot be read. What is wrong with a file is said by [`Workflows::broken`].
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let mut folder = Self { path: path.into(), files: BTreeMap::new(), unreadable: None };
        let found = stamps(&folder.path)?;
        folder.take(found);
        Ok(folder)
    }

    /// Looks whether something has changed, and reads what has. When the folder itself cannot be read, everything
    /// stays as it was.
    pub(crate) fn look(&mut self) -> bool {
        match stamps(&self.path) {
            Ok(found) => {
                let was_unreadable = self.unreadable.take().is_some();
                self.take(found) || was_unreadable
            }
            Err(error) => {
                let why = format!("the folder {} cannot be read: {error}", self.path.display());
                let is_news = self.unreadable.as_ref() != Some(&why);
                self.unreadable = Some(why);
                is_news
            }
        }
    }

    fn take(&mut self, found: BTreeMap<PathBuf, Stamp>) -> bool {
        let before = self.files.len();
        self.files.retain(|path, _| found.contains_key(path));
        let mut has_changed = self.files.len() != before;
        for (path, stamp) in found {
            let known = self.files.remove(&path);
            let file = match known {
                Some(known) if known.stamp == stamp => known,
                known => {
                    has_changed = true;
                    read(&path, stamp, known.and_then(|known| known.good))
                }
            };
            self.files.insert(path, file);
        }
        has_changed
    }

    /// The workflows of the files, in the order of their names. A file that is broken gives what it gave when it was
    /// good last, if it ever was; one whose workflow has the name of an earlier one is left out.
    #[must_use]
    pub fn workflows(&self) -> Workflows {
        let mut workflows = Workflows::default();
        workflows.unreadable.clone_from(&self.unreadable);
        for file in self.files.values() {
            workflows.broken.extend(file.problems.clone());
            if let Some(good) = &file.good {
                let added = workflows.share(Arc::clone(good));
                workflows.broken.extend(added.err());
            }
        }
        workflows
    }
}

fn read(path: &Path, stamp: Stamp, good: Option<Arc<Workflow>>) -> File {
    match load(path) {
        Ok(workflow) => File { stamp, problems: None, good: Some(Arc::new(workflow)) },
        Err(problems) => File { stamp, problems: Some(problems), good },
    }
}

fn load(path: &Path) -> Result<Workflow, Problems> {
    let source_file = Source::read(path, &Limits::default())?;
    planner::check(&source_file).map_err(|diagnostics| Problems { source_file, diagnostics })
}

/// The files of a folder that are taken for workflows, in the order of their names: its `*.yaml`, not
/// those of folders below it.
///
/// # Errors
/// When the folder cannot be read.
pub fn workflow_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "yaml") && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn stamps(folder: &Path) -> io::Result<BTreeMap<PathBuf, Stamp>> {
    let mut found = BTreeMap::new();
    for path in workflow_files(folder)? {
        // One that is gone between the two looks is gone.
        if let Ok(metadata) = std::fs::metadata(&path)
            && metadata.is_file()
        {
            found.insert(path, (metadata.len(), metadata.modified().ok()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
