//! Looking: what leaves the directory as it is.

use std::sync::Arc;

use axum::{Json, extract::RawQuery};
use registry::{Difference, Policy, Record, to_catalog};
use serde_json::Value;

use super::{
    Answer,
    body::Named,
    problem::{Problem, parameter},
    query::{Find, Parameters},
    visit::Visit,
    wire::{LintOut, LintedOut, Listed, RecordOut, VersionsOut},
};

pub(super) async fn list(visit: Visit, RawQuery(query): RawQuery) -> Answer<Listed> {
    let Find { query, token } = Find::read(query.as_deref())?;
    let view = &visit.view;
    let paged = view.snapshots.page(&view.index, query, token.as_deref());
    let (found, next_page_token) = paged.map_err(|why| {
        Problem::all_bad("the page cannot be found", vec![parameter("page_token", why)])
    })?;
    Ok(Json(Listed { next_page_token, ..Listed::from(&found) }))
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
    let record = visit.view.record(&name).await?;
    Ok(Json(LintOut { agents: vec![LintedOut::of(&record)?] }))
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
