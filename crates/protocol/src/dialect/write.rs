//! JSON of 1.0 to that of one older dialect.
//!
//! Older versions have no place for the media type and name of text and data, which go into the
//! Part's metadata under the names of 1.0, nor for data that is no object, which is wrapped in one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    Dialect,
    json::{Object, change, each, edit, every, put, rename, take, text, wrapped},
    read::WRAPPED_DATA,
    words::{write_role, write_state},
};
use crate::operation::Operation;

/// The numbers of the Artifacts of one stream of 0.1, by their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indices(BTreeMap<String, usize>);

impl Indices {
    fn of(&mut self, artifact: &Object) -> usize {
        let next = self.0.len();
        *self.0.entry(text(artifact, "artifactId").to_owned()).or_insert(next)
    }
}

/// Turns a result into that of an operation of the dialect.
pub(crate) fn result(dialect: Dialect, operation: Operation, value: Value) -> Value {
    match operation {
        Operation::SendMessage => sent(dialect, value),
        Operation::GetTask | Operation::CancelTask => task(dialect, value),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            push_config(dialect, value)
        }
        Operation::ListTaskPushNotificationConfigs => push_configs(dialect, value),
        Operation::DeleteTaskPushNotificationConfig if dialect == Dialect::V0_3Proto => json!({}),
        Operation::DeleteTaskPushNotificationConfig => Value::Null,
        Operation::GetExtendedAgentCard => edit(value, super::card::add_older_fields),
        Operation::SendStreamingMessage | Operation::SubscribeToTask | Operation::ListTasks => {
            value
        }
    }
}

/// Turns an event of a stream into those of the dialect: one, or in 0.1, where streams carry no
/// Tasks, one for the status and one for each Artifact. `is_final` is for the last of a stream.
pub(crate) fn event(
    dialect: Dialect,
    value: Value,
    is_final: bool,
    indices: &mut Indices,
) -> Vec<Value> {
    let Value::Object(mut event) = value else { return Vec::new() };
    if dialect == Dialect::V0_1 {
        return events_of_0_1(event, is_final, indices);
    }
    let written = if let Some(inner) = event.get_mut("task") {
        ("task", task(dialect, inner.take()))
    } else if let Some(inner) = event.get_mut("message") {
        ("message", message(dialect, inner.take()))
    } else if let Some(inner) = event.get_mut("statusUpdate") {
        ("statusUpdate", kinded(dialect, "status-update", status_update(dialect, inner, is_final)))
    } else if let Some(inner) = event.get_mut("artifactUpdate") {
        let update = edit(inner.take(), |update| {
            change(update, "artifact", |inner| artifact(dialect, inner));
        });
        ("artifactUpdate", kinded(dialect, "artifact-update", update))
    } else {
        return Vec::new();
    };
    let (name, inner) = written;
    vec![if dialect == Dialect::V0_3Proto { wrapped(name, inner) } else { inner }]
}

fn sent(dialect: Dialect, value: Value) -> Value {
    let Value::Object(mut object) = value else { return value };
    let (name, written) = if let Some(inner) = object.get_mut("task") {
        ("task", task(dialect, inner.take()))
    } else if let Some(inner) = object.get_mut("message") {
        ("message", message_or_task(dialect, inner.take()))
    } else {
        return Value::Null;
    };
    if dialect == Dialect::V0_3Proto { wrapped(name, written) } else { written }
}

/// In 0.1 every answer is a Task.
fn message_or_task(dialect: Dialect, value: Value) -> Value {
    if dialect != Dialect::V0_1 {
        return message(dialect, value);
    }
    let status = answered(&value);
    task(dialect, json!({"id": value["taskId"], "contextId": value["contextId"], "status": status}))
}

fn answered(message: &Value) -> Value {
    json!({"state": "TASK_STATE_COMPLETED", "message": message})
}

fn events_of_0_1(mut event: Object, is_final: bool, indices: &mut Indices) -> Vec<Value> {
    let update = |id: &Value, status: Value, is_final: bool| {
        status_update(Dialect::V0_1, &mut json!({"taskId": id, "status": status}), is_final)
    };
    if let Some(inner) = event.get_mut("statusUpdate") {
        return vec![status_update(Dialect::V0_1, inner, is_final)];
    }
    if let Some(inner) = event.get("message") {
        return vec![update(&inner["taskId"], answered(inner), true)];
    }
    if let Some(Value::Object(inner)) = event.get_mut("artifactUpdate") {
        return vec![artifact_update_of_0_1(inner, indices)];
    }
    let Some(snapshot) = event.get_mut("task") else { return Vec::new() };
    let (id, status) = (snapshot["id"].clone(), snapshot["status"].take());
    let artifacts = match snapshot["artifacts"].take() {
        Value::Array(artifacts) => artifacts,
        _ => Vec::new(),
    };
    let whole = |artifact| json!({"taskId": id, "artifact": artifact, "lastChunk": true});
    let whole = artifacts.into_iter().map(whole);
    let mut events: Vec<Value> = whole
        .map(|mut update| match &mut update {
            Value::Object(update) => artifact_update_of_0_1(update, indices),
            _ => Value::Null,
        })
        .collect();
    // The last event is the one that ends a stream.
    events.push(update(&id, status, is_final));
    events
}

fn artifact_update_of_0_1(update: &mut Object, indices: &mut Indices) -> Value {
    let said = ["append", "lastChunk"].map(|name| (name, take(update, name)));
    let inner = edit(take(update, "artifact"), |inner| {
        let index = indices.of(inner);
        inner.insert("index".to_owned(), index.into());
        for (name, value) in said {
            put(inner, name, value);
        }
    });
    let mut written = Object::new();
    put(&mut written, "id", take(update, "taskId"));
    put(&mut written, "artifact", artifact(Dialect::V0_1, inner));
    put(&mut written, "metadata", take(update, "metadata"));
    written.into()
}

fn status_update(dialect: Dialect, value: &mut Value, is_final: bool) -> Value {
    edit(value.take(), |update| {
        change(update, "status", |inner| status(dialect, inner));
        update.insert("final".to_owned(), is_final.into());
        if dialect == Dialect::V0_1 {
            rename(update, "taskId", "id");
            update.remove("contextId");
        }
    })
}

fn kinded(dialect: Dialect, kind: &str, value: Value) -> Value {
    edit(value, |object| {
        if dialect == Dialect::V0_3 {
            object.insert("kind".to_owned(), kind.into());
        }
    })
}

fn task(dialect: Dialect, value: Value) -> Value {
    let task = edit(value, |task| {
        change(task, "status", |inner| status(dialect, inner));
        let mut indices = Indices::default();
        change(task, "artifacts", |artifacts| match artifacts {
            Value::Array(artifacts) => {
                artifacts.into_iter().map(|one| numbered(dialect, one, &mut indices)).collect()
            }
            other => other,
        });
        each(task, "history", |one| message(dialect, one));
        if dialect == Dialect::V0_1 {
            rename(task, "contextId", "sessionId");
        }
    });
    kinded(dialect, "task", task)
}

fn numbered(dialect: Dialect, value: Value, indices: &mut Indices) -> Value {
    let value = edit(value, |inner| {
        if dialect == Dialect::V0_1 {
            let index = indices.of(inner);
            inner.insert("index".to_owned(), index.into());
        }
    });
    artifact(dialect, value)
}

fn artifact(dialect: Dialect, value: Value) -> Value {
    edit(value, |artifact| {
        each(artifact, "parts", |one| part(dialect, one));
        if dialect == Dialect::V0_1 {
            artifact.retain(|name, _| name != "artifactId" && name != "extensions");
        }
    })
}

fn status(dialect: Dialect, value: Value) -> Value {
    edit(value, |status| {
        change(status, "state", |state| write_state(dialect, state));
        change(status, "message", |said| message(dialect, said));
    })
}

pub(super) fn message(dialect: Dialect, value: Value) -> Value {
    let message = edit(value, |message| {
        change(message, "role", |role| write_role(dialect, role));
        each(message, "parts", |one| part(dialect, one));
        match dialect {
            Dialect::V0_3 => {}
            Dialect::V0_3Proto => {
                rename(message, "parts", "content");
                message.remove("referenceTaskIds");
            }
            Dialect::V0_1 => {
                message.retain(|name, _| ["role", "parts", "metadata"].contains(&name.as_str()));
            }
        }
    });
    kinded(dialect, "message", message)
}

fn part(dialect: Dialect, value: Value) -> Value {
    edit(value, |part| {
        let mut metadata = match part.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Object::new(),
        };
        let kind = if part.contains_key("text") {
            tuck_away(part, &mut metadata, "text/plain");
            "text"
        } else if part.contains_key("data") {
            tuck_away(part, &mut metadata, "application/json");
            change(part, "data", |data| object_of(data, &mut metadata));
            if dialect == Dialect::V0_3Proto {
                change(part, "data", |data| wrapped("data", data));
            }
            "data"
        } else {
            let file = file(dialect, part);
            part.insert("file".to_owned(), file);
            "file"
        };
        match dialect {
            Dialect::V0_3 => put(part, "kind", kind.into()),
            Dialect::V0_1 => put(part, "type", kind.into()),
            Dialect::V0_3Proto => {}
        }
        if !metadata.is_empty() {
            part.insert("metadata".to_owned(), metadata.into());
        }
    })
}

/// Moves what the dialect has no place for into the metadata; the usual media type needs no word.
fn tuck_away(part: &mut Object, metadata: &mut Object, usual: &str) {
    for name in ["mediaType", "filename"] {
        let value = take(part, name);
        if value != usual && !metadata.contains_key(name) {
            put(metadata, name, value);
        }
    }
}

/// Data of older versions is an object.
fn object_of(data: Value, metadata: &mut Object) -> Value {
    if data.is_object() {
        return data;
    }
    metadata.insert(WRAPPED_DATA.to_owned(), true.into());
    wrapped("value", data)
}

fn file(dialect: Dialect, part: &mut Object) -> Value {
    let [bytes, uri] = match dialect {
        Dialect::V0_3Proto => ["fileWithBytes", "fileWithUri"],
        Dialect::V0_3 | Dialect::V0_1 => ["bytes", "uri"],
    };
    let mut file = Object::new();
    put(&mut file, bytes, take(part, "raw"));
    put(&mut file, uri, take(part, "url"));
    put(&mut file, "mimeType", take(part, "mediaType"));
    put(&mut file, "name", take(part, "filename"));
    file.into()
}

/// Writes a webhook registration together with the Task it is for.
pub(super) fn push_config(dialect: Dialect, value: Value) -> Value {
    let Value::Object(mut config) = value else { return value };
    let task = take(&mut config, "taskId");
    config.remove("tenant");
    let mut written = Object::new();
    match dialect {
        Dialect::V0_3 => put(&mut written, "taskId", task),
        Dialect::V0_1 => put(&mut written, "id", task),
        Dialect::V0_3Proto => {
            let (task, id) = (task.as_str().unwrap_or_default(), text(&config, "id"));
            let name = format!("tasks/{task}/pushNotificationConfigs/{id}");
            put(&mut written, "name", name.into());
        }
    }
    put(&mut written, "pushNotificationConfig", webhook(dialect, config.into()));
    written.into()
}

/// Writes a webhook registration by itself.
pub(super) fn webhook(dialect: Dialect, value: Value) -> Value {
    edit(value, |config| {
        config.retain(|name, _| name != "taskId" && name != "tenant");
        if dialect == Dialect::V0_1 {
            config.remove("id");
        }
        change(config, "authentication", |value| {
            edit(value, |authentication| {
                let scheme = take(authentication, "scheme");
                put(authentication, "schemes", json!([scheme]));
            })
        });
    })
}

fn push_configs(dialect: Dialect, value: Value) -> Value {
    let Value::Object(mut object) = value else { return value };
    let configs = match take(&mut object, "configs") {
        Value::Null => json!([]),
        configs => every(configs, |one| push_config(dialect, one)),
    };
    if dialect == Dialect::V0_3Proto { wrapped("configs", configs) } else { configs }
}
