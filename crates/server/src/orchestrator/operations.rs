//! The operations of A2A, one after the other.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use executor::{RunState, TaskRecord};
use futures_util::{StreamExt as _, stream};
use protocol::{
    error::Error,
    operation::Operation,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};

use super::{Orchestrator, Said};
use crate::{
    error::{ended, wire},
    follow::shown,
    listing,
    tail::Tail,
    view::Extent,
};

/// How long CancelTask waits for the end: the grace that remote Tasks have to confirm it, and some more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(15);

#[async_trait]
impl A2aService for Orchestrator {
    fn card(&self, call: &Call) -> Arc<AgentCard> {
        self.tenant_card(call).unwrap_or_else(|| Arc::clone(&self.offer().now().card))
    }

    fn tenant_card(&self, call: &Call) -> Option<Arc<AgentCard>> {
        self.offer().now().tenants.get(&call.tenant).cloned()
    }

    fn authorize(&self, call: &Call, operation: Operation) -> Result<(), Error> {
        let offer = self.offer();
        offer.access().authorize(call, operation, offer.own().finds_agents)
    }

    async fn send_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let caller = self.caller(call)?;
        if let Some(found) = self.found(&caller, call, &request).await? {
            return Ok(found.into());
        }
        let configuration = request.configuration.clone().unwrap_or_default();
        let said = Said::of(&request);
        let id = self.receive(&caller, call, request).await?;
        let mut tail = self.tail(&caller, &id).await?;
        if let Some(message) = self.answered(&mut tail, &said).await? {
            return Ok(message.into());
        }
        if !configuration.return_immediately {
            self.waited(tail.settled()).await?;
        }
        Ok(shown(&tail, Extent::with_history(configuration.history_length)).await?.into())
    }

    async fn send_streaming_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        let caller = self.caller(call)?;
        if let Some(found) = self.found(&caller, call, &request).await? {
            return Ok(stream::once(async { Ok(found.into()) }).boxed());
        }
        let configuration = request.configuration.clone().unwrap_or_default();
        let said = Said::of(&request);
        let id = self.receive(&caller, call, request).await?;
        let begun = Tail::taking(self.runs(&caller), &id, &said.message_id).await;
        let mut tail = begun.map_err(wire)?;
        if let Some(message) = self.answered(&mut tail, &said).await? {
            return Ok(stream::once(async { Ok(message.into()) }).boxed());
        }
        self.events(caller, tail, Extent::with_history(configuration.history_length)).await
    }

    async fn get_task(&self, call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        let tail = self.named(&*self.caller(call)?, &request.id).await?;
        shown(&tail, Extent::with_history(request.history_length)).await
    }

    async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        listing::page(&self.runs(&*self.caller(call)?), request).await
    }

    async fn cancel_task(&self, call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        let caller = self.caller(call)?;
        let mut tail = self.named(&caller, &request.id).await?;
        if let Some(workflow) = tail.record.workflow() {
            caller.check_start(workflow)?;
        }
        if tail.is_over() {
            return Err(not_cancelable(&tail.record));
        }
        let (receiver, id) = (Arc::clone(&self.receiver), tail.record.id().clone());
        self.to_its_end(async move { receiver.cancel(&caller, &id).await }).await?;
        let end = async {
            match tokio::time::timeout(CANCEL_PATIENCE, tail.over()).await {
                Ok(over) => over,
                // The Task is on its way there; it is answered as it is.
                Err(_) => Ok(()),
            }
        };
        self.waited(end).await?;
        match tail.record.state() {
            // It was faster.
            RunState::Completed | RunState::Failed => Err(not_cancelable(&tail.record)),
            _ => shown(&tail, Extent::with_history(None)).await,
        }
    }

    async fn subscribe_to_task(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        let caller = self.caller(call)?;
        let tail = self.named(&caller, &request.id).await?;
        if tail.is_over() {
            return Err(ended(tail.record.id(), tail.record.state()));
        }
        self.events(caller, tail, Extent::with_history(None)).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: &Call,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let caller = self.caller(call)?;
        let tail = self.named(&caller, &request.task_id).await?;
        self.push.register(&caller.account, call.version, &tail.record, request).await
    }

    async fn get_task_push_notification_config(
        &self,
        call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let caller = self.caller(call)?;
        let tail = self.named(&caller, &request.task_id).await?;
        self.push.get(&caller.account, tail.record.id(), &request.id).await
    }

    async fn list_task_push_notification_configs(
        &self,
        call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let caller = self.caller(call)?;
        let tail = self.named(&caller, &request.task_id).await?;
        self.push.page(&caller.account, tail.record.id(), request).await
    }

    async fn delete_task_push_notification_config(
        &self,
        call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        let caller = self.caller(call)?;
        let tail = self.named(&caller, &request.task_id).await?;
        self.push.remove(&caller.account, tail.record.id(), &request.id).await
    }

    async fn get_extended_agent_card(
        &self,
        call: &Call,
        _request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        Ok(self.offer().card_for(&self.caller(call)?.scopes, &call.tenant))
    }
}

fn not_cancelable(record: &TaskRecord) -> Error {
    Error::task_not_cancelable(record.id().as_str(), record.state().task_state().word())
}
