//! The events of one Task on their way to one webhook.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use protocol::{
    push::{self, Attempt, Backoff, Body, PushSender},
    v1::{StreamResponse, TaskPushNotificationConfig, stream_response::Payload},
    version::Version,
};
use tokio_util::sync::CancellationToken;

use crate::harness::record::Record;

/// Quick, because suites wait for it.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(10), attempts: 8 };

/// What is delivered, and to where.
pub(super) struct Delivery {
    pub(super) sender: PushSender,
    pub(super) config: TaskPushNotificationConfig,
    /// In which the configuration was made.
    pub(super) version: Version,
    pub(super) record: Arc<Record>,
}

impl Delivery {
    /// Delivers events one after the other, until the Task ends, the webhook stays out of reach, or
    /// `stop`. An event that the webhook refuses for good is left out; the next one may be welcome.
    pub(super) async fn run(self, since: usize, stop: CancellationToken) {
        // Cancelled, it stops at once; an attempt under way is dropped.
        let _ = stop.run_until_cancelled(self.deliver(since)).await;
    }

    async fn deliver(&self, since: usize) {
        let mut events = Arc::clone(&self.record).from(since);
        while let Some(Ok(event)) = events.next().await {
            let Some(body) = self.body(&event) else { continue };
            let mut failed = 0;
            while let Attempt::Failed { after, .. } =
                self.sender.send(&self.config, body.clone()).await
            {
                failed += 1;
                let Some(wait) = BACKOFF.wait(failed, after) else { return };
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// The event; before 1.0 the Task as it is now, each time that its status is told.
    fn body(&self, event: &StreamResponse) -> Option<Body> {
        if self.version >= Version::V1_0 {
            return push::body(event).ok();
        }
        let is_status = !matches!(event.payload, Some(Payload::ArtifactUpdate(_)));
        is_status.then(|| push::older_body(self.version, self.record.task()).ok())?
    }
}
