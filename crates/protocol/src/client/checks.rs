//! Whether an answer is about what was asked for.

use crate::v1::{
    SendMessageRequest, SendMessageResponse, StreamResponse, Task, send_message_response,
    stream_response,
};

/// Returns the Task a Message continues; empty when it begins one.
pub(super) fn named_task(request: &SendMessageRequest) -> String {
    request.message.as_ref().map(|message| message.task_id.clone()).unwrap_or_default()
}

/// Checks that a Task is the one asked for; an empty id asks for none in particular.
pub(super) fn task(task: &Task, asked: &str) -> Result<(), String> {
    if task.status.is_none() {
        return Err("the task has no status".to_owned());
    }
    same_task(&task.id, asked)
}

fn same_task(id: &str, asked: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err("it is about a task without an id".to_owned());
    }
    if asked.is_empty() || id == asked {
        Ok(())
    } else {
        Err(format!("it is about task {id:?} instead of {asked:?}"))
    }
}

/// Checks what SendMessage answered.
pub(super) fn sent(response: &SendMessageResponse, asked: &str) -> Result<(), String> {
    match &response.payload {
        None => Err("it holds neither a task nor a message".to_owned()),
        Some(send_message_response::Payload::Task(answered)) => task(answered, asked),
        Some(send_message_response::Payload::Message(_)) => Ok(()),
    }
}

/// Follows whether all events of a stream are about one Task.
pub(super) struct StreamCheck {
    /// The Task the stream is about; empty until it is known.
    asked: String,
}

impl StreamCheck {
    pub(super) fn new(asked: String) -> StreamCheck {
        StreamCheck { asked }
    }

    /// Checks the next event.
    pub(super) fn event(&mut self, event: &StreamResponse) -> Result<(), String> {
        use stream_response::Payload as P;
        let id = match &event.payload {
            None => {
                return Err(
                    "an event holds none of task, message, statusUpdate and artifactUpdate"
                        .to_owned(),
                );
            }
            Some(P::Message(_)) => return Ok(()),
            Some(P::Task(snapshot)) => {
                task(snapshot, &self.asked)?;
                &snapshot.id
            }
            Some(P::StatusUpdate(update)) if update.status.is_none() => {
                return Err("a status update has no status".to_owned());
            }
            Some(P::ArtifactUpdate(update)) if update.artifact.is_none() => {
                return Err("an artifact update has no artifact".to_owned());
            }
            Some(P::StatusUpdate(update)) => &update.task_id,
            Some(P::ArtifactUpdate(update)) => &update.task_id,
        };
        same_task(id, &self.asked)?;
        if self.asked.is_empty() {
            self.asked.clone_from(id);
        }
        Ok(())
    }
}
