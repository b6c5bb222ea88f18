//! Keeping the lease under which this process writes.

use std::sync::Arc;

use store::{Lease, Store};
use tokio_util::sync::CancellationToken;

use crate::executor::LEASE;

/// Renews a lease three times in its life until told to stop. A lease that is lost stays lost: every commit
/// under it is fenced off, and `stop` ends the drivers before they send anything more.
pub(crate) async fn keep_lease(store: Arc<dyn Store>, mut lease: Lease, stop: CancellationToken) {
    let mut beat = tokio::time::interval(LEASE / 3);
    beat.tick().await;
    loop {
        tokio::select! {
            _ = beat.tick() => (),
            () = stop.cancelled() => return,
        }
        match store.renew(&lease, LEASE).await {
            Ok(renewed) => lease = renewed,
            Err(error) if error.is_retryable() && lease.expires_at > jiff::Timestamp::now() => {
                tracing::warn!(%error, "the lease could not be renewed yet");
            }
            Err(error) => {
                tracing::error!(%error, "the lease is lost: this process stops driving runs");
                stop.cancel();
                return;
            }
        }
    }
}
