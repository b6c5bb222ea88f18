//! What is decided without asking: a curator's rules, written down once.

mod read;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use protocol::auth::{NotAnOrigin, Origin};
use serde::{Deserialize, Serialize};
use store::Table;

pub use read::{read as read_policy, read_brought as read_brought_policy};

use crate::{Curation, DriftClass, Record, Signed, Synonyms, Tier};

/// Where what belongs to the whole directory is kept.
pub(crate) const DIRECTORY: Table = Table::new("directory");

/// The key of the policy's row.
pub(crate) const POLICY: &str = "policy";

/// The rules of a directory. Without any, nothing is approved by itself, and an approval outlives
/// changes of a card that break nothing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// The keys whose signatures are trusted, by the name of who holds them.
    pub keys: BTreeMap<String, Pinned>,
    /// An agent that is proposed is approved when one of these fits.
    pub approve: Vec<Rule>,
    /// Which changes of a card leave an approval as it is. Breaking ones never do.
    pub keep_approval: Vec<DriftClass>,
    /// After how many days an approval has to be reviewed.
    pub review_after_days: Option<u32>,
    /// Groups of tags that mean the same.
    pub synonyms: Vec<Vec<String>>,
}

/// A key that a person named.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pinned {
    /// The text of its file: a JWK, a JWK set, or PEM.
    Text(String),
    /// The address of a JWK set.
    Url(String),
}

/// Conditions that have to hold together; at least one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rule {
    /// The card is signed with the pinned key of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// The card was fetched from this origin, or is one of the operator's own files when it is
    /// written `file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Whence>,
    /// At least this much was seen of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Tier>,
}

/// Where a card comes from: written as an origin, or as `file`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Whence {
    /// A file.
    File,
    /// A server.
    Origin(Origin),
}

impl TryFrom<String> for Whence {
    type Error = NotAnOrigin;

    fn try_from(text: String) -> Result<Self, NotAnOrigin> {
        if text == "file" { Ok(Self::File) } else { text.parse().map(Self::Origin) }
    }
}

impl From<Whence> for String {
    fn from(whence: Whence) -> Self {
        match whence {
            Whence::File => "file".to_owned(),
            Whence::Origin(origin) => origin.to_string(),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            keys: BTreeMap::new(),
            approve: Vec::new(),
            keep_approval: vec![DriftClass::Cosmetic, DriftClass::Additive],
            review_after_days: None,
            synonyms: Vec::new(),
        }
    }
}

impl Policy {
    /// Why the rules approve an agent as it is now; nothing when they do not, or need not.
    ///
    /// A person has to look at one that lost an approval: the rules do not give it back.
    pub(crate) fn approves(&self, record: &Record) -> Option<String> {
        if record.decided() != Curation::Proposed || record.is_held {
            return None;
        }
        self.approve.iter().find_map(|rule| rule.fits(record))
    }

    /// Whether a change of this class leaves an approval as it is.
    pub(crate) fn keeps(&self, class: DriftClass) -> bool {
        class != DriftClass::Breaking && self.keep_approval.contains(&class)
    }

    /// When an approval of this moment has to be reviewed.
    pub(crate) fn review_after(&self, at: Timestamp) -> Option<Timestamp> {
        let days = i64::from(self.review_after_days?);
        at.checked_add(SignedDuration::from_hours(24 * days)).ok()
    }

    /// Which tags mean the same.
    #[must_use]
    pub fn to_synonyms(&self) -> Synonyms {
        Synonyms::new(self.synonyms.iter().map(Vec::as_slice))
    }
}

impl Rule {
    /// The conditions in words, when all of them hold.
    fn fits(&self, record: &Record) -> Option<String> {
        let mut why = Vec::new();
        if let Some(name) = &self.signed_by {
            let is_signed = record.trust.signed == Signed::Trusted;
            (is_signed && record.trust.signer.as_ref() == Some(name)).then_some(())?;
            why.push(format!("signed by {name}"));
        }
        if let Some(from) = &self.origin {
            let is_from = match from {
                Whence::File => record.url.is_empty(),
                Whence::Origin(origin) => record.url.parse().is_ok_and(|it: Origin| it == *origin),
            };
            is_from.then_some(())?;
            why.push(match from {
                Whence::File => "from a file of the operator".to_owned(),
                Whence::Origin(origin) => format!("from {origin}"),
            });
        }
        if let Some(tier) = self.evidence {
            let seen = record.tier.filter(|seen| *seen >= tier)?;
            why.push(format!("evidence: {seen}"));
        }
        (!why.is_empty()).then(|| why.join(", "))
    }
}

#[cfg(test)]
mod tests;
