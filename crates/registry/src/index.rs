mod meeting;
mod roster;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

pub use self::meeting::Meeting;
use self::roster::Roster;
use crate::agent::fold;
use crate::find::{self, Attributes, Facet, Filter, Found, Hit, Query, Standing, Terms};
use crate::{Agent, RegistryError, Synonyms};

/// Finds agents of one moment of the directory. Immutable: a change of the directory makes another
/// index, and whoever planned against this one keeps it.
///
/// Every list is in the order of the agents' names, so the same directory always gives the same
/// answer. Look-ups cost what they find, not what the directory holds; names, aliases and tags are
/// compared without case, skill ids exactly.
#[derive(Default)]
pub struct Index {
    agents: Roster,
    names: Arc<HashMap<String, u32>>,
    urls: Arc<HashMap<String, u32>>,
    attributes: Arc<Attributes>,
    synonyms: Synonyms,
    /// Made by the first search: most indexes serve planners, who do not search.
    terms: Arc<OnceLock<Terms>>,
}

impl Index {
    /// Builds the index of these agents. Of two with one name the later one counts; an alias that
    /// is another agent's name, or that an agent before it has, finds the other.
    #[must_use]
    pub fn new(agents: impl IntoIterator<Item = Arc<Agent>>) -> Self {
        Self::with_synonyms(agents, Synonyms::default())
    }

    /// As [`Index::new`], for a directory in which some tags mean the same.
    #[must_use]
    pub fn with_synonyms(agents: impl IntoIterator<Item = Arc<Agent>>, synonyms: Synonyms) -> Self {
        let mut agents: Vec<_> = agents.into_iter().collect();
        agents.reverse();
        agents.sort_by(|a, b| a.name.cmp(&b.name));
        agents.dedup_by(|a, b| a.name == b.name);
        let attributes = Attributes::of(agents.iter().map(AsRef::as_ref)).into();
        let agents = Roster::of(&agents);
        let mut index = Self { agents, attributes, synonyms, ..Self::default() };
        index.enter_names();
        index
    }

    /// The index in which some agents are other versions of themselves. Costs what these are, whatever the size of the
    /// directory, when only how they stand is different; `None` when more is, or an agent is another.
    #[must_use]
    pub fn replacing(&self, changed: impl IntoIterator<Item = Arc<Agent>>) -> Option<Self> {
        let mut agents = self.agents.clone();
        for agent in changed {
            let number = agents.number(&agent.name)?;
            if !agents.agent(number).says_the_same(&agent) {
                return None;
            }
            agents = agents.with(number, agent);
        }
        Some(Self {
            agents,
            names: Arc::clone(&self.names),
            urls: Arc::clone(&self.urls),
            attributes: Arc::clone(&self.attributes),
            synonyms: self.synonyms.clone(),
            terms: Arc::clone(&self.terms),
        })
    }

    fn enter_names(&mut self) {
        let (mut names, mut urls) = (HashMap::new(), HashMap::new());
        for (number, agent) in (0..).zip(self.agents.iter()) {
            names.insert(fold(&agent.name), number);
            if !agent.url.is_empty() {
                urls.entry(agent.url.clone()).or_insert(number);
            }
        }
        for (number, agent) in (0..).zip(self.agents.iter()) {
            for alias in &agent.aliases {
                names.entry(fold(alias)).or_insert(number);
            }
        }
        (self.names, self.urls) = (names.into(), urls.into());
    }

    /// Until when nothing of its agents is different by the clock alone.
    pub(crate) fn holds_until(&self) -> Timestamp {
        self.agents.holds_until()
    }

    /// Its agents that are different by the clock at a moment.
    pub(crate) fn over_at(&self, now: Timestamp) -> Vec<&Arc<Agent>> {
        self.agents.over(now)
    }

    /// The agents that stand otherwise than in an index that this one follows by [`Index::replacing`], as they were and
    /// as they are; `None` when more may be different. Costs what there are.
    #[must_use]
    pub fn changed_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> Option<Vec<(&'a Arc<Agent>, &'a Arc<Agent>)>> {
        // Made anew whenever words are.
        let is_same = Arc::ptr_eq(&self.attributes, &before.attributes);
        is_same.then(|| self.agents.apart(&before.agents))
    }

    /// The agent of a name or an alias.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<Agent>> {
        self.names.get(&fold(name)).map(|number| self.agent(*number))
    }

    /// The agent of a name or an alias.
    ///
    /// # Errors
    /// [`RegistryError::UnknownAgent`], with the nearest name.
    pub fn get(&self, name: &str) -> Result<&Arc<Agent>, RegistryError> {
        self.by_name(name).ok_or_else(|| self.unknown(name))
    }

    /// Says that there is none of this name, and which may have been meant.
    #[must_use]
    pub fn unknown(&self, name: &str) -> RegistryError {
        let mut names: Vec<&str> = self.names().collect();
        names.sort_unstable();
        RegistryError::UnknownAgent {
            name: name.to_owned(),
            nearest: document::nearest(name, names).map(str::to_owned),
        }
    }

    /// Says that there is nothing kept of this name; of an agent that is in this index, that it went meanwhile.
    #[must_use]
    pub fn missing(&self, name: &str) -> RegistryError {
        match self.by_name(name) {
            Some(agent) => RegistryError::Gone { name: agent.name.clone() },
            None => self.unknown(name),
        }
    }

    /// The agent of exactly this name, when all the filters let it through.
    #[must_use]
    pub fn fitting(&self, name: &str, filters: &[Filter]) -> Option<&Arc<Agent>> {
        let number = self.agents.number(name)?;
        let fits = filters.iter().all(|filter| find::fits(self, number, filter));
        fits.then(|| self.agent(number))
    }

    /// What another account sees of it: the public agents.
    #[must_use]
    pub fn public(&self) -> Self {
        let public = self.agents.iter().filter(|agent| agent.is_public);
        let public = public.map(|agent| Arc::new(agent.for_others()));
        Self::with_synonyms(public, self.synonyms.clone())
    }

    /// The same of this index, when it was made of an earlier one.
    #[must_use]
    pub fn public_since(&self, before: &Self, public: &Self) -> Self {
        let changed = self.changed_since(before).and_then(|changed| {
            let now = changed.into_iter().map(|(_, now)| now).filter(|agent| agent.is_public);
            public.replacing(now.map(|agent| Arc::new(agent.for_others())))
        });
        changed.unwrap_or_else(|| self.public())
    }

    /// This index, and before its agents those of another: where both have one of a name, this one's
    /// counts, and what is a name or an alias here finds what it finds here. Tags mean the same that do in either.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        let agents = other.agents.iter().chain(self.agents.iter()).cloned();
        let mut made = Self::with_synonyms(agents, self.synonyms.and(&other.synonyms));
        let own = self.names.iter().filter_map(|(name, number)| {
            Some((name.clone(), made.agents.number(&self.agent(*number).name)?))
        });
        let mut names = HashMap::clone(&made.names);
        names.extend(own);
        made.names = Arc::new(names);
        made
    }

    /// The same of these two, when it was made of earlier ones.
    #[must_use]
    pub fn over_since(&self, other: &Self, [before, under, made]: [&Self; 3]) -> Self {
        let changed = self.changed_since(before).zip(other.changed_since(under));
        let changed = changed.and_then(|(own, others)| {
            let own = own.into_iter().map(|(_, now)| now);
            let is_shown = |agent: &&Arc<Agent>| self.agents.number(&agent.name).is_none();
            let others = others.into_iter().map(|(_, now)| now).filter(is_shown);
            made.replacing(own.chain(others).cloned())
        });
        changed.unwrap_or_else(|| self.over(other))
    }

    /// The agent whose card was found at exactly this URL.
    #[must_use]
    pub fn by_url(&self, url: &str) -> Option<&Arc<Agent>> {
        self.urls.get(url).map(|number| self.agent(*number))
    }

    /// The agents that have all of these values.
    #[cfg(test)]
    pub(crate) fn with(&self, facet: Facet, values: &[&str]) -> Vec<Arc<Agent>> {
        let filters = values.iter().map(|value| Filter::one(facet, value)).collect();
        let found = self.find(&Query { filters, ..Query::default() });
        found.hits.into_iter().map(|hit| hit.agent).collect()
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
        self.agents.len() == 0
    }

    /// Every tag there is, in lower case, in no order; for hints.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.attributes.values(Facet::Tag)
    }

    /// Every skill id there is, in no order; for hints.
    pub fn skills(&self) -> impl Iterator<Item = &str> {
        self.attributes.values(Facet::Skill)
    }

    /// Every name and alias there is, in lower case, in no order; for hints.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// The agents that have any word of a text, best first; all of them in the order of their names
    /// when the text has no words.
    #[must_use]
    pub fn search(&self, text: &str) -> Vec<Hit> {
        self.find(&Query { text: text.to_owned(), ..Query::default() }).hits
    }

    /// The agents that fit a query.
    #[must_use]
    pub fn find(&self, query: &Query) -> Found {
        find::find(self, query)
    }

    /// Which tags mean the same.
    #[must_use]
    pub fn synonyms(&self) -> &Synonyms {
        &self.synonyms
    }

    /// How many parts of the tree of its agents are not also parts of another's.
    #[cfg(test)]
    pub(crate) fn own_limbs(&self, other: &Self) -> usize {
        self.agents.own_limbs(&other.agents)
    }

    pub(crate) fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    pub(crate) fn terms(&self) -> &Terms {
        self.terms.get_or_init(|| Terms::of(self.agents.iter().map(AsRef::as_ref)))
    }

    pub(crate) fn agent(&self, number: u32) -> &Arc<Agent> {
        self.agents.agent(number)
    }

    pub(crate) fn standing(&self, number: u32) -> Standing {
        self.agents.standing(number)
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..).zip(self.agents.iter()).map(|(number, _)| number)
    }
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.agents.iter().map(|agent| &agent.name)).finish()
    }
}

#[cfg(test)]
mod tests;
