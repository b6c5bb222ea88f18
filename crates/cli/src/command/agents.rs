//! `convoke agents`

mod deciding;
mod extended;
mod finding;
mod login;
mod looking;
mod showing;
mod taking;

use registry::{Curation, RegistryError};

use super::card;
use crate::{
    args::{AgentsCommand, Args},
    failure::{Exit, Failure},
    output,
    place::Place,
};

pub(crate) async fn run(args: &Args, command: &AgentsCommand) -> Result<Exit, Failure> {
    let looks = command.only_looks();
    let place = if looks { Place::look(args).await? } else { Place::open(args).await? };
    let registry = place.registry().await?;
    if !looks {
        registry.review(jiff::Timestamp::now()).await?;
    }
    let decide = async |to, decision| deciding::decide(args, &registry, to, decision).await;
    match command {
        AgentsCommand::Add { from, name, approve } => {
            taking::add(args, &registry, from, name.as_deref(), *approve).await
        }
        AgentsCommand::Apply { file, approve, dry_run } => {
            taking::apply(args, &registry, file, *approve, *dry_run).await
        }
        AgentsCommand::List { find } => finding::list(args, &registry, find),
        AgentsCommand::Search { words, find } => finding::search(args, &registry, words, find),
        AgentsCommand::Show { name, extended: true } => extended::show(args, &place, name).await,
        AgentsCommand::Show { name, extended: false } => showing::show(args, &registry, name).await,
        AgentsCommand::Approve { decision, review_by } => {
            deciding::approve(args, &registry, decision, *review_by).await
        }
        AgentsCommand::Propose(decision) => decide(Curation::Proposed, decision).await,
        AgentsCommand::Reject(decision) => decide(Curation::Rejected, decision).await,
        AgentsCommand::Suspend(decision) => decide(Curation::Suspended, decision).await,
        AgentsCommand::Deprecate(decision) => decide(Curation::Deprecated, decision).await,
        AgentsCommand::Retire(decision) => decide(Curation::Retired, decision).await,
        AgentsCommand::Tag { name, tags, removed } => {
            deciding::tag(args, &registry, name, tags, removed).await
        }
        AgentsCommand::Refresh { names, dry_run } => {
            taking::refresh(args, &registry, names, *dry_run).await
        }
        AgentsCommand::Diff { name, from, to } => {
            looking::diff(args, &registry, name, *from, *to).await
        }
        AgentsCommand::Export { names } => looking::export(args, &registry, names).await,
        AgentsCommand::Policy { file } => deciding::policy(args, &registry, file.as_deref()).await,
        AgentsCommand::Login { name } => login::run(&place, name).await,
        AgentsCommand::Remove { name } => deciding::remove(args, &registry, name).await,
        AgentsCommand::Lint { what } => looking::lint(args, &registry, what).await,
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
