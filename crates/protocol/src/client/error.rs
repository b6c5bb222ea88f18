//! What a failed call means, decided once.

use std::{fmt, time::Duration};

use ::http::StatusCode;

use crate::{
    auth::AuthError,
    card::Binding,
    error::{Error, ErrorKind},
    operation::Operation,
    outbound::OutboundError,
};

/// The classes into which every failure of a call falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The agent cannot be reached, or says it cannot answer now.
    Unavailable,
    /// A deadline passed.
    Timeout,
    /// The agent wants fewer calls.
    RateLimited,
    /// The agent refuses the request as it is.
    Invalid,
    /// Credentials are missing, wrong, or not enough.
    Unauthorized,
    /// What the request names does not exist there.
    NotFound,
    /// The agent does not do this.
    Unsupported,
    /// The answer is not A2A.
    InvalidResponse,
    /// The agent broke.
    Internal,
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same call to the same agent, later.
    Again,
    /// Another agent may do better.
    Elsewhere,
    /// No: the call itself is wrong.
    Never,
}

/// What is known of whether the agent got the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Nothing was sent.
    NotSent,
    /// What answered does not speak this binding or version, or does not have this operation: the
    /// agent cannot have acted on the request.
    NotTaken,
    /// It may have been received and acted on.
    Unknown,
    /// The agent answered it.
    Answered,
}

impl FailureClass {
    /// Says whether trying again can help.
    #[must_use]
    pub fn retry(self) -> Retry {
        match self {
            FailureClass::Unavailable | FailureClass::Timeout | FailureClass::RateLimited => {
                Retry::Again
            }
            FailureClass::Unsupported | FailureClass::InvalidResponse | FailureClass::Internal => {
                Retry::Elsewhere
            }
            FailureClass::Invalid | FailureClass::Unauthorized | FailureClass::NotFound => {
                Retry::Never
            }
        }
    }

    fn of_kind(kind: ErrorKind) -> FailureClass {
        use ErrorKind as K;
        match kind {
            K::TaskNotFound => FailureClass::NotFound,
            K::TaskNotCancelable | K::Parse | K::InvalidRequest | K::InvalidParams => {
                FailureClass::Invalid
            }
            K::PushNotificationNotSupported
            | K::UnsupportedOperation
            | K::ContentTypeNotSupported
            | K::ExtendedAgentCardNotConfigured
            | K::ExtensionSupportRequired
            | K::VersionNotSupported
            | K::MethodNotFound => FailureClass::Unsupported,
            K::InvalidAgentResponse => FailureClass::InvalidResponse,
            K::Internal => FailureClass::Internal,
            K::Unauthenticated | K::PermissionDenied => FailureClass::Unauthorized,
            K::ResourceExhausted => FailureClass::RateLimited,
            K::Unavailable => FailureClass::Unavailable,
            K::DeadlineExceeded => FailureClass::Timeout,
        }
    }

    /// What a status without an A2A error in its body means.
    fn of_status(status: StatusCode) -> FailureClass {
        match status.as_u16() {
            404 | 410 => FailureClass::NotFound,
            405 | 501 => FailureClass::Unsupported,
            code => ErrorKind::from_http(code).map_or(FailureClass::Invalid, FailureClass::of_kind),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            FailureClass::Unavailable | FailureClass::Timeout => "try again later",
            FailureClass::RateLimited => "call it less often",
            FailureClass::Invalid => "change the request",
            FailureClass::Unauthorized => "check the credentials for this agent",
            FailureClass::NotFound => "check the address and the ids in the request",
            FailureClass::Unsupported => "see its card for what it does",
            FailureClass::InvalidResponse => {
                "check that the address is an A2A interface, and tell its operator"
            }
            FailureClass::Internal => "tell its operator, or try another agent",
        }
    }
}

/// A call that failed: which, where, why, and what that means.
#[derive(Clone, Debug)]
pub struct ClientError {
    /// The operation that was called.
    pub operation: Operation,
    /// The class, which decides what to do.
    pub class: FailureClass,
    /// The A2A error the agent answered, when it is one we know.
    pub kind: Option<ErrorKind>,
    /// When the agent wants to be asked again.
    pub retry_after: Option<Duration>,
    /// Whether the agent may have acted on the request.
    pub delivery: Delivery,
    /// Whether the reason is on this side (credentials that cannot be had, an address that may not be called), so that
    /// it says nothing of the agent.
    pub is_ours: bool,
    /// What happened, naming the URL, and what to do next.
    pub message: String,
    /// The whole error the agent answered, with its metadata and field violations.
    pub remote: Option<Box<Error>>,
}

impl ClientError {
    /// Tells whether the same call to the same agent may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.class.retry() == Retry::Again
    }

    /// Tells whether the agent cannot have acted on the request, so that it may go out once more,
    /// over another of its interfaces (A2A §5.2).
    #[must_use]
    pub fn is_untaken(&self) -> bool {
        matches!(self.delivery, Delivery::NotSent | Delivery::NotTaken)
    }

    /// Tells whether the failure is that there is nothing at the address, or not for this verb.
    pub(super) fn is_missing(&self) -> bool {
        self.remote.is_none()
            && self.delivery == Delivery::NotTaken
            && matches!(self.class, FailureClass::NotFound | FailureClass::Unsupported)
    }

    /// Tells whether the connection broke, so that nobody knows what became of the request.
    pub(super) fn is_broken(&self) -> bool {
        self.class == FailureClass::Unavailable && self.delivery == Delivery::Unknown
    }

    /// The same failure, of a request that the agent cannot have acted on.
    pub(super) fn untaken(self) -> ClientError {
        ClientError { delivery: Delivery::NotTaken, ..self }
    }

    fn new(
        operation: Operation,
        class: FailureClass,
        delivery: Delivery,
        message: String,
    ) -> ClientError {
        ClientError {
            operation,
            class,
            kind: None,
            retry_after: None,
            delivery,
            is_ours: false,
            message,
            remote: None,
        }
    }

    /// An error the agent answered. `code` is shown when nothing is known about it.
    pub(super) fn remote(
        operation: Operation,
        url: &str,
        code: i64,
        is_known: bool,
        error: Error,
    ) -> ClientError {
        let class = FailureClass::of_kind(error.kind);
        let said =
            if error.message.is_empty() { "an error without a message" } else { &error.message };
        let name = if is_known { error.kind.to_string() } else { format!("unknown code {code}") };
        let message = format!("{url} answered: {said} ({name}); {}", class.hint());
        let kind = is_known.then_some(error.kind);
        let delivery = match kind {
            Some(ErrorKind::VersionNotSupported | ErrorKind::MethodNotFound) => Delivery::NotTaken,
            _ => Delivery::Answered,
        };
        let retry_after = error.retry_after;
        let remote = Some(Box::new(error));
        ClientError {
            kind,
            retry_after,
            remote,
            ..ClientError::new(operation, class, delivery, message)
        }
    }

    /// A status that tells of failure, without an A2A error in the body. Where nothing of A2A is, the
    /// address or its binding may be wrong.
    pub(super) fn status(
        operation: Operation,
        (url, binding): (&str, Binding),
        status: StatusCode,
        retry_after: Option<Duration>,
        body: &str,
    ) -> ClientError {
        let class = FailureClass::of_status(status);
        let said = if body.is_empty() { String::new() } else { format!(": {body}") };
        let hint = match status.as_u16() {
            404 | 405 => format!("check in the agent's card that this is an address of {binding}"),
            _ => class.hint().to_owned(),
        };
        let message = format!("{url} answered HTTP {status}{said}; {hint}");
        let kind = ErrorKind::from_http(status.as_u16());
        let delivery = match class {
            FailureClass::NotFound | FailureClass::Unsupported => Delivery::NotTaken,
            _ => Delivery::Answered,
        };
        ClientError { kind, retry_after, ..ClientError::new(operation, class, delivery, message) }
    }

    /// A redirect, which is not followed: a card names its interfaces itself, and the Message must
    /// not go where no card has been approved for.
    pub(super) fn moved(
        operation: Operation,
        url: &str,
        status: StatusCode,
        target: &str,
    ) -> ClientError {
        let class = FailureClass::of_status(status);
        let message =
            format!("{url} answered HTTP {status}: it has moved to {target}; fetch its card again");
        ClientError::new(operation, class, Delivery::Answered, message)
    }

    /// An operation that the version of the interface does not have.
    pub(super) fn unspoken(operation: Operation, url: &str, version: &str) -> ClientError {
        let class = FailureClass::Unsupported;
        let message = format!(
            "{url} speaks A2A {version}, which does not have this operation; {}",
            class.hint()
        );
        let kind = Some(ErrorKind::UnsupportedOperation);
        ClientError { kind, ..ClientError::new(operation, class, Delivery::NotSent, message) }
    }

    /// An answer that is not A2A.
    pub(super) fn invalid(operation: Operation, url: &str, why: &str) -> ClientError {
        let class = FailureClass::InvalidResponse;
        let message = format!("the answer of {url} is not usable: {why}; {}", class.hint());
        ClientError::new(operation, class, Delivery::Answered, message)
    }

    /// An answer of something else than the binding called. What it says is no result of the call.
    pub(super) fn misdirected(
        operation: Operation,
        (url, binding): (&str, Binding),
        found: &str,
    ) -> ClientError {
        let message = format!(
            "the answer of {url} is not usable: {found}, and was called by {binding}; \
             check in the agent's card which binding this address is of"
        );
        ClientError::new(operation, FailureClass::InvalidResponse, Delivery::NotTaken, message)
    }

    /// A call that was not sent, because what it should carry cannot be had.
    pub(super) fn without_proof(operation: Operation, url: &str, error: &AuthError) -> ClientError {
        let class = match error.is_passing() {
            true => FailureClass::Unavailable,
            false => FailureClass::Unauthorized,
        };
        let message = format!("{url} was not called: {error}");
        let is_ours = error.is_ours();
        ClientError { is_ours, ..ClientError::new(operation, class, Delivery::NotSent, message) }
    }

    /// A deadline that passed while waiting for the answer.
    pub(super) fn timeout(operation: Operation, url: &str, after: Duration) -> ClientError {
        let message =
            format!("{url} did not answer within {after:?}; {}", FailureClass::Timeout.hint());
        ClientError::new(operation, FailureClass::Timeout, Delivery::Unknown, message)
    }

    /// A stream that went silent.
    pub(super) fn idle(operation: Operation, url: &str, after: Duration) -> ClientError {
        let message =
            format!("the event stream of {url} was silent for {after:?}; ask for the task instead");
        ClientError::new(operation, FailureClass::Timeout, Delivery::Answered, message)
    }

    /// A failure below HTTP.
    pub(super) fn transport(
        operation: Operation,
        error: &OutboundError,
        is_answered: bool,
    ) -> ClientError {
        use OutboundError as E;
        let (class, delivery) = match error {
            E::Url { .. } | E::Refused { .. } | E::Setup { .. } => {
                (FailureClass::Invalid, Delivery::NotSent)
            }
            E::Unresolved { .. } | E::Connect { .. } => {
                (FailureClass::Unavailable, Delivery::NotSent)
            }
            E::Timeout { .. } => (FailureClass::Timeout, Delivery::Unknown),
            E::Broken { .. } => (FailureClass::Unavailable, Delivery::Unknown),
            E::TooLarge { .. } | E::TooManyRedirects { .. } | E::Redirect { .. } => {
                (FailureClass::InvalidResponse, Delivery::Answered)
            }
        };
        let delivery = if is_answered { Delivery::Answered } else { delivery };
        let is_ours = error.is_ours();
        ClientError { is_ours, ..ClientError::new(operation, class, delivery, error.to_string()) }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} failed: {}", self.operation, self.message)
    }
}

impl std::error::Error for ClientError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_class_and_every_class_its_retry() {
        let lines: Vec<String> = ErrorKind::table()
            .iter()
            .map(|row| {
                let class = FailureClass::of_kind(row.kind);
                format!("{} {class:?} {:?}", row.reason, class.retry())
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        TASK_NOT_FOUND NotFound Never
        TASK_NOT_CANCELABLE Invalid Never
        PUSH_NOTIFICATION_NOT_SUPPORTED Unsupported Elsewhere
        UNSUPPORTED_OPERATION Unsupported Elsewhere
        CONTENT_TYPE_NOT_SUPPORTED Unsupported Elsewhere
        INVALID_AGENT_RESPONSE InvalidResponse Elsewhere
        EXTENDED_AGENT_CARD_NOT_CONFIGURED Unsupported Elsewhere
        EXTENSION_SUPPORT_REQUIRED Unsupported Elsewhere
        VERSION_NOT_SUPPORTED Unsupported Elsewhere
        PARSE_ERROR Invalid Never
        INVALID_REQUEST Invalid Never
        METHOD_NOT_FOUND Unsupported Elsewhere
        INVALID_PARAMS Invalid Never
        INTERNAL Internal Elsewhere
        UNAUTHENTICATED Unauthorized Never
        PERMISSION_DENIED Unauthorized Never
        RESOURCE_EXHAUSTED RateLimited Again
        UNAVAILABLE Unavailable Again
        DEADLINE_EXCEEDED Timeout Again
        ");
    }

    #[test]
    fn every_status_has_its_class() {
        use FailureClass as C;
        let table = [
            (301, C::Invalid),
            (400, C::Invalid),
            (401, C::Unauthorized),
            (403, C::Unauthorized),
            (404, C::NotFound),
            (405, C::Unsupported),
            (408, C::Timeout),
            (410, C::NotFound),
            (413, C::Invalid),
            (415, C::Unsupported),
            (429, C::RateLimited),
            (500, C::Internal),
            (501, C::Unsupported),
            (502, C::Unavailable),
            (503, C::Unavailable),
            (504, C::Timeout),
            (520, C::Internal),
        ];
        for (status, class) in table {
            let status = StatusCode::from_u16(status).expect("the table holds statuses");
            assert_eq!(FailureClass::of_status(status), class, "{status}");
        }
    }
}
