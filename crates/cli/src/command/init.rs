//! `convoke init`: a first workflow, and the schema beside it.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use anstream::println;

use crate::{
    failure::{Exit, Failure},
    output::{BOLD, DIM},
    workflow_file,
};

const WORKFLOW: &str = include_str!("init/first-trip.yaml");
/// What the workflow is called, in the folder that `run NAME` and `serve` look into.
const WORKFLOW_FILE: &str = "workflows/first-trip.yaml";
/// What the first line of the workflow refers to.
const SCHEMA_FILE: &str = "workflows/workflow.schema.json";

pub(crate) fn run(folder: &Path) -> Result<Exit, Failure> {
    // Nobody types `./`.
    let folder = folder.strip_prefix(".").unwrap_or(folder);
    let workflow = folder.join(WORKFLOW_FILE);
    let schema = folder.join(SCHEMA_FILE);
    // Nothing is written where not all can be.
    for path in [&workflow, &schema] {
        if path.symlink_metadata().is_ok() {
            return Err(is_there(path));
        }
    }
    let text = serde_json::to_string_pretty(&planner::language::schema())?;
    create(&workflow, WORKFLOW)?;
    create(&schema, &format!("{text}\n"))?;
    println!("{}: a first workflow", workflow_file::shown(&workflow));
    println!("{}: the language, for editors", workflow_file::shown(&schema));
    println!();
    println!("{DIM}Start the agents that it is for, in the folder with Convoke's sources:{DIM:#}");
    println!("  {BOLD}cargo run -p examples -- all{BOLD:#}");
    println!("{DIM}Then, in another terminal:{DIM:#}");
    let shown = workflow_file::shown(&workflow);
    println!("  {BOLD}convoke run {} -m \"A week in Helsinki\"{BOLD:#}", quoted(&shown));
    Ok(Exit::Ok)
}

/// Writes a file that must not be there yet.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        fs::create_dir_all(parent)?;
        File::create_new(path)?.write_all(text.as_bytes())
    };
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists if path.symlink_metadata().is_ok() => is_there(path),
        _ => Failure::usage(format!("cannot write {}: {error}", path.display())),
    })
}

fn is_there(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is there already, and nothing is overwritten: name another folder, or move it away",
        path.display()
    ))
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_so_that_a_shell_takes_it_as_one() {
        assert_eq!(quoted("a/b-1.yaml"), "a/b-1.yaml");
        assert_eq!(quoted("my trips/$x"), "'my trips/$x'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
