//! Parameters of the operations: those of 1.0 to those of an older dialect, and back.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Dialect,
    json::{Object, change, edit, put, rename, take, text},
    read, write as out,
};
use crate::operation::Operation;

/// The id of a webhook registration that was made without one: before 1.0 there may be no ids, and
/// the only registration of a Task is asked for without one.
pub(super) const UNNAMED: &str = "default";

/// Writes the parameters of a request.
pub(crate) fn write(dialect: Dialect, operation: Operation, request: Value) -> Value {
    let Value::Object(mut request) = request else { return request };
    request.remove("tenant");
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => match dialect {
            Dialect::V0_1 => write_send_of_0_1(request),
            _ => write_send(dialect, request),
        },
        Operation::CreateTaskPushNotificationConfig => {
            let config = out::push_config(dialect, request.into());
            if dialect == Dialect::V0_3Proto { json!({"config": config}) } else { config }
        }
        Operation::GetTaskPushNotificationConfig
        | Operation::DeleteTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs => {
            rename(&mut request, "id", "pushNotificationConfigId");
            let task = take(&mut request, "taskId");
            request
                .retain(|name, _| name == "pushNotificationConfigId" && dialect != Dialect::V0_1);
            put(&mut request, "id", task);
            request.into()
        }
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::ListTasks
        | Operation::GetExtendedAgentCard => request.into(),
    }
}

fn write_send(dialect: Dialect, mut request: Object) -> Value {
    let mut configuration = match take(&mut request, "configuration") {
        Value::Object(configuration) => configuration,
        _ => Object::new(),
    };
    let is_immediate = take(&mut configuration, "returnImmediately") == true;
    // Left out means yes in the one JSON, and no in the other.
    configuration.insert("blocking".to_owned(), (!is_immediate).into());
    // 0.2 requires them.
    configuration.entry("acceptedOutputModes").or_insert_with(|| json!([]));
    let hook = out::webhook(dialect, take(&mut configuration, "taskPushNotificationConfig"));
    let name = match dialect {
        Dialect::V0_3Proto => "pushNotification",
        _ => "pushNotificationConfig",
    };
    put(&mut configuration, name, hook);
    change(&mut request, "message", |message| out::message(dialect, message));
    request.insert("configuration".to_owned(), configuration.into());
    request.into()
}

/// The id of the Task is the client's to make: that of the Message which begins it, so that the same
/// Message sent again means the same Task.
fn write_send_of_0_1(mut request: Object) -> Value {
    let message = take(&mut request, "message");
    let id = if message["taskId"].is_string() { &message["taskId"] } else { &message["messageId"] };
    let mut params = Object::new();
    put(&mut params, "id", id.clone());
    put(&mut params, "sessionId", message["contextId"].clone());
    if let Value::Object(mut configuration) = take(&mut request, "configuration") {
        for name in ["historyLength", "acceptedOutputModes"] {
            put(&mut params, name, take(&mut configuration, name));
        }
        let hook = take(&mut configuration, "taskPushNotificationConfig");
        put(&mut params, "pushNotification", out::webhook(Dialect::V0_1, hook));
    }
    put(&mut params, "metadata", take(&mut request, "metadata"));
    put(&mut params, "message", out::message(Dialect::V0_1, message));
    params.into()
}

/// Reads the parameters of a request.
pub(crate) fn read(dialect: Dialect, operation: Operation, params: Value) -> Value {
    let Value::Object(mut params) = params else {
        // An extended card is asked for without any.
        return if params.is_null() { json!({}) } else { params };
    };
    params.remove("tenant");
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => match dialect {
            Dialect::V0_1 => read_send_of_0_1(params),
            _ => read_send(dialect, params),
        },
        Operation::CreateTaskPushNotificationConfig => {
            if let Value::Object(config) = take(&mut params, "config") {
                params.extend(config);
            }
            named(read::push_config(params.into()))
        }
        Operation::GetTaskPushNotificationConfig | Operation::DeleteTaskPushNotificationConfig => {
            read_config_id(params)
        }
        Operation::ListTaskPushNotificationConfigs => {
            rename(&mut params, "id", "taskId");
            params.into()
        }
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::ListTasks
        | Operation::GetExtendedAgentCard => params.into(),
    }
}

fn read_config_id(mut params: Object) -> Value {
    rename(&mut params, "id", "taskId");
    rename(&mut params, "pushNotificationConfigId", "id");
    named(params.into())
}

fn named(config: Value) -> Value {
    edit(config, |config| {
        if text(config, "id").is_empty() {
            config.insert("id".to_owned(), UNNAMED.into());
        }
    })
}

fn read_send(dialect: Dialect, mut params: Object) -> Value {
    // What 0.3's definition calls it, besides its name in JSON.
    rename(&mut params, "request", "message");
    change(&mut params, "message", read::message);
    change(&mut params, "configuration", |configuration| {
        edit(configuration, |configuration| {
            let blocking = take(configuration, "blocking");
            let is_blocking = blocking == true || blocking.is_null() && dialect == Dialect::V0_3;
            configuration.insert("returnImmediately".to_owned(), (!is_blocking).into());
            rename(configuration, "pushNotification", "pushNotificationConfig");
            let hook = read::webhook(take(configuration, "pushNotificationConfig"));
            put(configuration, "taskPushNotificationConfig", named(hook));
        })
    });
    params.into()
}

fn read_send_of_0_1(mut params: Object) -> Value {
    let (id, session) = (take(&mut params, "id"), take(&mut params, "sessionId"));
    let message = edit(read::message(take(&mut params, "message")), |message| {
        message.insert("messageId".to_owned(), Uuid::new_v4().to_string().into());
        put(message, "taskId", id);
        put(message, "contextId", session);
    });
    let mut configuration = Object::new();
    for name in ["historyLength", "acceptedOutputModes"] {
        put(&mut configuration, name, take(&mut params, name));
    }
    let hook = named(read::webhook(take(&mut params, "pushNotification")));
    put(&mut configuration, "taskPushNotificationConfig", hook);
    let mut request = Object::new();
    put(&mut request, "message", message);
    put(&mut request, "configuration", configuration.into());
    put(&mut request, "metadata", take(&mut params, "metadata"));
    request.into()
}
