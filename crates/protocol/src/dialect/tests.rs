//! The shapes of each dialect as golden JSON, written and read. Objects are compared, not texts: the
//! order of fields means nothing.

mod cards;
mod odd;
mod requests;

use serde_json::{Value, json};

use super::*;

const ALL: [Dialect; 3] = [Dialect::V0_3, Dialect::V0_3Proto, Dialect::V0_1];

/// A Message of 1.0 with every kind of Part and every field.
fn message() -> Value {
    json!({
        "messageId": "m-1", "contextId": "c-1", "taskId": "t-1", "role": "ROLE_AGENT",
        "parts": [
            {"text": "hi", "metadata": {"k": 1}},
            {"raw": "aGVp", "mediaType": "text/plain", "filename": "hei.txt"},
            {"url": "https://files.example/a", "mediaType": "image/png"},
            {"data": {"n": [1, null]}},
        ],
        "metadata": {"m": true}, "extensions": ["urn:x"], "referenceTaskIds": ["t-0"],
    })
}

/// The same in each dialect.
fn older_message(dialect: Dialect) -> Value {
    match dialect {
        Dialect::V0_3 => json!({
            "kind": "message",
            "messageId": "m-1", "contextId": "c-1", "taskId": "t-1", "role": "agent",
            "parts": [
                {"kind": "text", "text": "hi", "metadata": {"k": 1}},
                {"kind": "file", "file": {"bytes": "aGVp", "mimeType": "text/plain", "name": "hei.txt"}},
                {"kind": "file", "file": {"uri": "https://files.example/a", "mimeType": "image/png"}},
                {"kind": "data", "data": {"n": [1, null]}},
            ],
            "metadata": {"m": true}, "extensions": ["urn:x"], "referenceTaskIds": ["t-0"],
        }),
        Dialect::V0_3Proto => json!({
            "messageId": "m-1", "contextId": "c-1", "taskId": "t-1", "role": "ROLE_AGENT",
            "content": [
                {"text": "hi", "metadata": {"k": 1}},
                {"file": {"fileWithBytes": "aGVp", "mimeType": "text/plain", "name": "hei.txt"}},
                {"file": {"fileWithUri": "https://files.example/a", "mimeType": "image/png"}},
                {"data": {"data": {"n": [1, null]}}},
            ],
            "metadata": {"m": true}, "extensions": ["urn:x"],
        }),
        Dialect::V0_1 => json!({
            "role": "agent",
            "parts": [
                {"type": "text", "text": "hi", "metadata": {"k": 1}},
                {"type": "file", "file": {"bytes": "aGVp", "mimeType": "text/plain", "name": "hei.txt"}},
                {"type": "file", "file": {"uri": "https://files.example/a", "mimeType": "image/png"}},
                {"type": "data", "data": {"n": [1, null]}},
            ],
            "metadata": {"m": true},
        }),
    }
}

fn task() -> Value {
    json!({
        "id": "t-1", "contextId": "c-1",
        "status": {"state": "TASK_STATE_CANCELED", "message": message(), "timestamp": "2026-01-02T03:04:05Z"},
        "artifacts": [{
            "artifactId": "artifact-0", "name": "n", "description": "d",
            "parts": [{"text": "x"}], "metadata": {"a": 1},
        }],
        "history": [message()],
        "metadata": {"t": 1},
    })
}

fn older_task(dialect: Dialect) -> Value {
    let artifact = |part: Value| {
        json!({
            "artifactId": "artifact-0", "name": "n", "description": "d",
            "parts": [part], "metadata": {"a": 1},
        })
    };
    let said = older_message(dialect);
    let status =
        |state: &str| json!({"state": state, "message": said, "timestamp": "2026-01-02T03:04:05Z"});
    match dialect {
        Dialect::V0_3 => json!({
            "kind": "task", "id": "t-1", "contextId": "c-1", "status": status("canceled"),
            "artifacts": [artifact(json!({"kind": "text", "text": "x"}))],
            "history": [said], "metadata": {"t": 1},
        }),
        Dialect::V0_3Proto => json!({
            "id": "t-1", "contextId": "c-1", "status": status("TASK_STATE_CANCELLED"),
            "artifacts": [artifact(json!({"text": "x"}))],
            "history": [said], "metadata": {"t": 1},
        }),
        Dialect::V0_1 => json!({
            "id": "t-1", "sessionId": "c-1", "status": status("canceled"),
            "artifacts": [{
                "index": 0, "name": "n", "description": "d",
                "parts": [{"type": "text", "text": "x"}], "metadata": {"a": 1},
            }],
            "history": [said], "metadata": {"t": 1},
        }),
    }
}

/// What of a 1.0 JSON a dialect cannot carry, taken out: what is written and read again.
fn carried(dialect: Dialect, mut value: Value) -> Value {
    fn walk(dialect: Dialect, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| walk(dialect, item)),
            Value::Object(object) => {
                let is_message = object.contains_key("messageId");
                if is_message && dialect != Dialect::V0_3 {
                    object.remove("referenceTaskIds");
                }
                if is_message && dialect == Dialect::V0_1 {
                    object.retain(|name, _| ["role", "parts", "metadata"].contains(&name.as_str()));
                }
                object.values_mut().for_each(|inner| walk(dialect, inner));
            }
            _ => {}
        }
    }
    walk(dialect, &mut value);
    value
}

/// Takes the ids out that reading makes for Messages of 0.1, which have none.
fn without_made_ids(dialect: Dialect, mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(object) => {
                object.remove("messageId");
                object.values_mut().for_each(walk);
            }
            _ => {}
        }
    }
    if dialect == Dialect::V0_1 {
        walk(&mut value);
    }
    value
}

fn read(dialect: Dialect, operation: Operation, value: Value) -> Value {
    without_made_ids(dialect, dialect.read_result(operation, value, ""))
}

fn written(dialect: Dialect, operation: Operation, value: Value) -> Value {
    write_result(dialect, operation, value)
}

#[test]
fn tasks_are_written_and_read_in_every_dialect() {
    for dialect in ALL {
        for operation in [Operation::GetTask, Operation::CancelTask] {
            let older = older_task(dialect);
            assert_eq!(written(dialect, operation, task()), older, "{dialect:?}");
            assert_eq!(read(dialect, operation, older), carried(dialect, task()), "{dialect:?}");
        }
    }
}

#[test]
fn what_sending_answers_is_written_and_read_in_every_dialect() {
    let send = Operation::SendMessage;
    for dialect in ALL {
        let wrap = |name: &str, inner: Value| match dialect {
            Dialect::V0_3Proto => json!({ name: inner }),
            _ => inner,
        };
        let older = wrap("task", older_task(dialect));
        assert_eq!(written(dialect, send, json!({"task": task()})), older, "{dialect:?}");
        let back = json!({"task": carried(dialect, task())});
        assert_eq!(read(dialect, send, older), back, "{dialect:?}");
        if dialect != Dialect::V0_1 {
            let older = wrap("message", older_message(dialect));
            assert_eq!(written(dialect, send, json!({"message": message()})), older);
            let back = json!({"message": carried(dialect, message())});
            assert_eq!(read(dialect, send, older), back, "{dialect:?}");
        }
    }
    // In 0.1 every answer is a Task.
    assert_eq!(
        written(Dialect::V0_1, send, json!({"message": message()})),
        json!({
            "id": "t-1", "sessionId": "c-1",
            "status": {"state": "completed", "message": older_message(Dialect::V0_1)},
        })
    );
}

fn status_update(state: &str) -> Value {
    json!({"statusUpdate": {
        "taskId": "t-1", "contextId": "c-1", "status": {"state": state}, "metadata": {"u": 1},
    }})
}

fn artifact_update() -> Value {
    json!({"artifactUpdate": {
        "taskId": "t-1", "contextId": "c-1", "append": true, "lastChunk": true, "metadata": {"u": 1},
        "artifact": {"artifactId": "artifact-0", "parts": [{"text": "x"}]},
    }})
}

fn events(dialect: Dialect, event: Value, is_final: bool) -> Vec<Value> {
    write_event(dialect, event, is_final, &mut Indices::default())
}

#[test]
fn updates_are_written_and_read_in_every_dialect() {
    let table = [
        (
            Dialect::V0_3,
            json!({"kind": "status-update", "taskId": "t-1", "contextId": "c-1",
                "status": {"state": "auth-required"}, "final": true, "metadata": {"u": 1}}),
            json!({"kind": "artifact-update", "taskId": "t-1", "contextId": "c-1", "append": true,
                "lastChunk": true, "metadata": {"u": 1},
                "artifact": {"artifactId": "artifact-0", "parts": [{"kind": "text", "text": "x"}]}}),
        ),
        (
            Dialect::V0_3Proto,
            json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1",
                "status": {"state": "TASK_STATE_AUTH_REQUIRED"}, "final": true, "metadata": {"u": 1}}}),
            json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "append": true,
                "lastChunk": true, "metadata": {"u": 1},
                "artifact": {"artifactId": "artifact-0", "parts": [{"text": "x"}]}}}),
        ),
        (
            Dialect::V0_1,
            json!({"id": "t-1", "status": {"state": "input-required"}, "final": true,
                "metadata": {"u": 1}}),
            json!({"id": "t-1", "metadata": {"u": 1},
                "artifact": {"index": 0, "append": true, "lastChunk": true,
                    "parts": [{"type": "text", "text": "x"}]}}),
        ),
    ];
    for (dialect, status, artifact) in table {
        let updates = events(dialect, status_update("TASK_STATE_AUTH_REQUIRED"), true);
        assert_eq!(updates, std::slice::from_ref(&status), "{dialect:?}");
        let updates = events(dialect, artifact_update(), false);
        assert_eq!(updates, std::slice::from_ref(&artifact), "{dialect:?}");
        for operation in [Operation::SendStreamingMessage, Operation::SubscribeToTask] {
            // 0.1 tells no contexts, so that the one asked for stands in, and knows no such state.
            let state = match dialect {
                Dialect::V0_1 => "TASK_STATE_INPUT_REQUIRED",
                _ => "TASK_STATE_AUTH_REQUIRED",
            };
            let read = dialect.read_result(operation, status.clone(), "c-1");
            assert_eq!(read, status_update(state), "{dialect:?}");
            let read = dialect.read_result(operation, artifact.clone(), "c-1");
            assert_eq!(read, artifact_update(), "{dialect:?}");
        }
    }
}

#[test]
fn whole_tasks_and_messages_in_streams_are_written_in_every_dialect() {
    for dialect in [Dialect::V0_3, Dialect::V0_3Proto] {
        let wrap = |name: &str, inner: Value| match dialect {
            Dialect::V0_3Proto => json!({ name: inner }),
            _ => inner,
        };
        let task = events(dialect, json!({"task": task()}), true);
        assert_eq!(task, [wrap("task", older_task(dialect))]);
        let message = events(dialect, json!({"message": message()}), true);
        assert_eq!(message, [wrap("message", older_message(dialect))]);
    }
    let status = older_task(Dialect::V0_1)["status"].take();
    let mut artifact = older_task(Dialect::V0_1)["artifacts"][0].take();
    artifact["lastChunk"] = json!(true);
    assert_eq!(
        events(Dialect::V0_1, json!({"task": task()}), true),
        [
            json!({"id": "t-1", "artifact": artifact}),
            json!({"id": "t-1", "status": status, "final": true}),
        ]
    );
    let said = json!({"state": "completed", "message": older_message(Dialect::V0_1)});
    assert_eq!(
        events(Dialect::V0_1, json!({"message": message()}), true),
        [json!({"id": "t-1", "status": said, "final": true})]
    );
}

#[test]
fn artifacts_of_a_stream_of_0_1_keep_their_numbers() {
    let mut indices = Indices::default();
    let mut index = |id: &str| {
        let mut update = artifact_update();
        update["artifactUpdate"]["artifact"]["artifactId"] = id.into();
        let events = write_event(Dialect::V0_1, update, false, &mut indices);
        events[0]["artifact"]["index"].clone()
    };
    assert_eq!([index("a"), index("b"), index("a"), index("c")], [0, 1, 0, 2]);
}

#[test]
fn every_state_is_written_and_read_in_every_dialect() {
    let lines = [
        "UNSPECIFIED",
        "SUBMITTED",
        "WORKING",
        "COMPLETED",
        "FAILED",
        "CANCELED",
        "INPUT_REQUIRED",
        "REJECTED",
        "AUTH_REQUIRED",
    ]
    .map(|name| {
        let state = format!("TASK_STATE_{name}");
        let said = ALL.map(|dialect| {
            let value = json!({"id": "t", "status": {"state": state}});
            let older = written(dialect, Operation::GetTask, value.clone());
            let back = read(dialect, Operation::GetTask, older.clone());
            let is_known =
                dialect != Dialect::V0_1 || !["REJECTED", "AUTH_REQUIRED"].contains(&name);
            assert_eq!(back == value, is_known, "{dialect:?} {name}");
            older["status"]["state"].as_str().expect("a text").to_owned()
        });
        said.join(" ")
    });
    insta::assert_snapshot!(lines.join("\n"), @r"
    unknown TASK_STATE_UNSPECIFIED unknown
    submitted TASK_STATE_SUBMITTED submitted
    working TASK_STATE_WORKING working
    completed TASK_STATE_COMPLETED completed
    failed TASK_STATE_FAILED failed
    canceled TASK_STATE_CANCELLED canceled
    input-required TASK_STATE_INPUT_REQUIRED input-required
    rejected TASK_STATE_REJECTED failed
    auth-required TASK_STATE_AUTH_REQUIRED input-required
    ");
}
