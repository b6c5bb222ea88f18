//! What a run has left in its data folder, read after its process is gone.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::Value;
use store::{AccountId, JournalId, OpenOptions, Order, PageQuery, Seq, SqliteStore, Store, Table};

/// The account of the command line.
const ACCOUNT: &str = "local";
const RUNS: Table = Table::new("runs");
const MOST_ENTRIES: usize = 10_000;

/// The journal of a run.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The run.
    pub run: String,
    /// Its events: name and content.
    pub events: Vec<(String, Value)>,
}

/// A Message to an agent, by its journal: the one that begins an attempt, or an answer to a question of its Task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// For which step.
    pub step: String,
    /// The attempt, counted from 1.
    pub attempt: u64,
    /// The answer, counted from 1; 0 for the Message that begins the attempt.
    pub turn: u64,
    /// Whether the journal knows that the agent has it: then it must never be sent again.
    pub is_taken: bool,
}

/// What a step asks: the newest question of one that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The step.
    pub step: String,
    /// What its agent says.
    pub text: String,
}

impl Journal {
    /// Reads the newest run; none when no run has begun.
    ///
    /// # Panics
    /// When the folder is in use or damaged, or a journal entry is not what it should be.
    pub async fn read(data: &Path) -> Option<Self> {
        let store = SqliteStore::open(data, OpenOptions::default()).expect("nobody else uses it");
        let account = AccountId::new(ACCOUNT);
        let mut query = PageQuery::new(Some(account.clone()), RUNS);
        query.order = Order::Descending;
        query.limit = 1;
        let page = store.page(&query).await.expect("a list of runs");
        let run = page.rows.first()?.key.clone();
        let journal = JournalId::new(run.as_str());
        let entries = store.entries(&account, &journal, Seq(0), MOST_ENTRIES).await;
        let events = entries.expect("a journal").iter().map(|entry| event(&entry.bytes)).collect();
        Some(Self { run, events })
    }

    /// What was to be sent, by messageId.
    ///
    /// # Panics
    /// When two Messages share a messageId.
    #[must_use]
    pub fn sendings(&self) -> BTreeMap<String, Sending> {
        let mut sendings: BTreeMap<String, Sending> = BTreeMap::new();
        for (name, event) in &self.events {
            let step = event["step"].as_str().unwrap_or_default();
            let attempt = event["attempt"].as_u64().unwrap_or_default();
            let of_attempt =
                |sending: &&mut Sending| sending.step == step && sending.attempt == attempt;
            match name.as_str() {
                "attempt_started" | "context_refused" | "attempt_answered" => {
                    let id = event["intent"]["message_id"].as_str().expect("a text").to_owned();
                    let turn = event["turn"].as_u64().unwrap_or_default();
                    let step = step.to_owned();
                    let twin =
                        sendings.insert(id, Sending { step, attempt, turn, is_taken: false });
                    assert_eq!(twin, None, "two Messages have one messageId");
                }
                "attempt_bound" | "attempt_paused" | "step_completed" => {
                    let first = |sending: &&mut Sending| sending.turn == 0;
                    for sending in sendings.values_mut().filter(of_attempt).filter(first) {
                        sending.is_taken = true;
                    }
                }
                "answer_delivered" => {
                    for sending in sendings.values_mut().filter(of_attempt) {
                        sending.is_taken = true;
                    }
                }
                _ => (),
            }
        }
        sendings
    }

    /// What waits for an answer, in the order of the steps' names.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        let mut open = BTreeMap::new();
        for (name, event) in &self.events {
            let step = event["step"].as_str().unwrap_or_default().to_owned();
            match name.as_str() {
                "attempt_paused" => {
                    let parts = &event["pause"]["question"]["inline"]["parts"];
                    let text = parts[0]["text"].as_str().unwrap_or_default().to_owned();
                    open.insert(step.clone(), Question { step, text });
                }
                "attempt_answered" | "attempt_unpaused" | "step_completed" | "attempt_canceled" => {
                    open.remove(&step);
                }
                _ => (),
            }
        }
        open.into_values().collect()
    }

    /// The steps that have completed.
    #[must_use]
    pub fn completed(&self) -> BTreeSet<String> {
        let completed = self.events.iter().filter(|(name, _)| name == "step_completed");
        completed.filter_map(|(_, event)| event["step"].as_str().map(str::to_owned)).collect()
    }

    /// How often an event happened.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.events.iter().filter(|(event, _)| event == name).count()
    }
}

fn event(bytes: &[u8]) -> (String, Value) {
    let mut entry: Value = serde_json::from_slice(bytes).expect("an entry is JSON");
    assert_eq!(entry["v"], 1, "this version of the journal is read here");
    let Value::Object(event) = entry["event"].take() else {
        panic!("an event is an object of one key");
    };
    event.into_iter().next().expect("an event has a name")
}
