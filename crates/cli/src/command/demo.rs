//! `convoke demo`: the thirty-second tour.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Stdio,
    time::Duration,
};

use anstream::eprintln;
use document::Source;
use examples::{Kind, Options, Running, spawn};
use jiff::Timestamp;
use protocol::card::Binding;
use registry::{ApplyOptions, Decision};
use tokio::process::Command;

use crate::{
    args::{Args, DemoArgs},
    failure::{Exit, Failure},
    output::{BOLD, DIM},
    place::Place,
    workflow_file,
};

const WORKFLOW: &str = include_str!("../../../../workflows/helsinki-trip.yaml");
const REQUEST: &str = "request=A week in Helsinki for two, with snow.";
/// The agents of the trip, each called by another binding.
const AGENTS: [(Kind, Binding); 3] = [
    (Kind::Flights, Binding::JsonRpc),
    (Kind::Hotels, Binding::HttpJson),
    (Kind::Activities, Binding::Grpc),
];
/// How long the tour waits for something to happen before it says that it did not.
const PATIENCE: Duration = Duration::from_secs(60);
/// From a Message's arrival to the crash: long enough for the agent's Task to be bound, shorter than its work.
const BEFORE_CRASH: Duration = Duration::from_millis(400);

pub(crate) async fn run(args: &Args, demo: &DemoArgs) -> Result<Exit, Failure> {
    let folder = tempfile::tempdir().map_err(Failure::unavailable)?;
    let data = folder.path().join("data");
    let workflow = folder.path().join("helsinki-trip.yaml");
    std::fs::write(&workflow, WORKFLOW).map_err(Failure::unavailable)?;

    headline("Three travel agents start, each an A2A server of its own");
    let agents = start_agents().await?;
    headline("They are taken into the agent directory, and the workflow is bound to them");
    prepare(args, &data, &agents).await?;

    headline("The trip runs, until its orchestrator is killed");
    let run = crash(&data, &workflow, &agents).await?;
    headline("It goes on from its journal");
    let exit =
        convoke(&data, &["run", "--resume", &run]).status().await.map_err(Failure::unavailable)?;
    if !exit.success() {
        return Err(Failure::work("the resumed run did not complete"));
    }
    count_calls(&agents);
    if demo.keep {
        eprintln!("\nThe agents keep listening until Ctrl-C.");
        tokio::signal::ctrl_c().await.map_err(Failure::unavailable)?;
    }
    Ok(Exit::Ok)
}

async fn start_agents() -> Result<Vec<Running>, Failure> {
    let mut agents = Vec::new();
    for (kind, binding) in AGENTS {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = Options { binding, ..Options::default() };
        let agent = spawn(kind, anywhere, options).await.map_err(Failure::unavailable)?;
        let name = format!("{kind:?}").to_lowercase();
        eprintln!("  {name:12} {:10} {}", binding.to_string(), agent.card_url());
        agents.push(agent);
    }
    Ok(agents)
}

/// Fills a data folder of the tour's own and shows the plan. The folder is unlocked when this returns.
async fn prepare(args: &Args, data: &Path, agents: &[Running]) -> Result<(), Failure> {
    let args = Args { data: Some(data.to_owned()), json: false, ..args.clone() };
    let place = Place::open(&args).await?;
    let registry = place.registry().await?;
    let by = Decision {
        who: "demo".to_owned(),
        why: "an example agent".to_owned(),
        at: Timestamp::now(),
    };
    let options = ApplyOptions { approve: true, dry_run: false, by };
    for agent in agents {
        registry.add_url(&agent.url, None, None, &options).await?;
    }
    let source = Source::new("helsinki-trip.yaml", WORKFLOW);
    let checked = planner::check(&source).map_err(|problems| {
        Failure::file_as_things_are(crate::output::diagnostics(&source, &problems))
    })?;
    let plan = workflow_file::bind(&place, checked).await?;
    eprintln!("{}", planner::show::text(&plan).trim_end());
    Ok(())
}

/// Starts the run as a process, kills it while agents work, and returns the run's id.
async fn crash(data: &Path, workflow: &Path, agents: &[Running]) -> Result<String, Failure> {
    let workflow = workflow.to_string_lossy();
    eprintln!("{DIM}$ convoke run helsinki-trip.yaml -i \"{REQUEST}\"{DIM:#}");
    let mut child = convoke(data, &["run", &workflow, "-i", REQUEST])
        .spawn()
        .map_err(|error| Failure::unavailable(format!("cannot start the run: {error}")))?;
    let second = agents.iter().find(|agent| agent.kind == Kind::Hotels);
    let is_under_way = async {
        while second.is_some_and(|agent| agent.calls.count() == 0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        waited = tokio::time::timeout(PATIENCE, is_under_way) => {
            waited.map_err(|_| Failure::work("the run did not reach its second step in time"))?;
        }
        exit = child.wait() => {
            let exit = exit.map_err(Failure::unavailable)?;
            return Err(Failure::work(format!("the run ended before it could be killed: {exit}")));
        }
    }
    tokio::time::sleep(BEFORE_CRASH).await;
    child.kill().await.map_err(Failure::unavailable)?;
    eprintln!("\n{BOLD}kill -9{BOLD:#}: the orchestrator is gone, its agents work on.");
    last_run(data).await
}

/// The id of the run that was interrupted, as the store has it.
async fn last_run(data: &Path) -> Result<String, Failure> {
    let output = convoke(data, &["--json", "runs", "list", "--limit", "1"])
        .stdout(Stdio::piped())
        .output()
        .await
        .map_err(Failure::unavailable)?;
    let runs: Vec<executor::RunSummary> = serde_json::from_slice(&output.stdout)?;
    let run = runs.first().ok_or_else(|| Failure::work("the store has no run"))?;
    Ok(run.id.to_string())
}

/// This program once more, on the tour's own data folder.
fn convoke(data: &Path, args: &[&str]) -> Command {
    let this = std::env::current_exe().unwrap_or_else(|_| "convoke".into());
    let mut command = Command::new(this);
    command.arg("--data").arg(data).args(args).stdin(Stdio::null()).kill_on_drop(true);
    command
}

fn count_calls(agents: &[Running]) {
    headline("What the agents saw");
    for agent in agents {
        let name = format!("{:?}", agent.kind).to_lowercase();
        let calls = agent.calls.all();
        let distinct: std::collections::BTreeSet<&str> =
            calls.iter().map(|call| call.message_id.as_str()).collect();
        eprintln!("  {name:12} Messages received: {}, distinct: {}", calls.len(), distinct.len());
    }
    eprintln!("{DIM}A Message whose Task was known before the crash was not sent again.{DIM:#}");
}

fn headline(text: &str) {
    eprintln!("\n{BOLD}{text}{BOLD:#}");
}
