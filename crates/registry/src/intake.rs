//! From an entry of a file, or a URL, to a card that was read.

use std::path::Path;

use document::{Limits, Problems, Source, Span};
use futures_util::{StreamExt, stream};
use protocol::card::CardError;

use crate::apply::{Missed, Wanted};
use crate::catalog::{CardAt, Entry, Listing, folder_of};
use crate::signers::Signers;
use crate::{Access, Cards, Details, Finding, Index, Policy, RegistryError, lint, name};

/// How many cards are fetched at once.
const FETCHES: usize = 16;

/// What came of the entries of a file.
#[derive(Default)]
pub(crate) struct Taken {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) missed: Vec<Missed>,
}

/// What cards are taken in with.
#[derive(Clone, Copy)]
pub(crate) struct Intake<'a> {
    pub(crate) cards: &'a Cards,
    pub(crate) signers: &'a Signers,
    pub(crate) policy: &'a Policy,
    pub(crate) index: &'a Index,
}

/// Reads the cards of a list, as many at once as [`FETCHES`]; the order stays.
pub(crate) async fn take(listing: &Listing, intake: Intake<'_>) -> Taken {
    let fetches = listing.entries.iter().map(|entry| read_entry(listing, entry, intake));
    let outcomes: Vec<_> = stream::iter(fetches).buffered(FETCHES).collect().await;
    let mut taken = Taken::default();
    for (entry, outcome) in listing.entries.iter().zip(outcomes) {
        match outcome {
            Ok(wanted) => taken.wanted.push(wanted),
            Err(error) => taken.missed.push(missed(listing, entry, &error)),
        }
    }
    taken
}

/// Looks at the cards of agents again, as many at once as [`FETCHES`]; those that came from a file
/// have nowhere to be looked at.
pub(crate) async fn take_again(agents: &[Again], intake: Intake<'_>) -> Taken {
    let fetches = agents.iter().map(|it| take_url(&it.asked_url, Some(&it.name), None, intake));
    let outcomes: Vec<_> = stream::iter(fetches).buffered(FETCHES).collect().await;
    let mut taken = Taken::default();
    for (agent, outcome) in agents.iter().zip(outcomes) {
        match outcome {
            Ok(wanted) => taken.wanted.push(wanted),
            Err(error) => taken.missed.push(Missed {
                label: agent.name.clone(),
                name: Some(agent.name.clone()),
                asked_url: agent.asked_url.clone(),
                why: error.to_string(),
            }),
        }
    }
    taken
}

/// An agent whose card is looked at again.
pub(crate) struct Again {
    pub(crate) name: String,
    pub(crate) asked_url: String,
}

/// What becomes of an agent that is to be looked at and came from a file.
pub(crate) fn nowhere(agent: Again) -> Missed {
    Missed {
        label: agent.name.clone(),
        name: Some(agent.name),
        asked_url: String::new(),
        why: "its card came from a file; add or apply the file again".to_owned(),
    }
}

/// Reads the card at a URL.
pub(crate) async fn take_url(
    url: &str,
    asked_name: Option<&str>,
    details: Option<Details>,
    intake: Intake<'_>,
) -> Result<Wanted, RegistryError> {
    let Intake { cards, index, .. } = intake;
    let access = access(url, asked_name, details.as_ref(), index);
    let fetched = if access.credentials.is_empty() {
        cards.get_now(url).await?
    } else {
        cards.get_with(url, &access, asked_name.unwrap_or(url)).await?
    };
    let name = match asked_name {
        Some(name) => name.to_owned(),
        None => {
            known_name(index, &fetched.url, url).map_or_else(|| name_of(&fetched.card.name), Ok)?
        }
    };
    let trust = intake.signers.check(intake.policy, &fetched.text, Some(&fetched.url)).await;
    Ok(Wanted {
        name,
        trust,
        asked_url: url.to_owned(),
        url: fetched.url.clone(),
        raw: fetched.raw.clone(),
        card: fetched.card.clone(),
        details,
        findings: lint(&fetched.card, Some(&fetched.url)),
    })
}

/// What a card is fetched with: what its entry says now, else what the directory has for its URL.
fn access(url: &str, name: Option<&str>, details: Option<&Details>, index: &Index) -> Access {
    if let Some(details) = details {
        return Access::of(details, url, None);
    }
    let known = name.and_then(|name| index.by_name(name)).or_else(|| index.by_url(url));
    // A name that moves to another URL does not take its credentials along: they go to its origins.
    known.map(|agent| agent.access.clone()).unwrap_or_default()
}

async fn read_entry(
    listing: &Listing,
    entry: &Entry,
    intake: Intake<'_>,
) -> Result<Wanted, RegistryError> {
    // A catalog says everything about its agents; a list of cards says nothing beside them.
    let details = listing.is_catalog.then(|| entry.details.clone());
    let asked_name = entry.name.as_deref();
    let raw = match &entry.card {
        CardAt::Url(url) => return take_url(url, asked_name, details, intake).await,
        CardAt::Here { card, .. } => card.clone(),
        CardAt::File(path) => read_file(&listing.source, path).await?,
    };
    let card = protocol::card::read(&raw)?;
    let name = asked_name.map_or_else(|| name_of(&card.name), |name| Ok(name.to_owned()))?;
    let mut findings = lint(&card, None);
    if let CardAt::Here { pointer, .. } = &entry.card {
        let place = |it: Finding| it.placed(&listing.source, &listing.root, pointer);
        findings = findings.into_iter().map(place).collect();
    }
    let trust = intake.signers.check(intake.policy, raw.to_string().as_bytes(), None).await;
    let (asked_url, url) = (String::new(), String::new());
    Ok(Wanted { name, asked_url, url, raw, card, details, findings, trust })
}

async fn read_file(catalog: &Source, path: &str) -> Result<serde_json::Value, RegistryError> {
    let path = folder_of(catalog).join(path);
    let read = move || read_card_file(&path);
    let outcome = tokio::task::spawn_blocking(read).await;
    Ok(outcome.expect("reading a file does not panic and is not aborted")?)
}

fn read_card_file(path: &Path) -> Result<serde_json::Value, Problems> {
    let limits = Limits { max_bytes: protocol::card::MAX_BYTES, ..Limits::default() };
    let source = Source::read(path, &limits)?;
    match document::parse(&source, &limits) {
        Ok(root) => Ok(root.to_json()),
        Err(diagnostics) => Err(Problems { source_file: source, diagnostics }),
    }
}

/// The name of the agent whose card is there already.
fn known_name(index: &Index, url: &str, asked_url: &str) -> Option<String> {
    let known = index.by_url(url).or_else(|| index.by_url(asked_url))?;
    Some(known.name.clone())
}

fn name_of(title: &str) -> Result<String, RegistryError> {
    name::from_title(title).ok_or_else(|| RegistryError::Name {
        problem: format!(
            "no name can be made of `{title}`, as the card calls its agent; give it one (`name` in a catalog, `--name` with `agents add`)"
        ),
    })
}

fn missed(listing: &Listing, entry: &Entry, error: &RegistryError) -> Missed {
    let place = listing.source.place(place_of(listing, entry, error));
    let (label, asked_url) = match &entry.card {
        CardAt::Url(url) => (url.as_str(), url.clone()),
        CardAt::File(path) => (path.as_str(), String::new()),
        CardAt::Here { card, .. } => {
            (card["name"].as_str().unwrap_or("a card without a name"), String::new())
        }
    };
    let why = match error {
        RegistryError::File(problems) => in_short(problems),
        error => error.to_string(),
    };
    Missed {
        label: entry.name.as_deref().unwrap_or(label).to_owned(),
        name: entry.name.clone(),
        asked_url,
        why: format!("{why} ({place})"),
    }
}

/// The field that is wrong of a card that stands in the file itself, else the entry.
fn place_of(listing: &Listing, entry: &Entry, error: &RegistryError) -> Span {
    match (&entry.card, error) {
        (CardAt::Here { pointer, .. }, RegistryError::Card(error)) => match &**error {
            CardError::Field { path, .. } => {
                listing.root.span_at_pointer(&format!("{pointer}{}", lint::pointer_of(path)))
            }
            _ => entry.span,
        },
        _ => entry.span,
    }
}

/// The problems of a card's own file, a line each.
fn in_short(problems: &Problems) -> String {
    let lines = problems.diagnostics.iter().map(|diagnostic| match diagnostic.span() {
        Some(span) => format!("{}: {}", problems.source_file.place(span), diagnostic.message),
        None => diagnostic.message.clone(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
