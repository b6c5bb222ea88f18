//! Agents that somebody else's catalog lists.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use url::Url;

use super::{FETCHES, Intake, Taken, fetch, known_name, wanted};
use crate::apply::{Missed, Wanted};
use crate::ard::{self, At, Found, Reach};
use crate::{Details, Index, RegistryError, lint, name};

/// Reads the cards of all agents of a catalog; `asked` is what was asked for and led to it.
pub(super) async fn take(
    catalog: &str,
    asked: &str,
    asked_name: Option<&str>,
    details: Option<Details>,
    intake: Intake<'_>,
) -> Result<Taken, RegistryError> {
    for_one(catalog, asked_name, details.as_ref())?;
    let walked = ard::walk(intake.documents, catalog).await?;
    let reads = walked.agents.iter().map(|found| read(found, details.clone(), intake));
    // Collected first: a closure that lives over an await keeps all of it on one thread.
    let reads: Vec<_> = reads.collect();
    let outcomes: Vec<_> = stream::iter(reads).buffered(FETCHES).collect().await;
    let mut taken = Taken::default();
    for (found, outcome) in walked.agents.iter().zip(outcomes) {
        match outcome {
            Ok(mut wanted) => {
                if let Some(source) = &mut wanted.source {
                    asked.clone_into(&mut source.asked);
                }
                taken.wanted.push(wanted);
            }
            Err(error) => taken.missed.push(missed(found, &error)),
        }
    }
    taken.missed.extend(walked.skipped.into_iter().map(|it| {
        Missed {
            label: it.label,
            name: None,
            // The whole catalog is known by what was asked for.
            asked_url: it
                .url
                .map(|url| if url == catalog { asked.to_owned() } else { url })
                .unwrap_or_default(),
            why: it.why,
            is_failure: it.is_failure,
        }
    }));
    Ok(taken)
}

/// What is meant for one agent cannot be said of all that somebody lists: credentials above all,
/// which would go wherever the list says.
fn for_one(
    catalog: &str,
    asked_name: Option<&str>,
    details: Option<&Details>,
) -> Result<(), RegistryError> {
    let details = details.cloned().unwrap_or_default();
    let given = [
        ("a name", asked_name.is_some()),
        ("aliases", !details.aliases.is_empty()),
        ("credentials", !details.credentials.is_empty()),
        ("origins", !details.origins.is_empty()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((what, _)) => Err(RegistryError::Name {
            problem: format!(
                "{catalog} lists agents, and {what} can be given to one alone: add that one, by the URL of its card or as `{catalog}#entry=IDENTIFIER`"
            ),
        }),
        None => Ok(()),
    }
}

/// Reads the card of a listed agent; all but its name.
pub(super) async fn read(
    found: &Found,
    details: Option<Details>,
    intake: Intake<'_>,
) -> Result<Wanted, RegistryError> {
    let source = Some(found.source.clone());
    let (url, raw) = match &found.at {
        At::Url(url) => {
            let fetched = match found.reach {
                Reach::Any => fetch(url, None, details.as_ref(), intake).await?,
                Reach::Beyond => {
                    let client = intake.documents.client(url, found.reach)?;
                    Arc::new(protocol::card::fetch(client, url).await?)
                }
            };
            let name = known_name(intake.index, &fetched.url, url).unwrap_or_default();
            return Ok(Wanted { name, source, ..wanted(url, &fetched, details, intake).await });
        }
        At::Here { url, card } => (url, card),
    };
    let text = raw.to_string();
    if text.len() > protocol::card::MAX_BYTES {
        let limit = protocol::card::MAX_BYTES;
        let why = format!("the card of `{}` is larger than {limit} bytes", found.label);
        return Err(RegistryError::AiCatalog { url: url.clone(), why, is_ours: false });
    }
    let card = protocol::card::read(raw)?;
    Ok(Wanted {
        name: known_name(intake.index, url, url).unwrap_or_default(),
        trust: intake.signers.check(intake.policy, text.as_bytes(), Some(url)).await,
        asked_url: url.clone(),
        url: url.clone(),
        findings: lint(&card, raw, Some(url)),
        raw: raw.clone(),
        card,
        details,
        source,
    })
}

/// The name that a listed agent would have if it were alone.
pub(super) fn name_of(wanted: &Wanted) -> Result<String, RegistryError> {
    if !wanted.name.is_empty() {
        return Ok(wanted.name.clone());
    }
    name::from_title(&wanted.card.name).map_or_else(|| super::name_of(&last_word(wanted)), Ok)
}

/// The last part of its identifier, which is a name in most catalogs; else what its card says.
fn last_word(wanted: &Wanted) -> String {
    let identifier = wanted.source.as_ref().and_then(|source| source.identifier.as_deref());
    let last = identifier.and_then(|it| it.rsplit([':', '/', '#']).next());
    last.filter(|word| name::from_title(word).is_some()).unwrap_or(&wanted.card.name).to_owned()
}

fn missed(found: &Found, error: &RegistryError) -> Missed {
    let (At::Url(url) | At::Here { url, .. }) = &found.at;
    Missed {
        label: found.label.clone(),
        name: None,
        asked_url: url.clone(),
        why: error.to_string(),
        is_failure: true,
    }
}

impl Taken {
    /// Holds one agent.
    pub(super) fn one(wanted: Wanted) -> Self {
        Self { wanted: vec![wanted], missed: Vec::new() }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.wanted.extend(other.wanted);
        self.missed.extend(other.missed);
    }

    /// Gives names to the agents that somebody else lists. Names are given by the operator, and
    /// nobody's list can be written so that its names are free here: one that is taken is made longer
    /// by the host. What the operator lists as well, or several lists do, is taken in once.
    pub(crate) fn name_listed(&mut self, index: &Index) {
        let (listed, own): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.wanted).into_iter().partition(|it| it.source.is_some());
        let mut urls: BTreeSet<String> = own.iter().map(|it| it.url.clone()).collect();
        let mut names: BTreeSet<String> = own.iter().map(|it| it.name.clone()).collect();
        self.wanted = own;
        for mut wanted in listed {
            if !urls.insert(wanted.url.clone()) {
                let why = format!("the agent at {} is listed more than once", wanted.url);
                self.missed.push(Missed { is_failure: false, ..unnamed(wanted, why) });
                continue;
            }
            match free_name(&wanted, &names, index) {
                Ok(name) => {
                    names.insert(name.clone());
                    wanted.name = name;
                    self.wanted.push(wanted);
                }
                Err(error) => self.missed.push(unnamed(wanted, error.to_string())),
            }
        }
    }
}

fn unnamed(wanted: Wanted, why: String) -> Missed {
    let label = ard::clipped(&wanted.card.name);
    Missed { label, name: None, asked_url: wanted.asked_url, why, is_failure: true }
}

fn free_name(
    wanted: &Wanted,
    names: &BTreeSet<String>,
    index: &Index,
) -> Result<String, RegistryError> {
    let name = name_of(wanted)?;
    let is_free = |name: &str| {
        let is_another = |url: &str| url != wanted.url;
        !names.contains(name) && !index.by_name(name).is_some_and(|agent| is_another(&agent.url))
    };
    if !wanted.name.is_empty() || is_free(&name) {
        return Ok(name);
    }
    let longer = Url::parse(&wanted.url).ok().and_then(|url| {
        let port = url.port().map(|port| format!(" {port}")).unwrap_or_default();
        name::from_title(&format!("{name} {}{port}", url.host_str()?))
    });
    // One that is taken as well is refused like any other.
    Ok(longer.filter(|longer| is_free(longer)).unwrap_or(name))
}
