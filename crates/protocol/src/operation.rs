//! The eleven operations of A2A and how each binding names them: the one table.

use std::fmt;

/// An operation of the A2A service (A2A §3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sends a Message and answers with a Task or a Message.
    SendMessage,
    /// Sends a Message and answers with a stream of events.
    SendStreamingMessage,
    /// Reads one Task.
    GetTask,
    /// Lists Tasks, page by page.
    ListTasks,
    /// Asks for a Task to be canceled.
    CancelTask,
    /// Streams the events of an existing Task.
    SubscribeToTask,
    /// Registers a webhook for a Task.
    CreateTaskPushNotificationConfig,
    /// Reads one webhook registration.
    GetTaskPushNotificationConfig,
    /// Lists the webhook registrations of a Task.
    ListTaskPushNotificationConfigs,
    /// Removes a webhook registration.
    DeleteTaskPushNotificationConfig,
    /// Reads the card shown to authenticated callers.
    GetExtendedAgentCard,
}

/// What a card must declare before an operation may be used (A2A §3.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `capabilities.streaming`.
    Streaming,
    /// `capabilities.pushNotifications`.
    PushNotifications,
    /// `capabilities.extendedAgentCard`.
    ExtendedAgentCard,
}

/// An HTTP verb of the HTTP+JSON binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads.
    Get,
    /// Sends a body.
    Post,
    /// Removes.
    Delete,
}

/// One way to call an operation over HTTP+JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The verb.
    pub verb: Verb,
    /// The path below the interface's URL; `{id}` and `{task_id}` stand for one segment.
    /// With a tenant, `/{tenant}` goes in front.
    pub path: &'static str,
}

/// What the bindings know of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The operation the row describes.
    pub operation: Operation,
    /// The JSON-RPC method, which is also the gRPC method (A2A §5.3).
    pub method: &'static str,
    /// The HTTP+JSON routes; the first is the one a client uses. SubscribeToTask has two, because
    /// the specification's text says POST and its proto says GET.
    pub routes: &'static [Route],
    /// Whether the answer is a stream of events.
    pub is_streaming: bool,
    /// What the card must declare.
    pub needs: Option<Capability>,
}

const fn get(path: &'static str) -> Route {
    Route { verb: Verb::Get, path }
}

const fn post(path: &'static str) -> Route {
    Route { verb: Verb::Post, path }
}

const fn delete(path: &'static str) -> Route {
    Route { verb: Verb::Delete, path }
}

const fn plain(operation: Operation, method: &'static str, routes: &'static [Route]) -> Row {
    Row { operation, method, routes, is_streaming: false, needs: None }
}

const fn streaming(operation: Operation, method: &'static str, routes: &'static [Route]) -> Row {
    Row { operation, method, routes, is_streaming: true, needs: Some(Capability::Streaming) }
}

const fn push(operation: Operation, method: &'static str, routes: &'static [Route]) -> Row {
    Row {
        operation,
        method,
        routes,
        is_streaming: false,
        needs: Some(Capability::PushNotifications),
    }
}

const CONFIGS: &str = "/tasks/{task_id}/pushNotificationConfigs";
const CONFIG: &str = "/tasks/{task_id}/pushNotificationConfigs/{id}";

/// The table of operations, in the order of [`Operation`].
#[rustfmt::skip]
static TABLE: [Row; 11] = {
    use Operation as O;
    [
        plain(O::SendMessage, "SendMessage", &[post("/message:send")]),
        streaming(O::SendStreamingMessage, "SendStreamingMessage", &[post("/message:stream")]),
        plain(O::GetTask, "GetTask", &[get("/tasks/{id}")]),
        plain(O::ListTasks, "ListTasks", &[get("/tasks")]),
        plain(O::CancelTask, "CancelTask", &[post("/tasks/{id}:cancel")]),
        streaming(O::SubscribeToTask, "SubscribeToTask", &[post("/tasks/{id}:subscribe"), get("/tasks/{id}:subscribe")]),
        push(O::CreateTaskPushNotificationConfig, "CreateTaskPushNotificationConfig", &[post(CONFIGS)]),
        push(O::GetTaskPushNotificationConfig, "GetTaskPushNotificationConfig", &[get(CONFIG)]),
        push(O::ListTaskPushNotificationConfigs, "ListTaskPushNotificationConfigs", &[get(CONFIGS)]),
        push(O::DeleteTaskPushNotificationConfig, "DeleteTaskPushNotificationConfig", &[delete(CONFIG)]),
        Row {
            operation: O::GetExtendedAgentCard, method: "GetExtendedAgentCard",
            routes: &[get("/extendedAgentCard")], is_streaming: false, needs: Some(Capability::ExtendedAgentCard),
        },
    ]
};

impl Operation {
    /// Returns the whole table, one row per operation.
    #[must_use]
    pub fn table() -> &'static [Row] {
        &TABLE
    }

    /// Returns the operation's row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Whether it changes nothing at the agent, so that it may be asked twice.
    #[must_use]
    pub fn is_read(self) -> bool {
        use Operation as O;
        match self {
            O::GetTask
            | O::ListTasks
            | O::SubscribeToTask
            | O::GetTaskPushNotificationConfig
            | O::ListTaskPushNotificationConfigs
            | O::GetExtendedAgentCard => true,
            O::SendMessage
            | O::SendStreamingMessage
            | O::CancelTask
            | O::CreateTaskPushNotificationConfig
            | O::DeleteTaskPushNotificationConfig => false,
        }
    }

    /// Returns the JSON-RPC and gRPC method name.
    #[must_use]
    pub fn method(self) -> &'static str {
        self.row().method
    }

    /// Finds the operation of a JSON-RPC method; names are case-sensitive.
    #[must_use]
    pub fn from_method(method: &str) -> Option<Operation> {
        TABLE.iter().find(|row| row.method == method).map(|row| row.operation)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.method())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_its_own_place_and_is_found_by_its_method() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.operation as usize, index);
            assert_eq!(row.operation.row().method, row.method);
            assert_eq!(Operation::from_method(row.method), Some(row.operation));
            assert_eq!(format!("{:?}", row.operation), row.method);
            assert!(!row.routes.is_empty());
        }
        assert_eq!(Operation::from_method("message/send"), None);
        assert_eq!(Operation::from_method("sendmessage"), None);
    }

    #[test]
    fn the_table_reads_as_the_specification_has_it() {
        let lines: Vec<String> = TABLE.iter().map(line).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        SendMessage unary - POST /message:send
        SendStreamingMessage stream Streaming POST /message:stream
        GetTask unary - GET /tasks/{id}
        ListTasks unary - GET /tasks
        CancelTask unary - POST /tasks/{id}:cancel
        SubscribeToTask stream Streaming POST /tasks/{id}:subscribe, GET /tasks/{id}:subscribe
        CreateTaskPushNotificationConfig unary PushNotifications POST /tasks/{task_id}/pushNotificationConfigs
        GetTaskPushNotificationConfig unary PushNotifications GET /tasks/{task_id}/pushNotificationConfigs/{id}
        ListTaskPushNotificationConfigs unary PushNotifications GET /tasks/{task_id}/pushNotificationConfigs
        DeleteTaskPushNotificationConfig unary PushNotifications DELETE /tasks/{task_id}/pushNotificationConfigs/{id}
        GetExtendedAgentCard unary ExtendedAgentCard GET /extendedAgentCard
        ");
    }

    fn line(row: &Row) -> String {
        let shape = if row.is_streaming { "stream" } else { "unary" };
        let needs = row.needs.map_or_else(|| "-".to_owned(), |needs| format!("{needs:?}"));
        let routes: Vec<String> = row
            .routes
            .iter()
            .map(|route| format!("{} {}", format!("{:?}", route.verb).to_uppercase(), route.path))
            .collect();
        format!("{} {shape} {needs} {}", row.method, routes.join(", "))
    }
}
