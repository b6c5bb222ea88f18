//! Exact properties of agents, from value to agents and from agent to values.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use protocol::v1::{AgentCard, AgentSkill};

use super::lists::unite;
use super::{Facet, Filter, Found};
use crate::agent::fold;
use crate::synonyms::Synonyms;
use crate::{Agent, Index};

/// Knows which agents have a value, and which values an agent has.
#[derive(Default)]
pub(crate) struct Attributes {
    values: HashMap<(Facet, String), u32>,
    /// Per value, its agents in order.
    having: Vec<Vec<u32>>,
    /// Per value, its facet and what people read.
    shown: Vec<(Facet, String)>,
    /// Per agent, where its values end in `of_agents`; they begin where those before end.
    ends: Vec<u32>,
    of_agents: Vec<u32>,
}

impl Attributes {
    /// Reads agents, whose numbers are their places.
    pub(crate) fn of<'a>(agents: impl Iterator<Item = &'a Agent>) -> Self {
        let mut attributes = Self::default();
        for (number, agent) in (0..).zip(agents) {
            attributes.add(number, agent);
        }
        attributes
    }

    fn add(&mut self, number: u32, agent: &Agent) {
        for (facet, value) in values(agent) {
            let fresh = u32::try_from(self.having.len()).expect("fewer than 2^32 values");
            let value = *self.values.entry((facet, value)).or_insert_with_key(|(_, value)| {
                self.shown.push((facet, value.clone()));
                self.having.push(Vec::new());
                fresh
            });
            self.having[value as usize].push(number);
            self.of_agents.push(value);
        }
        self.ends.push(u32::try_from(self.of_agents.len()).expect("fewer than 2^32 values"));
    }

    /// The agents that a filter lets through, in order.
    pub(crate) fn having(&self, filter: &Filter, synonyms: &Synonyms) -> Cow<'_, [u32]> {
        let mut lists: Vec<&[u32]> = Vec::new();
        for value in &filter.any {
            let value = key(filter.facet, value);
            if filter.facet == Facet::Tag {
                lists.extend(synonyms.of(&value).map(|tag| self.list(Facet::Tag, tag)));
            }
            lists.push(self.list(filter.facet, &value));
        }
        lists.retain(|list| !list.is_empty());
        match lists[..] {
            [] => Cow::Borrowed(&[]),
            [one] => Cow::Borrowed(one),
            _ => Cow::Owned(unite(&lists)),
        }
    }

    /// The agents that have exactly this value, in order.
    pub(crate) fn list(&self, facet: Facet, value: &str) -> &[u32] {
        let value = self.values.get(&(facet, value.to_owned()));
        value.map_or(&[], |value| self.having[*value as usize].as_slice())
    }

    /// Every value of a facet, in no order.
    pub(crate) fn values(&self, facet: Facet) -> impl Iterator<Item = &str> {
        self.shown.iter().filter(move |it| it.0 == facet).map(|it| it.1.as_str())
    }

    /// How often each value stands among what was found.
    pub(crate) fn counts(
        &self,
        index: &Index,
        found: &[(u32, f32)],
    ) -> Vec<(Facet, Vec<(String, usize)>)> {
        let mut counted = vec![0_usize; self.shown.len()];
        let mut volatile: HashMap<(Facet, &str), usize> = HashMap::new();
        for (number, _) in found {
            let at = *number as usize;
            let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            for value in &self.of_agents[from as usize..self.ends[at] as usize] {
                counted[*value as usize] += 1;
            }
            for value in index.standing(*number).values() {
                *volatile.entry(value).or_default() += 1;
            }
        }
        let of_values = self.shown.iter().zip(counted);
        let mut all: Vec<(Facet, String, usize)> = of_values
            .filter(|(_, count)| *count > 0)
            .map(|((facet, value), count)| (*facet, value.clone(), count))
            .collect();
        let volatile = volatile.into_iter();
        all.extend(volatile.map(|((facet, value), count)| (facet, value.to_owned(), count)));
        all.sort_by(|a, b| a.0.cmp(&b.0).then(b.2.cmp(&a.2)).then(a.1.cmp(&b.1)));
        let per_facet = all.chunk_by(|a, b| a.0 == b.0).map(|group| {
            let most = group.iter().take(Found::VALUES);
            (group[0].0, most.map(|(_, value, count)| (value.clone(), *count)).collect())
        });
        per_facet.collect()
    }
}

/// How a value is compared: skills exactly, everything else without case.
fn key(facet: Facet, value: &str) -> String {
    if facet == Facet::Skill { value.to_owned() } else { fold(value) }
}

fn values(agent: &Agent) -> BTreeSet<(Facet, String)> {
    let card = &*agent.card;
    let mut values: BTreeSet<(Facet, String)> = BTreeSet::new();
    let mut add = |facet, value: &str| {
        let value = key(facet, value);
        if !value.is_empty() {
            values.insert((facet, value));
        }
    };
    agent.tags.iter().for_each(|tag| add(Facet::Tag, tag));
    agent.category.iter().for_each(|category| add(Facet::Category, category));
    for skill in &card.skills {
        skill.tags.iter().for_each(|tag| add(Facet::Tag, tag));
        add(Facet::Skill, &skill.id);
        modes(skill, card).for_each(|(facet, mode)| add(facet, mode));
    }
    card.provider.iter().for_each(|provider| add(Facet::Provider, &provider.organization));
    for interface in &card.supported_interfaces {
        add(Facet::Binding, &interface.protocol_binding);
        add(Facet::Version, &interface.protocol_version);
    }
    capabilities(card).for_each(|capability| add(Facet::Capability, capability));
    values
}

/// The skill's own modes, else the agent's.
fn modes<'a>(skill: &'a AgentSkill, card: &'a AgentCard) -> impl Iterator<Item = (Facet, &'a str)> {
    let or = |own: &'a Vec<String>, general: &'a Vec<String>| {
        if own.is_empty() { general } else { own }
    };
    let taken = or(&skill.input_modes, &card.default_input_modes);
    let given = or(&skill.output_modes, &card.default_output_modes);
    let taken = taken.iter().map(|mode| (Facet::InputMode, mode.as_str()));
    taken.chain(given.iter().map(|mode| (Facet::OutputMode, mode.as_str())))
}

fn capabilities(card: &AgentCard) -> impl Iterator<Item = &'static str> {
    let has = card.capabilities.as_ref();
    let declared = [
        ("streaming", has.and_then(|it| it.streaming)),
        ("push_notifications", has.and_then(|it| it.push_notifications)),
        ("extended_card", has.and_then(|it| it.extended_agent_card)),
    ];
    declared.into_iter().filter(|(_, has)| *has == Some(true)).map(|(name, _)| name)
}
