//! Parameters, in both directions.

use super::*;

fn send() -> Value {
    json!({
        "message": message(),
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "returnImmediately": true,
            "taskPushNotificationConfig": {
                "id": "h", "url": "https://hook.example", "token": "t",
                "authentication": {"scheme": "Bearer", "credentials": "c"},
            },
        },
        "metadata": {"r": 1},
    })
}

fn hook() -> Value {
    json!({
        "id": "h", "url": "https://hook.example", "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"},
    })
}

#[test]
fn sending_is_asked_for_in_0_3() {
    for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
        let older = json!({
            "message": older_message(Dialect::V0_3),
            "configuration": {
                "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": false,
                "pushNotificationConfig": hook(),
            },
            "metadata": {"r": 1},
        });
        let mut asked = send();
        asked["tenant"] = json!("left out");
        assert_eq!(write_params(Dialect::V0_3, operation, asked), older);
        assert_eq!(read_params(Dialect::V0_3, operation, older), send());

        let older = json!({
            "message": older_message(Dialect::V0_3Proto),
            "configuration": {
                "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": false,
                "pushNotification": hook(),
            },
            "metadata": {"r": 1},
        });
        assert_eq!(write_params(Dialect::V0_3Proto, operation, send()), older);
        let back = carried(Dialect::V0_3Proto, send());
        assert_eq!(read_params(Dialect::V0_3Proto, operation, older.clone()), back);
        // The definition's own name of the field is as good as its JSON name.
        let by_name = json!({
            "request": older["message"], "configuration": older["configuration"], "metadata": {"r": 1},
        });
        assert_eq!(read_params(Dialect::V0_3Proto, operation, by_name), back);
    }
}

#[test]
fn whether_to_wait_is_said_as_each_dialect_says_it() {
    let asked = |configuration: Value| json!({"message": {}, "configuration": configuration});
    let immediate = |dialect, configuration| {
        let read = read_params(dialect, Operation::SendMessage, asked(configuration));
        read["configuration"]["returnImmediately"].clone()
    };
    for dialect in [Dialect::V0_3, Dialect::V0_3Proto] {
        assert_eq!(immediate(dialect, json!({"blocking": true})), false);
        assert_eq!(immediate(dialect, json!({"blocking": false})), true);
        let written = write_params(dialect, Operation::SendMessage, json!({"message": {}}));
        assert_eq!(written["configuration"], json!({"blocking": true, "acceptedOutputModes": []}));
    }
    // Left out is yes in 0.3's text, and no in protobuf's JSON.
    assert_eq!(immediate(Dialect::V0_3, json!({})), false);
    assert_eq!(immediate(Dialect::V0_3Proto, json!({})), true);
}

#[test]
fn sending_is_asked_for_in_0_1_under_an_id_of_the_clients() {
    let mut hook = hook();
    hook.as_object_mut().expect("an object").remove("id");
    let older = json!({
        "id": "t-1", "sessionId": "c-1", "message": older_message(Dialect::V0_1),
        "historyLength": 3, "acceptedOutputModes": ["text/plain"], "pushNotification": hook,
        "metadata": {"r": 1},
    });
    let dialect = Dialect::V0_1;
    for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
        assert_eq!(write_params(dialect, operation, send()), older);
        let mut read = read_params(dialect, operation, older.clone());
        let id = read["message"].as_object_mut().expect("an object").remove("messageId");
        assert!(id.is_some_and(|id| id.as_str().is_some_and(|id| !id.is_empty())), "{read}");
        let mut back = send();
        let message = back["message"].as_object_mut().expect("an object");
        message.retain(|name, _| {
            !["messageId", "extensions", "referenceTaskIds"].contains(&name.as_str())
        });
        let configuration = back["configuration"].as_object_mut().expect("an object");
        configuration.remove("returnImmediately");
        configuration["taskPushNotificationConfig"]["id"] = json!("default");
        assert_eq!(read, back);
    }
    // A Message that begins a Task gives it its own id.
    let mut first = send();
    first["message"].as_object_mut().expect("an object").remove("taskId");
    assert_eq!(write_params(dialect, Operation::SendMessage, first)["id"], "m-1");
}

#[test]
fn tasks_are_asked_for_alike_in_every_dialect() {
    let table = [
        (Operation::GetTask, json!({"id": "t", "historyLength": 0})),
        (Operation::CancelTask, json!({"id": "t", "metadata": {"a": 1}})),
        (Operation::SubscribeToTask, json!({"id": "t"})),
    ];
    for (operation, asked) in table {
        for dialect in ALL {
            let mut with_tenant = asked.clone();
            with_tenant["tenant"] = json!("x");
            assert_eq!(write_params(dialect, operation, with_tenant.clone()), asked);
            assert_eq!(read_params(dialect, operation, with_tenant), asked);
        }
    }
    for dialect in ALL {
        assert_eq!(read_params(dialect, Operation::GetExtendedAgentCard, Value::Null), json!({}));
    }
}

#[test]
fn webhooks_are_asked_for_and_answered_in_every_dialect() {
    let set = Operation::CreateTaskPushNotificationConfig;
    let config = json!({
        "taskId": "t", "id": "h", "url": "https://hook.example", "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "c"},
    });
    let named =
        json!({"name": "tasks/t/pushNotificationConfigs/h", "pushNotificationConfig": hook()});
    let table = [
        (Dialect::V0_3, json!({"taskId": "t", "pushNotificationConfig": hook()}), None),
        (Dialect::V0_3Proto, named.clone(), Some(json!({"config": named.clone()}))),
    ];
    for (dialect, result, params) in table {
        assert_eq!(write_result(dialect, set, config.clone()), result);
        assert_eq!(dialect.read_result(set, result.clone(), ""), config);
        let params = params.unwrap_or_else(|| result.clone());
        assert_eq!(write_params(dialect, set, config.clone()), params);
        assert_eq!(read_params(dialect, set, params), config);
        let list = match dialect {
            Dialect::V0_3Proto => json!({"configs": [result]}),
            _ => json!([result]),
        };
        let listing = Operation::ListTaskPushNotificationConfigs;
        let configs = json!({"configs": [config], "nextPageToken": ""});
        assert_eq!(write_result(dialect, listing, configs), list);
        assert_eq!(dialect.read_result(listing, list, ""), json!({"configs": [config]}));
    }
    // Bodies of the JavaScript SDK are the registration itself.
    assert_eq!(read_params(Dialect::V0_3Proto, set, named), config);
    let mut unnamed = hook();
    unnamed.as_object_mut().expect("an object").remove("id");
    let of_0_1 = json!({"id": "t", "pushNotificationConfig": unnamed});
    assert_eq!(write_params(Dialect::V0_1, set, config.clone()), of_0_1);
    let mut named = config;
    named["id"] = json!("default");
    assert_eq!(read_params(Dialect::V0_1, set, of_0_1), named);
}

#[test]
fn one_webhook_is_asked_for_by_two_ids() {
    let asked = json!({"taskId": "t", "id": "h"});
    let older = json!({"id": "t", "pushNotificationConfigId": "h"});
    for operation in
        [Operation::GetTaskPushNotificationConfig, Operation::DeleteTaskPushNotificationConfig]
    {
        assert_eq!(write_params(Dialect::V0_3, operation, asked.clone()), older);
        assert_eq!(read_params(Dialect::V0_3, operation, older.clone()), asked);
    }
    let get = Operation::GetTaskPushNotificationConfig;
    assert_eq!(write_params(Dialect::V0_1, get, asked), json!({"id": "t"}));
    let unnamed = json!({"taskId": "t", "id": "default"});
    assert_eq!(read_params(Dialect::V0_1, get, json!({"id": "t"})), unnamed);
    let list = Operation::ListTaskPushNotificationConfigs;
    assert_eq!(
        write_params(Dialect::V0_3, list, json!({"taskId": "t", "pageSize": 3})),
        json!({"id": "t"})
    );
    assert_eq!(read_params(Dialect::V0_3, list, json!({"id": "t"})), json!({"taskId": "t"}));
    let delete = Operation::DeleteTaskPushNotificationConfig;
    assert_eq!(write_result(Dialect::V0_3, delete, json!({})), Value::Null);
    assert_eq!(write_result(Dialect::V0_3Proto, delete, json!({})), json!({}));
    assert_eq!(Dialect::V0_3.read_result(delete, Value::Null, ""), json!({}));
}

#[test]
fn every_method_is_found_by_its_name() {
    let line = |operation: Operation| {
        let names = [Dialect::V0_3, Dialect::V0_1].map(|dialect| {
            let method = dialect.method(operation);
            if let Some(method) = method {
                assert_eq!(dialect.operation(method), Some(operation));
            }
            method.unwrap_or("-")
        });
        format!("{operation} {}", names.join(" "))
    };
    let lines: Vec<String> = Operation::table().iter().map(|row| line(row.operation)).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    SendMessage message/send tasks/send
    SendStreamingMessage message/stream tasks/sendSubscribe
    GetTask tasks/get tasks/get
    ListTasks - -
    CancelTask tasks/cancel tasks/cancel
    SubscribeToTask tasks/resubscribe tasks/resubscribe
    CreateTaskPushNotificationConfig tasks/pushNotificationConfig/set tasks/pushNotification/set
    GetTaskPushNotificationConfig tasks/pushNotificationConfig/get tasks/pushNotification/get
    ListTaskPushNotificationConfigs tasks/pushNotificationConfig/list -
    DeleteTaskPushNotificationConfig tasks/pushNotificationConfig/delete -
    GetExtendedAgentCard agent/getAuthenticatedExtendedCard -
    ");
    assert_eq!(Dialect::V0_3.operation("tasks/send"), None);
    assert_eq!(Dialect::V0_1.operation("message/send"), None);
    assert_eq!(Dialect::V0_3.operation("SendMessage"), None);
}
