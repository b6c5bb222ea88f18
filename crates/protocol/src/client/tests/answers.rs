//! What agents answer that is not what was hoped for.

use std::time::Duration;

use super::{Canned, SOON, client};
use crate::{
    client::{ClientError, FailureClass},
    echo::{TASK, says},
    error::ErrorKind,
    v1::{GetTaskRequest, Message, Part, SendMessageRequest},
};

async fn get_task(canned: &Canned) -> ClientError {
    let request = GetTaskRequest { id: TASK.to_owned(), ..GetTaskRequest::default() };
    client(&canned.url).get_task(request, SOON).await.expect_err("the answer is unusable")
}

/// One line for a snapshot: class, kind, message without the port.
fn line(error: &ClientError, canned: &Canned) -> String {
    let kind = error.kind.map_or("-".to_owned(), |kind| kind.to_string());
    format!("{:?} {kind}: {}", error.class, error.message.replace(&canned.url, "http://agent/"))
}

#[tokio::test]
async fn unusable_answers_each_say_what_is_wrong() {
    let bodies = [
        "",
        "<!DOCTYPE html><html><body>Welcome</body></html>",
        "OK\nfine",
        "{\"jsonrpc\":",
        "[]",
        "7",
        "{}",
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}}"#,
        r#"{"jsonrpc":"2.0","id":"1","result":{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}}"#,
        r#"{"jsonrpc":"2.0","result":{"id":"task-1","status":{"state":"TASK_STATE_WORKING"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"id":"other","status":{"state":"TASK_STATE_WORKING"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"status":{"state":"TASK_STATE_WORKING"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"id":"task-1"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"id":"task-1","status":{"state":"working"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":"done"}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"oops"}"#,
    ];
    let mut lines = Vec::new();
    for body in bodies {
        let canned = Canned::json(body).await;
        lines.push(line(&get_task(&canned).await, &canned));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    InvalidResponse -: the answer of http://agent/ is not usable: it is empty; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is a web page (HTML), not JSON-RPC; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is not JSON-RPC: OK fine; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is not JSON-RPC: {"jsonrpc":; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is not JSON-RPC: []; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is not JSON-RPC: 7; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it carries the id null instead of 1; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it holds neither a result nor an error; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it carries the id 9 instead of 1; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it carries the id "1" instead of 1; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it carries the id null instead of 1; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is about task "other" instead of "task-1"; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: it is about a task without an id; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: the task has no status; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: result.status.state: unknown enum value "working"; check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: result: invalid type: string "done", expected an object (Task); check that the address is an A2A interface, and tell its operator
    InvalidResponse -: the answer of http://agent/ is not usable: error: invalid type: string "oops", expected an error object; check that the address is an A2A interface, and tell its operator
    "#);
}

#[tokio::test]
async fn a_long_or_binary_answer_is_shown_only_in_part() {
    let canned = Canned::answer("200 OK", "", &format!("\u{1}no {}", "é".repeat(1000))).await;
    let error = get_task(&canned).await;
    assert!(error.message.contains(&format!("not JSON-RPC: no {}…", "é".repeat(117))), "{error}");
}

#[tokio::test]
async fn a_page_of_html_is_called_one_by_its_type() {
    let canned =
        Canned::answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", "Welcome").await;
    assert!(get_task(&canned).await.message.contains("is a web page (HTML), not JSON-RPC"));
}

#[tokio::test]
async fn errors_are_read_however_their_data_is_shaped_and_the_reason_decides() {
    let errors = [
        r#"{"code":-32001,"message":"gone"}"#,
        r#"{"code":-32001,"message":"gone","data":null}"#,
        r#"{"code":-32001,"message":"gone","data":"trace"}"#,
        r#"{"code":-32004,"message":"gone","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}"#,
        r#"{"code":-32004,"message":"gone","data":{"reason":"TASK_NOT_FOUND"}}"#,
        r#"{"code":-32000,"message":"gone","data":[{"reason":"TASK_NOT_FOUND"}]}"#,
        r#"{"code":-32004,"message":"own","data":[{"reason":"OUR_OWN_REASON"}]}"#,
        r#"{"code":-32000,"message":"own"}"#,
        r#"{"code":-32000,"message":"own","data":{"detail":[1,2]}}"#,
        r#"{"code":-32602,"message":"bad","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"id","description":"no"}]}]}"#,
        r#"{"message":""}"#,
    ];
    let mut lines = Vec::new();
    for error in errors {
        let canned = Canned::json(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#)).await;
        lines.push(line(&get_task(&canned).await, &canned));
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    Unsupported UNSUPPORTED_OPERATION: http://agent/ answered: own (UNSUPPORTED_OPERATION); see its card for what it does
    Internal -: http://agent/ answered: own (unknown code -32000); tell its operator, or try another agent
    Internal -: http://agent/ answered: own (unknown code -32000); tell its operator, or try another agent
    Invalid INVALID_PARAMS: http://agent/ answered: bad (INVALID_PARAMS); change the request
    Internal -: http://agent/ answered: an error without a message (unknown code 0); tell its operator, or try another agent
    ");
}

#[tokio::test]
async fn an_error_under_the_id_null_is_ours_all_the_same() {
    for id in [r#""id":null,"#, ""] {
        let canned = Canned::json(&format!(
            r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"not JSON"}}}}"#
        ))
        .await;
        assert_eq!(get_task(&canned).await.kind, Some(ErrorKind::Parse));
    }
}

#[tokio::test]
async fn field_violations_are_kept() {
    let canned = Canned::json(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad","data":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"id","description":"no"}]}]}}"#).await;
    let remote = get_task(&canned).await.remote.expect("an error of the agent");
    assert_eq!(
        (remote.violations[0].field.as_str(), remote.violations[0].description.as_str()),
        ("id", "no")
    );
}

#[tokio::test]
async fn http_statuses_are_errors_with_and_without_a_body_that_says_more() {
    let answers = [
        ("401 Unauthorized", "", ""),
        ("403 Forbidden", "", "no"),
        ("404 Not Found", "Content-Type: text/html\r\n", "<h1>Not found</h1>"),
        ("404 Not Found", "", r#"{"detail":"Not Found"}"#),
        ("405 Method Not Allowed", "", ""),
        ("429 Too Many Requests", "Retry-After: 7\r\n", ""),
        ("500 Internal Server Error", "", "Traceback"),
        ("502 Bad Gateway", "", ""),
        ("503 Service Unavailable", "Retry-After: 3\r\n", ""),
        ("504 Gateway Timeout", "", ""),
        ("301 Moved Permanently", "Location: http://other.example/\r\n", ""),
        ("307 Temporary Redirect", "Location: http://10.0.0.1/\r\n", ""),
        (
            "400 Bad Request",
            "",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad"}}"#,
        ),
        (
            "404 Not Found",
            "",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"gone"}}"#,
        ),
        (
            "429 Too Many Requests",
            "",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"slow down"}}"#,
        ),
        (
            "400 Bad Request",
            "",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"odd"}}"#,
        ),
    ];
    let mut lines = Vec::new();
    for (status, headers, body) in answers {
        let canned = Canned::answer(status, headers, body).await;
        let error = get_task(&canned).await;
        let delay = error.retry_after.map(|after| format!(" after {after:?}")).unwrap_or_default();
        lines.push(format!("{}{delay}", line(&error, &canned)));
        assert_eq!(canned.requests.lock().expect("no panic").len(), 1, "no redirect is followed");
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Unauthorized UNAUTHENTICATED: http://agent/ answered HTTP 401 Unauthorized; check the credentials for this agent
    Unauthorized PERMISSION_DENIED: http://agent/ answered HTTP 403 Forbidden: no; check the credentials for this agent
    NotFound -: http://agent/ answered HTTP 404 Not Found: <h1>Not found</h1>; check in the agent's card that this is an address of JSONRPC
    NotFound -: http://agent/ answered HTTP 404 Not Found: {"detail":"Not Found"}; check in the agent's card that this is an address of JSONRPC
    Unsupported -: http://agent/ answered HTTP 405 Method Not Allowed; check in the agent's card that this is an address of JSONRPC
    RateLimited RESOURCE_EXHAUSTED: http://agent/ answered HTTP 429 Too Many Requests; call it less often after 7s
    Internal INTERNAL: http://agent/ answered HTTP 500 Internal Server Error: Traceback; tell its operator, or try another agent
    Unavailable UNAVAILABLE: http://agent/ answered HTTP 502 Bad Gateway; try again later
    Unavailable UNAVAILABLE: http://agent/ answered HTTP 503 Service Unavailable; try again later after 3s
    Timeout DEADLINE_EXCEEDED: http://agent/ answered HTTP 504 Gateway Timeout; try again later
    Invalid -: http://agent/ answered HTTP 301 Moved Permanently: it has moved to http://other.example/; fetch its card again
    Invalid -: http://agent/ answered HTTP 307 Temporary Redirect: it has moved to http://10.0.0.1/; fetch its card again
    Invalid INVALID_PARAMS: http://agent/ answered: bad (INVALID_PARAMS); change the request
    NotFound TASK_NOT_FOUND: http://agent/ answered: gone (TASK_NOT_FOUND); check the address and the ids in the request
    RateLimited RESOURCE_EXHAUSTED: http://agent/ answered: slow down (RESOURCE_EXHAUSTED); call it less often
    Internal -: http://agent/ answered: odd (unknown code -32050); tell its operator, or try another agent
    "#);
}

#[tokio::test]
async fn retry_after_is_read_from_a_date_and_from_details() {
    let canned = Canned::answer(
        "503 Service Unavailable",
        "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n",
        "",
    )
    .await;
    assert!(get_task(&canned).await.retry_after.expect("a date") > Duration::from_secs(3600));
    let canned = Canned::answer(
        "503 Service Unavailable",
        "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
        "",
    )
    .await;
    assert_eq!(get_task(&canned).await.retry_after, Some(Duration::ZERO));
    let canned = Canned::answer("503 Service Unavailable", "Retry-After: soon\r\n", "").await;
    assert_eq!(get_task(&canned).await.retry_after, None);
    let details = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"},{"reason":"RESOURCE_EXHAUSTED"}]}}"#;
    let canned = Canned::json(details).await;
    let error = get_task(&canned).await;
    assert_eq!(
        (error.class, error.retry_after),
        (FailureClass::RateLimited, Some(Duration::from_millis(1500)))
    );
    let canned = Canned::answer("429 Too Many Requests", "Retry-After: 9\r\n", details).await;
    let error = get_task(&canned).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(9)));
}

#[tokio::test]
async fn a_message_that_names_a_task_wants_that_task_back() {
    let other = r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"other","status":{"state":"TASK_STATE_WORKING"}}}}"#;
    let canned = Canned::json(other).await;
    client(&canned.url).send_message(says("hi"), SOON).await.expect("a new task may have any id");
    let message = Message::user(vec![Part::text("more")]).with_task(TASK);
    let error = client(&canned.url)
        .send_message(SendMessageRequest::from(message), SOON)
        .await
        .expect_err("another task");
    assert!(error.message.contains(r#"it is about task "other" instead of "task-1""#), "{error}");
    let canned = Canned::json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    let error = client(&canned.url).send_message(says("hi"), SOON).await.expect_err("nothing");
    assert!(error.message.contains("neither a task nor a message"), "{error}");
}
