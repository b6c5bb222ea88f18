//! HTTP+JSON on the wire, request by request.

use std::sync::Arc;

use super::{agent, exchange, post_with};
use crate::{
    echo::{self, Echo, Running},
    limits::ServerLimits,
};

const HEADERS: &str = "A2A-Version: 1.0\r\nContent-Type: application/a2a+json\r\n";

const MESSAGE: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

fn say(text: &str) -> String {
    MESSAGE.replace("hi", text)
}

async fn get(agent: &Running, target: &str) -> String {
    request(agent, "GET", target, "A2A-Version: 1.0\r\n").await
}

async fn request(agent: &Running, verb: &str, target: &str, headers: &str) -> String {
    let head =
        format!("{verb} {target} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n{headers}\r\n");
    exchange(agent, &head).await
}

/// Status line and body.
fn short(answer: &str) -> String {
    let (head, body) = answer.split_once("\n\n").unwrap_or((answer, ""));
    format!("{} {body}", head.lines().next().unwrap_or_default().trim_start_matches("HTTP/1.1 "))
}

async fn whole() -> (Arc<Echo>, Running) {
    let echo = Arc::new(Echo::whole());
    let agent = echo::serve(echo.clone(), ServerLimits::default()).await;
    (echo, agent)
}

#[tokio::test]
async fn a_message_is_answered_with_a_task() {
    let answer = post_with(&agent().await, "/a2a/message:send", HEADERS, MESSAGE).await;
    insta::assert_snapshot!(answer, @r#"
    HTTP/1.1 200 OK
    content-type: application/a2a+json
    content-length: 195
    connection: close

    {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"artifact-1","parts":[{"text":"hi"}]}]}}
    "#);
}

#[tokio::test]
async fn an_error_has_its_status_and_its_details() {
    let agent = agent().await;
    let answers = [
        get(&agent, "/a2a/tasks/no").await,
        post_with(&agent, "/a2a/message:send", HEADERS, &say("RESOURCE_EXHAUSTED")).await,
        post_with(&agent, "/a2a/message:send", HEADERS, "{}").await,
    ];
    insta::assert_snapshot!(answers.join("\n\n"), @r#"
    HTTP/1.1 404 Not Found
    content-type: application/a2a+json
    content-length: 230
    connection: close

    {"error":{"code":404,"status":"NOT_FOUND","message":"there is no task \"no\" here","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"taskId":"no"},"reason":"TASK_NOT_FOUND"}]}}

    HTTP/1.1 429 Too Many Requests
    content-type: application/a2a+json
    retry-after: 2
    content-length: 294
    connection: close

    {"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"as you wish","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","metadata":{"taskId":"task-1"},"reason":"RESOURCE_EXHAUSTED"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}

    HTTP/1.1 400 Bad Request
    content-type: application/a2a+json
    content-length: 335
    connection: close

    {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: message: is required","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"is required","field":"message"}]}]}}
    "#);
}

#[tokio::test]
async fn events_come_bare_and_an_error_is_the_last() {
    let agent = agent().await;
    let answers = [
        post_with(&agent, "/a2a/message:stream", HEADERS, MESSAGE).await,
        post_with(&agent, "/a2a/message:stream", HEADERS, &say("late error")).await,
        post_with(&agent, "/a2a/message:stream", HEADERS, &say("early error")).await,
    ];
    insta::assert_snapshot!(answers.join("\n\n"), @r#"
    HTTP/1.1 200 OK
    content-type: text/event-stream
    cache-control: no-cache
    x-accel-buffering: no
    connection: close
    transfer-encoding: chunked

    87
    data: {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}


    96
    data: {"artifactUpdate":{"taskId":"task-1","contextId":"context-1","artifact":{"artifactId":"artifact-1","parts":[{"text":"hi"}]},"lastChunk":true}}


    95
    data: {"statusUpdate":{"taskId":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}}


    0



    HTTP/1.1 200 OK
    content-type: text/event-stream
    cache-control: no-cache
    x-accel-buffering: no
    connection: close
    transfer-encoding: chunked

    87
    data: {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}}


    B1
    data: {"error":{"code":503,"status":"UNAVAILABLE","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"UNAVAILABLE"}]}}


    0



    HTTP/1.1 404 Not Found
    content-type: application/a2a+json
    content-length: 238
    connection: close

    {"error":{"code":404,"status":"NOT_FOUND","message":"there is no task \"task-1\" here","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"taskId":"task-1"},"reason":"TASK_NOT_FOUND"}]}}
    "#);
}

#[tokio::test]
async fn every_route_reaches_its_operation_with_what_its_path_says() {
    let (echo, agent) = whole().await;
    let post = async |target: &str, body: &str| {
        post_with(&agent, target, HEADERS, body).await;
        echo.take_request()
    };
    let asked = async |verb: &str, target: &str| {
        request(&agent, verb, target, "A2A-Version: 1.0\r\n").await;
        echo.take_request()
    };
    let configs = "/a2a/tasks/task-1/pushNotificationConfigs";
    let lines = [
        post("/a2a/message:send", MESSAGE).await,
        post("/a2a/acme/message:send", MESSAGE).await,
        post("/a2a/message:send", &MESSAGE.replacen('{', r#"{"tenant":"body","#, 1)).await,
        post("/a2a/acme/message:send", &MESSAGE.replacen('{', r#"{"tenant":"body","#, 1)).await,
        post("/a2a/acme/message:stream", MESSAGE).await,
        asked("GET", "/a2a/acme/tasks/task-1?historyLength=3").await,
        asked("GET", "/a2a/acme/tasks?pageSize=3").await,
        post("/a2a/tasks/task-1:cancel", "").await,
        post("/a2a/acme/tasks/task-1:cancel", r#"{"id":"other","metadata":{"why":1}}"#).await,
        asked("POST", "/a2a/tasks/task-1:cancel").await,
        post("/a2a/tasks/task-1:subscribe", "").await,
        asked("GET", "/a2a/acme/tasks/task-1:subscribe").await,
        post(configs, r#"{"url":"http://x/","taskId":"other"}"#).await,
        asked("GET", &format!("{configs}/hook")).await,
        asked("GET", &format!("{configs}?page_size=4&pageToken=x")).await,
        asked("DELETE", &format!("{configs}/hook")).await,
        asked("GET", "/a2a/acme/extendedAgentCard").await,
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}
    {"tenant":"acme","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}
    {"tenant":"body","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}
    {"tenant":"acme","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}
    {"tenant":"acme","message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}
    {"tenant":"acme","id":"task-1","historyLength":3}
    {"tenant":"acme","pageSize":3}
    {"id":"task-1"}
    {"tenant":"acme","id":"task-1","metadata":{"why":1}}
    {"id":"task-1"}
    {"id":"task-1"}
    {"tenant":"acme","id":"task-1"}
    {"taskId":"task-1","url":"http://x/"}
    {"taskId":"task-1","id":"hook"}
    {"taskId":"task-1","pageSize":4,"pageToken":"x"}
    {"taskId":"task-1","id":"hook"}
    {"tenant":"acme"}
    "#);
}

#[tokio::test]
async fn query_parameters_are_read_in_both_spellings() {
    let (echo, agent) = whole().await;
    let mut lines = Vec::new();
    for query in [
        "contextId=a%20b%2Bc&status=TASK_STATE_WORKING&pageSize=7&pageToken=5&historyLength=0&includeArtifacts=true&statusTimestampAfter=2026-01-02T03:04:05.678Z",
        "context_id=true&status=2&page_size=7&page_token=a&history_length=0&include_artifacts=false&status_timestamp_after=2026-01-02T03:04:05Z",
        "pageSize=&status=&tenant=t&A2A-Version=1.0&unknown=1",
        "pageSize=many",
        "includeArtifacts=yes",
        "status=working",
        "statusTimestampAfter=yesterday",
        "pageSize=0",
    ] {
        let answer = get(&agent, &format!("/a2a/tasks?{query}")).await;
        lines.push(format!("{} {}", echo.take_request(), short(&answer)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"contextId":"a b+c","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"5","historyLength":0,"statusTimestampAfter":"2026-01-02T03:04:05.678Z","includeArtifacts":true} 200 OK {"tasks":[],"nextPageToken":"","pageSize":7,"totalSize":0}
    {"contextId":"true","status":"TASK_STATE_WORKING","pageSize":7,"pageToken":"a","historyLength":0,"statusTimestampAfter":"2026-01-02T03:04:05Z","includeArtifacts":false} 200 OK {"tasks":[],"nextPageToken":"","pageSize":7,"totalSize":0}
    {"tenant":"t"} 200 OK {"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}
     400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: pageSize: \"many\" is not a 32-bit integer","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"\"many\" is not a 32-bit integer","field":"pageSize"}]}]}}
     400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: includeArtifacts: invalid type: string \"yes\", expected a boolean","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"invalid type: string \"yes\", expected a boolean","field":"includeArtifacts"}]}]}}
     400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: status: unknown enum value \"working\"","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"unknown enum value \"working\"","field":"status"}]}]}}
     400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: statusTimestampAfter: \"yesterday\" is not an RFC 3339 timestamp: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"\"yesterday\" is not an RFC 3339 timestamp: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y","field":"statusTimestampAfter"}]}]}}
     400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: pageSize: is 0; it may be 1 to 100","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"is 0; it may be 1 to 100","field":"pageSize"}]}]}}
    "#);
}

#[tokio::test]
async fn what_is_asked_wrongly_is_told_so() {
    let agent = agent().await;
    let plain = "A2A-Version: 1.0\r\nContent-Type: text/plain\r\n";
    let unversioned = "Content-Type: application/json\r\n";
    let newer = "A2A-Version: 2.0\r\nContent-Type: application/json\r\n";
    let lines = [
        get(&agent, "/a2a/task/1").await,
        get(&agent, "/a2a/message:send").await,
        request(&agent, "PUT", "/a2a/tasks/1:subscribe", "A2A-Version: 1.0\r\n").await,
        post_with(&agent, "/a2a/message:send", plain, MESSAGE).await,
        post_with(&agent, "/a2a/message:send", "A2A-Version: 1.0\r\n", MESSAGE).await,
        post_with(&agent, "/a2a/message:send", unversioned, MESSAGE).await,
        post_with(&agent, "/a2a/message:send", newer, MESSAGE).await,
        post_with(&agent, "/a2a/message:send", HEADERS, "{").await,
        post_with(&agent, "/a2a/message:send", HEADERS, "[]").await,
        post_with(&agent, "/a2a/message:send", HEADERS, r#"{"message":{"messageId":7}}"#).await,
        get(&agent, "/a2a/extendedAgentCard").await,
    ];
    let wrong_verb = &lines[2];
    let lines: Vec<String> = lines.iter().map(|line| short(line)).collect();
    assert!(wrong_verb.contains("\nallow: POST, GET\n"), "{wrong_verb}");
    insta::assert_snapshot!(lines.join("\n"), @r#"
    404 Not Found {"error":{"code":404,"status":"UNIMPLEMENTED","message":"there is nothing at /a2a/task/1; A2A's paths are like /a2a/tasks/ID","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"METHOD_NOT_FOUND"}]}}
    405 Method Not Allowed {"error":{"code":405,"status":"UNIMPLEMENTED","message":"/a2a/message:send does not take GET; it takes POST","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"METHOD_NOT_FOUND"}]}}
    405 Method Not Allowed {"error":{"code":405,"status":"UNIMPLEMENTED","message":"/a2a/tasks/1:subscribe does not take PUT; it takes POST and GET","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"METHOD_NOT_FOUND"}]}}
    415 Unsupported Media Type {"error":{"code":415,"status":"INVALID_ARGUMENT","message":"the content type is text/plain; send application/json","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"CONTENT_TYPE_NOT_SUPPORTED"}]}}
    415 Unsupported Media Type {"error":{"code":415,"status":"INVALID_ARGUMENT","message":"the content type is none; send application/json","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"CONTENT_TYPE_NOT_SUPPORTED"}]}}
    400 Bad Request {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"a request without the A2A-Version header means version 0.3, which is not served here; send \"A2A-Version: 1.0\"","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    400 Bad Request {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"version 2.0 is not served here; this interface speaks 1.0","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"},"reason":"VERSION_NOT_SUPPORTED"}]}}
    400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the request is not JSON: EOF while parsing an object","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"PARSE_ERROR"}]}}
    400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: body: invalid type: sequence, expected an object (SendMessageRequest)","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"invalid type: sequence, expected an object (SendMessageRequest)","field":"body"}]}]}}
    400 Bad Request {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"invalid parameters: message.messageId: invalid type: integer `7`, expected a string","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","reason":"INVALID_PARAMS"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"invalid type: integer `7`, expected a string","field":"message.messageId"}]}]}}
    400 Bad Request {"error":{"code":400,"status":"FAILED_PRECONDITION","message":"GetExtendedAgentCard is not supported: this agent has no extended card","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNSUPPORTED_OPERATION"}]}}
    "#);
}

#[tokio::test]
async fn plain_json_is_taken_and_given_to_those_who_ask_for_it() {
    let agent = agent().await;
    let mut lines = Vec::new();
    for (content_type, accept) in [
        ("application/json", "Accept: application/json\r\n"),
        ("application/json; charset=utf-8", ""),
        ("application/a2a+json", "Accept: */*\r\n"),
        ("application/json", "Accept: application/json, application/a2a+json\r\n"),
        ("application/json", "Accept: text/html;q=0.5, Application/JSON;q=0.9\r\n"),
    ] {
        let headers = format!("A2A-Version: 1.0\r\nContent-Type: {content_type}\r\n{accept}");
        let answer = post_with(&agent, "/a2a/message:send", &headers, MESSAGE).await;
        lines.push(answer.lines().nth(1).unwrap_or_default().to_owned());
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    content-type: application/json
    content-type: application/a2a+json
    content-type: application/a2a+json
    content-type: application/a2a+json
    content-type: application/json
    ");
}

#[tokio::test]
async fn the_version_may_stand_in_the_query_and_extensions_are_granted() {
    let echo = Arc::new(Echo::with_extension("urn:x", false));
    let agent = echo::serve(echo, ServerLimits::default()).await;
    let headers = "A2A-Extensions: urn:x, urn:y\r\n";
    let answer = request(&agent, "GET", "/a2a/tasks?a2a-version=1.0", headers).await;
    insta::assert_snapshot!(answer, @r#"
    HTTP/1.1 200 OK
    content-type: application/a2a+json
    a2a-extensions: urn:x
    content-length: 59
    connection: close

    {"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}
    "#);
}
