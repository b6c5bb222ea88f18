//! Tasks by the ids that clients of 0.1 make.
//!
//! An agent makes the ids of its Tasks since 0.2. A client's id becomes the context in which its
//! Tasks lie; the latest of them is the one that is meant.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use http::request::Parts;

use crate::{
    error::Error,
    operation::Operation,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
        send_message_response, stream_response,
    },
    version::Version,
};

/// What stands before a client's id in the name of a context.
const CONTEXT: &str = "urn:convoke:task:v0.1:";

/// A service whose Tasks go by the ids of clients, and their contexts by sessions. It has what 0.1
/// can ask for.
pub(in crate::server) struct Named(Arc<dyn A2aService>);

/// What a client calls a Task.
struct Name {
    id: String,
    session: String,
}

impl Named {
    pub(in crate::server) fn new(service: Arc<dyn A2aService>) -> Named {
        Named(service)
    }

    /// Tells whether an id is one that a client made, to whoever may call the operation that names it.
    pub(in crate::server) async fn knows(
        &self,
        parts: &Parts,
        version: Version,
        operation: Operation,
        id: &str,
    ) -> Result<bool, Error> {
        let call = Call {
            version,
            extensions: Vec::new(),
            tenant: String::new(),
            headers: parts.headers.clone(),
            context: parts.extensions.clone(),
        };
        self.0.authorize(&call, operation)?;
        Ok(self.find(&call, id).await?.is_some())
    }

    /// Finds the latest Task of a client's id.
    async fn find(&self, call: &Call, id: &str) -> Result<Option<Task>, Error> {
        if id.is_empty() {
            return Ok(None);
        }
        let request = ListTasksRequest {
            context_id: context(id),
            page_size: Some(1),
            history_length: Some(0),
            ..ListTasksRequest::default()
        };
        Ok(self.0.list_tasks(call, request).await?.tasks.into_iter().next())
    }

    /// Turns a client's id into the Task's own.
    async fn resolve(&self, call: &Call, id: &mut String) -> Result<Name, Error> {
        let found = self.find(call, id).await?.ok_or_else(|| Error::task_not_found(id))?;
        Ok(Name { id: std::mem::replace(id, found.id), session: String::new() })
    }

    /// Turns the client's id in a Message into the Task that is open under it, if there is one.
    async fn open(&self, call: &Call, request: &mut SendMessageRequest) -> Result<Name, Error> {
        let Some(message) = &mut request.message else {
            return Err(Error::invalid_field("message", "is required"));
        };
        let id = std::mem::take(&mut message.task_id);
        if id.is_empty() {
            return Err(Error::invalid_field("id", "is required; the client makes the task's id"));
        }
        if let Some(task) = self.find(call, &id).await?.filter(|task| !task.state().is_terminal()) {
            message.task_id = task.id;
        }
        let session = std::mem::replace(&mut message.context_id, context(&id));
        Ok(Name { id, session })
    }
}

fn context(id: &str) -> String {
    format!("{CONTEXT}{id}")
}

/// A Task under the id that its client made, if that is how it was begun; its session is not known.
pub(crate) fn as_named(task: Task) -> Task {
    match task.context_id.strip_prefix(CONTEXT).map(str::to_owned) {
        Some(id) => Name { id, session: String::new() }.task(task),
        None => task,
    }
}

impl Name {
    fn task(self, task: Task) -> Task {
        Task { id: self.id, context_id: self.session, ..task }
    }

    fn config(self, config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
        TaskPushNotificationConfig { task_id: self.id, ..config }
    }

    fn event(&self, mut event: StreamResponse) -> StreamResponse {
        use stream_response::Payload;
        let (task, context) = match &mut event.payload {
            Some(Payload::Task(task)) => (&mut task.id, &mut task.context_id),
            Some(Payload::Message(message)) => (&mut message.task_id, &mut message.context_id),
            Some(Payload::StatusUpdate(update)) => (&mut update.task_id, &mut update.context_id),
            Some(Payload::ArtifactUpdate(update)) => (&mut update.task_id, &mut update.context_id),
            None => return event,
        };
        task.clone_from(&self.id);
        context.clone_from(&self.session);
        event
    }

    fn events(self, events: EventStream) -> EventStream {
        events.map(move |event| event.map(|event| self.event(event))).boxed()
    }
}

#[async_trait]
impl A2aService for Named {
    fn card(&self, call: &Call) -> Arc<AgentCard> {
        self.0.card(call)
    }

    fn authorize(&self, call: &Call, operation: Operation) -> Result<(), Error> {
        self.0.authorize(call, operation)
    }

    async fn send_message(
        &self,
        call: &Call,
        mut request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        use send_message_response::Payload;
        let name = self.open(call, &mut request).await?;
        let mut response = self.0.send_message(call, request).await?;
        match &mut response.payload {
            Some(Payload::Task(task)) => *task = name.task(std::mem::take(task)),
            Some(Payload::Message(message)) => {
                message.task_id = name.id;
                message.context_id = name.session;
            }
            None => {}
        }
        Ok(response)
    }

    async fn send_streaming_message(
        &self,
        call: &Call,
        mut request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        let name = self.open(call, &mut request).await?;
        Ok(name.events(self.0.send_streaming_message(call, request).await?))
    }

    async fn get_task(&self, call: &Call, mut request: GetTaskRequest) -> Result<Task, Error> {
        let name = self.resolve(call, &mut request.id).await?;
        Ok(name.task(self.0.get_task(call, request).await?))
    }

    async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        self.0.list_tasks(call, request).await
    }

    async fn cancel_task(
        &self,
        call: &Call,
        mut request: CancelTaskRequest,
    ) -> Result<Task, Error> {
        let name = self.resolve(call, &mut request.id).await?;
        Ok(name.task(self.0.cancel_task(call, request).await?))
    }

    async fn subscribe_to_task(
        &self,
        call: &Call,
        mut request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        let name = self.resolve(call, &mut request.id).await?;
        Ok(name.events(self.0.subscribe_to_task(call, request).await?))
    }

    async fn create_task_push_notification_config(
        &self,
        call: &Call,
        mut request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let name = self.resolve(call, &mut request.task_id).await?;
        Ok(name.config(self.0.create_task_push_notification_config(call, request).await?))
    }

    async fn get_task_push_notification_config(
        &self,
        call: &Call,
        mut request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let name = self.resolve(call, &mut request.task_id).await?;
        Ok(name.config(self.0.get_task_push_notification_config(call, request).await?))
    }
}
