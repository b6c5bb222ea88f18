use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{AccountId, Expect, Row, Table, Tags, Write};

use crate::{CardDigest, Drift, Record, RegistryError, Trust};

/// Where the versions of cards are kept.
pub(crate) const CARDS: Table = Table::new("agent_cards");

/// How many versions of an agent's card are kept.
pub const MOST_VERSIONS: u32 = 20;

/// Keeps one version of an agent's card: a row of the table `agent_cards`, in JSON.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CardVersion {
    /// Which one, counted from 1.
    pub number: u32,
    /// The card as it came.
    pub card: Value,
    /// Its digest.
    pub digest: CardDigest,
    /// When it was first seen.
    pub since: Timestamp,
    /// How it differs from the version before; nothing for the first.
    pub drift: Option<Drift>,
    /// What its signatures were worth when it came.
    pub trust: Trust,
}

impl CardVersion {
    /// The version that a record has now.
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            number: record.version,
            card: record.card.clone(),
            digest: record.digest,
            since: record.card_since,
            drift: record.drift.clone(),
            trust: record.trust.clone(),
        }
    }

    pub(crate) fn of_row(row: &Row) -> Result<Self, RegistryError> {
        serde_json::from_slice(&row.value).map_err(|error| RegistryError::Damaged {
            name: row.key.clone(),
            why: error.to_string(),
        })
    }

    /// The writes that keep the version which a record has now, and drop the oldest beyond
    /// [`MOST_VERSIONS`].
    pub(crate) fn writes(record: &Record, account: &AccountId) -> Vec<Write> {
        let value = serde_json::to_vec(&Self::of(record)).expect("a version has only text keys");
        let key = key(&record.name, record.version);
        let mut writes = vec![Write::Put {
            account: account.clone(),
            table: CARDS,
            sort: key.clone(),
            key,
            tags: Tags::default(),
            value: value.into(),
            expect: Expect::Any,
        }];
        if let Some(oldest) = record.version.checked_sub(MOST_VERSIONS).filter(|it| *it > 0) {
            writes.push(delete(account, self::key(&record.name, oldest)));
        }
        writes
    }
}

/// Before the number, so that all of an agent are found by it.
pub(crate) fn prefix(name: &str) -> String {
    format!("{name}/")
}

fn key(name: &str, number: u32) -> String {
    format!("{}{number:08}", prefix(name))
}

pub(crate) fn delete(account: &AccountId, key: String) -> Write {
    Write::Delete { account: account.clone(), table: CARDS, key, expect: Expect::Any }
}
