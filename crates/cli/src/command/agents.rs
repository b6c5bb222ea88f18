//! `convoke agents`

mod deciding;
mod extended;
mod finding;
mod login;
mod looking;
mod probing;
mod showing;
mod taking;

use registry::{Curation, RegistryError};

use super::card;
use crate::{
    args::{AgentsArgs, AgentsCommand, Args},
    directory::Directory,
    failure::{Exit, Failure},
    output,
};

pub(crate) async fn run(args: &Args, asked: &AgentsArgs) -> Result<Exit, Failure> {
    let AgentsArgs { server, command } = asked;
    let directory = Directory::open(args, server, command.only_looks()).await?;
    let directory = &directory;
    let decide = async |to, decision| deciding::decide(args, directory, to, decision).await;
    match command {
        AgentsCommand::Add { from, name, approve } => {
            taking::add(args, directory, from, name.as_deref(), *approve).await
        }
        AgentsCommand::Apply { file, approve, dry_run } => {
            taking::apply(args, directory, file, *approve, *dry_run).await
        }
        AgentsCommand::List { find } => finding::list(args, directory, find).await,
        AgentsCommand::Search { words, find } => {
            finding::search(args, directory, words, find).await
        }
        AgentsCommand::Show { name, extended: true } => extended::show(args, directory, name).await,
        AgentsCommand::Show { name, extended: false } => showing::show(args, directory, name).await,
        AgentsCommand::Approve { decision, review_by } => {
            deciding::approve(args, directory, decision, *review_by).await
        }
        AgentsCommand::Propose(decision) => decide(Curation::Proposed, decision).await,
        AgentsCommand::Reject(decision) => decide(Curation::Rejected, decision).await,
        AgentsCommand::Suspend(decision) => decide(Curation::Suspended, decision).await,
        AgentsCommand::Deprecate(decision) => decide(Curation::Deprecated, decision).await,
        AgentsCommand::Retire(decision) => decide(Curation::Retired, decision).await,
        AgentsCommand::Publish { name, withdraw } => {
            deciding::publish(args, directory, name, !withdraw).await
        }
        AgentsCommand::Tag { name, tags, removed } => {
            deciding::tag(args, directory, name, tags, removed).await
        }
        AgentsCommand::Refresh { names, dry_run } => {
            taking::refresh(args, directory, names, *dry_run).await
        }
        AgentsCommand::Probe { names } => probing::probe(args, directory, names).await,
        AgentsCommand::Diff { name, from, to } => {
            looking::diff(args, directory, name, *from, *to).await
        }
        AgentsCommand::Export { names } => looking::export(args, directory, names).await,
        AgentsCommand::Policy { file } => deciding::policy(args, directory, file.as_deref()).await,
        AgentsCommand::Login { name } => login::run(directory.place_of_login(name)?, name).await,
        AgentsCommand::Remove { name } => deciding::remove(args, directory, name).await,
        AgentsCommand::Lint { what } => looking::lint(args, directory, what).await,
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        match &error {
            RegistryError::File(problems) => Self::file(output::problems(problems)),
            RegistryError::UnknownAgent { .. }
            | RegistryError::Name { .. }
            | RegistryError::NoVersion { .. } => Self::usage(error),
            RegistryError::Transition { .. } | RegistryError::Withheld { .. } => Self::work(error),
            _ => Self::unavailable(error),
        }
    }
}
