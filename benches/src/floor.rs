//! The floor: the least that runs a workload durably over A2A.
//!
//! One async loop owns the state; a result and the intents of the steps it frees are one transaction,
//! durable before anything is sent. No retries, recovery, time limits, validation or observers.

mod call;
mod journal;

use std::{collections::VecDeque, path::Path, rc::Rc};

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

use crate::{
    measure::{Clock, Sample},
    workload::{Workload, message, step_id},
};
use call::Caller;
use journal::Journal;

/// A journal on disk and a way to the agent. Wants a runtime of one thread, in a `LocalSet`.
pub struct Floor {
    journal: Journal,
    caller: Rc<Caller>,
    runs: u64,
}

/// What came of one call.
struct Answer {
    step: usize,
    reply: Result<call::Reply>,
}

impl Floor {
    /// Opens a folder of its own and a connection pool.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub fn open(folder: &Path, url: &str) -> Result<Self> {
        let journal = Journal::open(&folder.join("floor.db"))?;
        Ok(Self { journal, caller: Rc::new(Caller::new(url)?), runs: 0 })
    }

    /// Runs a workload to its end and says what that cost.
    ///
    /// # Errors
    /// When a call or a commit fails.
    pub async fn run(&mut self, workload: &Workload) -> Result<Sample> {
        self.runs += 1;
        let flushes = self.journal.flushes();
        let clock = Clock::start();
        Run::new(workload, self).finish().await?;
        Ok(clock.stop(self.journal.flushes() - flushes))
    }
}

struct Run<'a> {
    floor: &'a Floor,
    dependencies: &'a [Vec<usize>],
    dependents: Vec<Vec<usize>>,
    /// Dependencies that are not done, by step.
    open: Vec<usize>,
    ready: VecDeque<usize>,
    texts: Vec<String>,
    free_slots: usize,
    in_flight: usize,
    done: usize,
    answers: mpsc::UnboundedReceiver<Answer>,
    answer_to: mpsc::UnboundedSender<Answer>,
}

impl<'a> Run<'a> {
    fn new(workload: &'a Workload, floor: &'a Floor) -> Self {
        let steps = workload.steps();
        let mut dependents = vec![Vec::new(); steps];
        for (at, before) in workload.dependencies.iter().enumerate() {
            before.iter().for_each(|before| dependents[*before].push(at));
        }
        let open: Vec<usize> = workload.dependencies.iter().map(Vec::len).collect();
        let (answer_to, answers) = mpsc::unbounded_channel();
        Self {
            floor,
            dependencies: &workload.dependencies,
            dependents,
            ready: (0..steps).filter(|at| open[*at] == 0).collect(),
            open,
            texts: vec![String::new(); steps],
            free_slots: workload.parallel,
            in_flight: 0,
            done: 0,
            answers,
            answer_to,
        }
    }

    async fn finish(mut self) -> Result<()> {
        let mut entries = vec![format!(r#"{{"started":{}}}"#, self.floor.runs).into_bytes()];
        loop {
            let requests = self.intend(&mut entries)?;
            // Nothing else can come meanwhile when nothing is in flight: then the hand-over to the
            // writer thread would only cost.
            if self.in_flight == 0 {
                self.floor.journal.commit_here(&entries)?;
                entries.clear();
            } else {
                self.floor.journal.commit(std::mem::take(&mut entries)).await?;
            }
            self.send(requests);
            if self.done == self.dependencies.len() {
                return Ok(());
            }
            let first = self.answers.recv().await.context("a sender lives in this very run")?;
            self.take(first, &mut entries)?;
            while let Ok(next) = self.answers.try_recv() {
                self.take(next, &mut entries)?;
            }
        }
    }

    /// Writes down what will be sent, for as many ready steps as there are free slots.
    fn intend(&mut self, entries: &mut Vec<Vec<u8>>) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut requests = Vec::new();
        while self.free_slots > 0
            && let Some(step) = self.ready.pop_front()
        {
            self.free_slots -= 1;
            let quotes: Vec<&str> =
                self.dependencies[step].iter().map(|at| self.texts[*at].as_str()).collect();
            let id = format!("{:08x}-0000-5000-8000-{step:012x}", self.floor.runs);
            let context = format!("{:08x}-0000-4000-8000-000000000000", self.floor.runs);
            let request = call::request(&id, &context, &message(&quotes))?;
            entries.push([step_id(step).as_bytes(), b" sent ", &request].concat());
            requests.push((step, request));
        }
        Ok(requests)
    }

    fn send(&mut self, requests: Vec<(usize, Vec<u8>)>) {
        self.in_flight += requests.len();
        for (step, request) in requests {
            let (caller, to) = (Rc::clone(&self.floor.caller), self.answer_to.clone());
            tokio::task::spawn_local(async move {
                let reply = caller.call(request).await;
                // A run that has failed elsewhere wants no more answers.
                let _ = to.send(Answer { step, reply });
            });
        }
    }

    fn take(&mut self, answer: Answer, entries: &mut Vec<Vec<u8>>) -> Result<()> {
        let Answer { step, reply } = answer;
        let reply = reply?;
        entries.push([step_id(step).as_bytes(), b" done ", &reply.body[..]].concat());
        self.texts[step] = reply.text;
        self.in_flight -= 1;
        self.free_slots += 1;
        self.done += 1;
        for next in &self.dependents[step] {
            self.open[*next] -= 1;
            if self.open[*next] == 0 {
                self.ready.push_back(*next);
            }
        }
        Ok(())
    }
}
