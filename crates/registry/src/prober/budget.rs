//! How many probes are under way at once, over all calls that want some: a host is not asked more often because several
//! people ask for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rounds::PER_HOST;

/// How many hosts are remembered before those that nobody waits for are forgotten.
const MANY: usize = 1024;

/// What all probes of a process share. Cheap to clone.
#[derive(Clone)]
pub(super) struct Budget {
    all: Arc<Semaphore>,
    hosts: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

/// The right to probe one agent now, until it is dropped.
pub(super) struct Turn {
    _of_host: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Budget {
    pub(super) fn new(at_once: usize) -> Self {
        let all = Arc::new(Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)));
        Self { all, hosts: Arc::default() }
    }

    /// Waits until one more agent of a host may be probed. First for the host: who waits for that takes no place from
    /// others. Cancel safe.
    pub(super) async fn turn(&self, host: &str) -> Turn {
        let open = "nobody closes it";
        let of_host = self.host(host).acquire_owned().await.expect(open);
        let of_all = Arc::clone(&self.all).acquire_owned().await.expect(open);
        Turn { _of_host: of_host, _of_all: of_all }
    }

    fn host(&self, host: &str) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host).and_then(Weak::upgrade) {
            return known;
        }
        if hosts.len() >= MANY {
            hosts.retain(|_, known| known.strong_count() > 0);
        }
        let made = Arc::new(Semaphore::new(PER_HOST));
        hosts.insert(host.to_owned(), Arc::downgrade(&made));
        made
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn turns_are_counted_over_all_who_ask_by_host_and_all_together() {
        let budget = Budget::new(3);
        let other = budget.clone();
        let (first, second) = (budget.turn("a").await, other.turn("a").await);
        assert!(other.turn("a").now_or_never().is_none(), "two of one host");
        let third = budget.turn("b").await;
        assert!(other.turn("c").now_or_never().is_none(), "three in all");
        drop(third);
        assert!(other.turn("a").now_or_never().is_none(), "still two of one host");
        drop(first);
        assert!(other.turn("a").now_or_never().is_some());
        drop(second);
    }
}
