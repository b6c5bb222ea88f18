//! The events of one Task on their way to one webhook.

use std::time::Duration;

use futures_util::StreamExt as _;
use protocol::{
    push::{self, Attempt, Backoff, PushSender},
    service::EventStream,
    v1::TaskPushNotificationConfig,
};
use tokio_util::sync::CancellationToken;

/// Quick, because suites wait for it.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(200), longest: Duration::from_secs(10), attempts: 8 };

/// Delivers events one after the other, until the Task ends, the webhook stays out of reach, or
/// `stop`. An event that the webhook refuses for good is left out; the next one may be welcome.
pub(super) async fn run(
    sender: PushSender,
    config: TaskPushNotificationConfig,
    events: EventStream,
    stop: CancellationToken,
) {
    // Cancelled, it stops at once; an attempt under way is dropped.
    let _ = stop.run_until_cancelled(deliver(&sender, &config, events)).await;
}

async fn deliver(
    sender: &PushSender,
    config: &TaskPushNotificationConfig,
    mut events: EventStream,
) {
    while let Some(Ok(event)) = events.next().await {
        let Ok(body) = push::body(&event) else { continue };
        let mut failed = 0;
        while let Attempt::Failed { after, .. } = sender.send(config, body.clone()).await {
            failed += 1;
            let Some(wait) = BACKOFF.wait(failed, after) else { return };
            tokio::time::sleep(wait).await;
        }
    }
}
