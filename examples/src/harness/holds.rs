//! Work that is held back, so that something can happen in the middle of it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::watch;

/// Lets an agent do its first pieces of work, and holds back those after them until they are released. Clones are one.
#[derive(Clone, Debug)]
pub struct Holds {
    /// How many pieces of work have come.
    begun: Arc<AtomicUsize>,
    /// How many of them are done.
    free: Arc<watch::Sender<usize>>,
    /// How many were held back.
    held: Arc<watch::Sender<usize>>,
}

impl Default for Holds {
    /// Holds nothing back.
    fn default() -> Self {
        Self::after(usize::MAX)
    }
}

impl Holds {
    /// Holds back all but the first pieces of work.
    #[must_use]
    pub fn after(free: usize) -> Self {
        Self {
            begun: Arc::default(),
            free: Arc::new(watch::Sender::new(free)),
            held: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Lets go on what is held back, and all that comes.
    pub fn release(&self) {
        self.free.send_replace(usize::MAX);
    }

    /// Waits until something is held back. Cancel safe.
    pub async fn until_held(&self) {
        // Its sender is here, so that it does not end before.
        let _ = self.held.subscribe().wait_for(|held| *held > 0).await;
    }

    /// Waits until the next piece of work may be done. Cancel safe: what is canceled stays counted.
    pub(crate) async fn turn(&self) {
        let number = self.begun.fetch_add(1, Ordering::SeqCst);
        let mut free = self.free.subscribe();
        let is_held = number >= *free.borrow_and_update();
        if is_held {
            self.held.send_modify(|held| *held += 1);
        }
        let _ = free.wait_for(|free| number < *free).await;
    }
}
