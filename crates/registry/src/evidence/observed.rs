use std::collections::VecDeque;
use std::time::Duration;

use document::Severity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::{AccountId, Expect, Row, Table, Tags, Write};

use super::{Grounds, Tier};
use crate::{CardDigest, Finding, RegistryError};

/// Where the results of probes are kept, a row for each agent.
pub(crate) const EVIDENCE: Table = Table::new("agent_evidence");

/// Where the outcomes of work are kept, [`MOST_OUTCOMES`] rows for each agent.
pub(crate) const OUTCOMES: Table = Table::new("agent_outcomes");

/// How many results of probes are kept of an agent.
pub const MOST_PROBES: usize = 20;

/// How many outcomes of work are kept of an agent.
pub const MOST_OUTCOMES: u64 = 64;

/// What one probe of an agent showed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Probed {
    /// When.
    pub at: Timestamp,
    /// Until when it counts.
    pub fresh_until: Timestamp,
    /// How far it came; `None` when the agent could not be reached.
    pub tier: Option<Tier>,
    /// Whether nothing spoke against the agent but that it was not reached, or not in time.
    pub is_silent: bool,
    /// What kept it from more; nothing for a conformant one.
    pub shortfalls: Vec<Shortfall>,
    /// How long the probe took.
    pub took: Duration,
    /// The card it is of; unknown for those that earlier versions of Convoke made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardDigest>,
    /// Why it measured nothing, when the reason is on this side: then it says nothing of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
}

impl Probed {
    /// What the card declares and the agent does not do: findings about the card.
    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding> {
        let day = self.at.strftime("%Y-%m-%d");
        self.shortfalls.iter().filter(|it| !it.is_silent).filter_map(move |shortfall| {
            Some(Finding {
                code: "card::missing-capability".into(),
                severity: Severity::Error,
                pointer: shortfall.declared.clone()?,
                message: format!("is declared, and a probe of {day} did not find it: {shortfall}"),
                help: "the agent's author has to take it out of the card, or mend the agent"
                    .to_owned(),
                place: None,
            })
        })
    }
}

/// One thing a probe expected and did not find.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Shortfall {
    /// What was looked at, such as `GetTask of an unknown id over JSONRPC 1.0`.
    pub what: String,
    /// What came instead.
    pub why: String,
    /// Whether nothing came: it may be better at another time.
    pub is_silent: bool,
    /// Where the card declares what was not found, as a JSON pointer; absent for what no card has to declare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
}

impl Shortfall {
    /// What was looked at and what came instead, which may be the agent's own words.
    pub(crate) fn new(what: &str, why: &str, is_silent: bool) -> Self {
        Self { what: tame(what), why: tame(why), is_silent, declared: None }
    }

    /// The same, of something that the card declares at this place.
    pub(crate) fn declared_at(self, pointer: Option<&str>) -> Self {
        Self { declared: pointer.map(str::to_owned), ..self }
    }
}

/// How much is kept of words that may be an agent's own, in characters.
const MAX_WORDS: usize = 500;

/// Words of a stranger as they are kept: in one line, and not too many.
pub(crate) fn tame(words: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    words.chars().map(plain).take(MAX_WORDS).collect()
}

impl std::fmt::Display for Shortfall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// How one attempt of a step of our runs ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Work {
    /// Counts the attempts at the agent.
    pub number: u64,
    /// When it ended.
    pub at: Timestamp,
    /// Until when it says that the agent is there.
    pub fresh_until: Timestamp,
    /// Until when it proves something.
    pub counts_until: Timestamp,
    /// The run, for people.
    pub run: String,
    /// Its step, for people.
    pub step: String,
    /// The skill that the step asked for, when it asked for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// Why it failed; nothing when it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// The card that the run was planned with; unknown for those that earlier versions of Convoke made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<CardDigest>,
    /// Whether it failed for a reason on this side: then it says nothing of the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unmeasured: bool,
}

/// Everything that is kept of what was observed of one agent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Observed {
    pub(crate) probes: Probes,
    /// Oldest first.
    pub(crate) work: VecDeque<Work>,
    /// The newest work that says nothing of the agent: kept apart, so that none that does is dropped for it.
    pub(crate) unmeasured: Option<Work>,
}

/// The results of probes: what is kept in one row.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Probes {
    /// The form of the row; 1 is the only one so far.
    v: u32,
    /// Since when the probes of the newest tier have had it, which may be before the oldest one kept.
    pub(crate) since: Timestamp,
    /// Oldest first.
    pub(crate) recent: VecDeque<Probed>,
}

impl Probes {
    /// Adds the newest result.
    pub(crate) fn add(&mut self, probed: Probed, grounds: &Grounds) {
        self.v = 1;
        // Of those that say nothing in a row the newest is enough, so that they do not displace the others.
        if self.recent.back().is_some_and(|last| last.unmeasured.is_some()) {
            self.recent.pop_back();
        }
        let is_measured = probed.unmeasured.is_none();
        let goes_on = |last: &Probed| last.tier == probed.tier && grounds.count(last.card, last.at);
        if is_measured && !self.measured().next_back().is_some_and(goes_on) {
            self.since = probed.at;
        }
        self.recent.push_back(probed);
        while self.recent.len() > MOST_PROBES {
            self.recent.pop_front();
        }
    }

    /// Those that say something of the agent, oldest first.
    pub(crate) fn measured(&self) -> impl DoubleEndedIterator<Item = &Probed> {
        self.recent.iter().filter(|probed| probed.unmeasured.is_none())
    }

    pub(crate) fn of_row(row: &Row) -> Result<Self, RegistryError> {
        let damaged = |why: String| RegistryError::Damaged { name: row.key.clone(), why };
        let probes: Self =
            serde_json::from_slice(&row.value).map_err(|error| damaged(error.to_string()))?;
        match probes.v {
            1 => Ok(probes),
            v => Err(damaged(format!("the form {v} of its evidence is of a later Convoke"))),
        }
    }

    pub(crate) fn write(&self, account: &AccountId, name: &str) -> Write {
        let value = serde_json::to_vec(self).expect("evidence has only text keys");
        put(account, EVIDENCE, name.to_owned(), String::new(), value)
    }
}

impl Work {
    /// The agent and the outcome that a row holds.
    pub(crate) fn of_row(row: &Row) -> Result<(&str, Self), RegistryError> {
        let damaged = |why: String| RegistryError::Damaged { name: row.key.clone(), why };
        let (name, _) = row.key.split_once('/').ok_or_else(|| damaged("no agent".to_owned()))?;
        let work =
            serde_json::from_slice(&row.value).map_err(|error| damaged(error.to_string()))?;
        Ok((name, work))
    }

    /// The write that keeps it in place of the oldest.
    pub(crate) fn write(&self, account: &AccountId, name: &str) -> Write {
        let value = serde_json::to_vec(self).expect("an outcome has only text keys");
        let key = if self.is_unmeasured { unmeasured(name) } else { slot(name, self.number) };
        put(account, OUTCOMES, key, self.at.to_string(), value)
    }
}

impl Observed {
    /// Adds the outcome of work that ended, unless it is known.
    pub(crate) fn add_work(&mut self, work: Work) {
        if work.is_unmeasured {
            if self.unmeasured.as_ref().is_none_or(|last| last.at <= work.at) {
                self.unmeasured = Some(work);
            }
            return;
        }
        match self.work.binary_search_by_key(&work.number, |known| known.number) {
            Ok(at) => self.work[at] = work,
            Err(at) => self.work.insert(at, work),
        }
        while self.work.len() as u64 > MOST_OUTCOMES {
            self.work.pop_front();
        }
    }
}

/// The writes that forget all work of an agent.
pub(crate) fn forget_outcomes(account: &AccountId, name: &str) -> impl Iterator<Item = Write> {
    let slots = (0..MOST_OUTCOMES).map(|number| slot(name, number));
    slots.chain([unmeasured(name)]).map(|key| Write::Delete {
        account: account.clone(),
        table: OUTCOMES,
        key,
        expect: Expect::Any,
    })
}

/// One of the places that the outcomes of an agent take in turn.
fn slot(name: &str, number: u64) -> String {
    format!("{name}/{:02}", number % MOST_OUTCOMES)
}

/// The place of the newest outcome that says nothing of its agent.
fn unmeasured(name: &str) -> String {
    format!("{name}/unmeasured")
}

fn put(account: &AccountId, table: Table, key: String, sort: String, value: Vec<u8>) -> Write {
    Write::Put {
        account: account.clone(),
        table,
        key,
        sort,
        tags: Tags::default(),
        value: value.into(),
        expect: Expect::Any,
    }
}
