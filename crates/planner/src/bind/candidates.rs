//! The agents that come into question for a selector.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::card::interfaces_spoken;
use registry::{Agent, Index};

use crate::criteria::Criteria;

/// An agent that fits the selector, or at least a part of it.
pub(super) struct Candidate<'a> {
    pub(super) agent: &'a Agent,
    /// What it lacks of the selector, apart from evidence; nothing when it fits.
    pub(super) lacks: Vec<String>,
    /// What of the evidence that is wanted was not seen of it.
    pub(super) unseen: Option<String>,
}

impl Candidate<'_> {
    pub(super) fn fits(&self) -> bool {
        self.lacks.is_empty()
    }

    /// Whether it fits and may and can be called.
    pub(super) fn is_usable(&self) -> bool {
        self.fits()
            && self.unseen.is_none()
            && self.agent.curation.is_bindable()
            && !interfaces_spoken(&self.agent.card).is_empty()
    }
}

/// Every agent that meets at least one of the conditions that agents are found by, by name. The file's own agents hide
/// those of the registry with their names.
pub(super) fn candidates<'a>(
    asked: &Criteria,
    index: &'a Index,
    inline: &'a [Arc<Agent>],
) -> Vec<Candidate<'a>> {
    let mut found: BTreeMap<&str, &Agent> = BTreeMap::new();
    let mut add = |agent: &'a Arc<Agent>| {
        found.entry(&agent.name).or_insert(agent);
    };
    inline.iter().filter(|agent| asked.touches(agent)).for_each(&mut add);
    let name = asked.name.as_deref();
    let of_registry = name.filter(|name| !inline.iter().any(|agent| agent.name == *name));
    of_registry.into_iter().filter_map(|name| index.by_name(name)).for_each(&mut add);
    asked.skill.iter().flat_map(|skill| index.by_skill(skill)).for_each(&mut add);
    let tags = asked.tags.iter().chain(&asked.any_tags);
    tags.flat_map(|tag| index.by_tag(tag)).for_each(&mut add);
    if let Some(provider) = &asked.provider {
        let by_provider = Criteria { provider: Some(provider.clone()), ..Criteria::default() };
        index.iter().filter(|agent| by_provider.touches(agent)).for_each(&mut add);
    }
    let candidate = |agent| {
        let (lacks, unseen) = (asked.lacks(agent), asked.unseen(agent));
        Candidate { agent, lacks, unseen }
    };
    found.into_values().map(candidate).collect()
}
