//! Ranked text: an inverted index scored by BM25, weighted by where a word stands.
//!
//! The index never changes, so the score of each posting is worked out when it is built.

use std::collections::HashMap;

use super::dense::DenseWords;
use super::lists::walk;
use super::scores::{Among, Met, SCORES, Scored, Scores};
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
/// A word that so many agents have is whole, also when it is the last of a query.
const WHOLE: usize = 100;

/// Looking for one agent in a list costs as much as asking of so many in the list whether they are wanted.
const FEW: usize = 32;

/// Finds agents, given by their number, by words.
pub(crate) struct Terms {
    /// How many agents there are.
    count: usize,
    /// Every word, sorted.
    vocabulary: Vec<Box<str>>,
    /// Per word, where its postings begin; one more for the end.
    starts: Vec<u32>,
    postings: Vec<Scored>,
    /// Per posting, where the word stands.
    fields: Vec<u8>,
    /// The words that many agents have.
    dense: DenseWords,
}

/// The words of a query, each with those of the agents that it stands for.
pub(crate) struct Meant<'a>(Vec<(&'a str, Vec<Standin>)>);

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

    /// The agents that have any of the words, in no order, with their scores; of those in `among`, which is sorted, when
    /// it is given.
    pub(crate) fn rank(&self, meant: &Meant<'_>, among: Option<&[u32]>) -> Vec<(u32, f32)> {
        let mut scores = SCORES.take();
        scores.fit(self.count);
        let Scores { wanted, sums, best, met } = &mut scores;
        let mut among = among.map(|among| wanted.of(among));
        for (_, standins) in &meant.0 {
            if let [only] = standins[..] {
                self.score(only, among.as_mut(), met, |agent, score| *sums.entry(agent) += score);
                continue;
            }
            for standin in standins {
                self.score(*standin, among.as_mut(), met, |agent, score| {
                    let best = best.entry(agent);
                    *best = best.max(score);
                });
            }
            best.take(|agent, score| *sums.entry(agent) += score);
        }
        let mut ranked = Vec::with_capacity(sums.found.len());
        sums.take(|agent, score| ranked.push((agent, score)));
        SCORES.set(scores);
        ranked
    }

    /// Why an agent was found by these words.
    pub(crate) fn explain(&self, meant: &Meant<'_>, agent: u32) -> Vec<Match> {
        let mut matches = Vec::new();
        for (word, standins) in &meant.0 {
            for Standin { term, kind } in standins {
                if let Some(at) = self.place(*term, agent) {
                    matches.push(Match {
                        word: (*word).to_owned(),
                        term: self.vocabulary[*term as usize].to_string(),
                        kind: *kind,
                        fields: Field::of_bits(self.fields[at]),
                    });
                }
            }
        }
        matches
    }

    /// What each word of a query stands for: itself and its synonyms; the words that it begins, when
    /// there is no such word, or few agents have it and it is the last, which may still be being typed;
    /// and, when there is nothing at all, words that are one letter off. Costs what looking through the vocabulary does, so
    /// a search asks once.
    pub(crate) fn meant<'a>(&self, words: &'a [String], synonyms: &Synonyms) -> Meant<'a> {
        let is_short = words.len() <= MOST_GUESSED;
        let mut all: Vec<(&str, Vec<Standin>)> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let mut standins = self.certain(word, synonyms);
            let may_go_on = at + 1 == words.len() && self.having(&standins) < WHOLE;
            if is_short && (standins.is_empty() || may_go_on) {
                self.begun(word, &mut standins);
            }
            if is_short && standins.is_empty() {
                standins = self.mistyped(word);
            }
            if !standins.is_empty() {
                all.push((word, standins));
            }
        }
        if all.len() > MOST_WORDS {
            all.sort_by_key(|(_, standins)| self.having(standins));
            all.truncate(MOST_WORDS);
        }
        Meant(all)
    }

    /// How many agents have one of the words, those that have several counted for each.
    fn having(&self, standins: &[Standin]) -> usize {
        standins.iter().map(|it| self.range(it.term)).map(|(from, to)| to - from).sum()
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
        let by_frequency = |term: &u32| {
            let (from, to) = self.range(*term);
            (std::cmp::Reverse(to - from), *term)
        };
        let room = MOST_STANDINS.saturating_sub(standins.len());
        if terms.len() > room && room > 0 {
            terms.select_nth_unstable_by_key(room - 1, by_frequency);
        }
        terms.truncate(room);
        terms.sort_unstable_by_key(by_frequency);
        standins.extend(terms.into_iter().map(|term| Standin { term, kind: Kind::Prefix }));
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

    /// Calls back for the agents that have a word, and are among those wanted, with what that is worth. `met` is room for
    /// those that are met in a list: memory is slow, and is asked for many at once when nothing else is done meanwhile.
    fn score(
        &self,
        Standin { term, kind }: Standin,
        among: Option<&mut Among<'_>>,
        met: &mut Met,
        mut take: impl FnMut(u32, f32),
    ) {
        let (from, to) = self.range(term);
        let (postings, worth) = (&self.postings[from..to], kind.worth());
        let mut take = |posting: &Scored| take(posting.agent, posting.score * worth);
        let Some(among) = among else { return postings.iter().for_each(take) };
        let (wanted, having) = (among.list.len(), postings.len());
        match self.dense.get(term) {
            Some(places) if wanted < having => {
                met.keep(wanted, among.list.iter().map(|agent| places.place(*agent)));
            }
            _ if wanted < having / FEW => {
                return walk(among.list, postings, |it| it.agent, |at| take(&postings[at]));
            }
            _ if having < wanted / FEW => {
                let is_wanted = |it: &&Scored| among.list.binary_search(&it.agent).is_ok();
                return postings.iter().filter(is_wanted).for_each(take);
            }
            _ => {
                let wanted = among.set();
                let places = (0..).zip(postings).map(|(at, it)| (at, wanted.has(it.agent)));
                met.keep(having, places);
            }
        }
        met.read.clear();
        met.read.extend(met.places.iter().map(|at| postings[*at as usize]));
        met.read.iter().for_each(take);
    }

    /// The posting of a word for an agent, if it has the word.
    fn place(&self, term: u32, agent: u32) -> Option<usize> {
        let (from, to) = self.range(term);
        let place = match self.dense.get(term) {
            Some(places) => Some(places.place(agent)).filter(|it| it.1).map(|it| it.0 as usize),
            None => self.postings[from..to].binary_search_by_key(&agent, |it| it.agent).ok(),
        };
        place.map(|place| from + place)
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
        let postings = self.scored(&starts);
        let count = self.lengths.len();
        let mut dense = DenseWords::default();
        for (term, bounds) in (0..).zip(starts.windows(2)) {
            let list = &postings[bounds[0] as usize..bounds[1] as usize];
            dense.add(term, count, list.iter().map(|it| it.agent));
        }
        Terms {
            count,
            dense,
            vocabulary,
            starts,
            postings,
            fields: self.postings.iter().map(|it| it.fields).collect(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "scores need no more precision")]
    fn scored(&self, starts: &[u32]) -> Vec<Scored> {
        let all = self.lengths.len() as f32;
        let mean = (self.lengths.iter().sum::<f32>() / all.max(1.0)).max(1.0);
        self.postings
            .iter()
            .map(|Posting { term, agent, weight, .. }| {
                let having = (starts[*term as usize + 1] - starts[*term as usize]) as f32;
                let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
                let length = self.lengths[*agent as usize] / mean;
                let dampened = weight + SATURATION * (1.0 - LENGTH + LENGTH * length);
                let score = rarity * weight * (SATURATION + 1.0) / dampened;
                Scored { agent: *agent, score }
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
