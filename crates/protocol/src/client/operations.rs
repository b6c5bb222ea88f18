//! The operations, as methods.

use std::time::Duration;

use super::{Client, ClientError, ClientStream, checks};
use crate::{
    operation::Operation,
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};

#[cfg(doc)]
use crate::limits::ClientLimits;

impl Client {
    /// Sends a Message; the agent answers at a terminal or interrupted state, or at once when
    /// `returnImmediately` is set.
    ///
    /// # Errors
    /// A [`ClientError`], also when the answer is about another Task than the one the Message named.
    pub async fn send_message(
        &self,
        request: SendMessageRequest,
        timeout: Duration,
    ) -> Result<SendMessageResponse, ClientError> {
        let named = checks::named_task(&request);
        let call = self.inner.call(Operation::SendMessage);
        let response = call.unary(request, timeout).await?;
        checks::sent(&response, &named).map_err(|why| call.invalid(&why))?;
        Ok(response)
    }

    /// Sends a Message and follows what comes of it. `timeout` bounds the wait for the answer to
    /// begin; after that the stream may be silent for [`ClientLimits::stream_idle`], or as long as
    /// `timeout` before the first event of a new Task. An agent that
    /// answers without a stream yields a stream of that one event.
    ///
    /// # Errors
    /// A [`ClientError`]; once the stream has begun, as its last item.
    pub async fn send_streaming_message(
        &self,
        request: SendMessageRequest,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        let named = checks::named_task(&request);
        self.inner.call(Operation::SendStreamingMessage).stream(request, named, timeout).await
    }

    /// Reads a Task.
    ///
    /// # Errors
    /// A [`ClientError`], also when another Task is answered.
    pub async fn get_task(
        &self,
        request: GetTaskRequest,
        timeout: Duration,
    ) -> Result<Task, ClientError> {
        let (call, asked) = (self.inner.call(Operation::GetTask), request.id.clone());
        let task = call.unary(request, timeout).await?;
        checks::task(&task, &asked).map_err(|why| call.invalid(&why))?;
        Ok(task)
    }

    /// Lists Tasks, one page.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn list_tasks(
        &self,
        request: ListTasksRequest,
        timeout: Duration,
    ) -> Result<ListTasksResponse, ClientError> {
        self.inner.call(Operation::ListTasks).unary(request, timeout).await
    }

    /// Asks for a Task to be canceled.
    ///
    /// # Errors
    /// A [`ClientError`], also when another Task is answered.
    pub async fn cancel_task(
        &self,
        request: CancelTaskRequest,
        timeout: Duration,
    ) -> Result<Task, ClientError> {
        let (call, asked) = (self.inner.call(Operation::CancelTask), request.id.clone());
        let task = call.unary(request, timeout).await?;
        checks::task(&task, &asked).map_err(|why| call.invalid(&why))?;
        Ok(task)
    }

    /// Follows a Task that exists already, beginning with the Task as it is. `timeout` as for
    /// [`Client::send_streaming_message`].
    ///
    /// # Errors
    /// A [`ClientError`]; once the stream has begun, as its last item.
    pub async fn subscribe_to_task(
        &self,
        request: SubscribeToTaskRequest,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        let asked = request.id.clone();
        self.inner.call(Operation::SubscribeToTask).stream(request, asked, timeout).await
    }

    /// Registers a webhook for a Task.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn create_push_config(
        &self,
        request: TaskPushNotificationConfig,
        timeout: Duration,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        let operation = Operation::CreateTaskPushNotificationConfig;
        self.inner.call(operation).unary(request, timeout).await
    }

    /// Reads a webhook registration.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn get_push_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
        timeout: Duration,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        let operation = Operation::GetTaskPushNotificationConfig;
        self.inner.call(operation).unary(request, timeout).await
    }

    /// Lists the webhook registrations of a Task, one page.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn list_push_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
        timeout: Duration,
    ) -> Result<ListTaskPushNotificationConfigsResponse, ClientError> {
        let operation = Operation::ListTaskPushNotificationConfigs;
        self.inner.call(operation).unary(request, timeout).await
    }

    /// Removes a webhook registration; removing it twice is no error.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn delete_push_config(
        &self,
        request: DeleteTaskPushNotificationConfigRequest,
        timeout: Duration,
    ) -> Result<(), ClientError> {
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let Nothing {} = self.inner.call(operation).unary(request, timeout).await?;
        Ok(())
    }

    /// Reads the card shown to authenticated callers.
    ///
    /// # Errors
    /// A [`ClientError`].
    pub async fn get_extended_card(
        &self,
        request: GetExtendedAgentCardRequest,
        timeout: Duration,
    ) -> Result<AgentCard, ClientError> {
        self.inner.call(Operation::GetExtendedAgentCard).unary(request, timeout).await
    }
}

/// What a deletion answers: `google.protobuf.Empty`, an object without fields.
#[derive(Clone, Copy, PartialEq, prost::Message, serde::Serialize, serde::Deserialize)]
struct Nothing {}
