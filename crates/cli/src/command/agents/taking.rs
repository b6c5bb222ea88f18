//! Cards that come in: `agents add|apply|refresh`.

use std::path::Path;

use anstream::{eprintln, println};
use document::{Limits, Source};
use registry::{ApplyOptions, Curation, Report};
use serde_json::{Value, json};
use url::{Host, Url};

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
    if let Some(url) = address(from)? {
        let report = directory.take(Taken::Url(&url, name), &options).await?;
        return print(args, &report, approve);
    }
    if name.is_some() {
        return Err(Failure::usage("--name goes with a URL; in a file, the catalog gives names"));
    }
    print(args, &directory.take(Taken::File(read(from)?), &options).await?, approve)
}

/// The URL that is typed, if it is one: on this machine also without its scheme.
///
/// # Errors
/// When what is typed is no file and may be the address of another machine.
fn address(from: &str) -> Result<Option<String>, Failure> {
    if from.contains("://") {
        return Ok(Some(from.to_owned()));
    }
    let written = format!("http://{from}");
    let Ok(url) = Url::parse(&written) else { return Ok(None) };
    let extension = Path::new(from).extension().and_then(|it| it.to_str()).unwrap_or_default();
    let is_meant =
        has_port(from) || (from.contains('.') && !matches!(extension, "json" | "yaml" | "yml"));
    if from.starts_with(['-', '.', '/']) || !is_meant || Path::new(from).exists() {
        return Ok(None);
    }
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if is_here && has_port(from) {
        return Ok(Some(written));
    }
    Err(Failure::usage(format!(
        "there is no file `{from}`; if it is the address of an agent, write its scheme, as in https://{from}"
    )))
}

/// Whether an address names its port, which a URL leaves out where it is the usual one.
fn has_port(address: &str) -> bool {
    let host = address.split('/').next().unwrap_or_default();
    host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_on_this_machine_needs_no_scheme_and_others_are_told_to_have_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let file = file.path().display().to_string();
        let read = |from: &str| address(from).map_err(|error| error.to_string());
        for url in ["http://h", "https://h/card.json"] {
            assert_eq!(read(url), Ok(Some(url.to_owned())));
        }
        for here in ["127.0.0.1:9101", "localhost:9101/agents/a", "[::1]:80"] {
            assert_eq!(read(here), Ok(Some(format!("http://{here}"))));
        }
        for other in ["-", "card.json", "catalog.yaml", "./a.b", "/x/y.txt", "card", &file] {
            assert_eq!(read(other), Ok(None), "{other}");
        }
        for elsewhere in
            ["10.0.0.1:80", "agents.example.com", "agents.example.com:8080", "localhost.:1"]
        {
            let why = read(elsewhere).unwrap_err();
            assert!(why.contains(&format!("https://{elsewhere}")), "{why}");
        }
    }
}
