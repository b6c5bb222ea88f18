//! What is said of the agent directory over HTTP. `openapi.json` says the same for other programs.

mod asked;
mod of;

use std::collections::BTreeSet;

use jiff::Timestamp;
use registry::{CardDigest, CardVersion, Curation, Drift, Finding, Record, Seen, Signed, Tier};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::asked::{
    AddIn, DecisionIn, FileIn, LintIn, PolicyIn, ProbeIn, PublishIn, RefreshIn, TagsIn,
};

/// What was found: `GET /v1/agents`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The hits of this page, best first.
    pub agents: Vec<HitOut>,
    /// How many agents were found on all pages.
    pub total: usize,
    /// How often each value stands among all that was found; empty unless asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<FacetOut>,
    /// Brings the next page, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_page_token: Option<String>,
}

/// One agent that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HitOut {
    /// The agent.
    pub agent: AgentOut,
    /// How well it fits; comparable within one search only.
    pub score: f32,
    /// Why it was found, in words.
    pub why: Vec<String>,
    /// The same for programs.
    pub matches: Vec<MatchOut>,
}

/// What lists show of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentOut {
    /// Its name in the directory.
    pub name: String,
    /// How it stands.
    pub standing: Curation,
    /// What its card's signatures are worth.
    pub signed: Signed,
    /// What is seen of it; `null` when it was not looked at yet.
    pub evidence: Option<Seen>,
    /// Where its card was found; empty for a card of a file.
    pub url: String,
    /// Which version of the card this is.
    pub digest: CardDigest,
    /// Its tags, those of its skills and the curator's.
    pub tags: BTreeSet<String>,
    /// The ids of its skills.
    pub skills: Vec<String>,
    /// What its card says it is.
    pub description: String,
    /// Whether other accounts see it.
    pub public: bool,
}

/// All that was seen of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceOut {
    /// What that comes to; `null` when it was not looked at yet.
    pub seen: Option<Seen>,
    /// The newest probes, oldest first.
    pub probes: Vec<ProbeOut>,
    /// How it did in our runs, by skill.
    pub runs: Vec<ServiceOut>,
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeOut {
    /// When.
    pub at: Timestamp,
    /// What it is worth; `null` when the agent could not be reached.
    pub tier: Option<Tier>,
    /// Why it is not more.
    pub shortfalls: Vec<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Why it measured nothing, for a reason on the side of this directory; absent when it did measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

/// What became of probes: the answer to `POST /v1/agents:probe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbesOut {
    /// The agents, in the order in which they were named.
    pub agents: Vec<ProbedOut>,
}

/// An agent that was probed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbedOut {
    /// Its name.
    pub name: String,
    /// What is known of it now.
    pub evidence: Option<Seen>,
    /// What the probe found.
    pub probe: Option<ProbeOut>,
}

/// How an agent did at one skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceOut {
    /// The skill that steps asked for; `null` for those that asked for none.
    pub skill: Option<String>,
    /// How many attempts completed.
    pub completed: usize,
    /// How many failed.
    pub failed: usize,
    /// How long the completed ones took, in milliseconds: the middle one.
    pub median_ms: Option<u64>,
}

/// Why an agent was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchOut {
    /// The word that was looked for.
    pub word: String,
    /// The word of the agent.
    pub term: String,
    /// How the two belong together: `exact`, `synonym`, `prefix` or `typo`.
    pub kind: String,
    /// Where it stands: `name`, `skill`, `tag`, `description`, `example`, `notes`.
    pub fields: Vec<String>,
}

/// The values of one property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacetOut {
    /// The property.
    pub facet: String,
    /// Its values, the most frequent first.
    pub values: Vec<CountOut>,
}

/// How often a value stands among what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountOut {
    /// The value.
    pub value: String,
    /// How many agents have it.
    pub count: usize,
}

/// All that is known of an agent: `GET /v1/agents/{name}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordOut {
    /// What is kept of it.
    #[serde(flatten)]
    pub record: Record,
    /// How it stands.
    pub standing: Curation,
    /// What was seen of it.
    pub evidence: EvidenceOut,
    /// The versions of its card that are kept, oldest first.
    pub versions: Vec<VersionOut>,
}

/// One version of a card, without the card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionOut {
    /// Which one, counted from 1.
    pub number: u32,
    /// Its digest.
    pub digest: CardDigest,
    /// When it was first seen.
    pub since: Timestamp,
    /// What its signatures were worth when it came.
    pub signed: Signed,
    /// How it differs from the version before; `null` for the first.
    pub drift: Option<Drift>,
}

/// The versions of a card: `GET /v1/agents/{name}/versions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionsOut {
    /// Oldest first.
    pub versions: Vec<CardVersion>,
}

/// How an agent stands: the answer to a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingOut {
    /// The agent.
    pub name: String,
    /// How it stands now.
    pub standing: Curation,
}

/// The curator's tags of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagsOut {
    /// The agent.
    pub name: String,
    /// The tags.
    pub tags: Vec<String>,
}

/// Whether others may learn of an agent: the answer to `:publish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedOut {
    /// The agent.
    pub name: String,
    /// Whether they may, once it is approved.
    pub public: bool,
    /// How it stands.
    pub standing: Curation,
}

/// What was taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedOut {
    /// The agent.
    pub name: String,
}

/// What cards should be better at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintOut {
    /// The agents, each with its findings.
    pub agents: Vec<LintedOut>,
}

/// What one card should be better at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintedOut {
    /// The agent, or what its card calls it.
    pub name: String,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// Which agents a new policy changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySetOut {
    /// How each stands now.
    pub changed: Vec<JudgedOut>,
}

/// An agent that stands elsewhere, or is signed otherwise, by a new policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedOut {
    /// The agent.
    pub name: String,
    /// How it stands now.
    pub standing: Curation,
    /// What its card's signatures are worth now.
    pub signed: Signed,
}

/// An event of `GET /v1/agents:watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewsOut {
    /// The agent.
    pub name: String,
    /// When.
    pub at: Timestamp,
    /// How it stood; `null` when it was not there.
    pub was: Option<Curation>,
    /// How it stands; `null` when it is gone.
    pub standing: Option<Curation>,
    /// What its card's signatures are worth.
    pub signed: Option<Signed>,
    /// Which version of its card it has.
    pub version: Option<u32>,
    /// The digest of that.
    pub digest: Option<CardDigest>,
}

/// Why something was not done (RFC 9457): the body of every answer with a status from 400 on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProblemOut {
    /// What kind of problem it is: `urn:convoke:problem:` and a word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What is wrong, and what to do.
    pub detail: String,
    /// Everything that is wrong with what a person wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Value>,
    /// The scope that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}
