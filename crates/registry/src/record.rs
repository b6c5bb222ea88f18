use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use protocol::auth::{Credential, Origin};
use protocol::v1::AgentCard;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{AccountId, Expect, Row, Table, Tags, Version, Write};

use crate::{
    Access, Agent, CardDigest, Curation, Decision, Drift, Finding, Grounds, History, Policy,
    Provenance, RegistryError, Tier, TransitionError, Trust, lint,
};

/// Where records are kept.
pub const AGENTS: Table = Table::new("agents");

/// What a catalog, or a person who adds an agent, says of it beside its card.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    /// The curator's tags.
    pub tags: Vec<String>,
    /// Which kind of agent it is among those of the directory, in the curator's words.
    pub category: Option<String>,
    /// Other names it is found by.
    pub aliases: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// What the curator noted.
    pub notes: Option<String>,
    /// The last day, by UTC, before the notes have to be reviewed; then they are shown as out of date, and not searched.
    pub notes_review_by: Option<Date>,
    /// Which of several fitting agents is taken: the larger number.
    pub priority: i32,
    /// What it is called with: where the secrets are kept, never the secrets.
    pub credentials: Vec<Credential>,
    /// Where else than to the origin of its URL the credentials may go.
    pub origins: Vec<Origin>,
    /// The text of a Message that probes send, so that it is seen whether the agent works; an empty one forbids what the
    /// settings say for all.
    pub probe_message: Option<String>,
    /// Whether others may learn of it: callers of a server whatever their account, and, once it is approved, who
    /// reads what the server publishes.
    pub public: bool,
}

impl Details {
    /// From when on the notes are out of date.
    #[must_use]
    pub fn notes_until(&self) -> Option<Timestamp> {
        let end =
            self.notes_review_by?.tomorrow().and_then(|day| day.to_zoned_datetime(TimeZone::UTC));
        // The last day there is ends with time itself.
        Some(end.map_or(Timestamp::MAX, |end| end.timestamp()))
    }
}

/// Keeps one agent with its history: a row of the table `agents`, in JSON.
///
/// Row tags: 0 the standing, 1 the catalog it came from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The form of the record; 1 is the only one so far.
    v: u32,
    /// The name in the directory.
    pub name: String,
    /// Where the card was found; empty for a card from a file.
    pub url: String,
    /// The URL it was added by, which may only lead to the card's; empty likewise.
    pub asked_url: String,
    /// The card as it came.
    pub card: Value,
    /// Its digest.
    pub digest: CardDigest,
    /// When this version of the card was first seen.
    pub card_since: Timestamp,
    /// Which version of the card this is, counted from 1.
    #[serde(default = "first")]
    pub version: u32,
    /// With which version it became public; see [`Record::public_since`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown_since: Option<u32>,
    /// How it differs from the version before; nothing for the first.
    #[serde(default)]
    pub drift: Option<Drift>,
    /// Which observations count as evidence of the agent; those of the present card alone for a record that does not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounds: Option<Grounds>,
    /// What the card's signatures are worth.
    #[serde(default)]
    pub trust: Trust,
    /// When its approval has to be reviewed.
    #[serde(default)]
    pub review_by: Option<Timestamp>,
    /// Whether it lost an approval, which only a person gives back.
    #[serde(default)]
    pub is_held: bool,
    /// How much was seen of the agent when the record was read: kept apart, because it changes often.
    #[serde(skip)]
    pub tier: Option<Tier>,
    /// What was said of the agent beside its card.
    pub details: Details,
    /// The catalog of somebody else in which it was heard of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Provenance>,
    /// The catalog that lists it and may remove it.
    pub catalog: Option<String>,
    /// How it stands, and how that came about.
    pub history: History,
}

impl Record {
    /// Makes the record of an agent that was not known before.
    pub(crate) fn new(name: String, card: Value, digest: CardDigest, history: History) -> Self {
        let card_since = history.changes()[0].by.at;
        let (url, details, catalog) = (String::new(), Details::default(), None);
        Self {
            v: 1,
            name,
            url,
            asked_url: String::new(),
            card,
            digest,
            card_since,
            version: first(),
            shown_since: None,
            drift: None,
            grounds: Some(Grounds::new(card_since, digest)),
            trust: Trust::default(),
            review_by: None,
            is_held: false,
            tier: None,
            details,
            source: None,
            catalog,
            history,
        }
    }

    /// From which version on others may see its card: the one that it had when it became public, also again. Nothing for an
    /// agent that is not public; the present one for a record that was written before this was kept.
    #[must_use]
    pub fn public_since(&self) -> Option<u32> {
        self.details.public.then(|| self.shown_since.unwrap_or(self.version))
    }

    /// Whether it was heard of in a catalog at this address, or in one of its documents.
    pub(crate) fn is_listed_at(&self, url: &str) -> bool {
        let is_it =
            |source: &Provenance| source.asked == url || source.via.iter().any(|it| it == url);
        self.source.as_ref().is_some_and(is_it)
    }

    /// What was decided of the agent last.
    #[must_use]
    pub fn decided(&self) -> Curation {
        self.history.standing()
    }

    /// How the agent stands now: what was decided, unless that is over.
    #[must_use]
    pub fn standing(&self) -> Curation {
        self.standing_at(Timestamp::now())
    }

    /// How the agent stands at a moment.
    #[must_use]
    pub fn standing_at(&self, now: Timestamp) -> Curation {
        self.decided().at(self.review_by, now)
    }

    /// Which observations count as evidence of the agent.
    #[must_use]
    pub fn grounds(&self) -> Grounds {
        self.grounds.clone().unwrap_or_else(|| Grounds::new(self.card_since, self.digest))
    }

    /// Adds the card it has now to what evidence counts for; after what breaks it, in place of that.
    pub(crate) fn found(&mut self, is_breaking: bool, at: Timestamp) {
        let mut grounds = self.grounds();
        if is_breaking {
            grounds = Grounds::new(at, self.digest);
            self.tier = None;
        } else {
            grounds.add(self.digest);
        }
        self.grounds = Some(grounds);
    }

    /// Moves the agent to another standing, as a person decided. Returns whether anything changed.
    pub(crate) fn move_to(
        &mut self,
        to: Curation,
        by: Decision,
        policy: &Policy,
    ) -> Result<bool, TransitionError> {
        let at = by.at;
        let is_moved = self.history.transition(to, by)?;
        if is_moved {
            self.is_held = false;
            self.review_by = (to == Curation::Approved).then(|| policy.review_after(at)).flatten();
        }
        Ok(is_moved)
    }

    /// Takes an approval back until a person has looked at the agent. Others stay as they are.
    pub(crate) fn hold(&mut self, by: Decision) {
        if !self.decided().is_bindable() {
            return;
        }
        let moved = self.history.transition(Curation::Proposed, by);
        moved.expect("what can be bound can be proposed again");
        self.review_by = None;
        self.is_held = true;
    }

    /// Takes an approval back when its time is over. Every decision about an agent begins with that, so that none is
    /// founded on an approval that is none any more.
    /// Returns whether it was.
    pub(crate) fn expire(&mut self, now: Timestamp) -> bool {
        let Some(due) = self.review_by.filter(|due| *due <= now) else { return false };
        let why = format!("its approval had to be reviewed by {}", due.strftime("%Y-%m-%d"));
        self.hold(Decision { who: "policy".to_owned(), why, at: now });
        self.review_by = None;
        true
    }

    /// Approves what the rules of the directory approve. Returns whether they do.
    pub(crate) fn settle(&mut self, policy: &Policy, at: Timestamp) -> bool {
        let Some(why) = policy.approves(self) else { return false };
        let by = Decision { who: "policy".to_owned(), why, at };
        let moved = self.history.transition(Curation::Approved, by);
        moved.expect("what is proposed can be approved");
        self.review_by = policy.review_after(at);
        true
    }

    /// The card, read through the one model.
    ///
    /// # Errors
    /// When the card, readable when it was stored, no longer is.
    pub fn read_card(&self) -> Result<AgentCard, RegistryError> {
        Ok(protocol::card::read(&self.card).map_err(Arc::new)?)
    }

    /// What its card should be better at.
    ///
    /// # Errors
    /// As [`Record::read_card`].
    pub fn lint(&self) -> Result<Vec<Finding>, RegistryError> {
        let url = (!self.url.is_empty()).then_some(self.url.as_str());
        Ok(lint(&self.read_card()?, &self.card, url))
    }

    /// The agent as the planner sees it now.
    ///
    /// # Errors
    /// As [`Record::read_card`].
    pub fn to_agent(&self) -> Result<Agent, RegistryError> {
        let details = self.details.clone();
        let card = self.read_card()?;
        let agent = Agent {
            name: self.name.clone(),
            access: Access::of(&self.details, &self.asked_url, Some(&card)),
            card: Arc::new(card),
            digest: self.digest,
            url: self.url.clone(),
            curation: self.standing(),
            decided: self.decided(),
            review_by: self.review_by,
            signed: self.trust.signed,
            tier: self.tier,
            seen: None,
            grounds: Arc::new(self.grounds()),
            notes_until: details.notes_until(),
            tags: details.tags,
            category: details.category,
            aliases: details.aliases,
            owner: details.owner,
            notes: details.notes,
            priority: details.priority,
            is_public: details.public,
        };
        Ok(agent.without_old_notes(Timestamp::now()))
    }

    /// What other accounts see of it: not who decided what and why, no notes, nothing of
    /// credentials.
    #[must_use]
    pub fn for_others(mut self) -> Self {
        // The version before was not for them.
        if self.public_since().is_none_or(|since| since >= self.version) {
            self.drift = None;
        }
        let Details { tags, category, priority, public, .. } = self.details;
        self.details = Details { tags, category, priority, public, ..Details::default() };
        self.history = self.history.without_reasons();
        (self.catalog, self.review_by, self.is_held) = (None, None, false);
        self.source = None;
        self
    }

    /// What those see of it who may not change it: nothing of credentials.
    #[must_use]
    pub fn for_readers(mut self) -> Self {
        self.details.credentials.clear();
        self.details.origins.clear();
        self
    }

    pub(crate) fn of_row(row: &Row) -> Result<Stored, RegistryError> {
        let damaged = |why: String| RegistryError::Damaged { name: row.key.clone(), why };
        let record: Self =
            serde_json::from_slice(&row.value).map_err(|error| damaged(error.to_string()))?;
        if record.v != 1 {
            return Err(damaged(format!("its form {} is of a later Convoke", record.v)));
        }
        Ok(Stored { record, version: row.version })
    }

    /// The write that keeps this record in place of what was read.
    pub(crate) fn write(&self, account: &AccountId, expect: Expect) -> Write {
        let mut tags = Tags::default();
        tags[0] = Some(self.decided().as_str().to_owned());
        tags[1].clone_from(&self.catalog);
        let since = self.public_since();
        let value = match since == self.shown_since {
            true => serde_json::to_vec(self),
            false => serde_json::to_vec(&Self { shown_since: since, ..self.clone() }),
        };
        let value = value.expect("a record has only text keys");
        Write::Put {
            account: account.clone(),
            table: AGENTS,
            key: self.name.clone(),
            sort: self.name.clone(),
            tags,
            value: value.into(),
            expect,
        }
    }
}

fn first() -> u32 {
    1
}

/// A record and the version it was read in.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stored {
    pub(crate) record: Record,
    pub(crate) version: Version,
}
