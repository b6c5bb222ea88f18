//! Cards that come in: `agents add|apply|refresh`.

use std::path::Path;

use anstream::{eprintln, println};
use document::{Limits, Source};
use registry::{ApplyOptions, Curation, Report};
use serde_json::{Value, json};

use super::deciding::decision;
use crate::{
    args::Args,
    content::clean,
    directory::{Directory, Taken},
    failure::{Exit, Failure},
    output::{self, DIM},
    workflow_file,
};

pub(super) async fn add(
    args: &Args,
    directory: &Directory,
    from: &str,
    name: Option<&str>,
    approve: bool,
) -> Result<Exit, Failure> {
    let options = options(approve, false);
    if from.contains("://") {
        let report = directory.take(Taken::Url(from, name), &options).await?;
        return print(args, &report, approve);
    }
    if name.is_some() {
        return Err(Failure::usage("--name goes with a URL; in a file, the catalog gives names"));
    }
    print(args, &directory.take(Taken::File(read(from)?), &options).await?, approve)
}

pub(super) async fn apply(
    args: &Args,
    directory: &Directory,
    file: &Path,
    approve: bool,
    dry_run: bool,
) -> Result<Exit, Failure> {
    let source = workflow_file::read(file)?;
    print(args, &directory.take(Taken::Catalog(source), &options(approve, dry_run)).await?, approve)
}

pub(super) async fn refresh(
    args: &Args,
    directory: &Directory,
    names: &[String],
    dry_run: bool,
) -> Result<Exit, Failure> {
    print(args, &directory.refresh(names, &options(false, dry_run)).await?, false)
}

/// The file of a path, or what comes through stdin.
pub(super) fn read(from: &str) -> Result<Source, Failure> {
    if from == "-" {
        return Source::read_from("stdin", std::io::stdin(), &Limits::default())
            .map_err(|problems| Failure::file(output::problems(&problems)));
    }
    workflow_file::read(Path::new(from))
}

pub(super) fn options(approve: bool, dry_run: bool) -> ApplyOptions {
    ApplyOptions { approve, dry_run, by: decision(None) }
}

fn print(args: &Args, report: &Report, was_approve_asked: bool) -> Result<Exit, Failure> {
    if args.json {
        output::json(&to_json(report))?;
    } else {
        println!("{}", clean(&report.to_string()));
        let waiting = report.agents.iter().any(|agent| agent.standing == Some(Curation::Proposed));
        if waiting {
            let but = match was_approve_asked {
                true => "; --approve leaves what somebody else's catalog lists to you",
                false => "",
            };
            eprintln!("{DIM}proposed agents wait for `convoke agents approve NAME`{but}{DIM:#}");
        }
    }
    Ok(if report.is_complete() { Exit::Ok } else { Exit::WorkFailed })
}

fn to_json(report: &Report) -> Value {
    let agents: Vec<Value> = report
        .agents
        .iter()
        .map(|agent| {
            json!({
                "name": agent.name,
                "outcome": agent.outcome.word(),
                "why": agent.outcome.why(),
                "standing": agent.standing,
                "findings": agent.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "dry_run": report.is_dry_run, "agents": agents })
}
