//! A2A before 1.0: translations at the edge, of JSON into the JSON of the 1.0 model and back.
//!
//! Nothing inside knows the older versions. One reader takes the shapes of all of them, because what
//! is meant is told by the fields; writing is done for one [`Dialect`]. What an older version has no
//! word for is left out, unless a word is made for it here: see [`mod@write`].

pub(crate) mod card;
mod json;
mod params;
mod read;
mod security;
#[cfg(test)]
mod tests;
mod words;
mod write;

use serde_json::Value;

use crate::{card::Binding, operation::Operation, version::Version};

pub(crate) use params::{read as read_params, write as write_params};
pub(crate) use write::{Indices, event as write_event, result as write_result};

/// The header of 0.3 that lists extensions, in requests and answers.
pub(crate) const EXTENSIONS_HEADER: http::HeaderName =
    http::HeaderName::from_static("x-a2a-extensions");

/// What the paths of 0.3's HTTP+JSON begin with, below the interface's URL.
pub(crate) const HTTP_JSON_PREFIX: &str = "/v1";

/// The path of the extended card in 0.3's HTTP+JSON, below the prefix.
pub(crate) const HTTP_JSON_CARD: &str = "/card";

/// A way to speak an A2A older than 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 0.3 and 0.2 by JSON-RPC: `message/send`, objects that name their `kind`.
    V0_3,
    /// 0.3 by HTTP+JSON: the JSON of 0.3's protobuf definition, which is what servers and clients in
    /// use take, and not that of the specification's text.
    V0_3Proto,
    /// 0.1 by JSON-RPC: `tasks/send`, ids of Tasks made by the client.
    V0_1,
}

impl Dialect {
    /// Returns how a version is spoken by a binding; nothing for 1.0, and for what is not spoken.
    pub(crate) fn of(version: Version, binding: Binding) -> Option<Dialect> {
        match (version, binding) {
            (Version::V0_3 | Version::V0_2, Binding::JsonRpc) => Some(Dialect::V0_3),
            (Version::V0_3 | Version::V0_2, Binding::HttpJson) => Some(Dialect::V0_3Proto),
            (Version::V0_1, Binding::JsonRpc) => Some(Dialect::V0_1),
            _ => None,
        }
    }

    /// Returns the JSON-RPC method of an operation; nothing when the dialect has none.
    pub(crate) fn method(self, operation: Operation) -> Option<&'static str> {
        let of_0_3 = match operation {
            Operation::SendMessage => Some("message/send"),
            Operation::SendStreamingMessage => Some("message/stream"),
            Operation::GetTask => Some("tasks/get"),
            Operation::ListTasks => None,
            Operation::CancelTask => Some("tasks/cancel"),
            Operation::SubscribeToTask => Some("tasks/resubscribe"),
            Operation::CreateTaskPushNotificationConfig => Some("tasks/pushNotificationConfig/set"),
            Operation::GetTaskPushNotificationConfig => Some("tasks/pushNotificationConfig/get"),
            Operation::ListTaskPushNotificationConfigs => Some("tasks/pushNotificationConfig/list"),
            Operation::DeleteTaskPushNotificationConfig => {
                Some("tasks/pushNotificationConfig/delete")
            }
            Operation::GetExtendedAgentCard => Some("agent/getAuthenticatedExtendedCard"),
        };
        match (self, operation) {
            (Dialect::V0_3 | Dialect::V0_3Proto, _) => of_0_3,
            (Dialect::V0_1, Operation::SendMessage) => Some("tasks/send"),
            (Dialect::V0_1, Operation::SendStreamingMessage) => Some("tasks/sendSubscribe"),
            (Dialect::V0_1, Operation::CreateTaskPushNotificationConfig) => {
                Some("tasks/pushNotification/set")
            }
            (Dialect::V0_1, Operation::GetTaskPushNotificationConfig) => {
                Some("tasks/pushNotification/get")
            }
            (
                Dialect::V0_1,
                Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask,
            ) => of_0_3,
            (Dialect::V0_1, _) => None,
        }
    }

    /// Finds the operation of a JSON-RPC method; names are case-sensitive.
    pub(crate) fn operation(self, method: &str) -> Option<Operation> {
        let mut rows = Operation::table().iter().map(|row| row.operation);
        rows.find(|operation| self.method(*operation) == Some(method))
    }

    /// Turns a result into that of 1.0. `context` stands in for the contextId that events of 0.1
    /// do not tell.
    pub(crate) fn read_result(self, operation: Operation, result: Value, context: &str) -> Value {
        let read = read::result(self, operation, result);
        if context.is_empty() { read } else { read::with_context(read, context) }
    }
}
