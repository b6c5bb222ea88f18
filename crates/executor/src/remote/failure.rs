//! A client's failure in the words of the workflow language.

use planner::ErrorClass;
use protocol::client::{ClientError, FailureClass};

use super::Defeat;

/// The failed attempt that an error makes.
pub(super) fn defeat(error: &ClientError) -> Defeat {
    Defeat { retry_after: error.retry_after, ..Defeat::new(class(error.class), error.to_string()) }
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
