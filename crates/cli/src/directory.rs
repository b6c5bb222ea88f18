//! The agent directory that a command works on: the one in the data folder, or that of a server.
//!
//! Both give the same answers, in the types of the server's API, so that what is printed is the same.

mod file;
mod remote;

use std::sync::Arc;

use document::{Problems, Source};
use jiff::Timestamp;
use protocol::v1::AgentCard;
use registry::{
    ApplyOptions, Curation, Decision, Difference, EvidenceSettings, Policy, Query, Record,
    Registry, RegistryError, Report, lint, read_policy, to_catalog,
};
use serde_json::Value;
use server::directory::wire::{
    EvidenceOut, LintedOut, Listed, PolicySetOut, ProbedOut, ProbesOut, PublishedOut, RemovedOut,
    StandingOut, TagsOut,
};

pub(crate) use self::remote::Remote;
use crate::{
    args::{Args, ServerArgs},
    failure::Failure,
    output,
    place::Place,
};

/// A directory.
pub(crate) enum Directory {
    /// In the data folder.
    Here(Box<Place>, Arc<Registry>),
    /// On a server.
    There(Box<Remote>),
}

/// What is taken in.
pub(crate) enum Taken<'a> {
    /// The agent at a URL, perhaps under a name.
    Url(&'a str, Option<&'a str>),
    /// What a file lists, beside what is there.
    File(Source),
    /// What a catalog lists, in place of what an earlier version of it listed.
    Catalog(Source),
}

impl Directory {
    /// Opens the directory that is meant. One that is only looked at may be open elsewhere.
    pub(crate) async fn open(
        args: &Args,
        server: &ServerArgs,
        only_looks: bool,
    ) -> Result<Self, Failure> {
        if let Some(remote) = Remote::of(server)? {
            return Ok(Self::There(Box::new(remote)));
        }
        let place = if only_looks { Place::look(args).await? } else { Place::open(args).await? };
        let registry = place.registry().await?;
        if !only_looks {
            registry.review(Timestamp::now()).await?;
        }
        Ok(Self::Here(Box::new(place), registry))
    }

    /// The data folder that a login for an agent is kept in.
    ///
    /// # Errors
    /// On a server: a login takes a browser, and puts tokens where nobody but the server may read them.
    pub(crate) fn place_of_login(&self, name: &str) -> Result<&Place, Failure> {
        match self {
            Self::Here(place, _) => Ok(place),
            Self::There(_) => Err(Failure::usage(format!(
                "nobody logs in over the network: the tokens are kept in the data folder of the server. Run `convoke \
                 agents login {name}` on its machine, without --server; the server may be running meanwhile"
            ))),
        }
    }

    /// Looks at agents now and asks them; at all that are in use or wait to be when none are named.
    pub(crate) async fn probe(&self, names: &[String]) -> Result<Vec<ProbedOut>, Failure> {
        match self {
            Self::Here(place, registry) => {
                let prober = place.prober(EvidenceSettings::default()).await?;
                Ok(ProbesOut::of(registry, &prober, names).await?.agents)
            }
            Self::There(remote) => remote.probe(names).await,
        }
    }

    /// The card that an agent shows to those it knows.
    pub(crate) async fn extended_card(&self, name: &str) -> Result<AgentCard, Failure> {
        match self {
            Self::Here(place, _) => Ok(place.keyrings().await?.extended_card(name).await?),
            Self::There(remote) => remote.extended_card(name).await,
        }
    }

    pub(crate) async fn find(&self, query: Query) -> Result<Listed, Failure> {
        match self {
            Self::Here(_, registry) => Ok(Listed::from(&registry.index().find(&query))),
            Self::There(remote) => remote.find(&query).await,
        }
    }

    pub(crate) async fn record(&self, name: &str) -> Result<(Record, EvidenceOut), Failure> {
        match self {
            Self::Here(_, registry) => {
                let record = registry.record(name).await?;
                let evidence = EvidenceOut::of(registry, &record.name);
                Ok((record, evidence))
            }
            Self::There(remote) => remote.record(name).await,
        }
    }

    pub(crate) async fn take(
        &self,
        taken: Taken<'_>,
        options: &ApplyOptions,
    ) -> Result<Report, Failure> {
        let registry = match self {
            Self::Here(_, registry) => registry,
            Self::There(remote) => return remote.take(taken, options).await,
        };
        Ok(match taken {
            Taken::Url(url, name) => registry.add_url(url, name, None, options).await?,
            Taken::File(source) => registry.add_file(source, options).await?,
            Taken::Catalog(source) => registry.apply(source, options).await?,
        })
    }

    pub(crate) async fn refresh(
        &self,
        names: &[String],
        options: &ApplyOptions,
    ) -> Result<Report, Failure> {
        match self {
            Self::Here(_, registry) => Ok(registry.refresh(names, options).await?),
            Self::There(remote) => remote.refresh(names, options.dry_run).await,
        }
    }

    pub(crate) async fn decide(
        &self,
        name: &str,
        to: Curation,
        decision: &Decision,
        review_by: Option<Timestamp>,
    ) -> Result<StandingOut, Failure> {
        match self {
            Self::Here(_, registry) => {
                let record = registry.decide(name, to, decision, review_by).await?;
                let standing = record.standing();
                Ok(StandingOut { name: record.name, standing })
            }
            Self::There(remote) => remote.decide(name, to, &decision.why, review_by).await,
        }
    }

    pub(crate) async fn tag(
        &self,
        name: &str,
        added: &[String],
        removed: &[String],
    ) -> Result<TagsOut, Failure> {
        match self {
            Self::Here(_, registry) => {
                let record = registry.tag(name, added, removed).await?;
                Ok(TagsOut { name: record.name, tags: record.details.tags })
            }
            Self::There(remote) => remote.tag(name, added, removed).await,
        }
    }

    /// Says whether others may learn of an agent.
    pub(crate) async fn publish(
        &self,
        name: &str,
        is_public: bool,
    ) -> Result<PublishedOut, Failure> {
        match self {
            Self::Here(_, registry) => {
                let record = registry.publish(name, is_public).await?;
                let standing = record.standing();
                Ok(PublishedOut { name: record.name, public: is_public, standing })
            }
            Self::There(remote) => remote.publish(name, is_public).await,
        }
    }

    pub(crate) async fn remove(&self, name: &str) -> Result<RemovedOut, Failure> {
        match self {
            Self::Here(_, registry) => Ok(RemovedOut { name: registry.remove(name).await?.name }),
            Self::There(remote) => remote.remove(name).await,
        }
    }

    pub(crate) async fn diff(
        &self,
        name: &str,
        from: Option<u32>,
        to: Option<u32>,
    ) -> Result<Difference, Failure> {
        match self {
            Self::Here(_, registry) => Ok(registry.diff(name, from, to).await?),
            Self::There(remote) => remote.diff(name, from, to).await,
        }
    }

    /// What the agents as a catalog are; all of them when none are named.
    pub(crate) async fn export(&self, names: &[String]) -> Result<Value, Failure> {
        let registry = match self {
            Self::Here(_, registry) => registry,
            Self::There(remote) => return remote.export(names).await,
        };
        let mut records: Vec<Record> = Vec::new();
        if names.is_empty() {
            records = registry.records().await?;
        }
        for name in names {
            records.push(registry.record(name).await?);
        }
        Ok(to_catalog(&records))
    }

    pub(crate) async fn policy(&self) -> Result<Policy, Failure> {
        match self {
            Self::Here(_, registry) => Ok(Policy::clone(&registry.policy())),
            Self::There(remote) => remote.policy().await,
        }
    }

    pub(crate) async fn set_policy(&self, file: Source) -> Result<PolicySetOut, Failure> {
        let policy = read_policy(file).map_err(|problems| wrong(&problems))?;
        match self {
            Self::Here(_, registry) => {
                let changed = registry.set_policy(policy, Timestamp::now()).await?;
                Ok(PolicySetOut::of(&registry.index(), &changed))
            }
            Self::There(remote) => remote.set_policy(&policy).await,
        }
    }

    /// What the card of an agent of the directory should be better at; none when there is no such agent.
    pub(crate) async fn lint_known(&self, name: &str) -> Result<Option<LintedOut>, Failure> {
        match self {
            Self::Here(_, registry) => match registry.record(name).await {
                Ok(record) => Ok(Some(LintedOut::of(registry, &record)?)),
                Err(RegistryError::UnknownAgent { .. } | RegistryError::Gone { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Self::There(remote) => remote.lint_known(name).await,
        }
    }

    pub(crate) async fn lint_url(&self, url: &str) -> Result<Vec<LintedOut>, Failure> {
        match self {
            Self::Here(_, registry) => {
                let fetched = registry.cards().get_now(url).await.map_err(RegistryError::from)?;
                let findings = lint(&fetched.card, &fetched.raw, Some(&fetched.url));
                Ok(vec![LintedOut { name: fetched.card.name.clone(), findings }])
            }
            Self::There(remote) => remote.lint_url(url).await,
        }
    }

    pub(crate) async fn lint_file(
        &self,
        source: Source,
        options: &ApplyOptions,
    ) -> Result<Vec<LintedOut>, Failure> {
        match self {
            Self::Here(_, registry) => {
                let options = ApplyOptions { dry_run: true, ..options.clone() };
                let report = registry.add_file(source, &options).await?;
                Ok(report.agents.into_iter().map(LintedOut::from).collect())
            }
            Self::There(remote) => remote.lint_file(source).await,
        }
    }
}

fn wrong(problems: &Problems) -> Failure {
    Failure::file(output::problems(problems))
}
