//! What is asked for seldom: webhooks, and the card for authenticated callers.

use std::time::Duration;

use super::{Peer, may_ask_elsewhere};
use crate::{
    client::ClientError,
    v1::{
        AgentCard, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, TaskPushNotificationConfig,
    },
};

#[cfg(doc)]
use crate::client::Client;

impl Peer {
    /// See [`Client::create_push_config`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn create_push_config(
        &self,
        request: TaskPushNotificationConfig,
        timeout: Duration,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        self.first(ClientError::is_untaken, request, timeout, async |client, request, left| {
            client.create_push_config(request, left).await
        })
        .await
    }

    /// See [`Client::get_push_config`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn get_push_config(
        &self,
        request: GetTaskPushNotificationConfigRequest,
        timeout: Duration,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.get_push_config(request, left).await
        })
        .await
    }

    /// See [`Client::list_push_configs`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn list_push_configs(
        &self,
        request: ListTaskPushNotificationConfigsRequest,
        timeout: Duration,
    ) -> Result<ListTaskPushNotificationConfigsResponse, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.list_push_configs(request, left).await
        })
        .await
    }

    /// See [`Client::delete_push_config`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn delete_push_config(
        &self,
        request: DeleteTaskPushNotificationConfigRequest,
        timeout: Duration,
    ) -> Result<(), ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.delete_push_config(request, left).await
        })
        .await
    }

    /// See [`Client::get_extended_card`]. The deadline covers all interfaces tried.
    ///
    /// # Errors
    /// As there.
    pub async fn get_extended_card(
        &self,
        request: GetExtendedAgentCardRequest,
        timeout: Duration,
    ) -> Result<AgentCard, ClientError> {
        self.first(may_ask_elsewhere, request, timeout, async |client, request, left| {
            client.get_extended_card(request, left).await
        })
        .await
    }
}
