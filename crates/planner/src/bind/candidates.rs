//! The agents that come into question for a selector.

use std::collections::HashSet;
use std::sync::Arc;

use protocol::card::interfaces_spoken;
use registry::{Agent, Facet, Filter, Index, Meeting};

use super::{Rank, rank};
use crate::criteria::{Criteria, Wanted};
use crate::plan::Binding;

/// The most agents with only a part of what is asked for that are looked at one by one. Where a directory has more, they
/// are counted.
const MAX_PARTS: usize = 60;

/// An agent that fits the selector, or at least a part of it.
pub(super) struct Candidate<'a> {
    pub(super) agent: &'a Agent,
    /// What it lacks of the selector, apart from evidence; nothing when it fits.
    pub(super) lacks: Vec<String>,
    /// What of the evidence that is wanted was not seen of it.
    pub(super) unseen: Option<String>,
    /// Whether it is tried before already.
    pub(super) is_before: bool,
    /// How it stands among the others; of equals the first in the list goes before.
    pub(super) rank: Rank,
}

impl Candidate<'_> {
    pub(super) fn fits(&self) -> bool {
        self.lacks.is_empty()
    }

    /// Whether it fits and may and can be called.
    pub(super) fn is_usable(&self) -> bool {
        self.fits()
            && !self.is_before
            && self.unseen.is_none()
            && self.agent.curation.is_bindable()
            && !interfaces_spoken(&self.agent.card).is_empty()
    }
}

/// All of them, those that fit in the order of their names.
pub(super) struct Candidates<'a> {
    pub(super) list: Vec<Candidate<'a>>,
    /// How many more there are, at least, that have only a part of what is asked for.
    pub(super) more: usize,
}

impl<'a> Candidates<'a> {
    /// The one to take.
    pub(super) fn best(&self) -> Option<&Candidate<'a>> {
        let mut best: Option<&Candidate<'a>> = None;
        for candidate in &self.list {
            // In this order: whether it can be called takes its card.
            if best.is_none_or(|best| candidate.rank < best.rank) && candidate.is_usable() {
                best = Some(candidate);
            }
        }
        best
    }
}

/// Every agent that meets at least one of the conditions that agents are found by. The file's own agents hide those of
/// the registry with their names.
pub(super) fn candidates<'a>(
    asked: &Criteria,
    index: &'a Index,
    inline: &'a [Arc<Agent>],
    before: &[Binding],
) -> Candidates<'a> {
    let wanted = Wanted::of(asked, index);
    let conditions = conditions(asked);
    let Meeting { all, mut some, mut more } = index.meeting(&conditions, MAX_PARTS);
    let candidate = |agent: &'a Agent, lacks: Vec<String>| {
        let (unseen, rank) = (asked.unseen(agent), rank(agent, asked));
        let own = (!before.is_empty()).then(|| super::binding(agent, Arc::from([]))).flatten();
        let is_before = own.is_some_and(|own| before.iter().any(|it| it.is_same_agent(&own)));
        Candidate { agent, lacks, unseen, is_before, rank }
    };
    let mut list: Vec<Candidate<'a>> = Vec::new();
    let own = inline.iter().filter(|agent| wanted.touches(agent));
    list.extend(own.map(|agent| candidate(agent, wanted.lacks(agent))));
    let hidden: HashSet<&str> = inline.iter().map(|agent| agent.name.as_str()).collect();
    let is_shown =
        |agent: &&&'a Arc<Agent>| hidden.is_empty() || !hidden.contains(agent.name.as_str());
    if let Some(name) = &asked.name {
        // Others have another name, whatever else they meet.
        let named = index.by_name(name).filter(|_| !hidden.contains(name.as_str()));
        some.retain(|it| named.is_none_or(|named| named.name != it.name));
        list.extend(named.iter().filter(is_shown).map(|it| candidate(it, wanted.lacks(it))));
        let named = named.map(|it| &it.name);
        let rest = all.into_iter().filter(|it| Some(&it.name) != named);
        some.extend(rest);
        more += some.len().saturating_sub(MAX_PARTS);
        some.truncate(MAX_PARTS);
    } else {
        list.extend(all.iter().filter(is_shown).map(|it| candidate(it, wanted.lacks_beside(it))));
    }
    list.extend(some.iter().filter(is_shown).map(|it| candidate(it, wanted.lacks(it))));
    // Those that fit are in the order of their names already, unless the file has agents of its own.
    if !hidden.is_empty() || list.len() <= MAX_PARTS {
        list.sort_by(|a, b| a.agent.name.cmp(&b.agent.name));
    }
    Candidates { list, more }
}

/// What of a selector the index finds agents by, names apart.
fn conditions(asked: &Criteria) -> Vec<Filter> {
    let mut conditions = Vec::new();
    conditions.extend(asked.skill.iter().map(|skill| Filter::one(Facet::Skill, skill)));
    conditions.extend(asked.tags.iter().map(|tag| Filter::one(Facet::Tag, tag)));
    if !asked.any_tags.is_empty() {
        conditions.push(Filter { facet: Facet::Tag, any: asked.any_tags.clone() });
    }
    conditions.extend(asked.provider.iter().map(|it| Filter::one(Facet::Provider, it)));
    conditions
}
