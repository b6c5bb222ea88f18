//! From errors inside to errors on the wire.

use std::time::Duration;

use executor::{ExecutorError, ReplyError, RunId, run::Refusal};
use planner::{ErrorClass, StepError};
use protocol::{
    error::{Error, ErrorKind},
    model::metadata,
};
use store::{Invalid, StoreError};

use crate::access::AccessError;

/// When to try again while all runs that may be kept are: runs take seconds and more.
const RETRY: Duration = Duration::from_secs(5);

/// What a client is told of an error inside. What it can do nothing about goes to the log.
pub(crate) fn wire(error: ExecutorError) -> Error {
    match error {
        ExecutorError::UnknownRun { run } => Error::task_not_found(run.as_str()),
        ExecutorError::Store(StoreError::Invalid(Invalid::Cursor)) => {
            Error::invalid_field("pageToken", "is not one that this agent gave for this list")
        }
        ExecutorError::Store(StoreError::Invalid(invalid)) => {
            Error::new(ErrorKind::InvalidParams, invalid.to_string())
        }
        ExecutorError::TooLarge { .. } => Error::new(ErrorKind::InvalidParams, error.to_string()),
        ExecutorError::Reply(refused) => reply(&refused),
        ExecutorError::Busy => Error::resource_exhausted(error.to_string(), Some(RETRY)),
        error if error.is_retryable() || error.is_conflict() => {
            tracing::warn!(%error, "a request could not be served");
            Error::unavailable("this cannot be done just now; try again", None)
        }
        ExecutorError::LeaseLost
        | ExecutorError::DriverStopped { .. }
        | ExecutorError::OwnedElsewhere { .. }
        | ExecutorError::NotDriven { .. } => Error::unavailable(error.to_string(), None),
        error => {
            tracing::error!(%error, "a request failed");
            Error::internal("something is wrong on this side; the log of this agent says what")
        }
    }
}

fn reply(refused: &ReplyError) -> Error {
    match refused {
        ReplyError::NotPaused => Error::unsupported("the task waits for no Message"),
        ReplyError::StepNotPaused { .. } => {
            let field = format!("message.metadata[{}]", metadata::STEP);
            Error::invalid_field(field, refused.to_string())
        }
        ReplyError::Ambiguous { .. }
        | ReplyError::Unfit { .. }
        | ReplyError::Unkept { .. }
        | ReplyError::Undecided { .. } => Error::new(ErrorKind::InvalidParams, refused.to_string()),
        // It is looked for before it is delivered: unreachable but for a Message that came twice at once.
        ReplyError::CallerAway => Error::new(ErrorKind::Unauthenticated, refused.to_string()),
        ReplyError::Repeated | ReplyError::Unknown => Error::unavailable(refused.to_string(), None),
    }
}

/// A caller who may not do this.
pub(crate) fn refused(why: &AccessError) -> Error {
    match why {
        AccessError::NoCredentials(_) | AccessError::BadCredentials(_) => {
            Error::new(ErrorKind::Unauthenticated, why.to_string())
        }
        AccessError::Unknown(_) => Error::unavailable(why.to_string(), Some(RETRY)),
        AccessError::Scope { scope, .. } => {
            Error::new(ErrorKind::PermissionDenied, why.to_string())
                .with_metadata("scope", scope.to_string())
        }
    }
}

/// What the client of a relay is told when its agent made no Task: the agent's own error as it answered it. What went
/// wrong on the way there is an error of ours, and so is it when the agent does not take our credentials: those of
/// the client are not in question.
pub(crate) fn relayed(refusal: Option<&Refusal>, failed: &StepError) -> Error {
    let message = failed.message.as_str();
    match (refusal, failed.class) {
        (Some(refusal), _) => answered(refusal),
        (None, ErrorClass::Unavailable | ErrorClass::Timeout) => Error::unavailable(message, None),
        (None, ErrorClass::RateLimited) => Error::resource_exhausted(message, None),
        (None, ErrorClass::Invalid) => Error::new(ErrorKind::InvalidParams, message),
        (None, _) => Error::internal(message),
    }
}

/// What an agent answered to a Message, to the client of its relay.
pub(crate) fn answered(refusal: &Refusal) -> Error {
    match refusal.kind() {
        Some(ErrorKind::Unauthenticated | ErrorKind::PermissionDenied) | None => {
            refusal.error(ErrorKind::Internal)
        }
        Some(kind) => refusal.error(kind),
    }
}

/// A Task that has ended and is asked for more.
pub(crate) fn ended(id: &RunId, state: executor::RunState) -> Error {
    let state = state.task_state().word();
    Error::unsupported(format!("task {id} is {state} and takes no further Messages"))
}
