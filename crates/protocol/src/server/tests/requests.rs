//! The wire, request by request.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{SOON, agent, json, post, post_with};
use crate::{
    echo::{self, Echo},
    limits::ServerLimits,
    v1::AgentCapabilities,
};

const SEND: &str = r#"{"jsonrpc":"2.0","id":"a-1","method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#;

fn say(text: &str) -> String {
    SEND.replace("hi", text)
}

#[tokio::test]
async fn a_message_is_answered_with_a_task() {
    insta::assert_snapshot!(post(&agent().await, SEND).await, @r#"
    HTTP/1.1 200 OK
    content-type: application/json
    content-length: 233
    connection: close

    {"jsonrpc":"2.0","id":"a-1","result":{"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"artifact-1","parts":[{"text":"hi"}]}]}}}
    "#);
}

#[tokio::test]
async fn a_message_is_answered_with_a_message() {
    insta::assert_snapshot!(json(&agent().await, &say("message")).await, @r#"{"jsonrpc":"2.0","id":"a-1","result":{"message":{"messageId":"m-2","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}}"#);
}

#[tokio::test]
async fn the_unary_operations_answer_the_bare_result() {
    let agent = agent().await;
    let call = |method: &str, params: &str| {
        format!(r#"{{"params":{params},"method":"{method}","id":7,"jsonrpc":"2.0"}}"#)
    };
    let answers = [
        json(&agent, &call("GetTask", r#"{"id":"task-1"}"#)).await,
        json(&agent, &call("GetTask", r#"{"id":"no"}"#)).await,
        json(&agent, &call("ListTasks", "{}")).await,
        json(&agent, &call("ListTasks", r#"{"page_size":3}"#)).await,
        json(&agent, &call("CancelTask", r#"{"id":"task-1"}"#)).await,
        json(&agent, &call("CancelTask", r#"{"id":"done"}"#)).await,
    ];
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","id":7,"result":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}
    {"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"there is no task \"no\" here","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"taskId":"no"},"reason":"TASK_NOT_FOUND"}]}}
    {"jsonrpc":"2.0","id":7,"result":{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}}
    {"jsonrpc":"2.0","id":7,"result":{"tasks":[],"nextPageToken":"","pageSize":3,"totalSize":0}}
    {"jsonrpc":"2.0","id":7,"result":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_CANCELED","timestamp":"2026-01-02T03:04:05.678Z"}}}
    {"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"task \"done\" is completed and cannot be canceled","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"taskId":"done"},"reason":"TASK_NOT_CANCELABLE"}]}}
    "#);
}

#[tokio::test]
async fn requests_that_are_none_are_told_so_under_the_id_they_gave() {
    let agent = agent().await;
    let bodies = [
        "",
        "{",
        "[{",
        "nonsense",
        "[]",
        r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"task-1"}}]"#,
        "7",
        r#"{"jsonrpc":"2.0","method":"GetTask","params":{"id":"task-1"}}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#,
        r#"{"id":1,"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"message/send","params":{}}"#,
    ];
    let mut answers = Vec::new();
    for body in bodies {
        answers.push(json(&agent, body).await);
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the request is not JSON: EOF while parsing a value at line 1 column 0"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the request is not JSON: EOF while parsing an object at line 1 column 1"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the request is not JSON: EOF while parsing an object at line 1 column 2"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the request is not JSON: expected ident at line 1 column 2"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not part of A2A; send one request at a time"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not part of A2A; send one request at a time"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the request is not a JSON-RPC request: invalid type: integer `7`, expected a request object at line 1 column 1"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the request has no id; notifications are not part of A2A"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id must be a string, a number or null"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the id must be a string, a number or null"}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the member \"jsonrpc\" must be \"2.0\""}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the member \"jsonrpc\" must be \"2.0\""}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the member \"method\" must be a string"}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the member \"method\" must be a string"}}
    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the request is not a JSON-RPC request: duplicate field `id` at line 1 column 28"}}
    {"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"there is no method \"message/send\"; A2A 1.0 names them like SendMessage or GetTask"}}
    "#);
}

#[tokio::test]
async fn ids_are_echoed_as_they_were_written() {
    let agent = agent().await;
    for id in ["null", "0", "-1", "1.50", "12345678901234567890123", r#""""#, r#""\u00e9 \" x""#] {
        let answer =
            json(&agent, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ListTasks"}}"#)).await;
        assert!(
            answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#)),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn wrong_parameters_are_all_named() {
    let agent = agent().await;
    let deep = format!("{}1{}", "[".repeat(33), "]".repeat(33));
    let params = [
        ("SendMessage", "{}".to_owned()),
        (
            "SendMessage",
            r#"{"message":{"parts":[{"text":"a"},{}]},"configuration":{"historyLength":-1}}"#
                .to_owned(),
        ),
        ("SendMessage", r#"{"message":{"messageId":7}}"#.to_owned()),
        (
            "SendMessage",
            format!(
                r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{deep}}}]}}}}"#
            ),
        ),
        (
            "SendMessage",
            r#"{"message":{"messageId":"m","role":"user","parts":[{"text":"a"}]}}"#.to_owned(),
        ),
        ("SendMessage", "[1]".to_owned()),
        ("GetTask", "null".to_owned()),
        ("GetTask", r#"{"id":"task-1","historyLength":-2}"#.to_owned()),
        ("ListTasks", r#"{"pageSize":0}"#.to_owned()),
        ("ListTasks", r#"{"pageSize":101,"historyLength":-1,"status":77}"#.to_owned()),
        ("CancelTask", "{}".to_owned()),
        ("SubscribeToTask", "{}".to_owned()),
    ];
    let mut answers = Vec::new();
    for (method, params) in params {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let answer: serde_json::Value =
            serde_json::from_str(&json(&agent, &body).await).expect("JSON");
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        answers.push(answer["error"]["data"][0]["fieldViolations"].to_string());
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    [{"description":"is required","field":"message"}]
    [{"description":"is required","field":"message.messageId"},{"description":"is required","field":"message.role"},{"description":"holds none of text, raw, url and data","field":"message.parts[1]"},{"description":"must not be negative; leave it out for no limit","field":"configuration.historyLength"}]
    [{"description":"invalid type: integer `7`, expected a string","field":"message.messageId"}]
    [{"description":"JSON is nested more than 32 levels deep; flatten it, or send it as text or a file","field":"message.parts[0].data[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]"}]
    [{"description":"unknown enum value \"user\"","field":"message.role"}]
    [{"description":"invalid type: sequence, expected an object (SendMessageRequest)","field":"params"}]
    [{"description":"is required","field":"id"}]
    [{"description":"must not be negative; leave it out for no limit","field":"historyLength"}]
    [{"description":"is 0; it may be 1 to 100","field":"pageSize"}]
    [{"description":"is 101; it may be 1 to 100","field":"pageSize"},{"description":"77 is no task state","field":"status"},{"description":"must not be negative; leave it out for no limit","field":"historyLength"}]
    [{"description":"is required","field":"id"}]
    [{"description":"is required","field":"id"}]
    "#);
}

#[tokio::test]
async fn params_may_be_left_out_where_nothing_is_required_and_say_what_is_missing_elsewhere() {
    let agent = agent().await;
    let answer = json(&agent, r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#).await;
    insta::assert_snapshot!(answer, @r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid parameters: id: is required","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"is required","field":"id"}]}]}}"#);
}

#[tokio::test]
async fn the_version_is_read_from_header_or_query_and_nothing_means_0_3() {
    let agent = agent().await;
    let json_type = "Content-Type: application/json\r\n";
    for (path, header) in [
        ("/", "A2A-Version: 1.0\r\n"),
        ("/", "a2a-version:  1.0.1 \r\n"),
        ("/?A2A-Version=1.0", ""),
        ("/?a2a-version=1.0", "A2A-Version: \r\n"),
    ] {
        let answer = post_with(&agent, path, &format!("{json_type}{header}"), SEND).await;
        assert!(answer.contains(r#""result""#), "{path} {header}: {answer}");
    }
    let mut answers = Vec::new();
    for (path, header) in [
        ("/", ""),
        ("/", "A2A-Version: \r\n"),
        ("/", "A2A-Version: 0.3\r\n"),
        ("/", "A2A-Version: 2.0\r\n"),
        ("/", "A2A-Version: latest\r\n"),
        ("/?A2A-Version=1.0", "A2A-Version: 1.1\r\n"),
    ] {
        let answer = post_with(&agent, path, &format!("{json_type}{header}"), SEND).await;
        answers.push(answer.split_once("\n\n").expect("a body").1.to_owned());
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32009,"message":"a request without the A2A-Version header means version 0.3, which is not served here; send \"A2A-Version: 1.0\"","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32009,"message":"a request without the A2A-Version header means version 0.3, which is not served here; send \"A2A-Version: 1.0\"","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32009,"message":"version 0.3 is not served here; this interface speaks 1.0","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32009,"message":"version 2.0 is not served here; this interface speaks 1.0","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32009,"message":"version \"latest\" is not understood: a version reads Major.Minor, such as 1.0","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32009,"message":"version 1.1 is not served here; this interface speaks 1.0","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    "#);
}

#[tokio::test]
async fn only_json_is_taken() {
    let agent = agent().await;
    for kind in ["application/json", "Application/JSON; charset=utf-8", "application/a2a+json"] {
        let answer =
            post_with(&agent, "/", &format!("A2A-Version: 1.0\r\nContent-Type: {kind}\r\n"), SEND)
                .await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{kind}: {answer}");
    }
    for kind in
        ["Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n", ""]
    {
        let answer = post_with(&agent, "/", &format!("A2A-Version: 1.0\r\n{kind}"), SEND).await;
        assert!(answer.starts_with("HTTP/1.1 415"), "{kind}: {answer}");
        assert!(answer.contains("-32005"), "{answer}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_the_limits_name() {
    let limits = ServerLimits { max_body_bytes: SEND.len(), ..ServerLimits::default() };
    let agent = echo::serve(Arc::new(Echo::default()), limits).await;
    assert!(post(&agent, SEND).await.starts_with("HTTP/1.1 200"));
    insta::assert_snapshot!(post(&agent, &format!("{SEND} ")).await, @r#"
    HTTP/1.1 413 Payload Too Large
    content-type: application/json
    content-length: 117
    connection: close

    {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the request is larger than 133 bytes (max_body_bytes)"}}
    "#);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let limits =
        ServerLimits { body_timeout: Duration::from_millis(50), ..ServerLimits::default() };
    let agent = echo::serve(Arc::new(Echo::default()), limits).await;
    let mut socket = TcpStream::connect(&agent.address).await.expect("the agent listens");
    let head = "POST / HTTP/1.1\r\nHost: agent\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    socket.write_all(head.as_bytes()).await.expect("the agent reads");
    let mut answer = [0; 4096];
    let length = tokio::time::timeout(SOON, socket.read(&mut answer))
        .await
        .expect("in time")
        .expect("an answer");
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("did not arrive within 50ms (body_timeout)"), "{answer}");
}

#[tokio::test]
async fn errors_about_the_transport_keep_their_http_status_and_say_when_to_come_back() {
    let agent = agent().await;
    for (reason, status) in [
        ("UNAUTHENTICATED", 401),
        ("PERMISSION_DENIED", 403),
        ("RESOURCE_EXHAUSTED", 429),
        ("UNAVAILABLE", 503),
        ("DEADLINE_EXCEEDED", 504),
        ("TASK_NOT_FOUND", 200),
        ("INTERNAL", 200),
    ] {
        let answer = post(&agent, &say(reason)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        let is_told_when = answer.contains("\nretry-after: 2\n");
        assert_eq!(is_told_when, matches!(status, 429 | 503), "{answer}");
    }
    insta::assert_snapshot!(post(&agent, &say("RESOURCE_EXHAUSTED")).await, @r#"
    HTTP/1.1 429 Too Many Requests
    content-type: application/json
    retry-after: 2
    content-length: 291
    connection: close

    {"jsonrpc":"2.0","id":"a-1","error":{"code":-32093,"message":"as you wish","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","metadata":{"taskId":"task-1"},"reason":"RESOURCE_EXHAUSTED"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}
    "#);
}

#[tokio::test]
async fn what_the_card_does_not_declare_is_refused() {
    let agent =
        echo::serve(Arc::new(Echo::with(AgentCapabilities::default())), ServerLimits::default())
            .await;
    let message = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let inline = r#"{"configuration":{"taskPushNotificationConfig":{"url":"http://x/"}},"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let calls = [
        ("SendStreamingMessage", message),
        ("SubscribeToTask", r#"{"id":"task-1"}"#),
        ("SendMessage", inline),
        ("CreateTaskPushNotificationConfig", r#"{"taskId":"task-1","url":"http://x/"}"#),
        ("GetTaskPushNotificationConfig", r#"{"taskId":"task-1","id":"c"}"#),
        ("ListTaskPushNotificationConfigs", r#"{"taskId":"task-1"}"#),
        ("DeleteTaskPushNotificationConfig", r#"{"taskId":"task-1","id":"c"}"#),
        ("GetExtendedAgentCard", "{}"),
    ];
    let mut answers = Vec::new();
    for (method, params) in calls {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let answer: serde_json::Value =
            serde_json::from_str(&json(&agent, &body).await).expect("JSON");
        answers.push(format!("{} {}", answer["error"]["code"], answer["error"]["message"]));
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    -32004 "SendStreamingMessage is not supported: this agent does not stream"
    -32004 "SubscribeToTask is not supported: this agent does not stream"
    -32003 "CreateTaskPushNotificationConfig is not supported: this agent sends no push notifications"
    -32003 "CreateTaskPushNotificationConfig is not supported: this agent sends no push notifications"
    -32003 "GetTaskPushNotificationConfig is not supported: this agent sends no push notifications"
    -32003 "ListTaskPushNotificationConfigs is not supported: this agent sends no push notifications"
    -32003 "DeleteTaskPushNotificationConfig is not supported: this agent sends no push notifications"
    -32004 "GetExtendedAgentCard is not supported: this agent has no extended card"
    "#);
}

#[tokio::test]
async fn what_the_card_declares_without_being_there_is_answered_honestly() {
    let all = AgentCapabilities {
        push_notifications: Some(true),
        extended_agent_card: Some(true),
        ..AgentCapabilities::default()
    };
    let agent = echo::serve(Arc::new(Echo::with(all)), ServerLimits::default()).await;
    let calls = [
        ("GetExtendedAgentCard", "{}"),
        ("DeleteTaskPushNotificationConfig", r#"{"taskId":"task-1","id":"c"}"#),
        ("CreateTaskPushNotificationConfig", r#"{"url":"http://x/"}"#),
    ];
    let mut answers = Vec::new();
    for (method, params) in calls {
        answers.push(
            json(
                &agent,
                &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#),
            )
            .await,
        );
    }
    insta::assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","id":1,"error":{"code":-32007,"message":"the card declares an extended card, but none is set up","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"EXTENDED_AGENT_CARD_NOT_CONFIGURED"}]}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"DeleteTaskPushNotificationConfig is not supported: this agent sends no push notifications","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"PUSH_NOTIFICATION_NOT_SUPPORTED"}]}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"invalid parameters: taskId: is required","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"is required","field":"taskId"}]}]}}
    "#);
}

#[tokio::test]
async fn required_extensions_are_enforced_and_declared_ones_answered() {
    let agent =
        echo::serve(Arc::new(Echo::with_extension("urn:a", true)), ServerLimits::default()).await;
    insta::assert_snapshot!(json(&agent, SEND).await, @r#"{"jsonrpc":"2.0","id":"a-1","error":{"code":-32008,"message":"this agent requires extensions that the request does not declare; send \"A2A-Extensions: urn:a\"","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"requiredExtensions":"urn:a"},"reason":"EXTENSION_SUPPORT_REQUIRED"}]}}"#);
    let headers =
        "A2A-Version: 1.0\r\nContent-Type: application/json\r\nA2A-Extensions: urn:z, urn:a\r\n";
    let answer = post_with(&agent, "/", headers, SEND).await;
    assert!(answer.contains("\na2a-extensions: urn:a\n"), "{answer}");
}

#[tokio::test]
async fn the_service_sees_tenant_extensions_version_and_headers() {
    let service = Arc::new(Echo::default());
    let agent = echo::serve(service.clone(), ServerLimits::default()).await;
    let headers = "A2A-Version: 1.0\r\nContent-Type: application/json\r\nA2A-Extensions: urn:a,urn:b\r\nA2A-Extensions: urn:c\r\nX-Trace: 7\r\n";
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":"blue","id":"task-1"}}"#;
    let answer = post_with(&agent, "/", headers, body).await;
    let call = service.last();
    assert_eq!(call.tenant, "blue");
    assert_eq!(call.extensions, ["urn:a", "urn:b", "urn:c"]);
    assert_eq!(call.version.to_string(), "1.0");
    assert_eq!(call.headers["x-trace"], "7");
    assert!(!answer.contains("a2a-extensions"), "none is declared: {answer}");
}
