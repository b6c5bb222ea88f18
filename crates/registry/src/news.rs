//! What happened in a directory, for those who follow it: written in the same commit as the change
//! itself, in its order, and kept for a while.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::{AccountId, Batch, Expect, Row, Table, Tags, Write};

use crate::apply::Change;
use crate::{CardDigest, Curation, Index, Record, RegistryError, Signed};

/// Where news are kept: a row for some that came together, by the number of the first.
pub(crate) const NEWS: Table = Table::new("agent_news");

/// Where that is kept of them which others are told, under numbers of its own: how far these go says nothing of what
/// others do not see.
pub(crate) const PUBLIC_NEWS: Table = Table::new("agent_public_news");

/// How many come together in one row at most.
pub(crate) const TOGETHER: usize = 500;

/// How many rows are kept.
pub(crate) const MOST_ROWS: u64 = 2000;

/// One thing that happened to one agent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct News {
    /// Its number: they are counted from 1, without gaps.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The agent.
    pub name: String,
    /// What happened.
    pub event: Event,
    /// How the agent stood before; absent when it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Curation>,
    /// How it stands now; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Curation>,
    /// What its card's signatures are worth now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
    /// Which version of its card it has now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The digest of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<CardDigest>,
    /// Whether other accounts see it now.
    #[serde(default)]
    pub is_public: bool,
    /// Whether they saw it before.
    #[serde(default)]
    pub was_public: bool,
}

/// What happened to an agent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It was taken in.
    Added,
    /// Something that is kept of it is different.
    Changed,
    /// It is gone.
    Removed,
}

/// News after a number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewsAt {
    /// In their order; not necessarily all there are.
    pub news: Vec<News>,
    /// Whether some in between are no longer kept, or the number is of another directory: who was
    /// told up to there has to look at everything anew.
    pub is_broken: bool,
}

impl Event {
    /// The word programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

impl News {
    /// What changes mean against the directory as it was.
    pub(crate) fn of(changes: &[Change], before: &Index, after: u64, at: Timestamp) -> Vec<Self> {
        let of = |(seq, change): (u64, &Change)| match change {
            Change::Put(record, _) | Change::PutCard(record, _) => {
                Self::of_record(record, before, seq, at)
            }
            Change::Delete(name, _) => {
                let bare = Self::bare(name, Event::Removed, seq, at);
                bare.after(before)
            }
        };
        (after + 1..).zip(changes).map(of).collect()
    }

    fn of_record(record: &Record, before: &Index, seq: u64, at: Timestamp) -> Self {
        let is_known = before.fitting(&record.name, &[]).is_some();
        let event = if is_known { Event::Changed } else { Event::Added };
        let news = Self {
            standing: Some(record.decided()),
            signed: Some(record.trust.signed),
            version: Some(record.version),
            digest: Some(record.digest),
            is_public: record.details.public,
            ..Self::bare(&record.name, event, seq, at)
        };
        news.after(before)
    }

    fn bare(name: &str, event: Event, seq: u64, at: Timestamp) -> Self {
        Self {
            seq,
            at,
            name: name.to_owned(),
            event,
            was: None,
            standing: None,
            signed: None,
            version: None,
            digest: None,
            is_public: false,
            was_public: false,
        }
    }

    fn after(self, before: &Index) -> Self {
        let agent = before.fitting(&self.name, &[]);
        Self {
            was: agent.map(|agent| agent.decided),
            was_public: agent.is_some_and(|agent| agent.is_public),
            ..self
        }
    }

    /// What other accounts are told of it, if anything: they see an agent come when it becomes
    /// public, and go when it is no more.
    pub(crate) fn for_others(self) -> Option<Self> {
        let event = match (self.was_public, self.is_public) {
            (false, false) => return None,
            (false, true) => Event::Added,
            (true, true) => Event::Changed,
            (true, false) => Event::Removed,
        };
        if event == Event::Removed {
            return Some(Self {
                was: self.was,
                ..Self::bare(&self.name, event, self.seq, self.at)
            });
        }
        let was = self.was.filter(|_| self.was_public);
        Some(Self { event, was, ..self })
    }

    /// The news of a row.
    pub(crate) fn of_row(row: &Row) -> Result<Vec<Self>, RegistryError> {
        serde_json::from_slice(&row.value).map_err(|error| RegistryError::Damaged {
            name: row.key.clone(),
            why: error.to_string(),
        })
    }
}

/// The key of the row that begins with this number.
pub(crate) fn key(first: u64) -> String {
    format!("{first:020}")
}

/// Adds the writes of news to a batch. Of two that write after the same number, one conflicts.
pub(crate) fn add(batch: &mut Batch, table: Table, news: &[News], account: &AccountId) {
    for together in news.chunks(TOGETHER) {
        let value = serde_json::to_vec(together).expect("news have only text keys");
        let key = key(together[0].seq);
        batch.writes.push(Write::Put {
            account: account.clone(),
            table,
            sort: key.clone(),
            key,
            tags: Tags::default(),
            value: value.into(),
            expect: Expect::Absent,
        });
    }
}
