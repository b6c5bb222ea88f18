//! From an entry of a file, or a URL, to a card that was read.

mod listed;

use std::sync::Arc;

use document::{Limits, Problems, Span};
use futures_util::{StreamExt, stream};
use protocol::card::{CardError, FetchedCard, NoCard};

use crate::apply::{Missed, Wanted};
use crate::ard::{self, Documents, Reach};
use crate::brought::Beside;
use crate::catalog::{CardAt, Entry, Listing};
use crate::signers::Signers;
use crate::{
    Access, Cards, Details, Finding, Index, Policy, Provenance, Record, RegistryError, lint, name,
};

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
    /// The catalogs of others that were read already.
    pub(crate) documents: &'a Documents,
}

/// Reads the cards of a list, as many at once as [`FETCHES`]; the order stays.
pub(crate) async fn take(listing: &Listing, beside: Beside<'_>, intake: Intake<'_>) -> Taken {
    // Collected first: a closure that lives over an await keeps all of it on one thread.
    let fetches = listing.entries.iter().map(|entry| read_entry(listing, entry, beside, intake));
    let fetches: Vec<_> = fetches.collect();
    let outcomes: Vec<_> = stream::iter(fetches).buffered(FETCHES).collect().await;
    let mut taken = Taken::default();
    for (entry, outcome) in listing.entries.iter().zip(outcomes) {
        match outcome {
            Ok(of_entry) => taken.add(of_entry),
            Err(error) => taken.missed.push(missed(listing, entry, &error)),
        }
    }
    taken.name_listed(intake.index);
    taken
}

/// Looks at the cards of agents again, as many at once as [`FETCHES`]; those that came from a file
/// have nowhere to be looked at.
pub(crate) async fn take_again(agents: &[Again], intake: Intake<'_>) -> Taken {
    let fetches = agents.iter().map(|it| look_again(it, intake));
    let fetches: Vec<_> = fetches.collect();
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
                is_failure: true,
            }),
        }
    }
    taken
}

/// An agent whose card is looked at again.
pub(crate) struct Again {
    pub(crate) name: String,
    pub(crate) asked_url: String,
    /// Who listed it may not make us ask this machine.
    reach: Reach,
}

impl Again {
    pub(crate) fn of(record: &Record) -> Self {
        let is_of_others = record.source.as_ref().is_some_and(Provenance::is_elsewhere);
        Self {
            name: record.name.clone(),
            asked_url: record.asked_url.clone(),
            reach: if is_of_others { Reach::Beyond } else { Reach::Any },
        }
    }
}

/// Looks at the card of an agent again.
pub(crate) async fn look_again(agent: &Again, intake: Intake<'_>) -> Result<Wanted, RegistryError> {
    let Again { name, asked_url: url, reach } = agent;
    if *reach == Reach::Any || ard::split_entry(url).is_some() {
        return take_url(url, Some(name), None, intake).await;
    }
    let fetched = protocol::card::fetch(intake.documents.client(url, *reach)?, url).await?;
    Ok(Wanted { name: name.clone(), ..wanted(url, &fetched, None, intake).await })
}

/// What becomes of an agent that is to be looked at and came from a file.
pub(crate) fn nowhere(agent: Again) -> Missed {
    Missed {
        label: agent.name.clone(),
        name: Some(agent.name),
        asked_url: String::new(),
        why: "its card came from a file; add or apply the file again".to_owned(),
        is_failure: true,
    }
}

/// Reads the card at a URL, or of one entry of a catalog of others.
pub(crate) async fn take_url(
    url: &str,
    asked_name: Option<&str>,
    details: Option<Details>,
    intake: Intake<'_>,
) -> Result<Wanted, RegistryError> {
    if let Some((document, identifier)) = ard::split_entry(url) {
        let found = ard::one_of(intake.documents, &document, &identifier).await?;
        let wanted = listed::read(&found, details, intake).await?;
        let name =
            asked_name.map_or_else(|| listed::name_of(&wanted), |name| Ok(name.to_owned()))?;
        // Whoever names one entry has asked for it, as by the URL of its card.
        return Ok(Wanted { name, asked_url: url.to_owned(), source: None, ..wanted });
    }
    let fetched = fetch(url, asked_name, details.as_ref(), intake).await?;
    let name = match asked_name {
        Some(name) => name.to_owned(),
        None => known_name(intake.index, &fetched.url, url)
            .map_or_else(|| name_of(&fetched.card.name), Ok)?,
    };
    Ok(Wanted { name, ..wanted(url, &fetched, details, intake).await })
}

/// Reads what is at an address: a card, or a catalog of others. Where there is neither, a catalog
/// is looked for at its host when that is asked for.
pub(crate) async fn take_address(
    url: &str,
    asked_name: Option<&str>,
    details: Option<Details>,
    intake: Intake<'_>,
    is_host_asked: bool,
) -> Result<Taken, RegistryError> {
    if ard::split_entry(url).is_some() {
        return take_url(url, asked_name, details, intake).await.map(Taken::one);
    }
    let catalog = if ard::is_catalog_address(url) {
        url.to_owned()
    } else {
        match take_url(url, asked_name, details.clone(), intake).await {
            // The card of a host is not what was meant by the address of a catalog there.
            Ok(wanted) if ard::is_catalog_beside(intake.documents, url, &wanted.url).await => {
                url.to_owned()
            }
            Err(RegistryError::Card(error)) if is_no_card(&error) => {
                let found = ard::find(intake.documents, url, is_host_asked).await;
                found.ok_or(RegistryError::Card(error))?
            }
            outcome => return outcome.map(Taken::one),
        }
    };
    listed::take(&catalog, url, asked_name, details, intake).await
}

/// Whether an address answers, and has no card.
fn is_no_card(error: &CardError) -> bool {
    use protocol::outbound::OutboundError;
    match error {
        CardError::NotFound { .. } => true,
        CardError::Nothing(NoCard::Outbound(error)) => {
            matches!(error, OutboundError::TooLarge { .. })
        }
        CardError::Nothing(no) => !matches!(no, NoCard::Auth(_)),
        _ => false,
    }
}

async fn fetch(
    url: &str,
    asked_name: Option<&str>,
    details: Option<&Details>,
    intake: Intake<'_>,
) -> Result<Arc<FetchedCard>, RegistryError> {
    let access = access(url, asked_name, details, intake.index);
    Ok(if access.credentials.is_empty() {
        intake.cards.get_now(url).await?
    } else {
        intake.cards.get_with(url, &access, asked_name.unwrap_or(url)).await?
    })
}

/// What is known of an agent when its card is there; all but its name.
async fn wanted(
    url: &str,
    fetched: &FetchedCard,
    details: Option<Details>,
    intake: Intake<'_>,
) -> Wanted {
    let trust = intake.signers.check(intake.policy, &fetched.text, Some(&fetched.url)).await;
    Wanted {
        name: String::new(),
        trust,
        asked_url: url.to_owned(),
        url: fetched.url.clone(),
        raw: fetched.raw.clone(),
        card: fetched.card.clone(),
        details,
        findings: lint(&fetched.card, &fetched.raw, Some(&fetched.url)),
        source: None,
    }
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
    beside: Beside<'_>,
    intake: Intake<'_>,
) -> Result<Taken, RegistryError> {
    // A catalog says everything about its agents; a list of cards says nothing beside them.
    let details = listing.is_catalog.then(|| entry.details.clone());
    let asked_name = entry.name.as_deref();
    let raw = match &entry.card {
        CardAt::Url(url) => return take_address(url, asked_name, details, intake, false).await,
        CardAt::Here { card, .. } => card.clone(),
        CardAt::File(path) => read_file(beside, path)?,
    };
    let card = protocol::card::read(&raw)?;
    let name = asked_name.map_or_else(|| name_of(&card.name), |name| Ok(name.to_owned()))?;
    let mut findings = lint(&card, &raw, None);
    if let CardAt::Here { pointer, .. } = &entry.card {
        let place = |it: Finding| it.placed(&listing.source, &listing.root, pointer);
        findings = findings.into_iter().map(place).collect();
    }
    let trust = intake.signers.check(intake.policy, raw.to_string().as_bytes(), None).await;
    let (asked_url, url) = (String::new(), String::new());
    let source = None;
    Ok(Taken::one(Wanted { name, asked_url, url, raw, card, details, findings, trust, source }))
}

fn read_file(beside: Beside<'_>, path: &str) -> Result<serde_json::Value, Problems> {
    let limits = Limits { max_bytes: protocol::card::MAX_BYTES, ..Limits::default() };
    let source = beside.read(path, &limits)?;
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
            "no name can be made of `{}`, as the card calls its agent; give it one (`name` in a catalog, `--name` with `agents add`)",
            document::brief(title, 80)
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
        is_failure: true,
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
