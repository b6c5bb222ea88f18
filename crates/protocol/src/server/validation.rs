//! What every binding asks of a decoded request: required fields, ranges, and Parts with content.

use crate::{
    error::{Error, FieldViolation},
    request::Request,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SendMessageRequest,
        SubscribeToTaskRequest, TaskPushNotificationConfig, TaskState,
    },
};

/// A request that can be judged before the service sees it.
pub(crate) trait Judged: Request {
    /// Notes what is wrong beyond missing fields.
    fn find_violations(&self, _violations: &mut Violations) {}

    /// Whether it carries a push configuration beside its main purpose.
    fn has_inline_push(&self) -> bool {
        false
    }
}

/// Refuses a request with missing or wrong fields, naming all of them (A2A §3.3.2).
pub(super) fn validate(request: &impl Judged) -> Result<(), Error> {
    let mut violations = Violations::default();
    for field in request.missing_required() {
        violations.note(field, "is required");
    }
    request.find_violations(&mut violations);
    if violations.0.is_empty() { Ok(()) } else { Err(Error::invalid_fields(violations.0)) }
}

#[derive(Default)]
pub(crate) struct Violations(Vec<FieldViolation>);

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

impl Judged for SendMessageRequest {
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

impl Judged for GetTaskRequest {
    fn find_violations(&self, violations: &mut Violations) {
        violations.not_negative("historyLength", self.history_length);
    }
}

impl Judged for ListTasksRequest {
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

impl Judged for CancelTaskRequest {}

impl Judged for SubscribeToTaskRequest {}

impl Judged for TaskPushNotificationConfig {
    fn find_violations(&self, violations: &mut Violations) {
        // Not marked as required, because the same message travels inside SendMessage without it.
        if self.task_id.is_empty() {
            violations.note("taskId", "is required");
        }
    }
}

impl Judged for GetTaskPushNotificationConfigRequest {}

impl Judged for ListTaskPushNotificationConfigsRequest {
    fn find_violations(&self, violations: &mut Violations) {
        // Without presence, 0 is how "unset" looks.
        if self.page_size != 0 {
            violations.page_size(self.page_size);
        }
    }
}

impl Judged for DeleteTaskPushNotificationConfigRequest {}

impl Judged for GetExtendedAgentCardRequest {}
