//! `convoke validate`

use std::path::{Path, PathBuf};

use anstream::{eprintln, println};
use document::{Diagnostic, Limits, Source};
use serde_json::Value;

use crate::{
    args::Args,
    failure::{Exit, Failure},
    output, workflow_file,
};

/// What is wrong with one file.
struct Checked {
    source: Source,
    problems: Vec<Diagnostic>,
    /// Whether there was a text to check.
    is_readable: bool,
}

pub(crate) fn run(args: &Args, paths: &[PathBuf]) -> Result<Exit, Failure> {
    let mut found: Vec<Value> = Vec::new();
    let mut exit = Exit::Ok;
    for file in files(paths)? {
        let Checked { source, problems, is_readable } = check(&file);
        if !is_readable {
            exit = Exit::Usage;
        } else if exit == Exit::Ok && problems.iter().any(Diagnostic::is_error) {
            exit = Exit::WorkFailed;
        }
        if args.json {
            if let Value::Array(problems) = document::to_json(&source, &problems) {
                found.extend(problems);
            }
        } else if problems.is_empty() {
            println!("{}: ok", workflow_file::shown(&file));
        } else {
            eprintln!("{}", output::diagnostics(&source, &problems).trim_end());
        }
    }
    if args.json {
        output::json(&found)?;
    }
    Ok(exit)
}

fn check(file: &Path) -> Checked {
    if server::is_lock(file) {
        return match server::load_lock(file) {
            Ok(_) => Checked {
                source: Source::new(&workflow_file::shown(file), ""),
                problems: Vec::new(),
                is_readable: true,
            },
            Err(wrong) => Checked {
                is_readable: file.is_file(),
                source: wrong.source_file,
                problems: wrong.diagnostics,
            },
        };
    }
    match Source::read(file, &Limits::default()) {
        Ok(source) => {
            let problems = workflow_file::check(file, &source).err().unwrap_or_default();
            Checked { source, problems, is_readable: true }
        }
        Err(unread) => {
            Checked { source: unread.source_file, problems: unread.diagnostics, is_readable: false }
        }
    }
}

/// The files that are meant: of a folder its `*.yaml`, as `serve` reads it, in the order of their names.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let of_folder = server::workflow_files(path).map_err(|error| {
            Failure::usage(format!("the folder {} cannot be read: {error}", path.display()))
        })?;
        if of_folder.is_empty() {
            let message = format!(
                "there is no workflow in {}: files named `*.yaml` are looked for, not in folders below it",
                path.display()
            );
            return Err(Failure::usage(message));
        }
        files.extend(of_folder);
    }
    Ok(files)
}
