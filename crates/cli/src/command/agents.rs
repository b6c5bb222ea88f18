//! `convoke agents`

mod extended;
mod login;

use std::{collections::BTreeSet, path::Path, sync::Arc};

use anstream::{eprintln, println};
use comfy_table::{Table, presets};
use document::{Limits, Source};
use jiff::Timestamp;
use registry::{
    Agent, ApplyOptions, Curation, Decision, Hit, Record, Registry, RegistryError, Report,
};
use serde_json::{Value, json};

use super::card;
use crate::{
    args::{AgentsCommand, Args},
    content::clean,
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
    place::Place,
    workflow_file,
};

pub(crate) async fn run(args: &Args, command: &AgentsCommand) -> Result<Exit, Failure> {
    let place = match command {
        AgentsCommand::List { .. }
        | AgentsCommand::Search { .. }
        | AgentsCommand::Show { .. }
        | AgentsCommand::Apply { dry_run: true, .. } => Place::look(args).await?,
        _ => Place::open(args).await?,
    };
    let registry = place.registry().await?;
    match command {
        AgentsCommand::Add { from, name, approve } => {
            let report = add(&registry, from, name.as_deref(), *approve).await?;
            print_report(args, &report)
        }
        AgentsCommand::Apply { file, approve, dry_run } => {
            let options = options(*approve, *dry_run);
            let report = registry.apply(workflow_file::read(file)?, &options).await?;
            print_report(args, &report)
        }
        AgentsCommand::List { tags, skill } => {
            let agents = registry.list().into_iter().filter(|agent| {
                has_tags(agent, tags) && skill.as_ref().is_none_or(|id| has_skill(agent, id))
            });
            print_list(args, &agents.collect::<Vec<_>>())
        }
        AgentsCommand::Search { words, tags } => {
            let hits = registry.index().search(words);
            let hits: Vec<Hit> =
                hits.into_iter().filter(|hit| has_tags(&hit.agent, tags)).collect();
            print_hits(args, &hits)
        }
        AgentsCommand::Show { name, extended: true } => extended::show(args, &place, name).await,
        AgentsCommand::Show { name, extended: false } => show(args, &registry, name).await,
        AgentsCommand::Approve(decision) => {
            decide(args, &registry, Curation::Approved, &decision.name, decision.why.as_deref())
                .await
        }
        AgentsCommand::Reject(decision) => {
            decide(args, &registry, Curation::Rejected, &decision.name, decision.why.as_deref())
                .await
        }
        AgentsCommand::Login { name } => login::run(&place, name).await,
        AgentsCommand::Remove { name } => {
            let record = registry.remove(name).await?;
            if args.json {
                output::json(&json!({ "name": record.name, "outcome": "removed" }))?;
            } else {
                println!("removed {}", clean(&record.name));
            }
            Ok(Exit::Ok)
        }
    }
}

async fn add(
    registry: &Registry,
    from: &str,
    name: Option<&str>,
    approve: bool,
) -> Result<Report, Failure> {
    let options = options(approve, false);
    if from.contains("://") {
        return Ok(registry.add_url(from, name, None, &options).await?);
    }
    if name.is_some() {
        return Err(Failure::usage("--name goes with a URL; in a file, the catalog gives names"));
    }
    let source = if from == "-" {
        Source::read_from("stdin", std::io::stdin(), &Limits::default())
            .map_err(|problems| Failure::file(output::problems(&problems)))?
    } else {
        workflow_file::read(Path::new(from))?
    };
    Ok(registry.add_file(source, &options).await?)
}

fn options(approve: bool, dry_run: bool) -> ApplyOptions {
    ApplyOptions { approve, dry_run, by: decision(None) }
}

/// Whoever is logged in decides.
fn decision(why: Option<&str>) -> Decision {
    let who = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    Decision {
        who: who.unwrap_or_else(|_| "operator".to_owned()),
        why: why.unwrap_or_default().to_owned(),
        at: Timestamp::now(),
    }
}

async fn decide(
    args: &Args,
    registry: &Registry,
    to: Curation,
    name: &str,
    why: Option<&str>,
) -> Result<Exit, Failure> {
    let record = registry.transition(name, to, &decision(why)).await?;
    if args.json {
        output::json(&json!({ "name": record.name, "standing": record.standing() }))?;
    } else {
        println!("{} is {}", clean(&record.name), record.standing());
    }
    Ok(Exit::Ok)
}

fn print_report(args: &Args, report: &Report) -> Result<Exit, Failure> {
    if args.json {
        output::json(&report_json(report))?;
    } else {
        println!("{}", clean(&report.to_string()));
        let waiting = report.agents.iter().any(|agent| agent.standing == Some(Curation::Proposed));
        if waiting {
            eprintln!("{DIM}proposed agents wait for `convoke agents approve NAME`{DIM:#}");
        }
    }
    Ok(if report.is_complete() { Exit::Ok } else { Exit::WorkFailed })
}

fn report_json(report: &Report) -> Value {
    let agents: Vec<Value> = report
        .agents
        .iter()
        .map(|agent| {
            json!({
                "name": agent.name,
                "outcome": agent.outcome.word(),
                "standing": agent.standing,
                "findings": agent.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "dry_run": report.is_dry_run, "agents": agents })
}

fn has_tags(agent: &Agent, wanted: &[String]) -> bool {
    let tags: BTreeSet<String> = agent.all_tags();
    wanted.iter().all(|tag| tags.contains(&tag.trim().to_lowercase()))
}

fn has_skill(agent: &Agent, id: &str) -> bool {
    agent.card.skills.iter().any(|skill| skill.id == id)
}

fn print_list(args: &Args, agents: &[Arc<Agent>]) -> Result<Exit, Failure> {
    if args.json {
        let agents: Vec<Value> = agents.iter().map(|agent| agent_json(agent)).collect();
        output::json(&agents)?;
    } else if agents.is_empty() {
        eprintln!("no agents; `convoke agents add URL --approve` takes one in");
    } else {
        println!("{}", table(agents).trim_fmt());
    }
    Ok(Exit::Ok)
}

fn table(agents: &[Arc<Agent>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["AGENT", "STANDING", "TAGS", "URL"]);
    for agent in agents {
        let tags: Vec<String> = agent.all_tags().into_iter().collect();
        table.add_row([
            clean(&agent.name),
            agent.curation.to_string(),
            clean(&tags.join(", ")),
            clean(&agent.url),
        ]);
    }
    table
}

fn print_hits(args: &Args, hits: &[Hit]) -> Result<Exit, Failure> {
    if args.json {
        let hits: Vec<Value> = hits
            .iter()
            .map(|hit| {
                let why: Vec<String> = hit.matches.iter().map(ToString::to_string).collect();
                json!({ "agent": agent_json(&hit.agent), "score": hit.score, "why": why })
            })
            .collect();
        output::json(&hits)?;
        return Ok(Exit::Ok);
    }
    if hits.is_empty() {
        eprintln!("nothing found");
    }
    for hit in hits {
        let why: Vec<String> = hit.matches.iter().map(ToString::to_string).collect();
        println!("{BOLD}{}{BOLD:#}  {}", clean(&hit.agent.name), hit.agent.curation);
        println!("  {}", clean(&hit.agent.card.description));
        println!("  {DIM}{}{DIM:#}", clean(&why.join("; ")));
    }
    Ok(Exit::Ok)
}

fn agent_json(agent: &Agent) -> Value {
    json!({
        "name": agent.name,
        "standing": agent.curation,
        "url": agent.url,
        "digest": agent.digest.to_string(),
        "tags": agent.all_tags(),
        "skills": agent.card.skills.iter().map(|skill| &skill.id).collect::<Vec<_>>(),
        "description": agent.card.description,
    })
}

async fn show(args: &Args, registry: &Registry, name: &str) -> Result<Exit, Failure> {
    let record = registry.record(name).await?;
    if args.json {
        output::json(&record)?;
        return Ok(Exit::Ok);
    }
    let origin = if record.url.is_empty() { "a file" } else { record.url.as_str() };
    card::print(&record.read_card()?, &clean(origin));
    print_curation(&record);
    Ok(Exit::Ok)
}

fn print_curation(record: &Record) {
    println!("\n{BOLD}{}{BOLD:#} {}", clean(&record.name), record.standing());
    println!("  {DIM}digest{DIM:#} {} {DIM}since{DIM:#} {}", record.digest, record.card_since);
    let details = &record.details;
    let lists = [("tags", details.tags.join(", ")), ("aliases", details.aliases.join(", "))];
    let texts = [("owner", details.owner.clone()), ("notes", details.notes.clone())]
        .map(|(name, text)| (name, text.unwrap_or_default()));
    for (name, text) in lists.into_iter().chain(texts).filter(|(_, text)| !text.is_empty()) {
        println!("  {DIM}{name}{DIM:#} {}", clean(&text));
    }
    for credential in &details.credentials {
        println!("  {DIM}credential{DIM:#} {}", clean(&credential.to_string()));
    }
    for origin in &details.origins {
        println!("  {DIM}credentials also go to{DIM:#} {origin}");
    }
    for change in record.history.changes() {
        let why =
            if change.by.why.is_empty() { String::new() } else { format!(": {}", change.by.why) };
        println!(
            "  {DIM}{}{DIM:#} {} by {}{}",
            change.by.at.strftime("%Y-%m-%d %H:%M:%SZ"),
            change.to,
            clean(&change.by.who),
            clean(&why)
        );
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        match &error {
            RegistryError::File(problems) => Self::file(output::problems(problems)),
            RegistryError::UnknownAgent { .. } | RegistryError::Name { .. } => Self::usage(error),
            RegistryError::Transition { .. } | RegistryError::Withheld { .. } => Self::work(error),
            _ => Self::unavailable(error),
        }
    }
}
