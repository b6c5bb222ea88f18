//! What every binding asks of a decoded request: required fields, ranges, and Parts with content.

use serde::de::DeserializeOwned;

use crate::{
    error::{Error, FieldViolation},
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Required, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig, TaskState,
    },
};

/// A request of one of the eleven operations.
pub(super) trait Request: DeserializeOwned + Required + Send {
    /// Which agent behind the endpoint it is for.
    fn tenant(&self) -> &str;

    /// Notes what is wrong beyond missing fields.
    fn find_violations(&self, _violations: &mut Violations) {}

    /// Whether it carries a push configuration beside its main purpose.
    fn has_inline_push(&self) -> bool {
        false
    }
}

/// Refuses a request with missing or wrong fields, naming all of them (A2A §3.3.2).
pub(super) fn validate(request: &impl Request) -> Result<(), Error> {
    let mut violations = Violations::default();
    for field in request.missing_required() {
        violations.note(field, "is required");
    }
    request.find_violations(&mut violations);
    if violations.0.is_empty() { Ok(()) } else { Err(Error::invalid_fields(violations.0)) }
}

#[derive(Default)]
pub(super) struct Violations(Vec<FieldViolation>);

impl Violations {
    fn note(&mut self, field: impl Into<String>, description: impl Into<String>) {
        self.0.push(FieldViolation { field: field.into(), description: description.into() });
    }

    fn not_negative(&mut self, field: &str, value: Option<i32>) {
        if value.is_some_and(|value| value < 0) {
            self.note(field, "must not be negative; leave it out for no limit");
        }
    }

    fn page_size(&mut self, value: i32) {
        if !(1..=100).contains(&value) {
            self.note("pageSize", format!("is {value}; it may be 1 to 100"));
        }
    }
}

impl Request for SendMessageRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn find_violations(&self, violations: &mut Violations) {
        for (index, part) in self.message.iter().flat_map(|message| &message.parts).enumerate() {
            if part.content.is_none() {
                violations.note(
                    format!("message.parts[{index}]"),
                    "holds none of text, raw, url and data",
                );
            }
        }
        let history =
            self.configuration.as_ref().and_then(|configuration| configuration.history_length);
        violations.not_negative("configuration.historyLength", history);
    }

    fn has_inline_push(&self) -> bool {
        self.configuration
            .as_ref()
            .is_some_and(|configuration| configuration.task_push_notification_config.is_some())
    }
}

impl Request for GetTaskRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn find_violations(&self, violations: &mut Violations) {
        violations.not_negative("historyLength", self.history_length);
    }
}

impl Request for ListTasksRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn find_violations(&self, violations: &mut Violations) {
        if let Some(size) = self.page_size {
            violations.page_size(size);
        }
        if TaskState::try_from(self.status).is_err() {
            violations.note("status", format!("{} is no task state", self.status));
        }
        violations.not_negative("historyLength", self.history_length);
    }
}

impl Request for CancelTaskRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }
}

impl Request for SubscribeToTaskRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }
}

impl Request for TaskPushNotificationConfig {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn find_violations(&self, violations: &mut Violations) {
        // Not marked as required, because the same message travels inside SendMessage without it.
        if self.task_id.is_empty() {
            violations.note("taskId", "is required");
        }
    }
}

impl Request for GetTaskPushNotificationConfigRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }
}

impl Request for ListTaskPushNotificationConfigsRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }

    fn find_violations(&self, violations: &mut Violations) {
        // Without presence, 0 is how "unset" looks.
        if self.page_size != 0 {
            violations.page_size(self.page_size);
        }
    }
}

impl Request for DeleteTaskPushNotificationConfigRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }
}

impl Request for GetExtendedAgentCardRequest {
    fn tenant(&self) -> &str {
        &self.tenant
    }
}
