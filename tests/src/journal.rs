//! What a run has left in its data folder, read after its process is gone.

use std::{collections::BTreeMap, path::Path};

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

/// An attempt by its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Of which step.
    pub step: String,
    /// Counted from 1.
    pub number: u64,
    /// Whether the journal knows the agent's answer: its Message must never be sent again.
    pub is_answered: bool,
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

    /// The attempts by the messageId of what they sent.
    ///
    /// # Panics
    /// When two attempts share a messageId.
    #[must_use]
    pub fn attempts(&self) -> BTreeMap<String, Attempt> {
        let mut attempts: BTreeMap<String, Attempt> = BTreeMap::new();
        for (name, event) in &self.events {
            let step = event["step"].as_str().unwrap_or_default().to_owned();
            let number = event["attempt"].as_u64().unwrap_or_default();
            match name.as_str() {
                "attempt_started" | "context_refused" => {
                    let id = event["intent"]["message_id"].as_str().expect("a text").to_owned();
                    let attempt = Attempt { step, number, is_answered: false };
                    let twin = attempts.insert(id, attempt);
                    assert_eq!(twin, None, "two attempts have one messageId");
                }
                "attempt_bound" | "step_completed" => {
                    for attempt in attempts.values_mut() {
                        attempt.is_answered |= attempt.step == step && attempt.number == number;
                    }
                }
                _ => (),
            }
        }
        attempts
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
