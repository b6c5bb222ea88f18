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

/// A Task that has just taken the Message it waited for.
pub(crate) struct Taken {
    task: Task,
    /// The index of the first event after the Message, which says that work goes on.
    pub(crate) since: usize,
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
        self.change(|task| moved(task, state, message))
    }

    /// Continues an interrupted Task with a Message. Returns none, and does nothing, in any other state.
    pub(crate) fn answer(&self, message: Message) -> Option<Taken> {
        let taken = {
            let mut inner = self.lock();
            if !inner.task.state().is_interrupted() {
                return None;
            }
            let since = inner.log.len();
            let event = moved(&mut inner.task, TaskState::Working, None);
            inner.task.history.push(message.clone());
            inner.log.push(event);
            self.length.send_replace(inner.log.len());
            Taken { task: inner.task.clone(), since }
        };
        // The receiver is part of this record.
        self.answers.send(message).ok().map(|()| taken)
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
        // Not in `wait_for`, which looks with the channel locked: whoever changes the Task takes the two locks in the
        // other order, and both would wait for ever.
        while !self.read(is_settled) {
            // Fails only when the sender is gone, and the sender is part of this record.
            let changed = length.changed().await;
            debug_assert!(changed.is_ok(), "the record outlives its own method");
        }
    }

    /// Every event from an index on, until the Task is terminal.
    pub(crate) fn from(self: Arc<Self>, next: usize) -> EventStream {
        self.events(next).boxed()
    }

    /// How many events there were so far: the index of the next one.
    pub(crate) fn length(&self) -> usize {
        self.lock().log.len()
    }

    /// The Task as it was when it had taken a Message, then every later event: the same for who looks late.
    pub(crate) fn from_answer(self: Arc<Self>, taken: &Taken) -> EventStream {
        let first = Ok(taken.task.clone().into());
        stream::once(async { first }).chain(self.events(taken.since + 1)).boxed()
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

/// Moves a Task to a state, and tells so.
fn moved(task: &mut Task, state: TaskState, message: Option<Message>) -> StreamResponse {
    let status = status(state, message);
    task.status = Some(status.clone());
    let event = TaskStatusUpdateEvent {
        task_id: task.id.clone(),
        context_id: task.context_id.clone(),
        status: Some(status),
        metadata: None,
    };
    event.into()
}

fn status(state: TaskState, message: Option<Message>) -> TaskStatus {
    let status = TaskStatus::new(state, jiff::Timestamp::now());
    TaskStatus { message, ..status }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ROUNDS: usize = 2_000;

    async fn change_while_waited_for(round: usize) {
        let message = Message::user(Vec::new());
        let record = Record::submitted(round.to_string(), "c".to_owned(), message);
        let record = Arc::new(record);
        let waiting = Arc::clone(&record);
        let waiting = tokio::spawn(async move { waiting.settled().await });
        for state in [TaskState::Working, TaskState::Working, TaskState::InputRequired] {
            record.enter(state, None);
        }
        waiting.await.expect("it does not panic");
    }

    #[tokio::test]
    async fn who_follows_an_answer_late_sees_all_that_came_of_it() {
        let record = Record::submitted("t".to_owned(), "c".to_owned(), Message::user(Vec::new()));
        let record = Arc::new(record);
        assert!(record.answer(Message::user(Vec::new())).is_none(), "nothing was asked");
        record.enter(TaskState::InputRequired, None);
        let taken = record.answer(Message::user(Vec::new())).expect("it waits");
        record.enter(TaskState::Completed, None);
        let events: Vec<_> = record.from_answer(&taken).collect().await;
        let states = events.into_iter().map(|event| event.expect("it is an event").state());
        let states: Vec<_> = states.collect();
        assert_eq!(states, [Some(TaskState::Working), Some(TaskState::Completed)]);
    }

    /// Both sides of one lock at once, often enough to meet. On a thread of its own: threads that wait for ever are
    /// left behind.
    #[test]
    fn a_task_changes_while_it_is_waited_for() {
        let (tell, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
            let rounds = async {
                for round in 0..ROUNDS {
                    change_while_waited_for(round).await;
                }
            };
            runtime.expect("it can be built").block_on(rounds);
            tell.send(()).expect("somebody waits");
        });
        assert!(ended.recv_timeout(Duration::from_secs(60)).is_ok(), "somebody waits for ever");
    }
}
