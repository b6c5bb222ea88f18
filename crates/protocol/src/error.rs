//! What can go wrong on the wire and how each binding says it: the one table.

mod details;
mod rpc;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, time::Duration};

use crate::operation::Operation;

pub(crate) use details::{
    parse_json as parse_json_details, to_json as json_details,
    to_json_with_reason as json_details_with_reason, without_position,
};
pub(crate) use rpc::{parse_binary as parse_binary_details, to_binary as binary_details};

/// The domain under which A2A's own reasons are reported (A2A §9.5).
pub const DOMAIN: &str = "a2a-protocol.org";

/// The domain under which reasons are reported that A2A leaves to each server.
const OWN_DOMAIN: &str = "convoke";

/// The kinds of error that the bindings can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No such Task, or not one the caller may see.
    TaskNotFound,
    /// The Task is in a state that cannot be canceled.
    TaskNotCancelable,
    /// The agent sends no push notifications.
    PushNotificationNotSupported,
    /// The agent does not do this, or not in this state.
    UnsupportedOperation,
    /// A media type that the agent does not take.
    ContentTypeNotSupported,
    /// An agent answered against the specification.
    InvalidAgentResponse,
    /// The card promises an extended card that is not there.
    ExtendedAgentCardNotConfigured,
    /// The card requires an extension that the client did not declare.
    ExtensionSupportRequired,
    /// The interface does not speak the requested version.
    VersionNotSupported,
    /// The body is not JSON.
    Parse,
    /// The body is JSON, but not a request.
    InvalidRequest,
    /// No such method.
    MethodNotFound,
    /// The parameters do not fit the method.
    InvalidParams,
    /// Something broke inside.
    Internal,
    /// Credentials are missing or wrong.
    Unauthenticated,
    /// The credentials do not allow this.
    PermissionDenied,
    /// A rate limit or quota is used up.
    ResourceExhausted,
    /// The agent cannot answer now.
    Unavailable,
    /// The answer took too long.
    DeadlineExceeded,
}

/// The `google.rpc.Code` of an error, as gRPC and HTTP+JSON name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum GrpcCode {
    /// 3
    InvalidArgument = 3,
    /// 4
    DeadlineExceeded = 4,
    /// 5
    NotFound = 5,
    /// 7
    PermissionDenied = 7,
    /// 8
    ResourceExhausted = 8,
    /// 9
    FailedPrecondition = 9,
    /// 12
    Unimplemented = 12,
    /// 13
    Internal = 13,
    /// 14
    Unavailable = 14,
    /// 16
    Unauthenticated = 16,
}

impl GrpcCode {
    /// Returns the name that HTTP+JSON says it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GrpcCode::InvalidArgument => "INVALID_ARGUMENT",
            GrpcCode::DeadlineExceeded => "DEADLINE_EXCEEDED",
            GrpcCode::NotFound => "NOT_FOUND",
            GrpcCode::PermissionDenied => "PERMISSION_DENIED",
            GrpcCode::ResourceExhausted => "RESOURCE_EXHAUSTED",
            GrpcCode::FailedPrecondition => "FAILED_PRECONDITION",
            GrpcCode::Unimplemented => "UNIMPLEMENTED",
            GrpcCode::Internal => "INTERNAL",
            GrpcCode::Unavailable => "UNAVAILABLE",
            GrpcCode::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

/// How the bindings say one kind of error.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The kind the row describes.
    pub kind: ErrorKind,
    /// The JSON-RPC error code.
    pub json_rpc: i32,
    /// The gRPC status.
    pub grpc: GrpcCode,
    /// The HTTP status of the HTTP+JSON binding.
    pub http: u16,
    /// `google.rpc.ErrorInfo.reason`.
    pub reason: &'static str,
}

const fn row(
    kind: ErrorKind,
    json_rpc: i32,
    grpc: GrpcCode,
    http: u16,
    reason: &'static str,
) -> Row {
    Row { kind, json_rpc, grpc, http, reason }
}

/// The table of errors, in the order of [`ErrorKind`]: A2A's own (A2A §5.4), JSON-RPC's (A2A §9.5),
/// and those that A2A leaves to the server. The last get codes from JSON-RPC's server range above
/// the ones A2A has taken, and say the real HTTP status on every binding.
#[rustfmt::skip]
static TABLE: [Row; 19] = {
    use {ErrorKind as K, GrpcCode as G};
    [
        row(K::TaskNotFound,                   -32001, G::NotFound,           404, "TASK_NOT_FOUND"),
        row(K::TaskNotCancelable,              -32002, G::FailedPrecondition, 400, "TASK_NOT_CANCELABLE"),
        row(K::PushNotificationNotSupported,   -32003, G::FailedPrecondition, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
        row(K::UnsupportedOperation,           -32004, G::FailedPrecondition, 400, "UNSUPPORTED_OPERATION"),
        row(K::ContentTypeNotSupported,        -32005, G::InvalidArgument,    400, "CONTENT_TYPE_NOT_SUPPORTED"),
        row(K::InvalidAgentResponse,           -32006, G::Internal,           500, "INVALID_AGENT_RESPONSE"),
        row(K::ExtendedAgentCardNotConfigured, -32007, G::FailedPrecondition, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
        row(K::ExtensionSupportRequired,       -32008, G::FailedPrecondition, 400, "EXTENSION_SUPPORT_REQUIRED"),
        row(K::VersionNotSupported,            -32009, G::FailedPrecondition, 400, "VERSION_NOT_SUPPORTED"),
        row(K::Parse,                          -32700, G::InvalidArgument,    400, "PARSE_ERROR"),
        row(K::InvalidRequest,                 -32600, G::InvalidArgument,    400, "INVALID_REQUEST"),
        row(K::MethodNotFound,                 -32601, G::Unimplemented,      404, "METHOD_NOT_FOUND"),
        row(K::InvalidParams,                  -32602, G::InvalidArgument,    400, "INVALID_PARAMS"),
        row(K::Internal,                       -32603, G::Internal,           500, "INTERNAL"),
        row(K::Unauthenticated,                -32091, G::Unauthenticated,    401, "UNAUTHENTICATED"),
        row(K::PermissionDenied,               -32092, G::PermissionDenied,   403, "PERMISSION_DENIED"),
        row(K::ResourceExhausted,              -32093, G::ResourceExhausted,  429, "RESOURCE_EXHAUSTED"),
        row(K::Unavailable,                    -32094, G::Unavailable,        503, "UNAVAILABLE"),
        row(K::DeadlineExceeded,               -32095, G::DeadlineExceeded,   504, "DEADLINE_EXCEEDED"),
    ]
};

impl ErrorKind {
    /// Returns the whole table, one row per kind.
    #[must_use]
    pub fn table() -> &'static [Row] {
        &TABLE
    }

    /// Returns the kind's row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Finds the kind of an `ErrorInfo.reason`.
    #[must_use]
    pub fn from_reason(reason: &str) -> Option<ErrorKind> {
        TABLE.iter().find(|row| row.reason == reason).map(|row| row.kind)
    }

    /// Finds the kind of a JSON-RPC code.
    #[must_use]
    pub fn from_json_rpc(code: i64) -> Option<ErrorKind> {
        TABLE.iter().find(|row| i64::from(row.json_rpc) == code).map(|row| row.kind)
    }

    /// Finds the kind that a bare HTTP status stands for; statuses that say too little (400, 404
    /// without a body that names a reason) are not among them.
    #[must_use]
    pub fn from_http(status: u16) -> Option<ErrorKind> {
        match status {
            401 => Some(ErrorKind::Unauthenticated),
            403 => Some(ErrorKind::PermissionDenied),
            408 | 504 => Some(ErrorKind::DeadlineExceeded),
            415 => Some(ErrorKind::ContentTypeNotSupported),
            429 => Some(ErrorKind::ResourceExhausted),
            502 | 503 => Some(ErrorKind::Unavailable),
            500..=599 => Some(ErrorKind::Internal),
            _ => None,
        }
    }

    /// Finds the kind that a bare gRPC code stands for, in answer to an operation. A2A 1.0.0 said
    /// UNIMPLEMENTED where 1.0.1 says FAILED_PRECONDITION; both cover several kinds, of which the one
    /// that fits the operation is taken.
    #[must_use]
    pub fn from_grpc(code: i32, operation: Operation) -> Option<ErrorKind> {
        let is_cancel = operation == Operation::CancelTask;
        match code {
            9 if is_cancel => Some(ErrorKind::TaskNotCancelable),
            9 | 12 => Some(ErrorKind::UnsupportedOperation),
            3 => Some(ErrorKind::InvalidParams),
            13 => Some(ErrorKind::Internal),
            code => TABLE.iter().find(|row| row.grpc as i32 == code).map(|row| row.kind),
        }
    }

    /// Finds the kind that an HTTP status with an A2A error in its body stands for, when the error
    /// names no known reason. A2A 1.0.0 used 409, 415 and 502 where 1.0.1 does not.
    #[must_use]
    pub fn from_rest(status: u16, operation: Operation) -> Option<ErrorKind> {
        match status {
            400 => Some(ErrorKind::InvalidParams),
            404 => Some(ErrorKind::TaskNotFound),
            405 => Some(ErrorKind::MethodNotFound),
            409 if operation == Operation::CancelTask => Some(ErrorKind::TaskNotCancelable),
            501 => Some(ErrorKind::UnsupportedOperation),
            502 => Some(ErrorKind::InvalidAgentResponse),
            status => ErrorKind::from_http(status),
        }
    }

    /// Tells whether the kind is one of the nine that A2A itself defines.
    #[must_use]
    pub fn is_a2a(self) -> bool {
        self as usize <= ErrorKind::VersionNotSupported as usize
    }

    /// Tells whether the kind is about the transport rather than the request, so that it keeps its
    /// HTTP status even on JSON-RPC, whose other errors answer 200.
    #[must_use]
    pub fn is_transport(self) -> bool {
        self as usize >= ErrorKind::Unauthenticated as usize
    }

    /// Returns the domain under which the kind's reason is reported.
    #[must_use]
    pub fn domain(self) -> &'static str {
        if self.is_a2a() { DOMAIN } else { OWN_DOMAIN }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row().reason)
    }
}

/// One field of a request that is wrong (`google.rpc.BadRequest.FieldViolation`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldViolation {
    /// The path of the field, in JSON names: `message.parts[0]`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub description: String,
}

/// An error as it crosses the wire, whatever the binding (A2A §3.3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of error it is; decides every code.
    pub kind: ErrorKind,
    /// What happened and what to do next, for a person.
    pub message: String,
    /// `ErrorInfo.metadata`: values a program may read, such as `taskId`.
    pub metadata: BTreeMap<String, String>,
    /// The fields that are wrong; for [`ErrorKind::InvalidParams`].
    pub violations: Vec<FieldViolation>,
    /// When to try again; for [`ErrorKind::ResourceExhausted`] and [`ErrorKind::Unavailable`].
    pub retry_after: Option<Duration>,
}

impl Error {
    /// Creates an error of a kind.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            metadata: BTreeMap::new(),
            violations: Vec::new(),
            retry_after: None,
        }
    }

    /// Creates the answer for a Task that does not exist or is not the caller's.
    #[must_use]
    pub fn task_not_found(task_id: &str) -> Error {
        let message = format!("there is no task {task_id:?} here");
        Error::new(ErrorKind::TaskNotFound, message).with_metadata("taskId", task_id)
    }

    /// Creates the answer for a Task whose state does not allow a cancel.
    #[must_use]
    pub fn task_not_cancelable(task_id: &str, state: &str) -> Error {
        let message = format!("task {task_id:?} is {state} and cannot be canceled");
        Error::new(ErrorKind::TaskNotCancelable, message).with_metadata("taskId", task_id)
    }

    /// Creates the answer for something this agent does not do.
    #[must_use]
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::UnsupportedOperation, message)
    }

    /// Creates the answer for one wrong field.
    #[must_use]
    pub fn invalid_field(field: impl Into<String>, description: impl Into<String>) -> Error {
        Error::invalid_fields(vec![FieldViolation {
            field: field.into(),
            description: description.into(),
        }])
    }

    /// Creates the answer for wrong fields; the message names them all.
    #[must_use]
    pub fn invalid_fields(violations: Vec<FieldViolation>) -> Error {
        let all: Vec<String> =
            violations.iter().map(|one| format!("{}: {}", one.field, one.description)).collect();
        let mut error =
            Error::new(ErrorKind::InvalidParams, format!("invalid parameters: {}", all.join("; ")));
        error.violations = violations;
        error
    }

    /// Creates the answer for a failure inside; say nothing here that a caller must not learn.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    /// Creates the answer for a caller over its limit.
    #[must_use]
    pub fn resource_exhausted(message: impl Into<String>, retry_after: Option<Duration>) -> Error {
        Error { retry_after, ..Error::new(ErrorKind::ResourceExhausted, message) }
    }

    /// Creates the answer for an agent that cannot serve now.
    #[must_use]
    pub fn unavailable(message: impl Into<String>, retry_after: Option<Duration>) -> Error {
        Error { retry_after, ..Error::new(ErrorKind::Unavailable, message) }
    }

    /// Adds a value for programs.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<String>) -> Error {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.kind)
    }
}

impl std::error::Error for Error {}
