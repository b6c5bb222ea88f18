//! A client's failure in the words of the workflow language.

use planner::ErrorClass;
use protocol::{
    client::{ClientError, Delivery, FailureClass},
    error::ErrorKind,
};

use super::Defeat;

/// The failed attempt that an error makes.
pub(super) fn defeat(error: &ClientError) -> Defeat {
    let (retry_after, is_ours) = (error.retry_after, error.is_ours);
    Defeat { retry_after, is_ours, ..Defeat::new(class(error.class), error.to_string()) }
}

/// The failed attempt that an error in answer to the Message itself makes.
pub(super) fn refusal(error: &ClientError) -> Defeat {
    Defeat {
        may_be_about_context: may_be_about_context(error),
        is_about_callback: is_about_callback(error),
        is_untaken: is_untaken(error),
        ..defeat(error)
    }
}

/// Whether the agent has certainly not acted on a Message. One that answers that it cannot answer now, or what is no
/// answer at all, may stand behind a proxy that has passed the Message on.
fn is_untaken(error: &ClientError) -> bool {
    let is_refused = matches!(
        error.class,
        FailureClass::Invalid
            | FailureClass::Unauthorized
            | FailureClass::Unsupported
            | FailureClass::RateLimited
            | FailureClass::NotFound
    );
    error.is_untaken() || (error.delivery == Delivery::Answered && is_refused)
}

/// Agents whose card promises notifications may still not send them, or not to every place; what they say then names
/// the configuration, in one spelling or another.
fn is_about_callback(error: &ClientError) -> bool {
    let names_it = || {
        let text = error.to_string().to_lowercase();
        text.replace([' ', '_', '-'], "").contains("pushnotification")
    };
    match error.kind {
        Some(ErrorKind::PushNotificationNotSupported) => true,
        Some(ErrorKind::InvalidParams | ErrorKind::InvalidRequest) => names_it(),
        None => error.class == FailureClass::Invalid && names_it(),
        Some(_) => false,
    }
}

/// Agents that do not know a context say so in several ways. A Message that names no Task can be told of a Task
/// that is not found for its context or its references only.
fn may_be_about_context(error: &ClientError) -> bool {
    let is_answer = error.delivery == Delivery::Answered;
    is_answer
        && match error.kind {
            Some(ErrorKind::InvalidParams | ErrorKind::InvalidRequest) => true,
            Some(ErrorKind::TaskNotFound) => error.remote.is_some(),
            // A bare HTTP 400.
            None => error.class == FailureClass::Invalid,
            Some(_) => false,
        }
}

fn class(class: FailureClass) -> ErrorClass {
    match class {
        FailureClass::Unavailable => ErrorClass::Unavailable,
        FailureClass::Timeout => ErrorClass::Timeout,
        FailureClass::RateLimited => ErrorClass::RateLimited,
        FailureClass::Unauthorized => ErrorClass::Unauthorized,
        FailureClass::Unsupported => ErrorClass::Rejected,
        FailureClass::Invalid | FailureClass::NotFound => ErrorClass::Invalid,
        FailureClass::InvalidResponse | FailureClass::Internal => ErrorClass::Failed,
    }
}
