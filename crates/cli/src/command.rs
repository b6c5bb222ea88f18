//! One command, one file.

mod agents;
pub(crate) mod card;
mod config;
mod deliveries;
mod demo;
mod init;
mod keys;
mod plan;
mod run;
mod runs;
mod schema;
mod send;
mod serve;
mod task;
mod validate;
mod watch;
mod webhook;

use crate::{
    args::{Args, Command, WebhookCommand},
    failure::{Exit, Failure},
    interrupts::until_interrupted,
};

/// Runs what was asked for.
pub(crate) async fn run(args: Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Run(run) => run::run(&args, run).await,
        Command::Demo(demo) => demo::run(&args, demo).await,
        Command::Serve(serve) => serve::run(&args, serve).await,
        Command::Config(config) => config::run(&args, config),
        Command::Validate { paths } => validate::run(&args, paths),
        Command::Schema => schema::run(),
        Command::Init { folder } => init::run(folder),
        Command::Plan { file, format, lock } => plan::run(&args, file, *format, *lock).await,
        Command::Agents(command) => agents::run(&args, command).await,
        Command::Runs(command) => runs::run(&args, command).await,
        Command::Deliveries(command) => deliveries::run(&args, command).await,
        Command::Keys(command) => keys::run(&args, command).await,
        Command::Webhook(WebhookCommand::Listen(listen)) => webhook::listen(&args, listen).await,
        Command::Send(send) => send::run(&args, send).await,
        Command::Task(command) => until_interrupted(task::run(&args, command)).await,
        Command::Card(command) => card::run(&args, command).await,
    }
}
