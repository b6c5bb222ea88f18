//! Older JSON to that of 1.0. Shapes are told by their fields, so that one reader takes them all.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Dialect,
    json::{Object, change, each, edit, every, put, rename, take, text, wrapped},
    words::{read_role, read_state},
};
use crate::operation::Operation;

/// The mark on data that is no object, which is all that older versions can carry: it lies under
/// `value` there. The official SDKs use the same mark.
pub(super) const WRAPPED_DATA: &str = "data_part_compat";

/// Turns the result of an operation into that of 1.0.
pub(super) fn result(dialect: Dialect, operation: Operation, value: Value) -> Value {
    match operation {
        Operation::SendMessage if dialect == Dialect::V0_1 => wrapped("task", task(value)),
        Operation::SendMessage => event(dialect, value),
        Operation::SendStreamingMessage | Operation::SubscribeToTask => event(dialect, value),
        Operation::GetTask | Operation::CancelTask => task(value),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            push_config(value)
        }
        Operation::ListTaskPushNotificationConfigs => push_configs(value),
        Operation::DeleteTaskPushNotificationConfig => json!({}),
        Operation::GetExtendedAgentCard => match value {
            Value::Object(card) if super::card::is_older(&card) => {
                Value::Object(super::card::read(&card))
            }
            other => other,
        },
        Operation::ListTasks => value,
    }
}

/// Names the context of a Task or event that does not name one.
pub(super) fn with_context(value: Value, context: &str) -> Value {
    let fill = |object: &mut Object| {
        if text(object, "contextId").is_empty() {
            object.insert("contextId".to_owned(), context.into());
        }
    };
    edit(value, |object| {
        if object.contains_key("status") {
            return fill(object);
        }
        for name in ["task", "statusUpdate", "artifactUpdate"] {
            change(object, name, |inner| edit(inner, fill));
        }
    })
}

/// Reads an event of a stream, or what sending a Message answered.
fn event(dialect: Dialect, value: Value) -> Value {
    let Value::Object(mut object) = value else { return value };
    // The JSON of 0.3's protobuf definition wraps its events as 1.0 does.
    for (name, read) in [
        ("task", task as fn(Value) -> Value),
        ("message", message),
        ("statusUpdate", status_update),
        ("artifactUpdate", artifact_update),
    ] {
        if let Some(inner) = object.get_mut(name).filter(|inner| inner.is_object()) {
            return wrapped(name, read(inner.take()));
        }
    }
    let has = |field: &str| object.contains_key(field);
    let kind = match text(&object, "kind") {
        "" if has("artifact") => "artifact-update",
        "" if has("status") && (has("final") || has("taskId") || dialect == Dialect::V0_1) => {
            "status-update"
        }
        "" if has("status") => "task",
        "" if has("parts") => "message",
        kind => kind,
    };
    match kind {
        "task" => wrapped("task", task(object.into())),
        "message" => wrapped("message", message(object.into())),
        "status-update" => wrapped("statusUpdate", status_update(object.into())),
        "artifact-update" => wrapped("artifactUpdate", artifact_update(object.into())),
        _ => object.into(),
    }
}

pub(super) fn task(value: Value) -> Value {
    edit(value, |task| {
        task.remove("kind");
        rename(task, "sessionId", "contextId");
        change(task, "status", status);
        change(task, "artifacts", artifacts);
        change(task, "history", |history| match history {
            Value::Array(messages) => messages
                .into_iter()
                .enumerate()
                .map(|(at, one)| message(identified(one, &at.to_string())))
                .collect(),
            other => other,
        });
    })
}

fn status(value: Value) -> Value {
    edit(value, |status| {
        change(status, "state", read_state);
        change(status, "timestamp", timestamp);
        let since = text(status, "timestamp").to_owned();
        change(status, "message", |said| message(identified(said, &since)));
    })
}

/// Many older agents write local times without an offset; they are taken for UTC.
fn timestamp(value: Value) -> Value {
    let Some(written) = value.as_str() else { return value };
    if written.parse::<jiff::Timestamp>().is_ok() {
        return value;
    }
    let utc = format!("{written}Z");
    let is_local = utc.parse::<jiff::Timestamp>().is_ok();
    if is_local { utc.into() } else { Value::Null }
}

pub(super) fn message(value: Value) -> Value {
    edit(value, |message| {
        message.remove("kind");
        rename(message, "content", "parts");
        change(message, "role", read_role);
        each(message, "parts", part);
    })
}

/// Gives a Message of 0.1 an id: the same whenever the same Message is read, and another for the same
/// words at another time.
fn identified(message: Value, seed: &str) -> Value {
    let name = format!("{seed} {message}");
    edit(message, |object| {
        if text(object, "messageId").is_empty() {
            let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes());
            object.insert("messageId".to_owned(), id.to_string().into());
        }
    })
}

fn part(value: Value) -> Value {
    edit(value, |part| {
        let is_named = part.remove("kind").is_some() | part.remove("type").is_some();
        if let Some(Value::Object(mut file)) = part.remove("file") {
            rename(&mut file, "fileWithBytes", "bytes");
            rename(&mut file, "fileWithUri", "uri");
            put(part, "raw", take(&mut file, "bytes"));
            if !part.contains_key("raw") {
                put(part, "url", take(&mut file, "uri"));
            }
            put(part, "mediaType", take(&mut file, "mimeType"));
            put(part, "filename", take(&mut file, "name"));
        }
        change(part, "data", |data| match data {
            Value::Object(mut outer) if !is_named && outer.contains_key("data") => {
                take(&mut outer, "data")
            }
            data => data,
        });
        if let Some(Value::Object(mut metadata)) = part.remove("metadata") {
            if metadata.get(WRAPPED_DATA) == Some(&Value::Bool(true)) {
                metadata.remove(WRAPPED_DATA);
                change(part, "data", |data| match data {
                    Value::Object(mut outer) => take(&mut outer, "value"),
                    data => data,
                });
            }
            for name in ["mediaType", "filename"] {
                if !part.contains_key(name) && metadata.get(name).is_some_and(Value::is_string) {
                    put(part, name, take(&mut metadata, name));
                }
            }
            if !metadata.is_empty() {
                part.insert("metadata".to_owned(), metadata.into());
            }
        }
    })
}

/// Artifacts of 0.1 have numbers for names, or only their places; where that number is another's, the
/// next that is free, because two of one id would be one.
fn artifacts(value: Value) -> Value {
    let Value::Array(artifacts) = value else { return value };
    let mut taken = BTreeSet::new();
    let read = artifacts.into_iter().enumerate().map(|(at, one)| {
        let at = at as u64;
        let index = one.get("index").and_then(Value::as_u64).filter(|index| !taken.contains(index));
        let free = || (at..).find(|index| !taken.contains(index)).unwrap_or(at);
        let index = index.unwrap_or_else(free);
        taken.insert(index);
        artifact(one, index)
    });
    read.collect()
}

fn artifact(value: Value, index: u64) -> Value {
    edit(value, |artifact| {
        each(artifact, "parts", part);
        artifact.remove("index");
        artifact.entry("artifactId").or_insert_with(|| format!("artifact-{index}").into());
    })
}

fn status_update(value: Value) -> Value {
    edit(value, |update| {
        update.retain(|name, _| name != "kind" && name != "final");
        rename(update, "id", "taskId");
        change(update, "status", status);
    })
}

fn artifact_update(value: Value) -> Value {
    edit(value, |update| {
        update.remove("kind");
        rename(update, "id", "taskId");
        change(update, "artifact", |inner| {
            let index = inner.get("index").and_then(Value::as_u64).unwrap_or_default();
            artifact(inner, index)
        });
        // In 0.1 the artifact itself says how it goes on.
        if let Some(Value::Object(artifact)) = update.get_mut("artifact") {
            let said = ["append", "lastChunk"].map(|name| (name, take(artifact, name)));
            for (name, value) in said {
                put(update, name, value);
            }
        }
    })
}

/// Reads a webhook registration together with the Task it is for.
pub(super) fn push_config(value: Value) -> Value {
    edit(value, |object| {
        rename(object, "id", "taskId");
        let name = take(object, "name");
        if let Value::Object(config) = webhook(take(object, "pushNotificationConfig")) {
            object.extend(config);
        }
        if let Some(task) = task_of(name.as_str().unwrap_or_default(), text(object, "id")) {
            let task = task.to_owned();
            object.entry("taskId").or_insert(task.into());
        }
    })
}

/// The Task in `tasks/TASK/pushNotificationConfigs/ID`; both ids may have slashes of their own.
fn task_of<'a>(name: &'a str, id: &str) -> Option<&'a str> {
    let rest = name.strip_prefix("tasks/")?;
    let by_id = rest.strip_suffix(&format!("/pushNotificationConfigs/{id}"));
    by_id.or_else(|| Some(rest.rsplit_once("/pushNotificationConfigs")?.0))
}

/// Reads a webhook registration by itself.
pub(super) fn webhook(value: Value) -> Value {
    edit(value, |config| {
        change(config, "authentication", |value| {
            edit(value, |authentication| {
                let schemes = take(authentication, "schemes");
                put(authentication, "scheme", schemes[0].clone());
            })
        });
    })
}

fn push_configs(value: Value) -> Value {
    match value {
        Value::Array(_) => wrapped("configs", every(value, push_config)),
        other => edit(other, |object| each(object, "configs", push_config)),
    }
}
