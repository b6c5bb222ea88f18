//! The speed harness: `cargo run --release -p benches`, and `cargo xtask peers`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use benches::{agent, directory, peers, planning, report, suite};
use clap::{Parser, Subcommand};
use serde::Serialize;
use tokio::runtime::Runtime;

/// Measures durable runs against a floor that does the same with bare hyper and SQLite.
#[derive(Parser)]
#[command(name = "benches")]
struct Args {
    #[command(flatten)]
    options: suite::Options,
    /// Prints JSON
    #[arg(long, global = true)]
    json: bool,
    /// Keeps the data under this folder while it runs; its disk is what is flushed to
    #[arg(long, global = true, default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Measures servers beside those of others; `cargo xtask peers` builds all it needs
    Peers(peers::Options),
    /// Serves as the agent, for another process of this program
    #[command(hide = true)]
    Agent,
    /// Serves the echo agent in memory
    #[command(hide = true)]
    Echo,
    /// Serves the echo agent that keeps its Tasks in a folder
    #[command(hide = true)]
    DurableEcho {
        /// Is made
        folder: PathBuf,
    },
    /// Serves what is left without a protocol
    #[command(hide = true)]
    Ceiling,
    /// Measures ranked search over a large directory instead, beside SQLite's FTS5
    Directory(directory::Options),
    /// Measures planning instead: large workflows, and selectors among many agents; `cargo xtask planning` does with
    /// Python beside it
    Planning(planning::Options),
}

fn main() -> Result<()> {
    let args = Args::parse();
    let progress = |name: &str| eprintln!("{name} …");
    let (text, json) = match args.part {
        Some(Part::Agent) => return agent::serve_until_orphaned(),
        Some(Part::Directory(options)) => return search(&options, args.json),
        Some(Part::Planning(options)) => return plan(&options, &args.folder, args.json),
        Some(Part::Echo) => return agent::until_orphaned(&Runtime::new()?, peers::agent::serve),
        Some(Part::DurableEcho { folder }) => {
            let serve = async |listener| peers::durable::serve(listener, &folder).await;
            return agent::until_orphaned(&Runtime::new()?, serve);
        }
        Some(Part::Ceiling) => {
            return agent::until_orphaned(&Runtime::new()?, peers::ceiling::serve);
        }
        Some(Part::Peers(options)) => {
            let results = peers::run(&options, &args.folder, progress)?;
            let command = options.again.unwrap_or_else(command);
            (peers::report::text(&results, &command), peers::report::json(&results, &command))
        }
        None => {
            let results = suite::run(&args.options, &args.folder, progress)?;
            let command = command();
            (report::text(&results, &command), report::json(&results, &command))
        }
    };
    if args.json {
        println!("{json:#}");
    } else {
        print!("{text}");
    }
    Ok(())
}

fn search(options: &directory::Options, is_json: bool) -> Result<()> {
    let measured = directory::run(options)?;
    print(&measured, &directory::text(&measured, &command()), is_json)
}

fn plan(options: &planning::Options, folder: &Path, is_json: bool) -> Result<()> {
    let measured = planning::run(options, folder)?;
    let command = options.again.clone().unwrap_or_else(command);
    print(&measured, &planning::text(&measured, &command), is_json)
}

fn print(measured: &impl Serialize, text: &str, is_json: bool) -> Result<()> {
    if is_json {
        println!("{:#}", serde_json::to_value(measured)?);
    } else {
        print!("{text}");
    }
    Ok(())
}

/// How this very process was asked for, by way of cargo.
fn command() -> String {
    let profile = if cfg!(debug_assertions) { "" } else { " --release" };
    let mut command = format!("cargo run{profile} -p benches");
    for (at, arg) in std::env::args().skip(1).enumerate() {
        command.push_str(if at == 0 { " -- " } else { " " });
        let is_plain = !arg.is_empty() && !arg.contains(|c: char| c.is_whitespace() || c == '\'');
        let quoted = if is_plain { arg } else { format!("'{}'", arg.replace('\'', r"'\''")) };
        command.push_str(&quoted);
    }
    command
}
