//! `kill -9` in the middle of what a field of the language does, with example agents: what was done stays done, what was
//! under way goes on, and no agent has anything to do twice.

mod asking;
mod clean_up;
mod further;
mod inside;
mod joins;
mod reuse;
mod rounds;

use std::collections::BTreeMap;

use examples::{CallOutcome, Holds, Kind, Options, Running};
use protocol::v1::{ListTasksRequest, Task};
use serde_json::Value;
use tests::{
    PATIENCE,
    agent::example,
    convoke::{Convoke, Process},
    journal::Journal,
};
use tokio::time::timeout;

use super::scene::client;

/// Agents that hold back what comes after their first pieces of work, and a workflow for them.
struct Middle {
    convoke: Convoke,
    agents: BTreeMap<&'static str, (Running, Holds)>,
}

/// A Message that an agent took.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    text: String,
    /// The texts of the Messages that began the Tasks it refers to.
    refers_to: Vec<String>,
}

/// An agent: its name in the file, what it is, and how many pieces of work it does before it holds the next ones.
type Cast = (&'static str, Kind, usize);

/// Holds nothing back.
const ALL: usize = usize::MAX;

impl Middle {
    /// `rest` follows the agents of the file.
    async fn of(cast: &[Cast], rest: &str) -> Self {
        let mut agents = BTreeMap::new();
        for (name, kind, free) in cast.iter().copied() {
            let holds = Holds::after(free);
            let options =
                Options { holds: holds.clone(), turns: 1, failures: 0, ..Options::default() };
            agents.insert(name, (example(kind, options).await, holds));
        }
        let middle = Self { convoke: Convoke::default(), agents };
        middle.write("w", rest);
        middle
    }

    /// Writes a workflow of that name for these agents.
    fn write(&self, name: &str, rest: &str) {
        let urls: Vec<String> = self
            .agents
            .iter()
            .map(|(name, (it, _))| format!("{name}: {{url: \"{}\"}}", it.url))
            .collect();
        let file = format!("convoke: 1\nname: {name}\nagents: {{{}}}\n{rest}", urls.join(", "));
        self.convoke.write(&format!("workflows/{name}.yaml"), file);
    }

    fn start(&self) -> Process {
        self.convoke.start(["run", "w"])
    }

    async fn until_held(&self, agent: &str) {
        timeout(PATIENCE, self.agents[agent].1.until_held())
            .await
            .expect("it has work to hold back");
    }

    /// Waits until an agent was sent so many Messages.
    async fn until_asked(&self, agent: &str, count: usize) {
        let is_so = async {
            while self.agents[agent].0.calls.count() < count {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, is_so).await.expect("it is asked");
    }

    /// Kills a process once an agent holds work back, lets that go on, and reads what the process has left.
    async fn killed_at(&self, process: Process, agent: &str) -> Journal {
        self.until_held(agent).await;
        process.kill().await;
        self.agents[agent].1.release();
        self.journal().await
    }

    async fn journal(&self) -> Journal {
        Journal::read(&self.convoke.data()).await.expect("a run")
    }

    /// Has a run go on to its end.
    async fn resumed(&self, run: &str, code: i32) -> Value {
        self.convoke.run(["--json", "run", "--resume", run]).await.exits(code).json()
    }

    /// Runs it, kills it once an agent holds work back, and has it go on to its end.
    async fn killed_and_resumed(&self, agent: &str, code: i32) -> Value {
        let killed = self.killed_at(self.start(), agent).await;
        self.resumed(&killed.run, code).await
    }

    /// What an agent took, each Message once: no agent refuses one, or gets another one under the same messageId.
    async fn taken(&self, agent: &str) -> Vec<Taken> {
        let calls = self.agents[agent].0.calls.all();
        let of_task = self.messages_of_tasks(agent).await;
        for call in &calls {
            assert_ne!(call.outcome, CallOutcome::Refused, "{call:?}");
            let first = calls.iter().find(|it| it.message_id == call.message_id).expect("itself");
            assert_eq!(
                (&first.text, &first.reference_task_ids),
                (&call.text, &call.reference_task_ids)
            );
        }
        let taken = calls.iter().filter(|call| call.outcome == CallOutcome::Accepted);
        taken
            .map(|call| Taken {
                text: call.text.clone(),
                refers_to: call
                    .reference_task_ids
                    .iter()
                    .map(|id| {
                        of_task.get(id).cloned().unwrap_or_else(|| format!("a strange Task {id}"))
                    })
                    .collect(),
            })
            .collect()
    }

    /// Their texts alone.
    async fn texts(&self, agent: &str) -> Vec<String> {
        self.taken(agent).await.into_iter().map(|it| it.text).collect()
    }

    async fn tasks(&self, agent: &str) -> Vec<Task> {
        let request = ListTasksRequest { page_size: Some(100), ..Default::default() };
        client(&self.agents[agent].0.url).list_tasks(request, PATIENCE).await.expect("a list").tasks
    }

    /// By the id of each Task of an agent, the text of the Message that began it.
    async fn messages_of_tasks(&self, agent: &str) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        for task in self.tasks(agent).await {
            let first = task.history.first().map(protocol::v1::Message::text);
            texts.insert(task.id, first.unwrap_or_default());
        }
        texts
    }
}

/// A Message that refers to the Tasks that these began.
fn referring(text: &str, refers_to: &[&str]) -> Taken {
    Taken {
        text: text.to_owned(),
        refers_to: refers_to.iter().map(|it| (*it).to_owned()).collect(),
    }
}

/// The text of the first output.
fn output(done: &Value) -> &str {
    done["outputs"][0]["parts"][0]["text"].as_str().unwrap_or_default()
}
