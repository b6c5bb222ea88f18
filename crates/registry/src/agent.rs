use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use protocol::v1::AgentCard;

use crate::{Access, CardDigest, Curation, Grounds, Seen, Signed, Tier};

/// Holds what the planner has to know of one agent of the directory.
#[derive(Clone, PartialEq, Debug)]
pub struct Agent {
    /// Its name in the directory, unique in the account.
    pub name: String,
    /// Its card, read through the one model whatever version it came in.
    pub card: Arc<AgentCard>,
    /// Which version of the card this is.
    pub digest: CardDigest,
    /// Where the card was found; empty for a card that came from a file.
    pub url: String,
    /// How it stands: what was decided, unless that is over.
    pub curation: Curation,
    /// What was decided last.
    pub decided: Curation,
    /// From when on an approval is none any more.
    pub review_by: Option<Timestamp>,
    /// What its card's signatures are worth.
    pub signed: Signed,
    /// How much was seen of it, as far as that counts: what is stale does not.
    pub tier: Option<Tier>,
    /// What that follows from; nothing when it was not looked at yet.
    pub seen: Option<Arc<Seen>>,
    /// Which observations count.
    pub grounds: Arc<Grounds>,
    /// The curator's tags, beside those of the card's skills.
    pub tags: Vec<String>,
    /// Which kind of agent it is among those of the directory, in the curator's words.
    pub category: Option<String>,
    /// Other names it is found by.
    pub aliases: Vec<String>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// What the curator noted, unless that is out of date.
    pub notes: Option<String>,
    /// From when on it is.
    pub notes_until: Option<Timestamp>,
    /// Which of several fitting agents is taken: the larger number.
    pub priority: i32,
    /// Whether others may learn of it: callers of other accounts, and, once it is approved, who reads what is published.
    pub is_public: bool,
    /// What it is called with.
    pub access: Access,
}

impl Agent {
    /// Makes an approved agent of a card, without anything a curator adds.
    #[must_use]
    pub fn new(name: &str, url: &str, card: AgentCard, digest: CardDigest) -> Self {
        Self {
            name: name.to_owned(),
            card: Arc::new(card),
            digest,
            url: url.to_owned(),
            curation: Curation::Approved,
            decided: Curation::Approved,
            review_by: None,
            signed: Signed::Unsigned,
            tier: None,
            seen: None,
            grounds: Arc::new(Grounds::new(Timestamp::MIN, digest)),
            tags: Vec::new(),
            category: None,
            aliases: Vec::new(),
            owner: None,
            notes: None,
            notes_until: None,
            priority: 0,
            is_public: false,
            access: Access::default(),
        }
    }

    /// The same agent at a moment, of which this is seen then.
    #[must_use]
    pub(crate) fn at(self, now: Timestamp, seen: Option<Arc<Seen>>) -> Self {
        let tier = seen.as_ref().and_then(|seen| seen.tier);
        let curation = self.decided.at(self.review_by, now);
        Self { tier, seen, curation, ..self }.without_old_notes(now)
    }

    /// The same agent without notes that have to be reviewed.
    pub(crate) fn without_old_notes(mut self, now: Timestamp) -> Self {
        if self.notes_until.is_some_and(|until| until <= now) {
            (self.notes, self.notes_until) = (None, None);
        }
        self
    }

    /// When something of it is different by the clock alone.
    pub(crate) fn holds_until(&self) -> Timestamp {
        let seen = self.seen.as_ref().map(|seen| seen.holds_until);
        let approved = self.review_by.filter(|_| self.curation.is_bindable());
        let noted = self.notes_until.filter(|_| self.notes.is_some());
        seen.into_iter().chain(approved).chain(noted).min().unwrap_or(Timestamp::MAX)
    }

    /// What other accounts see of it: nothing that its curators say to each other, such as other names they call it by.
    #[must_use]
    pub(crate) fn for_others(&self) -> Self {
        let seen = self.seen.as_ref().map(|seen| Arc::new(seen.for_others()));
        Self {
            aliases: Vec::new(),
            owner: None,
            notes: None,
            notes_until: None,
            access: Access::default(),
            review_by: None,
            decided: self.curation,
            seen,
            ..self.clone()
        }
    }

    /// Whether another version of the agent is found by the same names, words and values.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        let said = |it: &Self| {
            let Self { name, digest, url, tags, category, aliases, owner, notes, .. } = it;
            (
                (name.clone(), *digest, url.clone(), it.is_public),
                (tags.clone(), category.clone(), aliases.clone()),
                (owner.clone(), notes.clone()),
            )
        };
        said(self) == said(other)
    }

    /// How long attempts of our runs took that it completed, the one in the middle: those that asked for the skill, else
    /// those that asked for none, else those for the skill it did most for. Nothing when none is known.
    #[must_use]
    pub fn latency(&self, skill: Option<&str>) -> Option<Duration> {
        let services = &self.seen.as_ref()?.services;
        let at =
            |skill: Option<&str>| services.iter().find(|it| it.skill.as_deref() == skill)?.median;
        let most = || {
            let known = services.iter().filter(|it| it.median.is_some());
            known.max_by_key(|it| (it.completed, std::cmp::Reverse(&it.skill)))?.median
        };
        skill.and_then(|skill| at(Some(skill))).or_else(|| at(None)).or_else(most)
    }

    /// The tags of its skills and those of the curator, in lower case, each once, sorted.
    #[must_use]
    pub fn all_tags(&self) -> BTreeSet<String> {
        let skills = self.card.skills.iter().flat_map(|skill| &skill.tags);
        skills.chain(&self.tags).map(|tag| fold(tag)).filter(|tag| !tag.is_empty()).collect()
    }

    /// Whether a tag in lower case is one of [`Agent::all_tags`].
    #[must_use]
    pub fn has_tag(&self, tag: &str) -> bool {
        let skills = self.card.skills.iter().flat_map(|skill| &skill.tags);
        skills.chain(&self.tags).any(|own| match own.is_ascii() {
            true => !tag.is_empty() && own.trim().eq_ignore_ascii_case(tag),
            false => fold(own) == tag,
        })
    }
}

/// How names and tags are compared: without case and surrounding white space.
pub(crate) fn fold(word: &str) -> String {
    word.trim().to_lowercase()
}
