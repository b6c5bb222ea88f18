//! Finding agents: exact filters first, then ranked text, with counts and pages.

mod attributes;
mod dense;
mod lists;
mod scores;
mod terms;
mod words;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

pub(crate) use attributes::Attributes;
pub(crate) use lists::intersect;
pub(crate) use terms::Terms;
pub(crate) use words::of_query;

use crate::{Agent, Curation, Index, Signed, Tier};

/// A property of agents that has exact values: what can be filtered by and counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Facet {
    /// A tag, of a skill or the curator's; synonyms are found as well.
    Tag,
    /// A skill's id, exactly as it is written.
    Skill,
    /// The provider's organization.
    Provider,
    /// A media type that a skill takes.
    InputMode,
    /// A media type that a skill gives.
    OutputMode,
    /// The binding of an interface: `JSONRPC`, `GRPC`, `HTTP+JSON` or another.
    Binding,
    /// The A2A version of an interface.
    Version,
    /// `streaming`, `push_notifications` or `extended_card`.
    Capability,
    /// How the agent stands ([`Curation`]).
    State,
    /// What its card's signatures are worth ([`Signed`]).
    Signed,
    /// What was seen of it ([`Tier`]). A filter lets through what was seen more of as well.
    Evidence,
}

impl Facet {
    /// Every facet.
    pub const ALL: [Self; 11] = [
        Self::Tag,
        Self::Skill,
        Self::Provider,
        Self::InputMode,
        Self::OutputMode,
        Self::Binding,
        Self::Version,
        Self::Capability,
        Self::State,
        Self::Signed,
        Self::Evidence,
    ];

    /// Reads the word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|facet| facet.as_str() == word)
    }

    /// Whether it changes without a change of the card.
    fn is_volatile(self) -> bool {
        matches!(self, Self::State | Self::Signed | Self::Evidence)
    }

    /// The word people and programs write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Skill => "skill",
            Self::Provider => "provider",
            Self::InputMode => "input_mode",
            Self::OutputMode => "output_mode",
            Self::Binding => "binding",
            Self::Version => "version",
            Self::Capability => "capability",
            Self::State => "state",
            Self::Signed => "signed",
            Self::Evidence => "evidence",
        }
    }
}

impl fmt::Display for Facet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Asks for agents that have one of some values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The property.
    pub facet: Facet,
    /// One of these is enough. None at all excludes every agent.
    pub any: Vec<String>,
}

impl Filter {
    /// Asks for one value.
    #[must_use]
    pub fn one(facet: Facet, value: &str) -> Self {
        Self { facet, any: vec![value.to_owned()] }
    }
}

/// Says which agents are looked for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Query {
    /// Words to be ranked by. Agents that have any of them are found; without words all agents are,
    /// in the order of their names.
    pub text: String,
    /// All of these have to hold.
    pub filters: Vec<Filter>,
    /// How many hits are wanted at most; all of them without.
    pub limit: Option<usize>,
    /// The last hit of the page before.
    pub after: Option<Position>,
    /// Whether the values of all that was found are counted.
    pub count: bool,
}

/// Where a hit stands in the order of its search.
#[derive(Clone, PartialEq, Debug)]
pub struct Position {
    /// Its score.
    pub score: f32,
    /// Its agent's name, which decides between equal scores.
    pub name: String,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many agents were found, those of other pages included.
    pub total: usize,
    /// Where the next page begins, when there is one.
    pub next: Option<Position>,
    /// Per facet how many of all that was found have a value, the most frequent first; at most
    /// [`Found::VALUES`] values of each. Empty unless asked for.
    pub counts: Vec<(Facet, Vec<(String, usize)>)>,
}

impl Found {
    /// How many values of a facet are counted.
    pub const VALUES: usize = 20;
}

/// One agent a search found.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The agent.
    pub agent: Arc<Agent>,
    /// How well it fits: comparable within one search only; 0 for a search without words.
    pub score: f32,
    /// Why it was found.
    pub matches: Vec<Match>,
}

/// Says why an agent was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// The word of the query.
    pub word: String,
    /// The word of the agent.
    pub term: String,
    /// How the two belong together.
    pub kind: Kind,
    /// Where it stands.
    pub fields: Vec<Field>,
}

/// How a word of a query belongs to one of an agent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// It is the word.
    Exact,
    /// The directory says that it means the same.
    Synonym,
    /// It begins with the word.
    Prefix,
    /// One letter is missing, too many or another, or two are swapped.
    Typo,
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<&str> = self.fields.iter().map(|field| field.as_str()).collect();
        match self.kind {
            Kind::Exact => write!(f, "`{}`", self.word),
            Kind::Synonym => write!(f, "`{}` as a synonym of `{}`", self.term, self.word),
            Kind::Prefix => write!(f, "`{}`, which begins with `{}`,", self.term, self.word),
            Kind::Typo => write!(f, "`{}`, one letter from `{}`,", self.term, self.word),
        }?;
        write!(f, " in {}", fields.join(", "))
    }
}

/// Where a word of an agent was found, and how much that counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Field {
    /// The name or an alias.
    Name,
    /// A skill's id or name.
    Skill,
    /// A tag, the card's or the curator's.
    Tag,
    /// The description of the agent or of a skill, or its provider.
    Description,
    /// An example of a skill.
    Example,
    /// The curator's notes, or the owner.
    Notes,
}

impl Field {
    const ALL: [Self; 6] =
        [Self::Name, Self::Skill, Self::Tag, Self::Description, Self::Example, Self::Notes];

    fn weight(self) -> f32 {
        match self {
            Self::Name => 4.0,
            Self::Skill | Self::Tag => 3.0,
            Self::Description => 1.5,
            Self::Example | Self::Notes => 1.0,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }

    fn of_bits(bits: u8) -> Vec<Self> {
        Self::ALL.into_iter().filter(|field| bits & field.bit() != 0).collect()
    }

    /// The word people read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Skill => "skill",
            Self::Tag => "tag",
            Self::Description => "description",
            Self::Example => "example",
            Self::Notes => "notes",
        }
    }
}

/// What is known of an agent beside its card: kept by itself, because it changes often and all
/// agents may be asked for it at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    curation: Curation,
    signed: Signed,
    tier: Option<Tier>,
}

impl Standing {
    pub(crate) fn of(agent: &Agent) -> Self {
        Self { curation: agent.curation, signed: agent.signed, tier: agent.tier }
    }

    /// Its values, by facet.
    fn values(self) -> impl Iterator<Item = (Facet, &'static str)> {
        let tier = self.tier.map(|tier| (Facet::Evidence, tier.as_str()));
        [(Facet::State, self.curation.as_str()), (Facet::Signed, self.signed.as_str())]
            .into_iter()
            .chain(tier)
    }

    fn passes(self, filter: &Filter) -> bool {
        if filter.facet == Facet::Evidence {
            let mut wanted = filter.any.iter().filter_map(|word| Tier::of_word(word));
            return wanted.any(|tier| self.tier >= Some(tier));
        }
        let mut values = self.values().filter(|(facet, _)| *facet == filter.facet);
        values.any(|(_, value)| filter.any.iter().any(|wanted| wanted == value))
    }
}

/// Whether a filter lets an agent through.
pub(crate) fn fits(index: &Index, number: u32, filter: &Filter) -> bool {
    if filter.facet.is_volatile() {
        return index.standing(number).passes(filter);
    }
    index.attributes().having(filter, index.synonyms()).binary_search(&number).is_ok()
}

/// Finds agents of an index. Costs what the filters and the rarest words leave, not what the
/// directory holds.
pub(crate) fn find(index: &Index, query: &Query) -> Found {
    let filtered = filtered(index, query);
    let words = of_query(&query.text);
    let meant = (!words.is_empty()).then(|| index.terms().meant(&words, index.synonyms()));
    let mut ranked = match &meant {
        None => unranked(index, filtered),
        Some(meant) => index.terms().rank(meant, filtered.as_deref()),
    };
    let total = ranked.len();
    let counts = if query.count { index.attributes().counts(index, &ranked) } else { Vec::new() };
    if let Some(after) = &query.after {
        ranked.retain(|hit| is_after(index, *hit, after));
    }
    let next = cut(&mut ranked, query.limit)
        .map(|(number, score)| Position { score, name: index.agent(number).name.clone() });
    let hits = ranked.into_iter().map(|(number, score)| Hit {
        agent: Arc::clone(index.agent(number)),
        score,
        matches: meant.as_ref().map(|it| index.terms().explain(it, number)).unwrap_or_default(),
    });
    Found { hits: hits.collect(), total, next, counts }
}

/// The agents that all filters let through, sorted; none when there are no filters.
fn filtered<'a>(index: &'a Index, query: &Query) -> Option<Cow<'a, [u32]>> {
    let (volatile, exact): (Vec<&Filter>, Vec<&Filter>) =
        query.filters.iter().partition(|filter| filter.facet.is_volatile());
    let mut lists: Vec<Cow<'_, [u32]>> =
        exact.iter().map(|filter| index.attributes().having(filter, index.synonyms())).collect();
    lists.sort_by_key(|list| list.len());
    let mut kept = lists.into_iter().reduce(|kept, list| intersect(&kept, &list).into());
    for filter in volatile {
        let is_wanted = |number: &u32| index.standing(*number).passes(filter);
        match &mut kept {
            Some(kept) => kept.to_mut().retain(is_wanted),
            None => kept = Some(index.numbers().filter(is_wanted).collect()),
        }
    }
    kept
}

fn unranked(index: &Index, filtered: Option<Cow<'_, [u32]>>) -> Vec<(u32, f32)> {
    match filtered {
        Some(numbers) => numbers.iter().map(|number| (*number, 0.0)).collect(),
        None => index.numbers().map(|number| (number, 0.0)).collect(),
    }
}

fn is_after(index: &Index, (number, score): (u32, f32), after: &Position) -> bool {
    match after.score.total_cmp(&score) {
        Ordering::Greater => true,
        Ordering::Equal => index.agent(number).name > after.name,
        Ordering::Less => false,
    }
}

/// Leaves the best hits in their order; gives the last of them when others follow.
fn cut(ranked: &mut Vec<(u32, f32)>, limit: Option<usize>) -> Option<(u32, f32)> {
    let limit = limit.unwrap_or(usize::MAX).max(1);
    let has_more = ranked.len() > limit;
    if has_more {
        keep_best(ranked, limit);
    }
    ranked.sort_unstable_by(better);
    ranked.last().copied().filter(|_| has_more)
}

/// Which of two hits comes first.
fn better(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// Leaves the best hits, in no order. Reads all of them once: those kept so far are sorted out whenever
/// there are twice as many as wanted, so that most hits are compared with the worst of them and left.
fn keep_best(ranked: &mut Vec<(u32, f32)>, limit: usize) {
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(limit.saturating_mul(2).min(ranked.len()));
    let mut worst = None;
    for hit in ranked.drain(..) {
        if worst.is_some_and(|worst| better(&worst, &hit).is_lt()) {
            continue;
        }
        best.push(hit);
        if best.len() == limit.saturating_mul(2) {
            best.select_nth_unstable_by(limit - 1, better);
            best.truncate(limit);
            worst = Some(best[limit - 1]);
        }
    }
    if best.len() > limit {
        best.select_nth_unstable_by(limit - 1, better);
        best.truncate(limit);
    }
    *ranked = best;
}

#[cfg(test)]
mod tests;
