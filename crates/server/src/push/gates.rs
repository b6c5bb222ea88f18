//! How many notifications are under way at once, in all and to one host.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use axum::http::Uri;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets notifications out. A host that hangs holds up a quarter of them at most.
pub(super) struct Gates {
    all: Arc<Semaphore>,
    to_one: usize,
    hosts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// The right to send one notification.
pub(super) struct Passage {
    _host: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Gates {
    pub(super) fn new(at_once: usize) -> Self {
        let all = Arc::new(Semaphore::new(at_once));
        Self { all, to_one: (at_once / 4).max(1), hosts: Mutex::default() }
    }

    /// Waits for its turn, at the gate of its host first: nobody waits for a host with the right of another one in
    /// hand. Cancel safe.
    pub(super) async fn pass(&self, url: &str) -> Passage {
        let open = "the gates are never closed";
        let host = self.host(url).acquire_owned().await.expect(open);
        let all = Arc::clone(&self.all).acquire_owned().await.expect(open);
        Passage { _host: host, _all: all }
    }

    fn host(&self, url: &str) -> Arc<Semaphore> {
        let uri = url.parse::<Uri>().ok();
        let host = uri.and_then(|uri| Some(uri.authority()?.as_str().to_ascii_lowercase()));
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, gate| gate.strong_count() > 0);
        let gate = hosts.entry(host.unwrap_or_default()).or_default();
        gate.upgrade().unwrap_or_else(|| {
            let new = Arc::new(Semaphore::new(self.to_one));
            *gate = Arc::downgrade(&new);
            new
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_quarter_of_all_goes_to_one_host_and_no_more_than_all_to_all() {
        let gates = Gates::new(8);
        let mut passed = Vec::new();
        let mut pass = |url: &str| {
            let passage = gates.pass(url).now_or_never();
            let has_passed = passage.is_some();
            passed.extend(passage);
            has_passed
        };
        assert_eq!([(); 3].map(|()| pass("http://Slow.example/a")), [true, true, false]);
        assert!(!pass("http://slow.example/b?c"), "the same host");
        for host in ["b", "c", "d"] {
            let url = format!("http://{host}.example:8443/");
            assert_eq!([(); 2].map(|()| pass(&url)), [true, true], "{host}");
        }
        assert!(!pass("http://e.example/"), "eight are under way");
        drop(passed);
        assert!(gates.pass("http://slow.example/").now_or_never().is_some());
        assert_eq!(gates.hosts.lock().unwrap().len(), 1, "nobody waits for the others");
    }
}
