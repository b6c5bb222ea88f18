//! Work that an operator wants agents to be tried out with.

use std::time::Duration;

use protocol::client::{Client, ClientError};
use protocol::v1::{
    AgentCard, CancelTaskRequest, GetTaskRequest, Message, Part, Task, TaskState, TaskStatus,
    send_message_response::Payload,
};
use tokio::time::Instant;

use super::required;
use crate::Shortfall;

/// How long the work may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a Task that is still worked on is left alone.
const PAUSE: Duration = Duration::from_millis(500);

/// How long an agent may take to cancel what it did not do in time.
const CANCEL: Duration = Duration::from_secs(10);

/// Sends a text as a Message, and waits until what comes of it has completed.
pub(crate) async fn try_out(client: &Client, card: &AgentCard, text: &str) -> Option<Shortfall> {
    let client = client.clone().with_extensions(required(card));
    let message = Message::user(vec![Part::text(text)]);
    let why = match done(&client, message).await {
        Ok(None) => return None,
        Ok(Some(task)) => {
            let said = task.status.as_ref().and_then(TaskStatus::text);
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            format!("its Task is {}, not completed{said}", task.state().word())
        }
        Err(error) => error.message,
    };
    Some(Shortfall::new("the probe message", &why, false))
}

/// Nothing when the work was done; else the Task as it is then.
async fn done(client: &Client, message: Message) -> Result<Option<Task>, ClientError> {
    let deadline = Instant::now() + PATIENCE;
    let mut task = match client.send_message(message.into(), PATIENCE).await?.payload {
        Some(Payload::Task(task)) => task,
        Some(Payload::Message(_)) | None => return Ok(None),
    };
    while is_under_way(&task) && Instant::now() < deadline {
        tokio::time::sleep(PAUSE).await;
        let request = GetTaskRequest { id: task.id.clone(), ..Default::default() };
        task = client.get_task(request, deadline.saturating_duration_since(Instant::now())).await?;
    }
    if task.state() == TaskState::Completed {
        return Ok(None);
    }
    if !task.state().is_terminal() {
        // Nobody will come back to it.
        let request = CancelTaskRequest { id: task.id.clone(), ..Default::default() };
        if let Err(error) = client.cancel_task(request, CANCEL).await {
            tracing::debug!(task = task.id, %error, "the Task of a probe was not canceled");
        }
    }
    Ok(Some(task))
}

fn is_under_way(task: &Task) -> bool {
    !task.state().is_terminal() && !task.state().is_interrupted()
}
