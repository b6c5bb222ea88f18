//! Ranked text search over agents: an inverted index scored by BM25, weighted by where a word stands.

use std::collections::HashMap;
use std::fmt;

use crate::Agent;

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

/// Says why an agent was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// The word of the query.
    pub word: String,
    /// Where it stands.
    pub fields: Vec<Field>,
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields: Vec<&str> = self.fields.iter().map(|field| field.as_str()).collect();
        write!(f, "`{}` in {}", self.word, fields.join(", "))
    }
}

/// One place where a word stands.
struct Posting {
    agent: u32,
    /// Occurrences, each counted with the weight of its field.
    weight: f32,
    fields: u8,
}

/// Finds agents, given by their number, by words.
pub(crate) struct Words {
    postings: HashMap<String, Vec<Posting>>,
    /// Weighted words per agent.
    lengths: Vec<f32>,
    mean_length: f32,
}

impl Words {
    pub(crate) fn of<'a>(agents: impl Iterator<Item = &'a Agent>) -> Self {
        let mut words = Self { postings: HashMap::new(), lengths: Vec::new(), mean_length: 1.0 };
        for (number, agent) in agents.enumerate() {
            words
                .add(u32::try_from(number).expect("a directory has fewer than 2^32 agents"), agent);
        }
        if !words.lengths.is_empty() {
            words.mean_length = words.lengths.iter().sum::<f32>() / words.lengths.len() as f32;
        }
        words
    }

    fn add(&mut self, number: u32, agent: &Agent) {
        let mut length = 0.0;
        let mut found: HashMap<String, (f32, u8)> = HashMap::new();
        for (field, text) in texts(agent) {
            for word in tokens(text) {
                let (weight, fields) = found.entry(word).or_default();
                *weight += field.weight();
                *fields |= field.bit();
                length += field.weight();
            }
        }
        self.lengths.push(length);
        for (word, (weight, fields)) in found {
            self.postings.entry(word).or_default().push(Posting { agent: number, weight, fields });
        }
    }

    /// The agents that have any of the words, best first, with their score; of equal scores the
    /// smaller number first.
    pub(crate) fn search(&self, query: &str) -> Vec<(u32, f32, Vec<Match>)> {
        // The usual constants: how soon repetition stops counting, and how much length matters.
        const SATURATION: f32 = 1.2;
        const LENGTH: f32 = 0.75;
        let mut words: Vec<String> = tokens(query).collect();
        words.sort();
        words.dedup();
        let mut hits: HashMap<u32, (f32, Vec<Match>)> = HashMap::new();
        for word in words {
            let postings = self.postings.get(&word).map_or(&[][..], Vec::as_slice);
            let (all, having) = (self.lengths.len() as f32, postings.len() as f32);
            let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
            for posting in postings {
                let length = self.lengths[posting.agent as usize] / self.mean_length.max(1.0);
                let dampened = posting.weight + SATURATION * (1.0 - LENGTH + LENGTH * length);
                let (score, matches) = hits.entry(posting.agent).or_default();
                *score += rarity * posting.weight * (SATURATION + 1.0) / dampened;
                matches.push(Match { word: word.clone(), fields: fields_of(posting.fields) });
            }
        }
        let mut ranked: Vec<_> =
            hits.into_iter().map(|(agent, (score, matches))| (agent, score, matches)).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }
}

fn fields_of(bits: u8) -> Vec<Field> {
    Field::ALL.into_iter().filter(|field| bits & field.bit() != 0).collect()
}

fn texts(agent: &Agent) -> impl Iterator<Item = (Field, &str)> {
    let card = &*agent.card;
    let names = [&agent.name, &card.name].into_iter().chain(&agent.aliases);
    let about = std::iter::once(&card.description)
        .chain(card.provider.iter().map(|provider| &provider.organization));
    let skills = card.skills.iter().flat_map(|skill| {
        let names = [(Field::Skill, &skill.id), (Field::Skill, &skill.name)];
        let rest = std::iter::once((Field::Description, &skill.description))
            .chain(skill.tags.iter().map(|tag| (Field::Tag, tag)))
            .chain(skill.examples.iter().map(|example| (Field::Example, example)));
        names.into_iter().chain(rest)
    });
    names
        .map(|text| (Field::Name, text))
        .chain(about.map(|text| (Field::Description, text)))
        .chain(skills)
        .chain(agent.tags.iter().map(|text| (Field::Tag, text)))
        .chain(agent.notes.iter().chain(&agent.owner).map(|text| (Field::Notes, text)))
        .map(|(field, text)| (field, text.as_str()))
}

/// Words in lower case, without the plural's `s`, so that `flights` finds `flight`.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(|word| {
        let word = word.to_lowercase();
        match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word,
        }
    })
}
