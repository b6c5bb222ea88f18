//! Why a notification was not delivered.

use http::StatusCode;

use crate::{error::FieldViolation, outbound::OutboundError};

/// Why a notification was not delivered, or a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The webhook could not be called, or did not answer.
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    /// The webhook answered with a status that is not 2xx.
    #[error("the webhook {url} answered {status}; a notification is taken with a 2xx status")]
    Status {
        /// The webhook.
        url: String,
        /// Its answer.
        status: StatusCode,
    },
    /// A value of the configuration cannot stand in a header. The value itself may be a secret.
    #[error("it cannot stand in an HTTP header: {why}")]
    Header {
        /// The field of TaskPushNotificationConfig that holds it.
        field: &'static str,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The webhook did not show that it wants notifications.
    #[error("the webhook {url} did not answer the challenge: {why}")]
    Challenge {
        /// The webhook.
        url: String,
        /// What it did instead.
        why: String,
    },
    /// A key for signing cannot be made, read or used.
    #[error("a key for signing notifications cannot be used: {why}")]
    Key {
        /// The cause.
        why: String,
    },
    /// The event cannot be written as JSON.
    #[error("the event cannot be written as JSON: {why}")]
    Body {
        /// The cause.
        why: String,
    },
}

impl PushError {
    /// Says what is wrong with which field of TaskPushNotificationConfig.
    #[must_use]
    pub fn violation(&self) -> FieldViolation {
        let field = match self {
            PushError::Header { field, .. } => field,
            PushError::Outbound(_)
            | PushError::Status { .. }
            | PushError::Challenge { .. }
            | PushError::Key { .. }
            | PushError::Body { .. } => "url",
        };
        FieldViolation { field: field.to_owned(), description: self.to_string() }
    }
}
