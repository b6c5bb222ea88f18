//! What the requests of all operations have in common, whichever binding carries them.

use serde::{Serialize, de::DeserializeOwned};

use crate::v1::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, Required, SendMessageRequest, SubscribeToTaskRequest,
    TaskPushNotificationConfig,
};

/// A request of one of the eleven operations.
pub(crate) trait Request:
    prost::Message + Serialize + DeserializeOwned + Required + Default + Clone + 'static
{
    /// Which agent behind the endpoint it is for.
    fn tenant(&self) -> &str;

    /// Where the tenant is written.
    fn tenant_mut(&mut self) -> &mut String;

    /// The context it asks for; empty when it asks for none.
    fn context_id(&self) -> &str {
        ""
    }

    /// The field that `{name}` stands for in the paths of [`crate::operation::Route`].
    fn path_field(&mut self, _name: &str) -> Option<&mut String> {
        None
    }
}

impl Request for SendMessageRequest {
    fn context_id(&self) -> &str {
        self.message.as_ref().map(|message| message.context_id.as_str()).unwrap_or_default()
    }

    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }
}

impl Request for GetTaskRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        (name == "id").then_some(&mut self.id)
    }
}

impl Request for ListTasksRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }
}

impl Request for CancelTaskRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        (name == "id").then_some(&mut self.id)
    }
}

impl Request for SubscribeToTaskRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        (name == "id").then_some(&mut self.id)
    }
}

impl Request for TaskPushNotificationConfig {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        (name == "task_id").then_some(&mut self.task_id)
    }
}

impl Request for GetTaskPushNotificationConfigRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        match name {
            "task_id" => Some(&mut self.task_id),
            "id" => Some(&mut self.id),
            _ => None,
        }
    }
}

impl Request for ListTaskPushNotificationConfigsRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        (name == "task_id").then_some(&mut self.task_id)
    }
}

impl Request for DeleteTaskPushNotificationConfigRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }

    fn path_field(&mut self, name: &str) -> Option<&mut String> {
        match name {
            "task_id" => Some(&mut self.task_id),
            "id" => Some(&mut self.id),
            _ => None,
        }
    }
}

impl Request for GetExtendedAgentCardRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn tenant_mut(&mut self) -> &mut String {
        &mut self.tenant
    }
}
