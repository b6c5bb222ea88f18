//! The Tasks of one agent, and the Messages that started them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use protocol::{
    error::Error,
    v1::{ListTasksRequest, ListTasksResponse, Message},
};

use super::{
    listing,
    record::{Record, Taken},
};

/// All Tasks since the agent started.
pub(crate) struct Tasks {
    /// Whether the same Message is the same work; off, each is work of its own.
    deduplicates: bool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_id: BTreeMap<String, Arc<Record>>,
    /// What was received under each messageId; ids are the sender's, so two senders may clash.
    received: HashMap<String, Vec<(Message, Answer)>>,
}

impl Inner {
    fn repeated(&self, message: &Message) -> Option<Answer> {
        let known = self.received.get(&message.message_id)?;
        let (_, answer) = known.iter().find(|(known, _)| known == message)?;
        Some(answer.clone())
    }

    fn keep(&mut self, message: &Message, answer: &Answer) {
        let received = self.received.entry(message.message_id.clone());
        received.or_default().push((message.clone(), answer.clone()));
    }
}

/// What a Message led to.
#[derive(Clone)]
pub(crate) enum Answer {
    Task(Arc<Record>),
    /// A Task that waited for this Message, and what it was once it had taken it.
    Continued(Arc<Record>, Arc<Taken>),
    Direct(Message),
}

impl Tasks {
    /// No Tasks yet.
    pub(crate) fn new(deduplicates: bool) -> Self {
        Self { deduplicates, inner: Mutex::default() }
    }

    /// Keeps the answer to a Message, unless the same Message came before: then the earlier answer
    /// is returned, and true.
    pub(crate) fn receive(
        &self,
        message: &Message,
        answer: impl FnOnce() -> Answer,
    ) -> (Answer, bool) {
        let mut inner = self.lock();
        if let Some(answer) = inner.repeated(message).filter(|_| self.deduplicates) {
            return (answer, true);
        }
        let answer = answer();
        if let Answer::Task(record) = &answer {
            let id = record.read(|task| task.id.clone());
            inner.by_id.insert(id, Arc::clone(record));
        }
        if self.deduplicates {
            inner.keep(message, &answer);
        }
        (answer, false)
    }

    /// The answer to a Message that came before.
    pub(crate) fn repeated(&self, message: &Message) -> Option<Answer> {
        self.lock().repeated(message).filter(|_| self.deduplicates)
    }

    /// Keeps the answer to a Message.
    pub(crate) fn keep(&self, message: &Message, answer: &Answer) {
        if self.deduplicates {
            self.lock().keep(message, answer);
        }
    }

    /// Finds a Task.
    ///
    /// # Errors
    /// `TaskNotFound`.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<Record>, Error> {
        let found = self.lock().by_id.get(id).cloned();
        found.ok_or_else(|| Error::task_not_found(id))
    }

    /// One page of the Tasks, newest status first (A2A §3.1.4).
    pub(crate) fn page(&self, request: &ListTasksRequest) -> Result<ListTasksResponse, Error> {
        let records: Vec<_> = self.lock().by_id.values().cloned().collect();
        listing::page(&records, request)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics under this lock")
    }
}
