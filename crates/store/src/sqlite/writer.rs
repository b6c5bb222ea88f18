//! The one thread that writes: it groups what has gathered, flushes once, and only then answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use super::lock::FolderLock;
use super::notices::Notices;
use super::session::{Session, WRITING};
use crate::error::StoreError;

/// Requests that may wait for the writer; more wait in their callers, which is the backpressure.
const QUEUE: usize = 1024;
/// Requests in one transaction at most, so that the first of a flood does not wait for the last.
const GROUP: usize = 256;

/// The way to the writer thread. Dropping it lets the thread finish what is queued, and waits.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while it is dropped.
    queue: Option<mpsc::Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
    flushes: Arc<AtomicU64>,
}

impl Writer {
    /// Starts the thread, which keeps the folder locked until its connection is closed.
    pub(super) fn start(
        session: Session,
        notices: Arc<Notices>,
        lock: FolderLock,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let flushes = Arc::new(AtomicU64::new(0));
        let writing = Writing { session, notices, flushes: Arc::clone(&flushes), _lock: lock };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writing.run(receiver))
            .map_err(|error| StoreError::unavailable("starting the writer thread", error))?;
        Ok(Self { queue: Some(sender), thread: Some(thread), flushes })
    }

    /// Has work done in a savepoint of its own, and returns its result once it is durable.
    ///
    /// When the future is dropped after the request was queued, the work is done all the same.
    pub(super) async fn submit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = Job { work: Some(work), result: None, reply };
        let queue = self.queue.as_ref().expect("the queue goes only when the writer is dropped");
        queue.send(Box::new(request)).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Counts the requests that wait in the queue.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity())
    }

    /// Counts the transactions that were flushed.
    pub(super) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer thread had panicked");
        }
    }
}

fn stopped() -> StoreError {
    StoreError::unavailable(WRITING, "the writer thread has stopped")
}

/// A request in a group, in two moments: before the flush and after it.
trait Request: Send {
    /// Does the work and keeps its result. The error is one that has taken the group with it.
    fn attempt(&mut self, session: &mut Session) -> Result<bool, StoreError>;
    /// Answers: with the result if the group was flushed, else with why it was not.
    ///
    /// A refusal is withheld too when the flush failed: what the request ran into may have been
    /// written by a neighbour whose write is undone.
    fn answer(self: Box<Self>, flushed: &Result<(), StoreError>);
}

struct Job<F, T> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Request for Job<F, T>
where
    F: FnOnce(&mut Session) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn attempt(&mut self, session: &mut Session) -> Result<bool, StoreError> {
        let work = self.work.take().expect("a request is attempted once");
        let result = session.isolated(work)?;
        let is_done = result.is_ok();
        self.result = Some(result);
        Ok(is_done)
    }

    fn answer(self: Box<Self>, flushed: &Result<(), StoreError>) {
        let answer = match flushed {
            Ok(()) => self.result.expect("a flushed group has attempted every request"),
            Err(error) => Err(error.clone()),
        };
        // Nobody listens when the caller's future was dropped.
        let _ = self.reply.send(answer);
    }
}

/// What the thread owns. Fields drop in order: the folder is unlocked after the database closed.
struct Writing {
    session: Session,
    notices: Arc<Notices>,
    flushes: Arc<AtomicU64>,
    _lock: FolderLock,
}

impl Writing {
    fn run(mut self, mut queue: mpsc::Receiver<Box<dyn Request>>) {
        let mut group = Vec::with_capacity(GROUP);
        while queue.blocking_recv_many(&mut group, GROUP) > 0 {
            let flushed = self.write(&mut group);
            match &flushed {
                Ok(()) => self.notices.announce(self.session.appended()),
                Err(error) => {
                    tracing::warn!(%error, requests = group.len(), "a group was not written");
                    self.session.abandon();
                }
            }
            for request in group.drain(..) {
                request.answer(&flushed);
            }
        }
    }

    fn write(&mut self, group: &mut [Box<dyn Request>]) -> Result<(), StoreError> {
        self.session.begin()?;
        let mut has_changes = false;
        for request in group {
            has_changes |= request.attempt(&mut self.session)?;
        }
        self.session.flush()?;
        if has_changes {
            self.flushes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}
