//! Ranked text: an inverted index scored by BM25, weighted by where a word stands.
//!
//! The index never changes, so the score of each posting is worked out when it is built.

use std::collections::HashMap;

use super::lists::{merge, walk};
use super::words::{is_one_off, of_agent, of_query};
use super::{Field, Kind, Match};
use crate::Agent;
use crate::synonyms::Synonyms;

/// How soon repetition stops counting, and how much the length of a text does: the usual constants.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;
/// Only as many of a query's words are ranked by: the rarest.
const MOST_WORDS: usize = 32;
/// Longer queries are texts, whose odd words are names and not slips.
const MOST_GUESSED: usize = 8;
/// Of the words that a word may stand for, as many are looked at.
const MOST_STANDINS: usize = 16;

/// Finds agents, given by their number, by words.
pub(crate) struct Terms {
    /// Every word, sorted.
    vocabulary: Vec<Box<str>>,
    /// Per word, where its postings begin; one more for the end.
    starts: Vec<u32>,
    agents: Vec<u32>,
    scores: Vec<f32>,
    fields: Vec<u8>,
}

/// A word of the agents that a word of a query stands for.
#[derive(Clone, Copy, Debug)]
struct Standin {
    term: u32,
    kind: Kind,
}

impl Kind {
    /// What a match of this kind is worth beside an exact one.
    fn worth(self) -> f32 {
        match self {
            Self::Exact => 1.0,
            Self::Synonym => 0.8,
            Self::Prefix => 0.6,
            Self::Typo => 0.5,
        }
    }
}

impl Terms {
    /// Reads agents, whose numbers are their places.
    pub(crate) fn of<'a>(agents: impl Iterator<Item = &'a Agent>) -> Self {
        let mut builder = Builder::default();
        for agent in agents {
            builder.add(agent);
        }
        builder.build()
    }

    /// The agents that have any of the words, in the order of their numbers, with their scores; of
    /// those in `among`, when it is given.
    pub(crate) fn rank(
        &self,
        words: &[String],
        synonyms: &Synonyms,
        among: Option<&[u32]>,
    ) -> Vec<(u32, f32)> {
        let mut lists: Vec<Vec<(u32, f32)>> = self
            .standins(words, synonyms)
            .into_iter()
            .map(|(_, standins)| self.scored(&standins, among))
            .filter(|list| !list.is_empty())
            .collect();
        while lists.len() > 1 {
            lists.sort_by_key(|list| std::cmp::Reverse(list.len()));
            let (one, other) = (lists.pop(), lists.pop());
            let pair = one.zip(other).expect("there are two");
            lists.push(merge(&pair.0, &pair.1, |a, b| a + b));
        }
        lists.pop().unwrap_or_default()
    }

    /// Why an agent was found by these words.
    pub(crate) fn explain(&self, words: &[String], synonyms: &Synonyms, agent: u32) -> Vec<Match> {
        let mut matches = Vec::new();
        for (word, standins) in self.standins(words, synonyms) {
            for Standin { term, kind } in standins {
                let (from, to) = self.range(term);
                if let Ok(at) = self.agents[from..to].binary_search(&agent) {
                    matches.push(Match {
                        word: word.to_owned(),
                        term: self.vocabulary[term as usize].to_string(),
                        kind,
                        fields: Field::of_bits(self.fields[from + at]),
                    });
                }
            }
        }
        matches
    }

    /// What each word of a query stands for: itself and its synonyms; the words that it begins, when
    /// there is no such word or it is the last, which may still be being typed; and, when there is
    /// nothing at all, words that are one letter off.
    fn standins<'a>(
        &self,
        words: &'a [String],
        synonyms: &Synonyms,
    ) -> Vec<(&'a str, Vec<Standin>)> {
        let is_short = words.len() <= MOST_GUESSED;
        let mut all: Vec<(&str, Vec<Standin>)> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let mut standins = self.certain(word, synonyms);
            if is_short && (standins.is_empty() || at + 1 == words.len()) {
                self.begun(word, &mut standins);
            }
            if is_short && standins.is_empty() {
                standins = self.mistyped(word);
            }
            if !standins.is_empty() {
                all.push((word, standins));
            }
        }
        let frequency = |standins: &[Standin]| -> usize {
            standins.iter().map(|it| self.range(it.term)).map(|(from, to)| to - from).sum()
        };
        if all.len() > MOST_WORDS {
            all.sort_by_key(|(_, standins)| frequency(standins));
            all.truncate(MOST_WORDS);
        }
        all
    }

    fn certain(&self, word: &str, synonyms: &Synonyms) -> Vec<Standin> {
        let exact = self.term(word).map(|term| Standin { term, kind: Kind::Exact });
        let mut standins: Vec<Standin> = exact.into_iter().collect();
        if synonyms.is_empty() {
            return standins;
        }
        for synonym in synonyms.of_word(word) {
            for term in of_query(synonym).iter().filter_map(|part| self.term(part)) {
                if standins.len() < MOST_STANDINS && standins.iter().all(|it| it.term != term) {
                    standins.push(Standin { term, kind: Kind::Synonym });
                }
            }
        }
        standins
    }

    /// The most frequent of the words that begin with this one.
    fn begun(&self, word: &str, standins: &mut Vec<Standin>) {
        let from = self.vocabulary.partition_point(|it| &**it < word);
        let longer = self.vocabulary[from..].iter().take_while(|it| it.starts_with(word));
        let mut terms: Vec<u32> = (from..from + longer.count())
            .map(|term| u32::try_from(term).expect("fewer than 2^32 words"))
            .filter(|term| standins.iter().all(|it| it.term != *term))
            .collect();
        terms.sort_by_key(|term| {
            let (from, to) = self.range(*term);
            (std::cmp::Reverse(to - from), *term)
        });
        let room = MOST_STANDINS.saturating_sub(standins.len());
        standins
            .extend(terms.into_iter().take(room).map(|term| Standin { term, kind: Kind::Prefix }));
    }

    fn mistyped(&self, word: &str) -> Vec<Standin> {
        let letters = word.chars().count();
        if letters < 4 {
            return Vec::new();
        }
        let near = (0_u32..)
            .zip(&self.vocabulary)
            .filter(|(_, it)| it.len().abs_diff(word.len()) <= 4 && is_one_off(word, it));
        near.map(|(term, _)| Standin { term, kind: Kind::Typo }).take(MOST_STANDINS).collect()
    }

    /// Agents with the score of the best of the words that stand for one word.
    fn scored(&self, standins: &[Standin], among: Option<&[u32]>) -> Vec<(u32, f32)> {
        let mut best: Vec<(u32, f32)> = Vec::new();
        for Standin { term, kind } in standins {
            let (from, to) = self.range(*term);
            let (agents, scores) = (&self.agents[from..to], &self.scores[from..to]);
            let list = picked(agents, scores, among, kind.worth());
            best = if best.is_empty() { list } else { merge(&best, &list, f32::max) };
        }
        best
    }

    fn term(&self, word: &str) -> Option<u32> {
        let found = self.vocabulary.binary_search_by(|it| (**it).cmp(word)).ok()?;
        u32::try_from(found).ok()
    }

    fn range(&self, term: u32) -> (usize, usize) {
        let term = term as usize;
        (self.starts[term] as usize, self.starts[term + 1] as usize)
    }
}

/// The postings of agents that are `among` those wanted.
fn picked(agents: &[u32], scores: &[f32], among: Option<&[u32]>, worth: f32) -> Vec<(u32, f32)> {
    let Some(among) = among else {
        return agents.iter().zip(scores).map(|(agent, score)| (*agent, score * worth)).collect();
    };
    let mut list = Vec::with_capacity(agents.len().min(among.len()));
    if among.len() <= agents.len() {
        walk(among, agents, |_, at, agent| list.push((agent, scores[at] * worth)));
    } else {
        walk(agents, among, |at, _, agent| list.push((agent, scores[at] * worth)));
    }
    list
}

/// One word of one agent.
struct Posting {
    term: u32,
    agent: u32,
    /// Occurrences, each counted with the weight of its field.
    weight: f32,
    fields: u8,
}

#[derive(Default)]
struct Builder {
    numbers: HashMap<Box<str>, u32>,
    postings: Vec<Posting>,
    /// Weighted words per agent.
    lengths: Vec<f32>,
}

impl Builder {
    fn add(&mut self, agent: &Agent) {
        let number = u32::try_from(self.lengths.len()).expect("fewer than 2^32 agents");
        let mut length = 0.0;
        let mut places: HashMap<u32, usize> = HashMap::new();
        for (field, text) in texts(agent) {
            of_agent(text, &mut |word| {
                let term = self.number(word);
                let at = *places.entry(term).or_insert_with(|| {
                    self.postings.push(Posting { term, agent: number, weight: 0.0, fields: 0 });
                    self.postings.len() - 1
                });
                self.postings[at].weight += field.weight();
                self.postings[at].fields |= field.bit();
                length += field.weight();
            });
        }
        self.lengths.push(length);
    }

    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = u32::try_from(self.numbers.len()).expect("fewer than 2^32 words");
        self.numbers.insert(word.into(), number);
        number
    }

    fn build(mut self) -> Terms {
        let mut words: Vec<(Box<str>, u32)> =
            std::mem::take(&mut self.numbers).into_iter().collect();
        words.sort_unstable();
        let mut places = vec![0_u32; words.len()];
        for (place, (_, number)) in (0..).zip(&words) {
            places[*number as usize] = place;
        }
        for posting in &mut self.postings {
            posting.term = places[posting.term as usize];
        }
        // Stable, and postings come in the order of agents.
        self.postings.sort_by_key(|posting| posting.term);
        let vocabulary: Vec<Box<str>> = words.into_iter().map(|(word, _)| word).collect();
        let starts = (0..=vocabulary.len()).map(|term| {
            let before = self.postings.partition_point(|it| (it.term as usize) < term);
            u32::try_from(before).expect("fewer than 2^32 postings")
        });
        let starts: Vec<u32> = starts.collect();
        let scores = self.scores(&starts);
        Terms {
            vocabulary,
            starts,
            agents: self.postings.iter().map(|it| it.agent).collect(),
            scores,
            fields: self.postings.iter().map(|it| it.fields).collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "scores need no more precision")]
    fn scores(&self, starts: &[u32]) -> Vec<f32> {
        let all = self.lengths.len() as f32;
        let mean = (self.lengths.iter().sum::<f32>() / all.max(1.0)).max(1.0);
        self.postings
            .iter()
            .map(|Posting { term, agent, weight, .. }| {
                let having = (starts[*term as usize + 1] - starts[*term as usize]) as f32;
                let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
                let length = self.lengths[*agent as usize] / mean;
                let dampened = weight + SATURATION * (1.0 - LENGTH + LENGTH * length);
                rarity * weight * (SATURATION + 1.0) / dampened
            })
            .collect()
    }
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
