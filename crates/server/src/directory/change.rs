//! Changing the directory, each change to its end.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use document::Source;
use jiff::Timestamp;
use registry::{
    Applied, ApplyOptions, Brought, Curation, Finding, Outcome, RegistryError, Report,
    lint as look_over, read_brought_policy,
};
use serde_json::{Value, json};

use super::{
    Answer, Directory,
    body::{Body, Named},
    problem::Problem,
    visit::{Curator, Visit},
    wire::{
        AddIn, DecisionIn, FileIn, LintIn, LintOut, LintedOut, PolicyIn, PolicySetOut, ProbeIn,
        ProbesOut, PublishIn, PublishedOut, RefreshIn, RemovedOut, StandingOut, TagsIn, TagsOut,
    },
};

type Directories = State<Arc<Directory>>;

/// How many tags are given or taken away in one go, and how long one may be, in characters.
const MOST_TAGS: usize = 100;
const LONGEST_TAG: usize = 100;

/// How long a reason may be, in characters.
const LONGEST_WHY: usize = 4096;

/// What agents are taken in from.
enum Given {
    Url(String),
    File(Source),
}

pub(super) async fn add(
    State(directory): Directories,
    Curator(visit): Curator,
    Body(asked): Body<AddIn>,
) -> Answer<Report> {
    let AddIn { url, card, file, files, name, catalog, approve, dry_run } = asked;
    if file.is_none() && (catalog.is_some() || !files.is_empty()) {
        return Err(Problem::bad("`catalog` and `files` go with a `file` that lists agents"));
    }
    let from = from(url, card, name.as_deref(), file)?;
    let options = ApplyOptions { approve, dry_run, by: visit.decision("") };
    let taken = async move {
        let own = &visit.view.own;
        match from {
            Given::Url(url) => Ok(own.add_url(&url, name.as_deref(), None, &options).await?),
            Given::File(source) => {
                Ok(own.take_brought(Brought { source, files, catalog }, &options).await?)
            }
        }
    };
    directory.to_its_end(taken).await.map(Json)
}

/// One of the three, said in one way.
fn from(
    url: Option<String>,
    card: Option<Value>,
    name: Option<&str>,
    file: Option<FileIn>,
) -> Result<Given, Problem> {
    match (url, card, file) {
        (Some(url), None, None) => Ok(Given::Url(url)),
        (None, Some(card), None) => {
            let text = match name {
                Some(name) => json!({ "agents": [{ "name": name, "card": card }] }),
                None => card,
            };
            Ok(Given::File(Source::new("card", &text.to_string())))
        }
        (None, None, Some(_)) if name.is_some() => Err(Problem::bad(
            "`name` goes with `url` or `card`; in a file, the catalog gives names",
        )),
        (None, None, Some(file)) => Ok(Given::File(Source::new(&file.name, &file.text))),
        _ => Err(Problem::bad("say one of `url`, `card` and `file`")),
    }
}

pub(super) async fn refresh(
    State(directory): Directories,
    Curator(visit): Curator,
    Body(asked): Body<RefreshIn>,
) -> Answer<Report> {
    let mut names = Vec::new();
    for name in &asked.names {
        names.push(visit.view.own(name)?);
    }
    let options = ApplyOptions { approve: false, dry_run: asked.dry_run, by: visit.decision("") };
    let refreshed = async move {
        let refreshed = visit.view.own.refresh(&names, &options).await;
        refreshed.map_err(|error| hidden(&visit, error))
    };
    directory.to_its_end(refreshed).await.map(Json)
}

pub(super) async fn probe(
    State(directory): Directories,
    Curator(visit): Curator,
    Body(asked): Body<ProbeIn>,
) -> Answer<ProbesOut> {
    let mut names = Vec::new();
    for name in &asked.names {
        names.push(visit.view.own(name)?);
    }
    let prober = directory.prober_of(&visit.view);
    let probed = async move {
        let probed = ProbesOut::of(&visit.view.own, &prober, &names).await;
        probed.map_err(|error| hidden(&visit, error))
    };
    directory.to_its_end(probed).await.map(Json)
}

pub(super) async fn lint(Curator(visit): Curator, Body(asked): Body<LintIn>) -> Answer<LintOut> {
    let LintIn { url, card, file, files } = asked;
    let source = match from(url, card, None, file)? {
        Given::Url(url) => {
            let fetched = visit.view.own.cards().get_now(&url).await;
            let fetched = fetched.map_err(RegistryError::from)?;
            let findings = look_over(&fetched.card, &fetched.raw, Some(&fetched.url));
            let name = fetched.card.name.clone();
            return Ok(Json(LintOut { agents: vec![LintedOut { name, findings }] }));
        }
        Given::File(source) => source,
    };
    let options = ApplyOptions { approve: false, dry_run: true, by: visit.decision("") };
    let brought = Brought { source, files, catalog: None };
    let report = visit.view.own.take_brought(brought, &options).await?;
    Ok(Json(LintOut { agents: report.agents.into_iter().map(LintedOut::from).collect() }))
}

impl From<Applied> for LintedOut {
    fn from(agent: Applied) -> Self {
        let findings = match agent.outcome {
            Outcome::Failed(why) => vec![Finding::unreadable(why)],
            _ => agent.findings,
        };
        Self { name: agent.name, findings }
    }
}

/// `POST /v1/agents/{name}:VERB`.
pub(super) async fn decide(
    State(directory): Directories,
    Curator(visit): Curator,
    Named(path): Named,
    Body(asked): Body<Value>,
) -> Result<Json<Value>, Problem> {
    let Some((name, verb)) = path.rsplit_once(':') else {
        let detail = "say what is to be done: POST /v1/agents/NAME:approve, for one";
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-method", detail));
    };
    let name = visit.view.own(name)?;
    if verb == "tag" {
        let asked = read(asked)?;
        return said(directory.to_its_end(tag(visit, name, asked)).await?);
    }
    if verb == "publish" {
        let asked = read(asked)?;
        return said(directory.to_its_end(publish(visit, name, asked)).await?);
    }
    let to = Curation::of_verb(verb).ok_or_else(|| {
        let verbs = Curation::ALL.map(Curation::verb).join(", ");
        let detail = format!("nothing is called `{verb}`; there are {verbs}, tag and publish");
        Problem::new(StatusCode::NOT_FOUND, "no-route", detail)
    })?;
    let asked = read(asked)?;
    said(directory.to_its_end(move_to(visit, name, to, asked)).await?)
}

async fn tag(visit: Visit, name: String, asked: TagsIn) -> Result<Value, Problem> {
    if asked.add.is_empty() && asked.remove.is_empty() {
        return Err(Problem::bad("name a tag to `add`, or one to `remove`"));
    }
    if asked.add.len() > MOST_TAGS || asked.remove.len() > MOST_TAGS {
        return Err(Problem::bad(format!(
            "{MOST_TAGS} tags at most are given or taken away at once"
        )));
    }
    let is_odd = |tag: &String| {
        let is_long = tag.chars().nth(LONGEST_TAG).is_some();
        tag.trim().is_empty() || is_long || tag.chars().any(char::is_control)
    };
    if asked.add.iter().any(is_odd) {
        let why =
            format!("a tag has 1 to {LONGEST_TAG} characters, and none that controls a terminal");
        return Err(Problem::bad(why));
    }
    let record = visit.view.own.tag(&name, &asked.add, &asked.remove).await;
    let record = record.map_err(|error| hidden(&visit, error))?;
    Ok(json!(TagsOut { name: record.name, tags: record.details.tags }))
}

async fn publish(visit: Visit, name: String, asked: PublishIn) -> Result<Value, Problem> {
    let record = visit.view.own.publish(&name, asked.public).await;
    let record = record.map_err(|error| hidden(&visit, error))?;
    let standing = record.standing();
    Ok(json!(PublishedOut { name: record.name, public: asked.public, standing }))
}

async fn move_to(
    visit: Visit,
    name: String,
    to: Curation,
    asked: DecisionIn,
) -> Result<Value, Problem> {
    if let Some(due) = asked.review_by {
        if to != Curation::Approved {
            return Err(Problem::bad("`review_by` goes with `approve`"));
        }
        if due <= Timestamp::now() {
            return Err(Problem::bad("`review_by` is over; name a time to come"));
        }
    }
    if asked.why.chars().nth(LONGEST_WHY).is_some() {
        return Err(Problem::bad(format!("`why` has {LONGEST_WHY} characters at most")));
    }
    let own = &visit.view.own;
    let moved = own.decide(&name, to, &visit.decision(&asked.why), asked.review_by).await;
    let record = moved.map_err(|error| hidden(&visit, error))?;
    let standing = record.standing();
    Ok(json!(StandingOut { name: record.name, standing }))
}

pub(super) async fn remove(
    State(directory): Directories,
    Curator(visit): Curator,
    Named(name): Named,
) -> Answer<RemovedOut> {
    let name = visit.view.own(&name)?;
    let removed = async move {
        let removed = visit.view.own.remove(&name).await;
        removed.map_err(|error| hidden(&visit, error))
    };
    let removed = directory.to_its_end(removed).await?;
    Ok(Json(RemovedOut { name: removed.name }))
}

pub(super) async fn set_policy(
    State(directory): Directories,
    Curator(visit): Curator,
    Body(asked): Body<PolicyIn>,
) -> Answer<PolicySetOut> {
    let PolicyIn { policy, file, files } = asked;
    let source = match (policy, file) {
        (Some(policy), None) => Source::new("policy", &policy.to_string()),
        (None, Some(file)) => Source::new(&file.name, &file.text),
        _ => return Err(Problem::bad("say one of `policy` and `file`")),
    };
    let brought = Brought { source, files, catalog: None };
    let policy = read_brought_policy(&brought).map_err(RegistryError::from)?;
    let set = async move {
        let own = &visit.view.own;
        let changed = own.set_policy(policy, Timestamp::now()).await?;
        Ok::<_, Problem>(PolicySetOut::of(&own.index(), &changed))
    };
    directory.to_its_end(set).await.map(Json)
}

/// The nearest name that is told is one that the caller sees.
fn hidden(visit: &Visit, error: RegistryError) -> Problem {
    let (RegistryError::UnknownAgent { name, .. } | RegistryError::Gone { name }) = &error else {
        return error.into();
    };
    let name = name.clone();
    visit.view.hidden(error, &name).into()
}

fn read<T: serde::de::DeserializeOwned>(asked: Value) -> Result<T, Problem> {
    let read = serde_json::from_value(asked);
    read.map_err(|error| Problem::bad(format!("the body cannot be read: {error}")))
}

fn said(answer: Value) -> Result<Json<Value>, Problem> {
    Ok(Json(answer))
}
