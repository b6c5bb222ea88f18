//! The agents that come into question for a selector.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use protocol::card::interfaces_spoken;
use registry::{Agent, Index, Tier};

/// What a selector asks of an agent.
#[derive(Clone, Copy)]
pub(super) struct Filter<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) skill: Option<&'a str>,
    pub(super) tags: &'a [String],
    pub(super) min_evidence: Option<Tier>,
}

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

/// Every agent that passes at least one of the filters, by name. The file's own agents hide those
/// of the registry with their names.
pub(super) fn candidates<'a>(
    filter: Filter<'_>,
    index: &'a Index,
    inline: &'a [Arc<Agent>],
) -> Vec<Candidate<'a>> {
    let mut found: BTreeMap<&str, &Agent> = BTreeMap::new();
    let mut add = |agent: &'a Arc<Agent>| {
        found.entry(&agent.name).or_insert(agent);
    };
    inline.iter().filter(|agent| filter.lacks(agent).len() < filter.len()).for_each(&mut add);
    let of_registry = filter.name.filter(|name| !inline.iter().any(|agent| agent.name == *name));
    of_registry.into_iter().filter_map(|name| index.by_name(name)).for_each(&mut add);
    filter.skill.into_iter().flat_map(|skill| index.by_skill(skill)).for_each(&mut add);
    filter.tags.iter().flat_map(|tag| index.by_tag(tag)).for_each(&mut add);
    let candidate = |agent| {
        let (lacks, unseen) = (filter.lacks(agent), filter.unseen(agent));
        Candidate { agent, lacks, unseen }
    };
    found.into_values().map(candidate).collect()
}

impl Filter<'_> {
    /// How many conditions there are.
    fn len(&self) -> usize {
        usize::from(self.name.is_some()) + usize::from(self.skill.is_some()) + self.tags.len()
    }

    /// Each condition the agent does not meet.
    fn lacks(&self, agent: &Agent) -> Vec<String> {
        let mut lacks = Vec::new();
        if self.name.is_some_and(|name| !is_named(agent, name)) {
            lacks.push("has another name".to_owned());
        }
        if let Some(skill) =
            self.skill.filter(|skill| !agent.card.skills.iter().any(|own| own.id == **skill))
        {
            lacks.push(format!("has no skill `{skill}`"));
        }
        if !self.tags.is_empty() {
            let tags = agent.all_tags();
            let missing = self.tags.iter().filter(|tag| !tags.contains(&tag.trim().to_lowercase()));
            lacks.extend(missing.map(|tag| format!("has no tag `{tag}`")));
        }
        lacks
    }

    /// What was seen of an agent instead of the evidence that is wanted.
    fn unseen(&self, agent: &Agent) -> Option<String> {
        let wanted = self.min_evidence.filter(|wanted| agent.tier < Some(*wanted))?;
        Some(match &agent.seen {
            Some(seen) => format!("is not {wanted}: {seen}"),
            None => {
                format!("is not {wanted}: it was not looked at yet; `convoke agents probe` does")
            }
        })
    }
}

fn is_named(agent: &Agent, name: &str) -> bool {
    let same = |own: &String| own.trim().to_lowercase() == name.trim().to_lowercase();
    same(&agent.name) || agent.aliases.iter().any(same)
}

impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.name.map(|name| format!("name `{name}`")));
        parts.extend(self.skill.map(|skill| format!("skill `{skill}`")));
        if !self.tags.is_empty() {
            let tags: Vec<String> = self.tags.iter().map(|tag| format!("`{tag}`")).collect();
            parts.push(format!("tags {}", tags.join(", ")));
        }
        parts.extend(self.min_evidence.map(|tier| format!("at least {tier}")));
        f.write_str(&parts.join(", "))
    }
}
