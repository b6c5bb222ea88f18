//! The command line: arguments, wiring, terminal output. No logic lives here.

mod agent;
mod args;
mod command;
mod config;
mod content;
mod directory;
mod drive;
mod event;
mod failure;
mod interrupts;
mod message;
mod output;
mod place;
mod progress;
mod prompt;
mod reply;
mod telemetry;
mod workflow_file;

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;

use crate::{args::Args, failure::Exit};

/// Plans, journals and Messages are many small values: a third of planning was the allocator of the C library.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    telemetry::install(args.log.as_deref().unwrap_or(telemetry::unasked(&args.command)));
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return Exit::Unavailable.into();
        }
    };
    let exit = runtime.block_on(command::run(args)).unwrap_or_else(failure::Failure::report);
    // Whatever still runs in the background has no one left to report to.
    runtime.shutdown_background();
    exit.into()
}
