//! The Tasks of one agent, and the Messages that started them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use protocol::{
    error::Error,
    v1::{ListTasksRequest, ListTasksResponse, Message},
};

use super::{listing, record::Record};

/// All Tasks since the agent started.
#[derive(Default)]
pub(crate) struct Tasks {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_id: BTreeMap<String, Arc<Record>>,
    /// What was received under each messageId; ids are the sender's, so two senders may clash.
    received: HashMap<String, Vec<(Message, Answer)>>,
}

/// What a Message led to.
#[derive(Clone)]
pub(crate) enum Answer {
    Task(Arc<Record>),
    Direct(Message),
}

impl Tasks {
    /// Keeps the answer to a Message, unless the same Message came before: then the earlier answer
    /// is returned, and true.
    pub(crate) fn receive(
        &self,
        message: &Message,
        answer: impl FnOnce() -> Answer,
    ) -> (Answer, bool) {
        let mut inner = self.lock();
        let known = inner.received.get(&message.message_id);
        let known = known.and_then(|known| known.iter().find(|(known, _)| known == message));
        if let Some((_, answer)) = known {
            return (answer.clone(), true);
        }
        let answer = answer();
        if let Answer::Task(record) = &answer {
            let id = record.read(|task| task.id.clone());
            inner.by_id.insert(id, Arc::clone(record));
        }
        let received = inner.received.entry(message.message_id.clone());
        received.or_default().push((message.clone(), answer.clone()));
        (answer, false)
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
