use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::Agent;
use crate::agent::fold;
use crate::search::{Match, Words};

/// Finds agents of one moment of the directory. Immutable: a change of the directory makes another
/// index, and whoever planned against this one keeps it.
///
/// Every list is in the order of the agents' names, so the same directory always gives the same
/// answer. Look-ups cost what they find, not what the directory holds; names, aliases and tags are
/// compared without case, skill ids exactly.
#[derive(Default)]
pub struct Index {
    agents: Vec<Arc<Agent>>,
    names: HashMap<String, u32>,
    urls: HashMap<String, u32>,
    tags: HashMap<String, Vec<u32>>,
    skills: HashMap<String, Vec<u32>>,
    /// Made by the first search: most indexes serve planners, who do not search.
    words: OnceLock<Words>,
}

/// One agent a search found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The agent.
    pub agent: Arc<Agent>,
    /// How well it fits: comparable within one search only.
    pub score: f32,
    /// Why it was found.
    pub matches: Vec<Match>,
}

impl Index {
    /// Builds the index of these agents. Of two with one name the later one counts; an alias that
    /// is another agent's name, or that an agent before it has, finds the other.
    #[must_use]
    pub fn new(agents: impl IntoIterator<Item = Arc<Agent>>) -> Self {
        let mut agents: Vec<_> = agents.into_iter().collect();
        agents.reverse();
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        agents.dedup_by(|a, b| a.name == b.name);
        let mut index = Self { agents, ..Self::default() };
        for number in 0..index.agents.len() {
            index.enter(number);
        }
        index.enter_aliases();
        index
    }

    fn enter(&mut self, number: usize) {
        let agent = Arc::clone(&self.agents[number]);
        let number = u32::try_from(number).expect("a directory has fewer than 2^32 agents");
        self.names.insert(fold(&agent.name), number);
        if !agent.url.is_empty() {
            self.urls.entry(agent.url.clone()).or_insert(number);
        }
        for tag in agent.all_tags() {
            self.tags.entry(tag).or_default().push(number);
        }
        for skill in &agent.card.skills {
            let having = self.skills.entry(skill.id.clone()).or_default();
            if having.last() != Some(&number) {
                having.push(number);
            }
        }
    }

    fn enter_aliases(&mut self) {
        for (number, agent) in (0..).zip(&self.agents) {
            for alias in &agent.aliases {
                self.names.entry(fold(alias)).or_insert(number);
            }
        }
    }

    /// The agent of a name or an alias.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<Agent>> {
        self.names.get(&fold(name)).map(|number| self.agent(*number))
    }

    /// The agent whose card was found at exactly this URL.
    #[must_use]
    pub fn by_url(&self, url: &str) -> Option<&Arc<Agent>> {
        self.urls.get(url).map(|number| self.agent(*number))
    }

    /// The agents that have a tag, their skills' or the curator's.
    pub fn by_tag(&self, tag: &str) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        self.listed(self.tags.get(&fold(tag)))
    }

    /// The agents that have all the tags; all agents when there are none.
    #[must_use]
    pub fn by_tags<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> Vec<&Arc<Agent>> {
        let mut lists: Vec<&[u32]> = tags
            .into_iter()
            .map(|tag| self.tags.get(&fold(tag)).map_or(&[][..], Vec::as_slice))
            .collect();
        lists.sort_by_key(|list| list.len());
        let Some((shortest, others)) = lists.split_first() else {
            return self.iter().collect();
        };
        shortest
            .iter()
            .filter(|number| others.iter().all(|list| list.binary_search(number).is_ok()))
            .map(|number| self.agent(*number))
            .collect()
    }

    /// The agents that have a skill of this id.
    pub fn by_skill(&self, id: &str) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        self.listed(self.skills.get(id))
    }

    /// All agents.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        self.agents.iter()
    }

    /// How many agents there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Every tag there is, in lower case, in no order; for hints.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.keys().map(String::as_str)
    }

    /// Every skill id there is, in no order; for hints.
    pub fn skills(&self) -> impl Iterator<Item = &str> {
        self.skills.keys().map(String::as_str)
    }

    /// Every name and alias there is, in lower case, in no order; for hints.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// The agents that have any word of a text, best first; all of them in the order of their names
    /// when the text has no words.
    #[must_use]
    pub fn search(&self, text: &str) -> Vec<Hit> {
        if !text.contains(char::is_alphanumeric) {
            let hit =
                |agent: &Arc<Agent>| Hit { agent: agent.clone(), score: 0.0, matches: vec![] };
            return self.iter().map(hit).collect();
        }
        let words = self.words.get_or_init(|| Words::of(self.agents.iter().map(AsRef::as_ref)));
        let ranked = words.search(text).into_iter();
        ranked
            .map(|(number, score, matches)| Hit {
                agent: self.agent(number).clone(),
                score,
                matches,
            })
            .collect()
    }

    fn listed(&self, numbers: Option<&Vec<u32>>) -> impl ExactSizeIterator<Item = &Arc<Agent>> {
        numbers.map_or(&[][..], Vec::as_slice).iter().map(|number| self.agent(*number))
    }

    fn agent(&self, number: u32) -> &Arc<Agent> {
        &self.agents[number as usize]
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.agents.iter().map(|agent| &agent.name)).finish()
    }
}

#[cfg(test)]
mod tests;
