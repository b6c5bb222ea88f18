//! Goal 13: ranked search over a directory of many agents, beside SQLite's FTS5.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use protocol::v1::{AgentCard, AgentSkill};
use registry::{Agent, CardDigest, Facet, Filter, Index, Query};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::json;

/// What chance begins with.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// How many questions one side is asked before the other one is.
const TURN: usize = 200;

/// What to measure.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Agents in the directory
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..))]
    pub agents: u32,
    /// Questions asked on each side
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub questions: u32,
}

/// What was measured, in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Agents in the directory.
    pub agents: u32,
    /// Our own index.
    pub registry: Latency,
    /// FTS5 asked for agents with the tag and both words, by bm25.
    pub fts5: Latency,
    /// How long our index took to build, its words included, in milliseconds.
    pub build_ms: f64,
    /// Hits per question: ours have the tag and any of the words, FTS5's both.
    pub hits: [f64; 2],
}

/// How long questions took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// What one of a hundred exceeds.
    pub p99: f64,
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e6;
        Self { p50: at(50), p99: at(99) }
    }
}

/// Measures both sides with the same agents and questions, in turns.
///
/// # Errors
/// When SQLite fails, or a question that has an answer finds nothing.
pub fn run(options: &Options) -> Result<Measured> {
    let mut chance = Chance(!SEED);
    let agents: Vec<Arc<Agent>> = agents(options.agents).map(Arc::new).collect();
    let questions: Vec<Question> =
        (0..options.questions).map(|_| Question::of(&agents, &mut chance)).collect();
    let sqlite = fts5(&agents)?;
    let started = Instant::now();
    let index = Index::new(agents);
    let _ = index.search("w0");
    let build_ms = started.elapsed().as_secs_f64() * 1e3;
    let (mut ours, mut theirs, mut hits) = (Vec::new(), Vec::new(), [0.0; 2]);
    // Each side is asked many questions before the other one is: neither is used by somebody who empties its caches
    // after every question.
    let all: Vec<&Question> = questions.iter().chain(&questions).collect();
    for turn in all.chunks(TURN) {
        for question in turn {
            let query = question.query();
            let started = Instant::now();
            let found = index.find(&query);
            ours.push(started.elapsed());
            ensure!(!found.hits.is_empty(), "{question:?} finds the agent it was made of");
            hits[0] += found.total as f64;
        }
        for question in turn {
            let started = Instant::now();
            let matched = question.ask(&sqlite)?;
            theirs.push(started.elapsed());
            hits[1] += matched as f64;
        }
    }
    // The first half warmed up both.
    let half = questions.len();
    Ok(Measured {
        agents: options.agents,
        registry: Latency::of(ours.split_off(half)),
        fts5: Latency::of(theirs.split_off(half)),
        build_ms,
        hits: hits.map(|all| all / (2 * half) as f64),
    })
}

/// What people read.
#[must_use]
pub fn text(measured: &Measured, command: &str) -> String {
    let Measured { agents, registry, fts5, build_ms, hits } = measured;
    format!(
        "a directory of {agents} agents, tag + two words, ranked top 20, in µs\n\
         {:<10} {:>9} {:>9} {:>12}\n\
         {:<10} {:>9.1} {:>9.1} {:>12.1}\n\
         {:<10} {:>9.1} {:>9.1} {:>12.1}\n\
         {:<10} {:>8.1}× {:>8.1}×\n\
         must 10× and 20×, aim 40× and 100×; the index was built in {build_ms:.0} ms\n\n\
         Again with: {command}\n",
        "",
        "p50",
        "p99",
        "found",
        "convoke",
        registry.p50,
        registry.p99,
        hits[0],
        "FTS5",
        fts5.p50,
        fts5.p99,
        hits[1],
        "ratio",
        fts5.p50 / registry.p50,
        fts5.p99 / registry.p99,
    )
}

#[derive(Debug)]
struct Question {
    tag: String,
    words: [String; 2],
}

impl Question {
    /// Made of an agent there is, so that it has an answer.
    fn of(agents: &[Arc<Agent>], chance: &mut Chance) -> Self {
        let agent = &agents[chance.below(agents.len())];
        let said: BTreeSet<&str> = agent.card.description.split(' ').collect();
        let said: Vec<&str> = said.into_iter().collect();
        let word = |chance: &mut Chance| said[chance.below(said.len())].to_owned();
        Self { tag: agent.card.skills[0].tags[0].clone(), words: [word(chance), word(chance)] }
    }

    fn query(&self) -> Query {
        Query {
            text: self.words.join(" "),
            filters: vec![Filter::one(Facet::Tag, &self.tag)],
            limit: Some(20),
            ..Query::default()
        }
    }

    fn ask(&self, sqlite: &Connection) -> Result<usize> {
        let [one, other] = &self.words;
        let matching = format!("tags : \"{}\" AND \"{one}\" AND \"{other}\"", self.tag);
        let mut ask = sqlite.prepare_cached(
            "SELECT name FROM agents WHERE agents MATCH ?1 ORDER BY bm25(agents) LIMIT 20",
        )?;
        let mut rows = ask.query([matching])?;
        let mut count = 0;
        while rows.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

fn fts5(agents: &[Arc<Agent>]) -> Result<Connection> {
    let mut sqlite = Connection::open_in_memory().context("opening SQLite")?;
    sqlite.execute_batch(
        "CREATE VIRTUAL TABLE agents USING fts5(name, description, skills, tags, examples)",
    )?;
    let filling = sqlite.transaction()?;
    for agent in agents {
        let skills = agent.card.skills.iter();
        let named: Vec<&str> = skills.clone().map(|skill| skill.name.as_str()).collect();
        let tags: Vec<String> = skills.clone().flat_map(|skill| skill.tags.clone()).collect();
        let examples: Vec<String> = skills.flat_map(|skill| skill.examples.clone()).collect();
        filling.execute(
            "INSERT INTO agents VALUES (?1, ?2, ?3, ?4, ?5)",
            (
                &agent.name,
                &agent.card.description,
                named.join(" "),
                tags.join(" "),
                examples.join(" "),
            ),
        )?;
    }
    filling.execute("INSERT INTO agents(agents) VALUES('optimize')", [])?;
    filling.commit()?;
    Ok(sqlite)
}

/// The agents of a directory, the same in every run.
pub(crate) fn agents(count: u32) -> impl Iterator<Item = Agent> {
    let mut chance = Chance(SEED);
    (0..count).map(move |number| agent(number, &mut chance))
}

/// An agent with the one tag of this number.
pub(crate) fn tagged(number: u32) -> Agent {
    let skill = AgentSkill {
        id: format!("skill{number}"),
        tags: vec![format!("tag{number}")],
        ..AgentSkill::default()
    };
    let card = AgentCard { skills: vec![skill], ..AgentCard::default() };
    Agent::new(&format!("agent-{number:06}"), "", card, CardDigest::of(&json!(number)))
}

fn agent(number: u32, chance: &mut Chance) -> Agent {
    let skills = (0..3).map(|skill| AgentSkill {
        id: format!("skill{number}x{skill}"),
        name: chance.text(2),
        description: chance.text(8),
        tags: vec![format!("tag{}", chance.skewed(200)), format!("tag{}", chance.skewed(2_000))],
        examples: vec![chance.text(6)],
        ..AgentSkill::default()
    });
    let card = AgentCard {
        name: format!("agent {number}"),
        skills: skills.collect(),
        description: chance.text(24),
        ..AgentCard::default()
    };
    Agent::new(&format!("agent-{number:06}"), "", card, CardDigest::of(&json!(number)))
}

/// Numbers that are the same in every run (xorshift64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    /// Small numbers far more often than large ones, as words are in texts.
    fn skewed(&mut self, limit: usize) -> usize {
        let share = self.below(1 << 24) as f64 / f64::from(1 << 24);
        let number = (limit as f64).powf(share) - 1.0;
        number as usize
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| format!("w{}", self.skewed(20_000))).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_answer_and_the_text_says_how_fast() {
        let measured = run(&Options { agents: 300, questions: 20 }).unwrap();
        assert!(measured.registry.p99 >= measured.registry.p50 && measured.registry.p50 > 0.0);
        assert!(measured.fts5.p99 >= measured.fts5.p50 && measured.fts5.p50 > 0.0);
        assert!(measured.hits[0] >= measured.hits[1] && measured.hits[1] >= 1.0, "{measured:?}");
        let text = text(&measured, "this");
        assert!(text.contains("300 agents") && text.contains("Again with: this"), "{text}");
    }
}
