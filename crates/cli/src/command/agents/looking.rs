//! Cards as they are and were: `agents diff|lint|export`.

use anstream::println;
use document::Severity;
use registry::{
    Applied, ApplyOptions, Drift, Finding, Outcome, Record, Registry, lint as look_over, to_catalog,
};
use serde_json::{Value, json};

use super::taking::{options, read};
use crate::{
    args::Args,
    content::clean,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
};

pub(super) async fn diff(
    args: &Args,
    registry: &Registry,
    name: &str,
    from: Option<u32>,
    to: Option<u32>,
) -> Result<Exit, Failure> {
    let difference = registry.diff(name, from, to).await?;
    if args.json {
        output::json(&difference)?;
        return Ok(Exit::Ok);
    }
    let class = difference.drift.class().as_str();
    println!(
        "{BOLD}{}{BOLD:#} version {} → {}: {class}",
        clean(&difference.name),
        difference.from,
        difference.to
    );
    if let Drift::Breaking(broken) = &difference.drift {
        for what in broken {
            println!("  ! {}", clean(what));
        }
    }
    for change in &difference.changes {
        println!("  {}", clean(&change.to_string()));
    }
    Ok(Exit::Ok)
}

pub(super) async fn lint(args: &Args, registry: &Registry, what: &str) -> Result<Exit, Failure> {
    let mut all: Vec<(String, Vec<Finding>)> = Vec::new();
    if what.contains("://") {
        let fetched = registry.cards().get_now(what).await;
        let fetched = fetched.map_err(registry::RegistryError::from)?;
        all.push((fetched.card.name.clone(), look_over(&fetched.card, Some(&fetched.url))));
    } else if let Ok(record) = registry.record(what).await {
        let url = (!record.url.is_empty()).then_some(record.url.as_str());
        all.push((record.name.clone(), look_over(&record.read_card()?, url)));
    } else {
        let options = ApplyOptions { dry_run: true, ..options(false, true) };
        let report = registry.add_file(read(what)?, &options).await?;
        all.extend(report.agents.into_iter().map(looked_over));
    }
    print_findings(args, &all)?;
    let mut findings = all.iter().flat_map(|(_, findings)| findings);
    let has_errors = findings.any(|finding| finding.severity == Severity::Error);
    Ok(if has_errors { Exit::WorkFailed } else { Exit::Ok })
}

fn looked_over(agent: Applied) -> (String, Vec<Finding>) {
    match agent.outcome {
        Outcome::Failed(why) => (agent.name, vec![Finding::unreadable(why)]),
        _ => (agent.name, agent.findings),
    }
}

fn print_findings(args: &Args, all: &[(String, Vec<Finding>)]) -> Result<(), Failure> {
    if args.json {
        let agents = all.iter().map(|(name, findings)| {
            let findings: Vec<Value> = findings.iter().map(finding_json).collect();
            json!({ "name": name, "findings": findings })
        });
        return output::json(&agents.collect::<Vec<_>>());
    }
    for (name, findings) in all {
        let clear = if findings.is_empty() { "nothing to be better at" } else { "" };
        println!("{BOLD}{}{BOLD:#} {DIM}{clear}{DIM:#}", clean(name));
        for finding in findings {
            println!("  {}", clean(&finding.to_string()));
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
    registry: &Registry,
    names: &[String],
) -> Result<Exit, Failure> {
    let mut records: Vec<Record> = Vec::new();
    if names.is_empty() {
        records = registry.records().await?;
    }
    for name in names {
        records.push(registry.record(name).await?);
    }
    let catalog = to_catalog(&records);
    if args.json {
        output::json(&catalog)?;
    } else {
        println!("{}", document::to_yaml(&catalog).map_err(Failure::work)?.trim_end());
    }
    Ok(Exit::Ok)
}
