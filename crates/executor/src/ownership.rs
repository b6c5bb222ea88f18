//! Keeping the lease under which this process writes.

use std::{sync::Arc, time::Duration};

use store::{Lease, Store};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// How keeping the lease goes: the one write that happens all the time, so that it notices when the store fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    /// Why it could not be renewed just now.
    pub(crate) trouble: Option<String>,
}

/// Renews a lease three times in its life until told to stop; more often while that fails. A lease that is lost
/// stays lost: every commit under it is fenced off, and `stop` ends the drivers a tenth of its life before that,
/// so that they send nothing more when another process may take over.
///
/// Time is measured here from before the store was asked, so that it cannot run out earlier there.
pub(crate) async fn keep_lease(
    store: Arc<dyn Store>,
    mut lease: Lease,
    ttl: Duration,
    stop: CancellationToken,
    tell: watch::Sender<Health>,
) {
    let mut safe_until = Instant::now() + ttl * 9 / 10;
    let mut next = Instant::now() + ttl / 3;
    loop {
        tokio::select! {
            () = sleep_until(next) => (),
            () = stop.cancelled() => return,
        }
        let asked = Instant::now();
        let renewed = tokio::select! {
            renewed = timeout_at(safe_until, store.renew(&lease, ttl)) => renewed,
            () = stop.cancelled() => return,
        };
        match renewed {
            Ok(Ok(renewed)) => {
                lease = renewed;
                tell.send_replace(Health::default());
                safe_until = asked + ttl * 9 / 10;
                next = asked + ttl / 3;
            }
            Ok(Err(error)) if error.is_retryable() && Instant::now() < safe_until => {
                tracing::warn!(%error, "the lease could not be renewed yet");
                tell.send_replace(Health { trouble: Some(error.to_string()) });
                next = (asked + ttl / 15).min(safe_until);
            }
            failed => {
                let why = match failed {
                    Ok(Err(error)) => error.to_string(),
                    _ => "the store did not answer in time".to_owned(),
                };
                tracing::error!(why, "the lease is lost: this process stops driving runs");
                stop.cancel();
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use store::{OpenOptions, SqliteStore};

    use super::*;

    const TTL: Duration = Duration::from_millis(300);

    async fn leased() -> (tempfile::TempDir, Arc<dyn Store>, Lease) {
        let folder = tempfile::TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        let lease = store.acquire(TTL).await.unwrap();
        (folder, Arc::new(store), lease)
    }

    #[tokio::test]
    async fn a_lease_is_kept_for_longer_than_its_life() {
        let (_folder, store, lease) = leased().await;
        let stop = CancellationToken::new();
        let (tell, _health) = watch::channel(Health::default());
        let keeper = keep_lease(Arc::clone(&store), lease.clone(), TTL, stop.clone(), tell);
        let keeper = tokio::spawn(keeper);
        assert!(tokio::time::timeout(TTL * 3, stop.cancelled()).await.is_err(), "it is kept");
        stop.cancel();
        keeper.await.unwrap();
        store.renew(&lease, TTL).await.expect("it is alive, and nobody keeps it any more");
    }

    #[tokio::test]
    async fn a_lease_that_is_lost_stops_everything() {
        let (_folder, store, lease) = leased().await;
        let stop = CancellationToken::new();
        store.release(lease.clone()).await.unwrap();
        let (tell, _health) = watch::channel(Health::default());
        keep_lease(store, lease, TTL, stop.clone(), tell).await;
        assert!(stop.is_cancelled());
    }
}
