//! One Task: its present state and the log of everything that happened to it.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{Stream, StreamExt as _, stream};
use protocol::{
    error::Error,
    service::EventStream,
    v1::{
        Artifact, Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
        TaskStatusUpdateEvent,
    },
};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// A Task that any number of callers may follow.
///
/// The log only grows, and followers read it by index: a slow one misses nothing, and all of them
/// see the same events in the same order.
pub(crate) struct Record {
    /// Set when the Task is canceled, so that its work stops.
    pub(crate) canceled: CancellationToken,
    /// Messages that continue the Task, for the work that waits for them.
    answers: mpsc::UnboundedSender<Message>,
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<Message>>,
    inner: Mutex<Inner>,
    /// Length of the log, told after each change.
    length: watch::Sender<usize>,
}

struct Inner {
    task: Task,
    log: Vec<StreamResponse>,
}

impl Record {
    /// A Task that was accepted and not begun; its first event is itself.
    pub(crate) fn submitted(task_id: String, context_id: String, message: Message) -> Self {
        let mut task = Task::new(task_id, context_id, status(TaskState::Submitted, None));
        task.history.push(message);
        let log = vec![task.clone().into()];
        let (answers, waiting) = mpsc::unbounded_channel();
        Self {
            answers,
            waiting: tokio::sync::Mutex::new(waiting),
            canceled: CancellationToken::new(),
            length: watch::Sender::new(log.len()),
            inner: Mutex::new(Inner { task, log }),
        }
    }

    /// Moves the Task to a state. Returns false, and does nothing, when it was terminal before.
    pub(crate) fn enter(&self, state: TaskState, message: Option<Message>) -> bool {
        self.change(|task| {
            let status = status(state, message);
            task.status = Some(status.clone());
            let event = TaskStatusUpdateEvent {
                task_id: task.id.clone(),
                context_id: task.context_id.clone(),
                status: Some(status),
                metadata: None,
            };
            event.into()
        })
    }

    /// Continues an interrupted Task with a Message. Returns false, and does nothing, in any other state.
    pub(crate) fn answer(&self, message: Message) -> bool {
        let is_waiting = self.read(|task| task.state().is_interrupted());
        if !is_waiting || !self.enter(TaskState::Working, None) {
            return false;
        }
        self.lock().task.history.push(message.clone());
        // The receiver is part of this record.
        self.answers.send(message).is_ok()
    }

    /// Waits for the Message that continues the Task.
    pub(crate) async fn answered(&self) -> Message {
        let mut waiting = self.waiting.lock().await;
        waiting.recv().await.expect("the sender is part of this record")
    }

    /// Adds Parts to the artifact of that id when `append`, else puts the artifact in its place.
    pub(crate) fn put_artifact(&self, artifact: Artifact, append: bool, last_chunk: bool) {
        self.change(|task| {
            let id = &artifact.artifact_id;
            let known = task.artifacts.iter_mut().find(|known| known.artifact_id == *id);
            match known {
                Some(known) if append => known.parts.extend(artifact.parts.iter().cloned()),
                Some(known) => *known = artifact.clone(),
                None => task.artifacts.push(artifact.clone()),
            }
            let event = TaskArtifactUpdateEvent {
                task_id: task.id.clone(),
                context_id: task.context_id.clone(),
                artifact: Some(artifact),
                append,
                last_chunk,
                metadata: None,
            };
            event.into()
        });
    }

    /// The Task as it is now.
    pub(crate) fn task(&self) -> Task {
        self.lock().task.clone()
    }

    /// Reads something of the Task as it is now, without a copy of the whole.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Task) -> T) -> T {
        read(&self.lock().task)
    }

    /// Waits until the Task is terminal or interrupted (A2A §3.2.2).
    pub(crate) async fn settled(&self) {
        let mut length = self.length.subscribe();
        let is_settled = |task: &Task| is_terminal(task) || task.state().is_interrupted();
        // Fails only when the sender is gone, and the sender is part of this record.
        let waited = length.wait_for(|_| self.read(is_settled)).await;
        debug_assert!(waited.is_ok(), "the record outlives its own method");
    }

    /// Every event from an index on, until the Task is terminal.
    pub(crate) fn from(self: Arc<Self>, next: usize) -> EventStream {
        self.events(next).boxed()
    }

    /// How many events there were so far: the index of the next one.
    pub(crate) fn length(&self) -> usize {
        self.lock().log.len()
    }

    /// The Task as it is now, then every later event.
    pub(crate) fn from_now(self: Arc<Self>) -> EventStream {
        let (snapshot, next) = {
            let inner = self.lock();
            (inner.task.clone().into(), inner.log.len())
        };
        let first = stream::once(async move { Ok(snapshot) });
        first.chain(self.events(next)).boxed()
    }

    fn events(
        self: Arc<Self>,
        next: usize,
    ) -> impl Stream<Item = Result<StreamResponse, Error>> + Send + use<> {
        let length = self.length.subscribe();
        stream::unfold((self, next, length), async |(record, next, mut length)| {
            loop {
                let (event, ended) = record.at(next);
                if let Some(event) = event {
                    return Some((Ok(event), (record, next + 1, length)));
                }
                if ended || length.changed().await.is_err() {
                    return None;
                }
            }
        })
    }

    /// The event of an index, and whether none can follow the ones there are.
    fn at(&self, index: usize) -> (Option<StreamResponse>, bool) {
        let inner = self.lock();
        (inner.log.get(index).cloned(), is_terminal(&inner.task))
    }

    fn change(&self, change: impl FnOnce(&mut Task) -> StreamResponse) -> bool {
        let mut inner = self.lock();
        if is_terminal(&inner.task) {
            return false;
        }
        let event = change(&mut inner.task);
        inner.log.push(event);
        self.length.send_replace(inner.log.len());
        true
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics under this lock")
    }
}

/// Whether nothing can change any more.
pub(crate) fn is_terminal(task: &Task) -> bool {
    task.state().is_terminal()
}

fn status(state: TaskState, message: Option<Message>) -> TaskStatus {
    let status = TaskStatus::new(state, jiff::Timestamp::now());
    TaskStatus { message, ..status }
}
