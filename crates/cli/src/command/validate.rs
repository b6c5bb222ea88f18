//! `convoke validate`

use std::path::PathBuf;

use anstream::{eprintln, println};
use serde_json::Value;

use crate::{
    args::Args,
    failure::{Exit, Failure},
    output, workflow_file,
};

pub(crate) fn run(args: &Args, files: &[PathBuf]) -> Result<Exit, Failure> {
    let mut found: Vec<Value> = Vec::new();
    let mut has_errors = false;
    for file in files {
        let (source, problems) = match document::Source::read(file, &document::Limits::default()) {
            Ok(source) => {
                let problems = planner::check(&source).err().unwrap_or_default();
                (source, problems)
            }
            Err(problems) => (problems.source_file, problems.diagnostics),
        };
        has_errors |= problems.iter().any(document::Diagnostic::is_error);
        if args.json {
            if let Value::Array(problems) = document::to_json(&source, &problems) {
                found.extend(problems);
            }
        } else if problems.is_empty() {
            println!("{}: ok", workflow_file::shown(file));
        } else {
            eprintln!("{}", output::diagnostics(&source, &problems).trim_end());
        }
    }
    if args.json {
        output::json(&found)?;
    }
    Ok(if has_errors { Exit::WorkFailed } else { Exit::Ok })
}
