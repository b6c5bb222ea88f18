//! The speed harness: `cargo run --release -p benches`.

use std::path::PathBuf;

use anyhow::Result;
use benches::{agent, report, suite};
use clap::{Parser, Subcommand};

/// Measures durable runs against a floor that does the same with bare hyper and SQLite.
#[derive(Parser)]
#[command(name = "benches")]
struct Args {
    #[command(flatten)]
    options: suite::Options,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    /// Keeps the data under this folder while it runs; its disk is what is flushed to
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Serves as the agent, for another process of this program
    #[command(hide = true)]
    Agent,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if let Some(Part::Agent) = args.part {
        return agent::serve_until_orphaned();
    }
    let results = suite::run(&args.options, &args.folder, |name| eprintln!("{name} …"))?;
    let command = command();
    if args.json {
        println!("{:#}", report::json(&results, &command));
    } else {
        print!("{}", report::text(&results, &command));
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
