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

use document::{Diagnostic, Limits, Problems, Source};
use planner::{Lock, Workflow};

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
    /// How many workflows may be inside each other.
    max_depth: usize,
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

/// What differs once a file or its lock has changed.
type Stamp = (Written, Option<Written>);
/// How long a file is, and when it was written.
type Written = (u64, Option<SystemTime>);

/// How the name of a lock's file ends.
const LOCK_ENDS: &str = "lock.yaml";

impl Folder {
    /// Reads every `*.yaml` of a folder.
    ///
    /// # Errors
    /// When the folder cannot be read. What is wrong with a file is said by [`Workflows::broken`].
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let max_depth = planner::DEFAULT_MAX_DEPTH;
        let (path, files) = (path.into(), BTreeMap::new());
        let mut folder = Self { path, files, unreadable: None, max_depth };
        let found = stamps(&folder.path)?;
        folder.take(found);
        Ok(folder)
    }

    /// Sets how many workflows may be inside each other.
    #[must_use]
    pub fn with_max_depth(self, max_depth: usize) -> Self {
        Self { max_depth, ..self }
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
    /// good last, if it ever was; one whose workflow has the name of an earlier one is left out, and so is one
    /// that cannot have another of these as its step.
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
        workflows.link(self.max_depth);
        workflows
    }
}

fn read(path: &Path, stamp: Stamp, good: Option<Arc<Workflow>>) -> File {
    match load_workflow(path) {
        Ok(workflow) => File { stamp, problems: None, good: Some(Arc::new(workflow)) },
        Err(problems) => File { stamp, problems: Some(problems), good },
    }
}

/// Reads and checks a workflow's file, and the lock beside it if there is one.
///
/// # Errors
/// With everything that is wrong with the file, or with its lock.
pub fn load_workflow(path: &Path) -> Result<Workflow, Problems> {
    let source_file = Source::read(path, &Limits::default())?;
    let workflow = planner::check(&source_file)
        .map_err(|diagnostics| Problems { source_file, diagnostics })?;
    let beside = lock_of(path);
    if !beside.exists() {
        return Ok(workflow);
    }
    let lock = load_lock(&beside)?;
    match lock.mismatch(&workflow) {
        None => Ok(Workflow { lock: Some(Arc::new(lock)), ..workflow }),
        Some(problem) => {
            Err(Problems::one(Source::new(&beside.display().to_string(), ""), problem))
        }
    }
}

/// Has a workflow carry along those of the folder of its file that its steps are.
///
/// # Errors
/// When there is no such workflow, or it cannot be a step of this one: with where in the file.
pub fn link_beside(
    path: &Path,
    workflow: Workflow,
    max_depth: usize,
) -> Result<Workflow, Vec<Diagnostic>> {
    if workflow.subs().next().is_none() {
        return Ok(workflow);
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = workflow_files(folder).unwrap_or_default();
    // What is wrong with one of them is said where it is used.
    let others = files.iter().filter_map(|file| load_workflow(file).ok());
    let others = others.map(|other| (other.name.clone(), Arc::new(other))).collect();
    planner::link(&Arc::new(workflow), &others, max_depth).map(Arc::unwrap_or_clone)
}

/// Reads the file of a lock.
///
/// # Errors
/// With what is wrong with it.
pub fn load_lock(path: &Path) -> Result<Lock, Problems> {
    let source_file = Source::read(path, &Lock::limits())?;
    Lock::read(&source_file).map_err(|diagnostics| Problems { source_file, diagnostics })
}

/// Where the lock of a workflow's file is kept: `trip.lock.yaml` for `trip.yaml`.
#[must_use]
pub fn lock_of(workflow: &Path) -> PathBuf {
    workflow.with_extension(LOCK_ENDS)
}

/// Whether a file is a lock, by its name.
#[must_use]
pub fn is_lock(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|it| it.ends_with(".lock.yaml"))
}

/// The files of a folder that are taken for workflows, in the order of their names: its `*.yaml`
/// other than locks, not those of folders below it.
///
/// # Errors
/// When the folder cannot be read.
pub fn workflow_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "yaml") && !is_lock(&path) && !path.is_dir() {
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
        if let Some(file) = written(&path) {
            let lock = written(&lock_of(&path));
            found.insert(path, (file, lock));
        }
    }
    Ok(found)
}

fn written(path: &Path) -> Option<Written> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.len(), metadata.modified().ok()))
}

#[cfg(test)]
mod tests;
