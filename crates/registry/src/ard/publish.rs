//! What others may learn of the directory, as a catalog and as answers to their questions.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use url::Url;

use super::{CARD, CATALOG, WELL_KNOWN};
use crate::{Access, Agent, CardDigest, Curation, Index};

/// How many agents one document lists; those of a larger directory are divided into parts.
pub const PART: usize = 500;

/// The path below which the search and list routes are.
pub const REGISTRY: &str = "/ard";

/// The media type of the search and list routes.
const REGISTRY_TYPE: &str = "application/ai-registry+json";

/// The name of the orchestrator itself among its agents, which no agent of a directory can have.
const OWN: &str = "Convoke";

/// How many examples of an agent are shown, and from how many on they are.
const EXAMPLES: std::ops::RangeInclusive<usize> = 2..=5;

/// The public part of a directory at one moment: the orchestrator itself, and perhaps the approved
/// agents that are marked public.
pub struct Published {
    pub(super) index: Index,
    /// Where the routes are reached.
    public_url: String,
    /// The first part of identifiers: `urn:air:HOST`.
    urn: String,
}

impl Published {
    /// Publishes the orchestrator that is reached at a URL by its own card, and of a directory the
    /// agents that are approved and public. What curators note for themselves (names besides the
    /// first, owner, notes) stays in the directory, and is not found by words either.
    #[must_use]
    pub fn new(public_url: &str, card: protocol::v1::AgentCard, directory: Option<&Index>) -> Self {
        let public_url = public_url.trim_end_matches('/').to_owned();
        let digest = CardDigest::of(&json!(card));
        let url = format!("{public_url}/.well-known/agent-card.json");
        let own = Agent::new(OWN, &url, card, digest);
        let theirs = directory.into_iter().flat_map(Index::iter).filter(|agent| is_public(agent));
        let agents = theirs.map(|agent| shown(agent)).chain([own]).map(Arc::new);
        let synonyms = directory.map(|directory| directory.synonyms().clone()).unwrap_or_default();
        let index = Index::with_synonyms(agents, synonyms);
        let urn = format!("urn:air:{}", host(&public_url));
        Self { index, public_url, urn }
    }

    /// Whether the same is published of two moments of a directory, as far as that can be told without going through
    /// all of it: also when more was seen of agents meanwhile.
    #[must_use]
    pub fn is_the_same(before: &Index, now: &Index) -> bool {
        std::ptr::eq(before, now)
            || now.changed_since(before).is_some_and(|changed| {
                changed.into_iter().all(|(was, is)| is_public(was) == is_public(is))
            })
    }

    /// The catalog, or one of its parts, counted from 1; nothing when there is no such part.
    #[must_use]
    pub fn catalog(&self, part: Option<usize>) -> Option<Value> {
        let parts = self.agents().count().div_ceil(PART);
        let entries: Vec<Value> = match part {
            Some(part) if part == 0 || part > parts => return None,
            Some(part) => {
                let agents = self.agents().skip((part - 1) * PART).take(PART);
                agents.map(|agent| self.entry(agent)).collect()
            }
            None => {
                let own =
                    self.index.iter().find(|agent| agent.name == OWN).map(|own| self.entry(own));
                let agents = self.agents().map(|agent| self.entry(agent));
                let rest: Vec<Value> = match parts {
                    0 | 1 => agents.collect(),
                    _ => (1..=parts).map(|part| self.part(part)).collect(),
                };
                own.into_iter().chain([self.registry()]).chain(rest).collect()
            }
        };
        let host = json!({ "displayName": "Convoke", "identifier": host(&self.public_url) });
        Some(json!({ "specVersion": "1.0", "host": host, "entries": entries }))
    }

    fn agents(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.index.iter().filter(|agent| agent.name != OWN)
    }

    /// One agent, in the words of all drafts since entries say what they are.
    pub(super) fn entry(&self, agent: &Agent) -> Value {
        let identifier = match agent.name.as_str() {
            OWN => format!("{}:orchestrator", self.urn),
            name => format!("{}:agent:{name}", self.urn),
        };
        let mut entry = typed(&identifier, &agent.card.name, CARD);
        // A card that came from a file has no address, and one that stood in a catalog none of its own.
        let is_elsewhere = !agent.url.is_empty() && super::split_entry(&agent.url).is_none();
        if is_elsewhere {
            entry.insert("url".to_owned(), json!(agent.url));
        } else {
            entry.insert("data".to_owned(), json!(*agent.card));
        }
        let skills = &agent.card.skills;
        let examples: Vec<&String> =
            skills.iter().flat_map(|skill| &skill.examples).take(*EXAMPLES.end()).collect();
        let said = [
            ("description", json!(agent.card.description)),
            ("version", json!(agent.card.version)),
            ("tags", json!(agent.all_tags())),
            ("capabilities", skills.iter().map(|skill| json!(skill.id)).collect()),
            (
                "representativeQueries",
                if EXAMPLES.contains(&examples.len()) { json!(examples) } else { Value::Null },
            ),
        ];
        for (key, value) in said {
            let is_said = value.as_str().is_some_and(|text| !text.is_empty())
                || value.as_array().is_some_and(|list| !list.is_empty());
            if is_said {
                entry.insert(key.to_owned(), value);
            }
        }
        entry.into()
    }

    fn part(&self, part: usize) -> Value {
        let base = WELL_KNOWN.trim_end_matches(".json");
        let identifier = format!("{}:part:{part}", self.urn);
        let mut entry = typed(&identifier, &format!("Part {part} of the directory"), CATALOG);
        entry.insert("url".to_owned(), json!(format!("{}{base}/{part}.json", self.public_url)));
        entry.into()
    }

    fn registry(&self) -> Value {
        let identifier = format!("{}:registry", self.urn);
        let mut entry = typed(&identifier, "Search in this directory", REGISTRY_TYPE);
        entry.insert("url".to_owned(), json!(self.source()));
        entry.into()
    }

    /// Where the routes are reached, which is what they call the source of what they find.
    pub(super) fn source(&self) -> String {
        format!("{}{REGISTRY}/", self.public_url)
    }

    /// The host that publishes.
    pub(super) fn host(&self) -> &str {
        self.urn.trim_start_matches("urn:air:")
    }

    pub(super) fn media_type() -> &'static str {
        CARD
    }
}

fn typed(identifier: &str, name: &str, media_type: &str) -> Map<String, Value> {
    let members = [
        ("identifier", identifier),
        ("displayName", name),
        ("type", media_type),
        ("mediaType", media_type),
    ];
    members.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

fn is_public(agent: &Agent) -> bool {
    agent.is_public && agent.curation == Curation::Approved
}

fn shown(agent: &Agent) -> Agent {
    let (aliases, access) = (Vec::new(), Access::default());
    Agent { aliases, owner: None, notes: None, access, ..agent.clone() }
}

/// The host of a URL as identifiers can hold it.
fn host(public_url: &str) -> String {
    let url = Url::parse(public_url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("localhost");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    let host: String = host.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    host.trim_matches('-').to_owned()
}

#[cfg(test)]
pub(super) mod tests;
