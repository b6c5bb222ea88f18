//! One document of a catalog, in every spelling its drafts have had.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use moka::future::Cache;
use protocol::outbound::{FetchLimits, Outbound, is_on_this_machine};
use serde_json::Value;
use url::Url;

use super::{CARD, CATALOG};
use crate::RegistryError;

/// What one document may cost; one that is larger should be divided into nested ones.
const LIMITS: FetchLimits =
    FetchLimits { max_bytes: 4 << 20, timeout: Duration::from_secs(15), max_redirects: 5 };

/// How many documents are kept; the agents of one are mostly looked at together.
const KEPT: u64 = 8;

/// The longest identifier, in bytes.
const MAX_IDENTIFIER_BYTES: usize = 512;

/// The longest address, in bytes.
const MAX_URL_BYTES: usize = 2048;

/// How much of a name people are shown, in characters.
const LABEL: usize = 80;

/// A document and where it was found.
#[derive(Debug)]
pub(crate) struct Document {
    /// Its address after redirects.
    pub(crate) url: Url,
    pub(crate) json: Value,
}

/// How far away the catalog is that points somewhere: one elsewhere cannot make us ask this machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reach {
    /// Named by the operator, or by a catalog on this machine.
    Any,
    /// Named by a catalog elsewhere.
    Beyond,
}

impl Reach {
    /// That of what a document at this address points at.
    pub(crate) fn through(self, url: &Url) -> Self {
        if is_on_this_machine(url.as_str()) { self } else { Self::Beyond }
    }
}

/// What is fetched with, by how far away it was named; made when it is needed. Clones share what was made.
#[derive(Clone)]
pub(crate) struct Clients {
    outbound: Outbound,
    beyond: Arc<OnceLock<Result<Outbound, String>>>,
}

/// The documents of one undertaking: each is fetched once, however many of its agents are looked at. Costs nothing
/// until one is.
pub(crate) struct Documents {
    clients: Clients,
    kept: OnceLock<Cache<(String, Reach), Arc<Document>>>,
}

impl Clients {
    pub(crate) fn new(outbound: &Outbound) -> Self {
        Self { outbound: outbound.clone(), beyond: Arc::default() }
    }
}

impl Documents {
    pub(crate) fn new(clients: &Clients) -> Self {
        Self { clients: clients.clone(), kept: OnceLock::new() }
    }

    /// The client for what is named so.
    pub(crate) fn client(&self, url: &str, reach: Reach) -> Result<&Outbound, RegistryError> {
        let Clients { outbound, beyond } = &self.clients;
        let make = || {
            let made = outbound.beyond_this_machine();
            made.map_err(|error| error.to_string())
        };
        match reach {
            Reach::Any => Ok(outbound),
            Reach::Beyond => beyond.get_or_init(make).as_ref().map_err(|why| {
                RegistryError::AiCatalog { url: url.to_owned(), why: why.clone(), is_ours: true }
            }),
        }
    }

    /// The catalog at an address.
    pub(crate) async fn get(
        &self,
        url: &str,
        reach: Reach,
    ) -> Result<Arc<Document>, RegistryError> {
        let key = (url.to_owned(), reach);
        let kept = self.kept.get_or_init(|| Cache::new(KEPT));
        let got = kept.try_get_with(key, self.fetch(url, reach)).await;
        got.map_err(|error| (*error).clone())
    }

    async fn fetch(&self, url: &str, reach: Reach) -> Result<Arc<Document>, RegistryError> {
        let unusable =
            |why, is_ours| RegistryError::AiCatalog { url: url.to_owned(), why, is_ours };
        let wrong = |why: String| unusable(why, false);
        let client = self.client(url, reach)?;
        let fetched = client.fetch(url, LIMITS).await;
        let fetched = fetched.map_err(|error| unusable(error.to_string(), error.is_ours()))?;
        if !fetched.status.is_success() {
            return Err(wrong(format!("it answered with HTTP status {}", fetched.status.as_u16())));
        }
        let json: Value = serde_json::from_slice(&fetched.body)
            .map_err(|error| wrong(format!("it is not JSON: {error}")))?;
        if entries(&json).is_none() {
            return Err(wrong("it is JSON, but lists no `entries` or `agents`".to_owned()));
        }
        Ok(Arc::new(Document { url: fetched.url, json }))
    }
}

/// One entry of a document.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Item {
    /// What people know it by.
    pub(crate) label: String,
    /// What the document calls it.
    pub(crate) identifier: Option<String>,
    pub(crate) is: Is,
}

/// What an entry is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Is {
    /// An Agent Card at an address.
    CardAt(Url),
    /// An Agent Card.
    Card(Value),
    /// Another document at an address.
    CatalogAt(Url),
    /// Another document.
    Catalog(Value),
    /// The address of where the same document goes on.
    Next(Url),
    /// Something that is no agent.
    Other(String),
    /// Something that cannot be used.
    Wrong(String),
}

/// The entries of a document as they are written, whichever draft names them; nothing when it is no
/// catalog.
fn entries(json: &Value) -> Option<(&Vec<Value>, Spelling)> {
    let object = json.as_object()?;
    let list = |key: &str| object.get(key).and_then(Value::as_array);
    let any = |keys: [&str; 2]| keys.into_iter().find_map(list);
    let older = || any(["agents", "services"]).map(|it| (it, Spelling::Cards));
    any(["entries", "items"]).map(|it| (it, Spelling::Typed)).or_else(older)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// `entries`, or `items` of a list route, each of which says what it is.
    Typed,
    /// `agents` or `services`: all of them are cards.
    Cards,
}

/// Reads the entries of a document. Of several versions of one agent only the latest counts.
pub(crate) fn items(json: &Value, base: &Url) -> Vec<Item> {
    let Some((entries, spelling)) = entries(json) else { return Vec::new() };
    let mut items: Vec<(Item, Version)> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| (item(entry, at, spelling, base), Version::of(entry)))
        .collect();
    drop_earlier(&mut items);
    items.into_iter().map(|(item, _)| item).chain(next(json, base)).collect()
}

/// Where a list in pages goes on.
fn next(json: &Value, base: &Url) -> Option<Item> {
    let keys = [("pageToken", "pageToken"), ("next_page_token", "page_token")];
    keys.into_iter().find_map(|(said, asked)| {
        let token = text(json, &[said])?;
        let is_usable = !token.is_empty() && token.len() <= MAX_URL_BYTES;
        let is = Is::Next(page(base, asked, token));
        is_usable.then(|| Item { label: "the next page".to_owned(), identifier: None, is })
    })
}

fn item(entry: &Value, at: usize, spelling: Spelling, base: &Url) -> Item {
    let identifier = text(entry, &["identifier", "id"]);
    let named = text(entry, &["displayName", "name"]).or(identifier);
    let label = named.map_or_else(|| format!("entry {}", at + 1), clipped);
    let is_long = identifier.is_some_and(|it| it.len() > MAX_IDENTIFIER_BYTES);
    if is_long {
        let why = format!("its identifier is longer than {MAX_IDENTIFIER_BYTES} bytes");
        return Item { label, identifier: None, is: Is::Wrong(why) };
    }
    Item { label, identifier: identifier.map(str::to_owned), is: is(entry, spelling, base) }
}

fn is(entry: &Value, spelling: Spelling, base: &Url) -> Is {
    if !entry.is_object() {
        return Is::Wrong("an entry is an object".to_owned());
    }
    let media_type = text(entry, &["type", "mediaType"]).map(essence);
    let is_catalog = match media_type.as_deref() {
        Some(CATALOG) => true,
        Some(CARD | "application/agent-card+json") => false,
        None if spelling == Spelling::Cards => false,
        None => return Is::Wrong("it does not say what it is (`type`)".to_owned()),
        Some(other) => return Is::Other(format!("{}, no Agent Card", clipped(other))),
    };
    let inline = ["data", "card"].iter().find_map(|key| entry.get(key)).filter(|it| it.is_object());
    match (text(entry, &["url", "cardUrl"]).filter(|url| !url.is_empty()), inline) {
        (Some(url), _) => match address(url, base) {
            Ok(url) if is_catalog => Is::CatalogAt(url),
            Ok(url) => Is::CardAt(url),
            Err(why) => Is::Wrong(why),
        },
        (None, Some(data)) if is_catalog => Is::Catalog(data.clone()),
        (None, Some(data)) => Is::Card(data.clone()),
        (None, None) => Is::Wrong("it has neither a `url` nor `data`".to_owned()),
    }
}

/// An address, which may be relative to that of the document.
fn address(url: &str, base: &Url) -> Result<Url, String> {
    if url.len() > MAX_URL_BYTES {
        return Err(format!("its address is longer than {MAX_URL_BYTES} bytes"));
    }
    let joined = base.join(url).map_err(|error| format!("`{}`: {error}", clipped(url)))?;
    if base.scheme() == "https" && joined.scheme() == "http" {
        return Err(format!("{joined} is not protected, and its catalog is"));
    }
    Ok(joined)
}

fn page(base: &Url, key: &str, token: &str) -> Url {
    let others = base.query_pairs().filter(|(other, _)| other != key);
    let others: Vec<(String, String)> =
        others.map(|(key, value)| (key.into(), value.into())).collect();
    let mut next = base.clone();
    next.query_pairs_mut().clear().extend_pairs(others).append_pair(key, token);
    next
}

fn text<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| value.get(key)?.as_str())
}

/// A media type without parameters, in lower case.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// As much of a text as people are shown.
pub(crate) fn clipped(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    match text.char_indices().nth(LABEL) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// How late a version of an entry is: by its number, then by its time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version(Vec<u64>, String);

impl Version {
    fn of(entry: &Value) -> Self {
        let number = text(entry, &["version"]).unwrap_or_default();
        let parts = number.trim_start_matches('v').split(['.', '-', '+']).take(4);
        let parts = parts.map_while(|part| part.parse().ok());
        Self(parts.collect(), text(entry, &["updatedAt"]).unwrap_or_default().to_owned())
    }
}

/// Says of all but the latest of several entries with one identifier that they are older versions.
fn drop_earlier(items: &mut [(Item, Version)]) {
    let mut latest = std::collections::HashMap::<String, usize>::new();
    for at in 0..items.len() {
        let (Item { identifier: Some(identifier), .. }, version) = &items[at] else { continue };
        let other = latest.get(identifier).copied();
        let earlier = match other {
            Some(other) if items[other].1 >= *version => at,
            _ => other.unwrap_or(usize::MAX),
        };
        if earlier != at {
            latest.insert(identifier.clone(), at);
        }
        if let Some((item, _)) = items.get_mut(earlier) {
            item.is = Is::Other("another version of it counts".to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
