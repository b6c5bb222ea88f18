//! Looking: what leaves the directory as it is.

use std::sync::Arc;

use axum::{
    Json,
    extract::{RawQuery, State},
};
use protocol::v1::AgentCard;
use registry::{Difference, Policy, Record, to_catalog};
use serde_json::Value;

use super::{
    Answer, Directory,
    body::Named,
    problem::Problem,
    query::{Find, Parameters},
    visit::{Curator, Visit},
    wire::{LintOut, Listed, RecordOut, VersionsOut},
};

pub(super) async fn list(visit: Visit, RawQuery(query): RawQuery) -> Answer<Listed> {
    let Find { query, token } = Find::read(query.as_deref())?;
    let paged = visit.view.page(query, token.as_deref());
    Ok(Json(paged.map_err(|wrong| Problem::all_bad("the page cannot be found", [wrong]))?))
}

pub(super) async fn show(visit: Visit, Named(name): Named) -> Answer<RecordOut> {
    let record = visit.view.record(&name).await?;
    let versions = visit.view.versions(&name).await?;
    let evidence = visit.view.evidence(&name);
    Ok(Json(RecordOut::of(visit.shown(record), evidence, &versions)))
}

pub(super) async fn versions(visit: Visit, Named(name): Named) -> Answer<VersionsOut> {
    Ok(Json(VersionsOut { versions: visit.view.versions(&name).await? }))
}

pub(super) async fn diff(
    visit: Visit,
    Named(name): Named,
    RawQuery(query): RawQuery,
) -> Answer<Difference> {
    let mut given = Parameters::read(query.as_deref());
    let (from, to) = (given.parsed("from", "a number"), given.parsed("to", "a number"));
    given.end()?;
    Ok(Json(visit.view.diff(&name, from, to).await?))
}

pub(super) async fn lint(visit: Visit, Named(name): Named) -> Answer<LintOut> {
    Ok(Json(LintOut { agents: vec![visit.view.lint(&name).await?] }))
}

/// The card that an agent shows to those it knows, asked for with what the directory has for it.
pub(super) async fn extended(
    State(directory): State<Arc<Directory>>,
    Curator(visit): Curator,
    Named(name): Named,
) -> Answer<AgentCard> {
    let name = visit.view.own(&name)?;
    let prober = directory.prober_of(&visit.view);
    let card = prober.keyrings().extended_card(&name).await;
    Ok(Json(card.map_err(|error| visit.view.hidden(error, &name))?))
}

pub(super) async fn export(visit: Visit, RawQuery(query): RawQuery) -> Answer<Value> {
    let mut given = Parameters::read(query.as_deref());
    let names = given.all("name");
    given.end()?;
    let mut records: Vec<Record> = Vec::new();
    if names.is_empty() {
        records = visit.view.own.records().await?;
    }
    for name in &names {
        records.push(visit.view.record(name).await?);
    }
    let records: Vec<Record> = records.into_iter().map(|record| visit.shown(record)).collect();
    Ok(Json(to_catalog(&records)))
}

pub(super) async fn policy(visit: Visit) -> Json<Arc<Policy>> {
    Json(visit.view.own.policy())
}
