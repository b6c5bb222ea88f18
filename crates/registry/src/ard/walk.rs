//! From the address of a catalog to every agent that it lists, here and in nested documents.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::Value;
use url::Url;

use super::WELL_KNOWN;
use super::document::{Document, Documents, Is, Item, Reach, items};
use crate::{Provenance, RegistryError};

/// How many levels of nested documents are read, the first one included; what the AI Catalog
/// specification recommends.
const DEPTH: usize = 4;

/// How many documents are fetched.
const DOCUMENTS: usize = 64;

/// How many agents are taken in at once.
const AGENTS: usize = 1_000;

/// How many notes are made of entries that are no agents; the rest is counted.
const NOTES: usize = 100;

/// How long fetching documents may take, when each of them is slow.
const TIME: Duration = Duration::from_secs(60);

/// What separates the address of a document from the identifier of its entry.
const ENTRY: &str = "entry";

/// Where the card of a listed agent is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum At {
    /// At an address of its own.
    Url(String),
    /// In the catalog, which has this address for it.
    Here { url: String, card: Value },
}

/// An agent that a catalog lists.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Found {
    pub(crate) label: String,
    pub(crate) at: At,
    /// From how far away its address was named.
    pub(crate) reach: Reach,
    pub(crate) source: Provenance,
}

/// An entry that is not taken in.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Skipped {
    pub(crate) label: String,
    pub(crate) why: String,
    /// The document that could not be read, when it is one.
    pub(crate) url: Option<String>,
    /// Whether it should have been taken in.
    pub(crate) is_failure: bool,
}

/// What a catalog lists.
#[derive(Default, Debug)]
pub(crate) struct Walked {
    pub(crate) agents: Vec<Found>,
    pub(crate) skipped: Vec<Skipped>,
}

/// Whether an address says of itself that it is a catalog's.
pub(crate) fn is_catalog_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.path().ends_with("ai-catalog.json"))
}

/// Divides the address of one entry, `DOCUMENT#entry=IDENTIFIER`; nothing for other addresses.
pub(crate) fn split_entry(url: &str) -> Option<(String, String)> {
    let mut parsed = Url::parse(url).ok()?;
    let (_, identifier) =
        url::form_urlencoded::parse(parsed.fragment()?.as_bytes()).find(|(key, _)| key == ENTRY)?;
    let identifier = identifier.into_owned();
    parsed.set_fragment(None);
    Some((parsed.into(), identifier))
}

/// The address of one entry.
fn entry_url(document: &Url, identifier: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/@".contains(c);
    let escaped = identifier.chars().map(|c| {
        let mut bytes = [0; 4];
        let text = c.encode_utf8(&mut bytes);
        if is_plain(c) {
            text.to_owned()
        } else {
            url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
        }
    });
    let mut url = document.clone();
    url.set_fragment(Some(&format!("{ENTRY}={}", escaped.collect::<String>())));
    url.into()
}

/// The catalog of a host that has no card at an address: at the address itself, below its path, or
/// at the usual place of its host.
pub(crate) async fn find(documents: &Documents, url: &str, is_host_asked: bool) -> Option<String> {
    let parsed = Url::parse(url).ok()?;
    let mut places = vec![parsed.to_string()];
    let path = parsed.path().trim_end_matches('/').to_owned();
    if is_host_asked && !path.to_ascii_lowercase().ends_with(".json") {
        for base in [path.as_str(), ""] {
            let mut place = parsed.clone();
            place.set_path(&format!("{base}{WELL_KNOWN}"));
            place.set_query(None);
            place.set_fragment(None);
            places.push(place.into());
        }
    }
    places.dedup();
    for place in places {
        if documents.get(&place, Reach::Any).await.is_ok() {
            return Some(place);
        }
    }
    None
}

/// Whether an address below a host is a catalog's, and the card that was found for it is elsewhere.
pub(crate) async fn is_catalog_beside(documents: &Documents, url: &str, card: &str) -> bool {
    let is_below = Url::parse(url).is_ok_and(|url| url.path() != "/");
    url != card && is_below && documents.get(url, Reach::Any).await.is_ok()
}

/// Reads a catalog and all documents nested in it.
///
/// # Errors
/// When the first document cannot be read. What is wrong with nested ones and with entries is said
/// of each.
pub(crate) async fn walk(documents: &Documents, url: &str) -> Result<Walked, RegistryError> {
    let first = documents.get(url, Reach::Any).await?;
    let mut walk = Walk::of(url);
    walk.seen.insert(url.to_owned());
    walk.enter(&first, Place::FIRST);
    while let Some(Nested { label, url, from }) = walk.nested.pop_front() {
        if let Some(why) = walk.refusal(from.depth) {
            walk.skip(label, why, Some(url.into()), true);
        } else if walk.seen.insert(url.to_string()) {
            match documents.get(url.as_str(), from.reach).await {
                Ok(document) => walk.enter(&document, from),
                Err(error) => walk.skip(label, error.to_string(), Some(url.into()), true),
            }
        } else {
            walk.skip(label, format!("{url} was read already"), None, false);
        }
    }
    Ok(walk.end())
}

/// The entry of one identifier in a document.
pub(crate) async fn one_of(
    documents: &Documents,
    url: &str,
    identifier: &str,
) -> Result<Found, RegistryError> {
    let document = documents.get(url, Reach::Any).await?;
    // One is looked for among however many.
    let mut walk = Walk { most: usize::MAX, ..Walk::of(url) };
    walk.enter(&document, Place::FIRST);
    let is_it = |found: &Found| found.source.identifier.as_deref() == Some(identifier);
    walk.walked.agents.into_iter().find(is_it).ok_or_else(|| RegistryError::AiCatalog {
        url: url.to_owned(),
        why: format!("it lists no agent `{}`", super::document::clipped(identifier)),
        is_ours: false,
    })
}

/// A document that is still to be read.
struct Nested {
    label: String,
    url: Url,
    from: Place,
}

/// Where a document stands among the others.
#[derive(Clone)]
struct Place {
    /// The documents on the way to it.
    via: Vec<String>,
    /// On which level it is.
    depth: usize,
    reach: Reach,
}

impl Place {
    const FIRST: Self = Self { via: Vec::new(), depth: 1, reach: Reach::Any };

    fn deeper(&self) -> Self {
        Self { depth: self.depth + 1, ..self.clone() }
    }
}

struct Walk {
    asked: String,
    started: Instant,
    nested: VecDeque<Nested>,
    /// The addresses of documents that were read: catalogs may list each other.
    seen: HashSet<String>,
    walked: Walked,
    /// How many agents are wanted at most.
    most: usize,
    /// How many agents, documents, and entries that are neither, are not told one by one.
    more_agents: usize,
    more_documents: usize,
    more_others: usize,
}

impl Walk {
    fn of(url: &str) -> Self {
        Self {
            asked: url.to_owned(),
            started: Instant::now(),
            nested: VecDeque::new(),
            seen: HashSet::new(),
            walked: Walked::default(),
            most: AGENTS,
            more_agents: 0,
            more_documents: 0,
            more_others: 0,
        }
    }

    /// Why no further document is read.
    fn refusal(&self, depth: usize) -> Option<String> {
        if depth > DEPTH {
            return Some(format!("it is nested more than {DEPTH} deep"));
        }
        if self.seen.len() >= DOCUMENTS {
            return Some(format!("more than {DOCUMENTS} documents are not read at once"));
        }
        let is_late = self.started.elapsed() > TIME;
        is_late.then(|| format!("reading the others took more than {} s", TIME.as_secs()))
    }

    fn enter(&mut self, document: &Document, mut from: Place) {
        let url = &document.url;
        from.via.push(url.to_string());
        from.reach = from.reach.through(url);
        // A redirect leads to what may have been read under its own address.
        self.seen.insert(url.to_string());
        self.read(&document.json, url, &from);
    }

    fn read(&mut self, json: &Value, base: &Url, from: &Place) {
        for Item { label, identifier, is } in items(json, base) {
            match is {
                Is::CardAt(url) => self.found(label, identifier, At::Url(url.into()), from),
                Is::Card(card) => {
                    // Without an identifier it is known by its name.
                    let identifier = identifier.unwrap_or_else(|| label.clone());
                    let at = At::Here { url: entry_url(base, &identifier), card };
                    self.found(label, Some(identifier), at, from);
                }
                Is::CatalogAt(url) => {
                    self.nested.push_back(Nested { label, url, from: from.deeper() });
                }
                Is::Next(url) => self.nested.push_back(Nested { label, url, from: from.clone() }),
                Is::Catalog(json) if from.depth < DEPTH => self.read(&json, base, &from.deeper()),
                Is::Catalog(_) => {
                    self.skip(label, format!("it is nested more than {DEPTH} deep"), None, true);
                }
                Is::Other(why) => self.skip(label, why, None, false),
                Is::Wrong(why) => self.skip(label, why, None, true),
            }
        }
    }

    fn found(&mut self, label: String, identifier: Option<String>, at: At, from: &Place) {
        if self.walked.agents.len() >= self.most {
            self.more_agents += 1;
            return;
        }
        let (asked, via) = (self.asked.clone(), from.via.clone());
        let source = Provenance { asked, via, identifier };
        self.walked.agents.push(Found { label, at, reach: from.reach, source });
    }

    fn skip(&mut self, label: String, why: String, url: Option<String>, is_failure: bool) {
        if self.walked.skipped.len() < NOTES {
            self.walked.skipped.push(Skipped { label, why, url, is_failure });
        } else if url.is_some() {
            self.more_documents += 1;
        } else {
            self.more_others += 1;
        }
    }

    /// What is not told one by one is told as one. Where agents may be among it, the whole catalog
    /// counts as not read, so that none of its agents is taken for gone.
    fn end(mut self) -> Walked {
        let rest = [
            (self.more_agents, format!("agents; {} are taken in at once", self.most), true),
            (self.more_documents, "documents that are not read".to_owned(), true),
            (self.more_others, "entries that are not taken in".to_owned(), false),
        ];
        for (count, what, is_failure) in rest.into_iter().filter(|(count, ..)| *count > 0) {
            let url = is_failure.then(|| self.asked.clone());
            let (label, why) = (self.asked.clone(), format!("it lists {count} more {what}"));
            self.walked.skipped.push(Skipped { label, why, url, is_failure });
        }
        self.walked
    }
}

#[cfg(test)]
mod tests;
