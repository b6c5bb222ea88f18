//! `convoke runs`

use anstream::println;
use comfy_table::{Table, presets};
use executor::{RunId, RunQuery, RunSummary, run::StepId};
use protocol::v1::{Artifact, Part};

use crate::{
    args::{Args, ReplyArgs, RunsCommand},
    content::{self, StepReport},
    failure::{Exit, Failure},
    output::{self, BOLD, DIM},
    place::Place,
};

pub(crate) async fn run(args: &Args, command: &RunsCommand) -> Result<Exit, Failure> {
    match command {
        RunsCommand::List { limit } => {
            list(args, &Place::look(args).await?, usize::from(*limit)).await
        }
        RunsCommand::Show { run } => show(args, &Place::look(args).await?, run).await,
        RunsCommand::Watch { run } => super::watch::run(args, run).await,
        RunsCommand::Reply { run, reply: said } => reply(args, run, said).await,
        RunsCommand::Cancel { run } => super::run::cancel(args, run).await,
    }
}

/// The last word is the answer, where a flag is not; one before it names the step, if `--step` does not.
async fn reply(args: &Args, run: &str, said: &ReplyArgs) -> Result<Exit, Failure> {
    let named = said.step.as_deref();
    let (step, answer) = match (said.decision(), named, said.answer.as_slice()) {
        (Some(decision), _, []) => (named, decision.part()),
        (None, None, [step, text]) => (Some(step.as_str()), Part::text(text)),
        (None, _, [text]) => (named, Part::text(text)),
        (None, Some(_), [_, ..]) => {
            return Err(Failure::usage("--step names the step already: give the answer alone"));
        }
        _ => {
            let help = "give the answer, or the step and the answer, or one of --resend, --failed and --task";
            return Err(Failure::usage(help));
        }
    };
    super::run::reply(args, run, step.map(StepId::new), answer).await
}

async fn list(args: &Args, place: &Place, limit: usize) -> Result<Exit, Failure> {
    let page = place.runs().list(RunQuery { limit, ..RunQuery::default() }).await?;
    if args.json {
        output::json(&page.runs)?;
        return Ok(Exit::Ok);
    }
    if page.runs.is_empty() {
        anstream::eprintln!("no runs yet; `convoke run FILE` starts one");
        return Ok(Exit::Ok);
    }
    println!("{}", table(&page.runs).trim_fmt());
    let total = usize::try_from(page.total).unwrap_or(usize::MAX);
    if total > page.runs.len() {
        anstream::eprintln!("{} of {total}; --limit shows more", page.runs.len());
    }
    Ok(Exit::Ok)
}

fn table(runs: &[RunSummary]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["RUN", "WORKFLOW", "STATE", "STARTED", "ERROR"]);
    for run in runs {
        table.add_row([
            run.id.to_string(),
            run.workflow.clone().unwrap_or_default(),
            run.state.as_str().to_owned(),
            run.started_at.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
            run.error.as_deref().map(content::clean).unwrap_or_default(),
        ]);
    }
    table
}

async fn show(args: &Args, place: &Place, run: &str) -> Result<Exit, Failure> {
    let id: RunId = run.parse().map_err(Failure::usage)?;
    let runs = place.runs();
    let recorded = runs.read(&id).await?;
    let outputs = runs.outputs(&recorded).await?;
    let report = content::report(&runs, &recorded, outputs).await?;
    if args.json {
        output::json(&report)?;
        return Ok(Exit::Ok);
    }
    println!("{BOLD}{}{BOLD:#} of {}: {}", report.run, report.workflow, report.state);
    println!("{DIM}context{DIM:#} {}", report.context_id);
    if let Some(error) = &report.error {
        println!("{DIM}error{DIM:#} {}", content::clean(error));
    }
    if report.state == "working" {
        match place.is_driven(&id).await? {
            true => println!("{DIM}follow with{DIM:#} convoke runs watch {}", report.run),
            false => println!("{DIM}go on with{DIM:#} convoke run --resume {}", report.run),
        }
    }
    for step in &report.steps {
        print_step(step, "");
    }
    if let Some(clean_up) = &report.clean_up {
        println!("\n{DIM}cleaned up by{DIM:#} {}: {}", clean_up.run, clean_up.state);
        clean_up.steps.iter().for_each(|step| print_step(step, ""));
    }
    for artifact in &report.outputs {
        println!("\n{BOLD}{}{BOLD:#}", content::clean(&artifact.name));
        for part in &artifact.parts {
            println!("{}", content::shown(part));
        }
    }
    Ok(Exit::Ok)
}

/// `above` leads to the run that it is a step of: both together are the address of its pauses.
fn print_step(step: &StepReport, above: &str) {
    println!("\n{BOLD}{above}{}{BOLD:#}  {}", step.step, step.state);
    if let Some(agent) = &step.agent {
        let rounds = step.rounds.map(|rounds| format!("  {DIM}rounds{DIM:#} {rounds}"));
        let fallback = step.fallback.map(|nth| format!(" (fallback {nth})"));
        println!(
            "  {DIM}agent{DIM:#} {}{}  {DIM}attempts{DIM:#} {}{}",
            content::clean(agent),
            fallback.unwrap_or_default(),
            step.attempts,
            rounds.unwrap_or_default()
        );
    }
    if let Some(task) = &step.task_id {
        println!("  {DIM}task{DIM:#} {}", content::clean(task));
    }
    if let Some(run) = &step.reused_from {
        println!("  {DIM}reused from run{DIM:#} {run}");
    }
    if let Some(why) = step.error.as_ref().or(step.reason.as_ref()) {
        println!("  {DIM}why{DIM:#} {}", content::clean(why));
    }
    if let (Some(what), Some(question)) = (step.waits_for, &step.question) {
        println!("  {DIM}waits for{DIM:#} {what}: {question}");
    }
    for version in &step.earlier {
        print_artifact(&format!("round {}", version.round), &version.artifact);
    }
    for artifact in &step.artifacts {
        print_artifact("artifact", artifact);
    }
    for inner in step.sub_run.iter().flat_map(|run| &run.steps) {
        print_step(inner, &format!("{above}{}/", step.step));
    }
}

fn print_artifact(what: &str, artifact: &Artifact) {
    let parts: Vec<String> = artifact.parts.iter().map(content::shown).collect();
    println!("  {DIM}{what}{DIM:#} {}: {}", content::clean(&artifact.name), parts.join(" "));
}
