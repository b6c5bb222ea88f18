//! What an agent does, whichever binding a call came in by.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use http::{Extensions, HeaderMap};

use crate::{
    error::{Error, ErrorKind},
    operation::Operation,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
    version::Version,
};

/// The events of a stream, in order. It ends at a terminal state, or after an error.
///
/// Dropping it is how the service learns that the client has gone.
pub type EventStream = BoxStream<'static, Result<StreamResponse, Error>>;

/// What a call brings besides its request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The version the caller speaks; one that this crate serves.
    pub version: Version,
    /// The extensions the caller asks for, as it wrote them.
    pub extensions: Vec<String>,
    /// Which of the agents behind one endpoint is meant; empty when the caller names none. Routes
    /// the call and says nothing about who calls.
    pub tenant: String,
    /// The request's headers, or the metadata of a gRPC call.
    pub headers: HeaderMap,
    /// What layers in front of the router have found out, such as the authenticated principal.
    pub context: Extensions,
}

/// An agent. The bindings decode, check version, capabilities, extensions and required fields, and
/// then call this.
///
/// The future of a call is dropped when its client goes away: what must go on afterwards belongs
/// in a task of the service's own.
#[async_trait]
pub trait A2aService: Send + Sync + 'static {
    /// Returns the card that the caller may see; asked at every call, because capabilities are
    /// enforced from it, and served at the well-known address.
    fn card(&self, call: &Call) -> Arc<AgentCard>;

    /// Returns the card of the agent that a tenant is, where each is an agent with a card of its own; nothing when
    /// there is none of that name. Served by [`crate::server::tenant_cards`].
    fn tenant_card(&self, _call: &Call) -> Option<Arc<AgentCard>> {
        None
    }

    /// Decides whether the caller may call the operation at all, before anything else is looked at
    /// (A2A §7.4, §13.1). Not asked for the card at the well-known address, which is public.
    fn authorize(&self, _call: &Call, _operation: Operation) -> Result<(), Error> {
        Ok(())
    }

    /// Takes a Message (A2A §3.1.1). Waits for a terminal or interrupted state unless
    /// `returnImmediately` is set.
    async fn send_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error>;

    /// Takes a Message and streams what comes of it (A2A §3.1.2). An error that comes before the
    /// first event, here or in the stream, is answered without a stream.
    async fn send_streaming_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error>;

    /// Reads a Task (A2A §3.1.3).
    async fn get_task(&self, call: &Call, request: GetTaskRequest) -> Result<Task, Error>;

    /// Lists Tasks, latest first (A2A §3.1.4).
    async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error>;

    /// Cancels a Task (A2A §3.1.5).
    async fn cancel_task(&self, call: &Call, request: CancelTaskRequest) -> Result<Task, Error>;

    /// Streams the events of a Task, beginning with the Task as it is (A2A §3.1.6).
    async fn subscribe_to_task(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error>;

    /// Registers a webhook (A2A §3.1.7).
    async fn create_task_push_notification_config(
        &self,
        _call: &Call,
        _request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        Err(no_push(Operation::CreateTaskPushNotificationConfig))
    }

    /// Reads a webhook registration (A2A §3.1.8).
    async fn get_task_push_notification_config(
        &self,
        _call: &Call,
        _request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        Err(no_push(Operation::GetTaskPushNotificationConfig))
    }

    /// Lists the webhook registrations of a Task (A2A §3.1.9).
    async fn list_task_push_notification_configs(
        &self,
        _call: &Call,
        _request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        Err(no_push(Operation::ListTaskPushNotificationConfigs))
    }

    /// Removes a webhook registration; removing one that is not there is no error (A2A §3.1.10).
    async fn delete_task_push_notification_config(
        &self,
        _call: &Call,
        _request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        Err(no_push(Operation::DeleteTaskPushNotificationConfig))
    }

    /// Returns the card shown to authenticated callers (A2A §3.1.11).
    async fn get_extended_agent_card(
        &self,
        _call: &Call,
        _request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        Err(no_extended_card())
    }
}

pub(crate) fn no_push(operation: Operation) -> Error {
    let message = format!("{operation} is not supported: this agent sends no push notifications");
    Error::new(ErrorKind::PushNotificationNotSupported, message)
}

pub(crate) fn no_extended_card() -> Error {
    let message = "the card declares an extended card, but none is set up";
    Error::new(ErrorKind::ExtendedAgentCardNotConfigured, message)
}
