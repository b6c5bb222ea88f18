//! Cards as they are and were: `agents diff|lint|export`.

use anstream::println;
use document::Severity;
use registry::{CardChange, Drift, Finding};
use serde_json::{Value, json};
use server::directory::wire::LintedOut;

use super::taking::{options, read};
use crate::{
    args::Args,
    content::brief,
    directory::Directory,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) async fn diff(
    args: &Args,
    directory: &Directory,
    name: &str,
    from: Option<u32>,
    to: Option<u32>,
) -> Result<Exit, Failure> {
    let difference = directory.diff(name, from, to).await?;
    if args.json {
        output::json(&difference)?;
        return Ok(Exit::Ok);
    }
    let class = difference.drift.class().as_str();
    println!(
        "{BOLD}{}{BOLD:#} version {} → {}: {class}",
        brief(&difference.name),
        difference.from,
        difference.to
    );
    if let Drift::Breaking(broken) = &difference.drift {
        for what in broken {
            println!("  ! {}", brief(what));
        }
    }
    for change in &difference.changes {
        println!("  {}", brief(&in_a_line(change)));
    }
    Ok(Exit::Ok)
}

/// Signatures say nothing to a person; what they are worth is said before.
fn in_a_line(change: &CardChange) -> String {
    match change.pointer.as_str() {
        "/signatures" => "~ /signatures".to_owned(),
        _ => change.to_string(),
    }
}

pub(super) async fn lint(args: &Args, directory: &Directory, what: &str) -> Result<Exit, Failure> {
    let all = if what.contains("://") {
        directory.lint_url(what).await?
    } else if let Some(known) = directory.lint_known(what).await? {
        vec![known]
    } else {
        directory.lint_file(read(what)?, &options(false, true)).await?
    };
    print_findings(args, &all)?;
    let mut findings = all.iter().flat_map(|linted| &linted.findings);
    let has_errors = findings.any(|finding| finding.severity == Severity::Error);
    Ok(if has_errors { Exit::WorkFailed } else { Exit::Ok })
}

fn print_findings(args: &Args, all: &[LintedOut]) -> Result<(), Failure> {
    if args.json {
        let agents = all.iter().map(|LintedOut { name, findings }| {
            let findings: Vec<Value> = findings.iter().map(finding_json).collect();
            json!({ "name": name, "findings": findings })
        });
        return output::json(&agents.collect::<Vec<_>>());
    }
    for LintedOut { name, findings } in all {
        let clear = if findings.is_empty() { "nothing to be better at" } else { "" };
        println!("{BOLD}{}{BOLD:#} {DIM}{clear}{DIM:#}", brief(name));
        for finding in findings {
            println!("  {}", brief(&finding.to_string()));
        }
    }
    Ok(())
}

fn finding_json(finding: &Finding) -> Value {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    json!({
        "code": finding.code,
        "severity": severity,
        "pointer": finding.pointer,
        "message": finding.message,
        "help": finding.help,
        "place": finding.place,
    })
}

pub(super) async fn export(
    args: &Args,
    directory: &Directory,
    names: &[String],
) -> Result<Exit, Failure> {
    let catalog = directory.export(names).await?;
    if args.json {
        output::json(&catalog)?;
    } else {
        let yaml = document::to_yaml(&catalog).map_err(Failure::work)?;
        if document::printable(&yaml) != yaml {
            // A card with what a terminal would obey. JSON is YAML, and has an escape for all of it.
            output::json(&catalog)?;
            return Ok(Exit::Ok);
        }
        println!("{}", yaml.trim_end());
    }
    Ok(Exit::Ok)
}
