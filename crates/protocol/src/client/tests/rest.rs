//! HTTP+JSON as a client: what goes out, and what comes back that is not what was hoped for.

use std::sync::Arc;

use futures_util::StreamExt;

use super::{Canned, End, SOON, bindings, interface};
use crate::{
    card::Binding,
    client::{Client, ClientError, Delivery, FailureClass, Interface},
    echo::{self, Echo, TASK, says},
    error::ErrorKind,
    limits::ServerLimits,
    outbound::{Outbound, Policy},
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTasksRequest, SubscribeToTaskRequest, TaskState,
    },
};

const TASK_JSON: &str = r#"{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}"#;

fn client(url: &str, binding: Binding, tenant: &str) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    let interface = Interface { binding, tenant: tenant.to_owned(), ..interface(url) };
    Client::new(outbound, interface).expect("it can be called")
}

fn rest(canned: &Canned) -> Client {
    client(&canned.url, Binding::HttpJson, "")
}

fn get_task() -> GetTaskRequest {
    GetTaskRequest { id: TASK.to_owned(), ..GetTaskRequest::default() }
}

fn cancel() -> CancelTaskRequest {
    CancelTaskRequest { id: TASK.to_owned(), ..CancelTaskRequest::default() }
}

fn subscribe() -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { id: TASK.to_owned(), ..SubscribeToTaskRequest::default() }
}

/// The request line and the body.
fn short(request: &str) -> String {
    let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
    format!("{} {body}", head.lines().next().unwrap_or_default())
}

#[tokio::test]
async fn a_request_goes_out_as_the_specification_has_it() {
    let canned = Canned::json(r#"{"message":{"messageId":"m"}}"#).await;
    let base = format!("{}base/", canned.url);
    let client = client(&base, Binding::HttpJson, "blue 1").with_extensions(["urn:a"]);
    client.send_message(says("hi"), SOON).await.expect("an answer");
    let host = canned.url.trim_start_matches("http://").trim_end_matches('/');
    insta::assert_snapshot!(canned.last_request().replace(host, "AGENT"), @r#"
    POST /base/blue%201/message:send HTTP/1.1
    content-type: application/a2a+json
    accept: application/a2a+json, application/json
    a2a-version: 1.0
    a2a-extensions: urn:a
    user-agent: convoke/0.1.0
    accept-encoding: gzip
    host: AGENT
    content-length: 74

    {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hi"}]}}
    "#);
}

#[tokio::test]
async fn each_operation_puts_its_fields_in_path_query_and_body() {
    let canned = Canned::json(TASK_JSON).await;
    let client = rest(&canned);
    let mut lines = Vec::new();
    let mut note = || lines.push(short(&canned.last_request()));
    let odd = GetTaskRequest {
        id: "a/b ü?".to_owned(),
        history_length: Some(0),
        ..GetTaskRequest::default()
    };
    client.get_task(odd, SOON).await.expect_err("another task");
    note();
    let list = ListTasksRequest {
        context_id: "a b".to_owned(),
        status: TaskState::Working.into(),
        include_artifacts: Some(true),
        page_size: Some(5),
        ..ListTasksRequest::default()
    };
    client.list_tasks(list, SOON).await.expect("a page");
    note();
    client.list_tasks(ListTasksRequest::default(), SOON).await.expect("a page");
    note();
    client.cancel_task(cancel(), SOON).await.expect("a task");
    note();
    client
        .delete_push_config(
            DeleteTaskPushNotificationConfigRequest {
                task_id: TASK.to_owned(),
                id: "c".to_owned(),
                ..Default::default()
            },
            SOON,
        )
        .await
        .expect("any object will do");
    note();
    insta::assert_snapshot!(lines.join("\n"), @r"
    GET /tasks/a%2Fb%20%C3%BC%3F?historyLength=0 HTTP/1.1 
    GET /tasks?contextId=a+b&includeArtifacts=true&pageSize=5&status=TASK_STATE_WORKING HTTP/1.1 
    GET /tasks HTTP/1.1 
    POST /tasks/task-1:cancel HTTP/1.1 {}
    DELETE /tasks/task-1/pushNotificationConfigs/c HTTP/1.1
    ");
}

#[tokio::test]
async fn a_deletion_may_be_answered_without_a_body() {
    let canned = Canned::answer("204 No Content", "", "").await;
    let request = DeleteTaskPushNotificationConfigRequest::default();
    rest(&canned).delete_push_config(request, SOON).await.expect("it is done");
}

#[tokio::test]
async fn an_agent_that_subscribes_by_get_alone_is_asked_again() {
    let body = format!("data: {{\"task\":{TASK_JSON}}}\n\n");
    for (status, refusal) in [
        ("405 Method Not Allowed", r#"{"detail":"Method Not Allowed"}"#),
        ("404 Not Found", ""),
        (
            "405 Method Not Allowed",
            r#"{"error":{"code":405,"status":"UNIMPLEMENTED","message":"no"}}"#,
        ),
    ] {
        let first =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{refusal}", refusal.len());
        let second = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let canned = Canned::in_turn(&[&first, &second]).await;
        let stream = rest(&canned).subscribe_to_task(subscribe(), SOON).await.expect("a stream");
        let events: Vec<_> = stream.collect().await;
        assert_eq!(events.len(), 1);
        let requests = canned.requests.lock().expect("no test panics in here").clone();
        let lines: Vec<String> = requests.iter().map(|one| short(one)).collect();
        assert_eq!(
            lines,
            ["POST /tasks/task-1:subscribe HTTP/1.1 {}", "GET /tasks/task-1:subscribe HTTP/1.1 "]
        );
    }
}

#[tokio::test]
async fn a_task_that_is_not_there_is_not_asked_for_twice() {
    let body = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no such task"}}"#;
    let canned = Canned::answer("404 Not Found", "", body).await;
    let error = rest(&canned).subscribe_to_task(subscribe(), SOON).await.expect_err("not there");
    assert_eq!((error.class, error.kind), (FailureClass::NotFound, Some(ErrorKind::TaskNotFound)));
    assert_eq!(canned.requests.lock().expect("no test panics in here").len(), 1);
}

/// One line for a snapshot: class, kind, message without the port.
fn line(error: &ClientError, url: &str) -> String {
    let kind = error.kind.map_or("-".to_owned(), |kind| kind.to_string());
    let message = error.message.replace(url.trim_end_matches('/'), "http://agent");
    format!("{:?} {kind} {:?}: {message}", error.class, error.retry_after)
}

fn error_body(code: u16, status: &str, reason: Option<&str>) -> String {
    let details = reason.map_or_else(String::new, |reason| {
        format!(r#","details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"a2a-protocol.org"}}]"#)
    });
    format!(r#"{{"error":{{"code":{code},"status":"{status}","message":"no"{details}}}}}"#)
}

#[tokio::test]
async fn errors_of_both_tables_are_understood_by_reason_then_by_code() {
    let table = [
        // As A2A 1.0.0 has them.
        (409, error_body(409, "FAILED_PRECONDITION", Some("TASK_NOT_CANCELABLE"))),
        (415, error_body(415, "INVALID_ARGUMENT", Some("CONTENT_TYPE_NOT_SUPPORTED"))),
        (502, error_body(502, "INTERNAL", Some("INVALID_AGENT_RESPONSE"))),
        (400, error_body(400, "UNIMPLEMENTED", Some("VERSION_NOT_SUPPORTED"))),
        // The reason decides over status and code.
        (500, error_body(500, "INTERNAL", Some("TASK_NOT_FOUND"))),
        // Without a reason.
        (409, error_body(409, "ABORTED", None)),
        (415, error_body(415, "INVALID_ARGUMENT", None)),
        (502, error_body(502, "INTERNAL", None)),
        (400, error_body(400, "UNIMPLEMENTED", None)),
        (400, error_body(400, "FAILED_PRECONDITION", None)),
        (400, error_body(400, "INVALID_ARGUMENT", None)),
        (404, error_body(404, "NOT_FOUND", None)),
        (429, error_body(429, "RESOURCE_EXHAUSTED", None)),
        (418, error_body(418, "TEAPOT", Some("OF_ITS_OWN"))),
        (200, error_body(404, "NOT_FOUND", None)),
        // No A2A error at all.
        (503, "upstream".to_owned()),
        (404, "{}".to_owned()),
        (400, r#"{"type":"about:blank","title":"Bad"}"#.to_owned()),
    ];
    let mut lines = Vec::new();
    for (status, body) in table {
        let headers = "Content-Type: application/a2a+json\r\nRetry-After: 7\r\n";
        let canned = Canned::answer(&format!("{status} X"), headers, &body).await;
        let error = rest(&canned).cancel_task(cancel(), SOON).await.expect_err("an error");
        lines.push(format!("{status} {}", line(&error, &canned.url)));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    409 Invalid TASK_NOT_CANCELABLE Some(7s): http://agent/ answered: no (TASK_NOT_CANCELABLE); change the request
    415 Unsupported CONTENT_TYPE_NOT_SUPPORTED Some(7s): http://agent/ answered: no (CONTENT_TYPE_NOT_SUPPORTED); see its card for what it does
    502 InvalidResponse INVALID_AGENT_RESPONSE Some(7s): http://agent/ answered: no (INVALID_AGENT_RESPONSE); check that the address is an A2A interface, and tell its operator
    400 Unsupported VERSION_NOT_SUPPORTED Some(7s): http://agent/ answered: no (VERSION_NOT_SUPPORTED); see its card for what it does
    500 NotFound TASK_NOT_FOUND Some(7s): http://agent/ answered: no (TASK_NOT_FOUND); check the address and the ids in the request
    409 Invalid TASK_NOT_CANCELABLE Some(7s): http://agent/ answered: no (TASK_NOT_CANCELABLE); change the request
    415 Unsupported CONTENT_TYPE_NOT_SUPPORTED Some(7s): http://agent/ answered: no (CONTENT_TYPE_NOT_SUPPORTED); see its card for what it does
    502 InvalidResponse INVALID_AGENT_RESPONSE Some(7s): http://agent/ answered: no (INVALID_AGENT_RESPONSE); check that the address is an A2A interface, and tell its operator
    400 Unsupported UNSUPPORTED_OPERATION Some(7s): http://agent/ answered: no (UNSUPPORTED_OPERATION); see its card for what it does
    400 Invalid TASK_NOT_CANCELABLE Some(7s): http://agent/ answered: no (TASK_NOT_CANCELABLE); change the request
    400 Invalid INVALID_PARAMS Some(7s): http://agent/ answered: no (INVALID_PARAMS); change the request
    404 NotFound TASK_NOT_FOUND Some(7s): http://agent/ answered: no (TASK_NOT_FOUND); check the address and the ids in the request
    429 RateLimited RESOURCE_EXHAUSTED Some(7s): http://agent/ answered: no (RESOURCE_EXHAUSTED); call it less often
    418 Internal - Some(7s): http://agent/ answered: no (unknown code 418); tell its operator, or try another agent
    200 NotFound TASK_NOT_FOUND None: http://agent/ answered: no (TASK_NOT_FOUND); check the address and the ids in the request
    503 Unavailable UNAVAILABLE Some(7s): http://agent/ answered HTTP 503 Service Unavailable: upstream; try again later
    404 NotFound - Some(7s): http://agent/ answered HTTP 404 Not Found: {}; check in the agent's card that this is an address of HTTP+JSON
    400 Invalid - Some(7s): http://agent/ answered HTTP 400 Bad Request: {"type":"about:blank","title":"Bad"}; change the request
    "#);
}

#[tokio::test]
async fn unusable_answers_each_say_what_is_wrong() {
    let mut lines = Vec::new();
    for body in [
        "",
        "<html>",
        "[]",
        "{",
        "{}",
        r#"{"id":"task-1","status":{"state":"working"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":"task-1","result":{}}"#,
    ] {
        let canned = Canned::json(body).await;
        let error = rest(&canned).get_task(get_task(), SOON).await.expect_err("unusable");
        lines.push(line(&error, &canned.url));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    InvalidResponse - None: the answer of http://agent/ is not usable: it is empty; check that the address is an A2A interface, and tell its operator
    InvalidResponse - None: the answer of http://agent/ is not usable: it is a web page (HTML), not JSON of A2A; check that the address is an A2A interface, and tell its operator
    InvalidResponse - None: the answer of http://agent/ is not usable: it is not JSON of A2A: []; check that the address is an A2A interface, and tell its operator
    InvalidResponse - None: the answer of http://agent/ is not usable: it is not JSON of A2A: {; check that the address is an A2A interface, and tell its operator
    InvalidResponse - None: the answer of http://agent/ is not usable: the task has no status; check that the address is an A2A interface, and tell its operator
    InvalidResponse - None: the answer of http://agent/ is not usable: status.state: unknown enum value "working"; check that the address is an A2A interface, and tell its operator
    InvalidResponse - None: the answer of http://agent/ is not usable: it speaks JSON-RPC, and was called by HTTP+JSON; check in the agent's card which binding this address is of
    InvalidResponse - None: the answer of http://agent/ is not usable: it speaks JSON-RPC, and was called by HTTP+JSON; check in the agent's card which binding this address is of
    "#);
}

#[tokio::test]
async fn a_client_of_the_wrong_binding_says_so() {
    let agent = echo::serve(Arc::new(Echo::default()), ServerLimits::default()).await;
    let rest_url = bindings::interface(&agent, Binding::HttpJson).url;
    let mut lines = Vec::new();
    for (binding, url) in [
        (Binding::HttpJson, agent.url.as_str()),
        (Binding::JsonRpc, rest_url.as_str()),
        (Binding::Grpc, rest_url.as_str()),
    ] {
        let error = client(url, binding, "").get_task(get_task(), SOON).await;
        let error = error.expect_err("nothing answers there");
        lines.push(format!("{binding}: {}", line(&error, &agent.url)));
    }
    let status = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
    let canned = Canned::answer("400 Bad Request", "", status).await;
    let error = rest(&canned).get_task(get_task(), SOON).await.expect_err("JSON-RPC answers");
    lines.push(line(&error, &canned.url));
    let canned = Canned::json("{}").await;
    let grpc = client(&canned.url, Binding::Grpc, "");
    let error = grpc.get_task(get_task(), SOON).await.expect_err("HTTP/1.1 answers");
    lines.push(line(&error, &canned.url));
    insta::assert_snapshot!(lines.join("\n"), @r"
    HTTP+JSON: NotFound - None: http://agent/ answered HTTP 404 Not Found; check in the agent's card that this is an address of HTTP+JSON
    JSONRPC: InvalidResponse - None: the answer of http://agent/a2a is not usable: it speaks HTTP+JSON, and was called by JSONRPC; check in the agent's card which binding this address is of
    GRPC: InvalidResponse - None: the answer of http://agent/a2a is not usable: it answered HTTP 404 Not Found, application/a2a+json, and not gRPC, and was called by GRPC; check in the agent's card which binding this address is of
    InvalidResponse - None: the answer of http://agent/ is not usable: it speaks JSON-RPC, and was called by HTTP+JSON; check in the agent's card which binding this address is of
    InvalidResponse - None: the answer of http://agent/ is not usable: it does not speak HTTP/2 (connection error detected: frame with invalid size), and was called by GRPC; check in the agent's card which binding this address is of
    ");
}

#[tokio::test]
async fn a_stream_that_ends_without_a_state_ends_and_one_that_breaks_is_an_error() {
    let event = format!("data: {{\"task\":{TASK_JSON}}}\n\n");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    let whole = format!("{head}Content-Length: {}\r\n\r\n{event}", event.len());
    let cut = format!("{head}Content-Length: 1000\r\n\r\n{event}");
    let error = format!("{head}\r\n{event}data: {}\n\n", error_body(503, "UNAVAILABLE", None));
    let mut lines = Vec::new();
    for answer in [whole, cut, error] {
        let canned = Canned::new(&[&answer], End::Closed).await;
        let stream = rest(&canned).send_streaming_message(says("hi"), SOON).await;
        let items: Vec<_> = stream.expect("a stream").collect().await;
        let shown = items.iter().map(|item| match item {
            Ok(event) => format!("{:?}", event.state()),
            Err(error) => line(error, &canned.url),
        });
        lines.push(shown.collect::<Vec<_>>().join(" | "));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    Some(Working)
    Some(Working) | Unavailable - None: the connection to http://agent/ broke: end of file before message length reached
    Some(Working) | Unavailable UNAVAILABLE None: http://agent/ answered: no (UNAVAILABLE); try again later
    ");
}

#[tokio::test]
async fn ids_and_tenants_that_mean_something_in_a_path_are_ids_and_tenants_all_the_same() {
    let canned = Canned::json(TASK_JSON).await;
    let place = canned.url.clone();
    let line = async |tenant: &str, id: &str| {
        let client = client(&canned.url, Binding::HttpJson, tenant);
        let request = GetTaskRequest { id: id.to_owned(), ..GetTaskRequest::default() };
        match client.get_task(request, SOON).await {
            Err(error) if error.delivery == Delivery::NotSent => {
                error.message.replace(&place, "AGENT")
            }
            _ => short(&canned.last_request()),
        }
    };
    let lines = [
        line("", "t:subscribe").await,
        line("", "t:1").await,
        line("", "%2e%2e").await,
        line("", r"..\x").await,
        line("..", "t").await,
        line("", ".").await,
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    GET /tasks/t%3Asubscribe HTTP/1.1 
    GET /tasks/t:1 HTTP/1.1 
    GET /tasks/%252e%252e HTTP/1.1 
    GET /tasks/..%5Cx HTTP/1.1 
    AGENT is not a URL that can be called: ".." cannot stand in a path, where it means another place; call the agent by another binding
    AGENT is not a URL that can be called: "." cannot stand in a path, where it means another place; call the agent by another binding
    "#);
}
