//! Convoke's servers beside those of others: the same requests from the same load, in turns.
//!
//! Every server is a process of its own. In a round each gets the load once; what is compared is the
//! median over the rounds, and the processor time of the server per answer beside it, which says
//! more on a busy machine.

pub mod agent;
pub mod asked;
pub mod ceiling;
pub mod durable;
pub mod load;
pub mod report;
pub mod servers;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use self::{
    asked::Ask,
    load::{Answered, Load},
    servers::Server,
};
use crate::{agent::AgentProcess, measure::median};

/// Our side, in every case.
pub const CONVOKE: &str = "convoke";
/// Our echo agent that keeps its Tasks on disk.
pub const DURABLE_ECHO: &str = "protocol and store";
/// Bare axum.
pub const CEILING: &str = "bare axum";
/// The SDK of the A2A project for Rust.
pub const OFFICIAL: &str = "a2a-server-lf";
/// The other Rust server that knows the methods of A2A 1.0.
pub const INDEPENDENT: &str = "a2a-protocol-server";
/// The SDK for Python.
pub const PYTHON: &str = "a2a-sdk (Python)";

/// SendMessage at these numbers of connections.
pub const ECHO: [(&str, usize); 2] =
    [("SendMessage, 16 connections", 16), ("SendMessage, 64 connections", 64)];
/// Durable SendMessage.
pub const DURABLE: &str = "durable SendMessage, 16";
/// Streams between whose chunks the agent lets others have their turn.
pub const STREAMS: &str = "streams of 100 chunks, 16";
/// Streams of an agent that never waits.
pub const BURSTS: &str = "bursts of 1000 chunks, 4";

/// The agent of the peers on the SDK for Python.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/durable.py");

/// What to run. What is not given is left out.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// The binary `convoke`, for what is durable
    #[arg(long)]
    pub convoke: Option<PathBuf>,
    /// The binary of `benches/peers`
    #[arg(long)]
    pub peers: Option<PathBuf>,
    /// A Python with what `benches/peers/requirements.txt` names
    #[arg(long)]
    pub python: Option<PathBuf>,
    /// Rounds, after one to warm up
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// How long each server gets the load in a round, in milliseconds
    #[arg(long, default_value_t = 1_000)]
    pub round_ms: u64,
    /// Runs only cases whose name contains this
    #[arg(long, default_value = "")]
    pub only: String,
    /// The command that the report names
    #[arg(long, hide = true)]
    pub again: Option<String>,
}

/// One server in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// What was asked.
    pub case: &'static str,
    /// Who answered.
    pub server: &'static str,
    /// Whole answers in a second, the median of the rounds.
    pub per_second: f64,
    /// The least and the most of them.
    pub range: [f64; 2],
    /// The server's processor time for an answer in microseconds, the median of the rounds.
    pub cpu_us: f64,
    /// Answers in all rounds.
    pub answers: usize,
    /// Answers that ended otherwise than with a completed Task.
    pub broken: usize,
    /// Chunks that did not come.
    pub lost: usize,
}

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Results {
    /// Processes that waited for a processor in the minute before, on average.
    pub load_before: Option<f64>,
    /// By case and server.
    pub measured: Vec<Measured>,
}

impl Results {
    /// Finds a server in a case.
    #[must_use]
    pub fn find(&self, case: &str, server: &str) -> Option<&Measured> {
        self.measured.iter().find(|one| one.case == case && one.server == server)
    }
}

/// Runs every case, with data in `folder` and a word to `progress` before each.
///
/// # Errors
/// When a server does not start, or answers a SendMessage with anything but a completed Task.
pub fn run(options: &Options, folder: &Path, mut progress: impl FnMut(&str)) -> Result<Results> {
    let mut results = Results { load_before: load_average(), ..Results::default() };
    let mut rounds = |case, servers: &[Server], load: Load, rounds| -> Result<()> {
        if case_is_wanted(options, case) {
            progress(case);
            results.measured.extend(measure(case, servers, load, rounds)?);
        }
        Ok(())
    };
    let time = Duration::from_millis(options.round_ms);
    let most = usize::MAX;
    let servers = in_memory(options)?;
    for (case, connections) in ECHO {
        let load = Load { ask: Ask::Echo, connections, time, most };
        rounds(case, &servers, load, options.rounds)?;
    }
    let load = Load { ask: Ask::Chunks(100), connections: 16, time, most };
    rounds(STREAMS, &servers, load, options.rounds)?;
    let burst =
        Load { ask: Ask::Burst(1_000), connections: 4, time: Duration::from_secs(10), most: 10 };
    rounds(BURSTS, &servers, burst, 0)?;
    drop(servers);
    if case_is_wanted(options, DURABLE) {
        let folder = tempfile::tempdir_in(folder)
            .with_context(|| format!("making a data folder in {}", folder.display()))?;
        let agent = AgentProcess::start()?;
        let servers = durable(options, folder.path(), &agent.plain())?;
        let load = Load { ask: Ask::Echo, connections: 16, time, most };
        rounds(DURABLE, &servers, load, options.rounds)?;
    }
    Ok(results)
}

fn case_is_wanted(options: &Options, case: &str) -> bool {
    case.contains(&options.only)
}

/// The echo agents that keep their Tasks in memory, and the ceiling.
fn in_memory(options: &Options) -> Result<Vec<Server>> {
    let mut servers =
        vec![Server::start_part(CONVOKE, &["echo"])?, Server::start_part(CEILING, &["ceiling"])?];
    if let Some(program) = &options.peers {
        for name in [OFFICIAL, INDEPENDENT] {
            servers.push(Server::start(name, Command::new(program).arg(name))?);
        }
    }
    Ok(servers)
}

/// The servers whose Tasks outlive them.
fn durable(options: &Options, folder: &Path, agent: &str) -> Result<Vec<Server>> {
    let own = folder.join("echo");
    let part = [OsStr::new("durable-echo"), own.as_os_str()];
    let mut servers = vec![Server::start_part(DURABLE_ECHO, &part)?];
    if let Some(program) = &options.convoke {
        servers.push(Server::start_convoke(CONVOKE, program, folder, agent)?);
    }
    if let Some(python) = &options.python {
        let mut command = Command::new(python);
        // The spans of the SDK complain without a collector.
        command.env("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false");
        servers.push(Server::start(PYTHON, command.arg(SCRIPT).arg(folder.join("python.db")))?);
    }
    Ok(servers)
}

/// What one server did in one round.
struct Round {
    answered: Answered,
    cpu: Duration,
}

impl Round {
    fn of(server: &Server, load: Load) -> Result<Self> {
        let before = server.cpu();
        let answered = load.put(&server.url).with_context(|| format!("asking {}", server.name))?;
        Ok(Self { answered, cpu: server.cpu().saturating_sub(before) })
    }

    fn per_second(&self) -> f64 {
        self.answered.completed as f64 / self.answered.wall.as_secs_f64()
    }

    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.answered.completed.max(1) as f64
    }
}

/// Lets every server have the load in turn. Without rounds, the one that usually warms up counts.
fn measure(
    case: &'static str,
    servers: &[Server],
    load: Load,
    rounds: u32,
) -> Result<Vec<Measured>> {
    let mut by_server: Vec<Vec<Round>> = servers.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        for (server, counted) in servers.iter().zip(&mut by_server) {
            let one = Round::of(server, load)?;
            let is_whole = load.ask != Ask::Echo || one.answered.broken == 0;
            ensure!(is_whole, "{} does not answer with a completed Task", server.name);
            if round > 0 || rounds == 0 {
                counted.push(one);
            }
        }
    }
    Ok(servers.iter().zip(&by_server).map(|(server, rounds)| put(case, server, rounds)).collect())
}

/// Puts the rounds of a server together.
fn put(case: &'static str, server: &Server, rounds: &[Round]) -> Measured {
    let sorted = |value: fn(&Round) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let count = |value: fn(&Answered) -> usize| rounds.iter().map(|one| value(&one.answered)).sum();
    let rates = sorted(Round::per_second);
    Measured {
        case,
        server: server.name,
        per_second: median(&rates),
        range: [rates[0], rates[rates.len() - 1]],
        cpu_us: median(&sorted(Round::cpu_us)),
        answers: count(|answered| answered.completed + answered.broken),
        broken: count(|answered| answered.broken),
        lost: count(|answered| answered.lost),
    }
}

/// None where the system does not tell.
fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}
