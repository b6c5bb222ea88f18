//! Checks of the tree's shape that no compiler or linter makes.
//!
//! Each check is a pure function from what was read to a list of problems, so that its tests can
//! show it fail on a bad tree.

mod arrows;
mod files;
mod fuzz;
mod graph;
mod licence;
mod words;
mod workspace;

use std::fmt;

use anyhow::{Result, bail};

use crate::process;

/// One thing that is not as the project wants it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    /// The file, with its line where there is one, or the crate.
    at: String,
    /// What is wrong, and what to do.
    text: String,
}

impl Problem {
    fn new(at: impl Into<String>, text: impl Into<String>) -> Self {
        Self { at: at.into(), text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

/// Runs every check, prints all problems, and fails when there is one.
///
/// # Errors
/// When a problem was found, or when cargo or the tree cannot be read.
pub(crate) fn run() -> Result<()> {
    let root = process::root();
    let workspace = workspace::Workspace::load()?;
    let files = files::read(&root)?;
    let policy = graph::Policy::read(&root.join("deny.toml"))?;
    let mut problems = arrows::check(&workspace);
    problems.extend(graph::check(&workspace, &policy));
    problems.extend(files.iter().flat_map(files::check));
    problems.extend(files.iter().flat_map(words::check));
    problems.extend(fuzz::check(&files)?);
    problems.sort();
    for problem in &problems {
        println!("{problem}");
    }
    if !problems.is_empty() {
        bail!("tidy found {} problem(s)", problems.len());
    }
    println!(
        "tidy: {} files, {} crates of the workspace and {} from outside are as they should be",
        files.len(),
        workspace.members().count(),
        workspace.built().count() - workspace.members().count()
    );
    Ok(())
}
