//! Into the envelopes: every answer and every event is exactly one of a few.

use crate::v1::{
    Message, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent, send_message_response,
    stream_response::Payload,
};

impl From<Message> for SendMessageRequest {
    fn from(message: Message) -> Self {
        Self { message: Some(message), ..Self::default() }
    }
}

impl From<Task> for SendMessageResponse {
    fn from(task: Task) -> Self {
        Self { payload: Some(send_message_response::Payload::Task(task)) }
    }
}

impl From<Message> for SendMessageResponse {
    fn from(message: Message) -> Self {
        Self { payload: Some(send_message_response::Payload::Message(message)) }
    }
}

/// A plain answer seen as the one event of a stream.
impl From<SendMessageResponse> for StreamResponse {
    fn from(response: SendMessageResponse) -> Self {
        use send_message_response::Payload as Answer;
        let payload = response.payload.map(|payload| match payload {
            Answer::Task(task) => Payload::Task(task),
            Answer::Message(message) => Payload::Message(message),
        });
        Self { payload }
    }
}

impl From<Task> for StreamResponse {
    fn from(task: Task) -> Self {
        Self { payload: Some(Payload::Task(task)) }
    }
}

impl From<Message> for StreamResponse {
    fn from(message: Message) -> Self {
        Self { payload: Some(Payload::Message(message)) }
    }
}

impl From<TaskStatusUpdateEvent> for StreamResponse {
    fn from(event: TaskStatusUpdateEvent) -> Self {
        Self { payload: Some(Payload::StatusUpdate(event)) }
    }
}

impl From<TaskArtifactUpdateEvent> for StreamResponse {
    fn from(event: TaskArtifactUpdateEvent) -> Self {
        Self { payload: Some(Payload::ArtifactUpdate(event)) }
    }
}

impl StreamResponse {
    /// Returns the state the event reports; nothing for Messages and artifacts.
    pub fn state(&self) -> Option<TaskState> {
        match self.payload.as_ref()? {
            Payload::Task(task) => Some(task.state()),
            Payload::StatusUpdate(event) => Some(event.state()),
            Payload::Message(_) | Payload::ArtifactUpdate(_) => None,
        }
    }

    /// Returns the id of the Task that the event is about; empty for a Message
    /// that belongs to none.
    pub fn task_id(&self) -> &str {
        match &self.payload {
            Some(Payload::Task(task)) => &task.id,
            Some(Payload::Message(message)) => &message.task_id,
            Some(Payload::StatusUpdate(event)) => &event.task_id,
            Some(Payload::ArtifactUpdate(event)) => &event.task_id,
            None => "",
        }
    }

    /// Returns the id of the conversation; empty where the agent left it out.
    pub fn context_id(&self) -> &str {
        match &self.payload {
            Some(Payload::Task(task)) => &task.context_id,
            Some(Payload::Message(message)) => &message.context_id,
            Some(Payload::StatusUpdate(event)) => &event.context_id,
            Some(Payload::ArtifactUpdate(event)) => &event.context_id,
            None => "",
        }
    }

    /// Whether nothing comes after it: a Message, or a Task that ended (A2A
    /// §3.1.2).
    pub fn ends_stream(&self) -> bool {
        match &self.payload {
            Some(Payload::Message(_)) => true,
            _ => self.state().is_some_and(TaskState::is_terminal),
        }
    }
}
