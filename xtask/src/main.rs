//! Project chores: `cargo xtask codegen|tidy|test|mutate-fields|interop|peers|planning|long|ci`.

mod ci;
mod codegen;
mod fuzz;
mod interop;
mod long;
mod mutate;
mod parts;
mod peers;
mod process;
mod suites;
mod tidy;
mod venv;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Project chores of Convoke.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Generates Rust code from proto/ (no protoc needed), and the tables of the workflow reference; the result
    /// is committed.
    Codegen {
        /// Writes nothing; fails when the committed code differs from what would be generated.
        #[arg(long)]
        check: bool,
    },
    /// Checks the shape of the tree: crate arrows, file lengths, names, leftovers, licences.
    Tidy,
    /// Runs every suite that needs Rust alone, and names the suites it does not run.
    Test {
        /// Runs the suites of these packages only; everything is built all the same.
        #[arg(long, short)]
        package: Vec<String>,
    },
    /// Ignores each field of the workflow language in turn: its row in tests/every/fields has to fail.
    MutateFields {
        /// Only fields with this in their names, as in `step.` or `timeout`.
        word: Option<String>,
    },
    /// Runs Convoke beside agents and clients of both SDKs, which it installs into the target folder.
    Interop,
    /// Measures Convoke's servers beside those of others, which it builds into the target folder.
    Peers {
        /// Options of `benches peers`, such as `--rounds 9`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Measures how Convoke plans beside what a Python program would do.
    Planning {
        /// Options of `benches planning`, such as `--rounds 9`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Runs the long suites, all or by name.
    Long {
        /// Names of suites, each with a number after it that stands for its usual amount; none runs all.
        names: Vec<String>,
        /// Multiplies the cases or rounds of each suite.
        #[arg(long, default_value_t = 1)]
        times: u32,
        /// Lists the suites and leaves.
        #[arg(long)]
        list: bool,
    },
    /// Runs all that `.ci/run` gates on, and prints the time of each part.
    Ci,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().chore {
        Chore::Codegen { check } => codegen::run(check),
        Chore::Tidy => tidy::run(),
        Chore::Test { package } => suites::run(&package),
        Chore::MutateFields { word } => mutate::run(word.as_deref()),
        Chore::Interop => interop::run(),
        Chore::Peers { options } => peers::run(&options),
        Chore::Planning { options } => peers::planning(&options),
        Chore::Long { list: true, .. } => long::list(),
        Chore::Long { names, times, .. } => long::run(&names, times),
        Chore::Ci => ci::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
