//! Every operation by raw requests on every binding: what is answered is the same, well and badly.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{exchange, grpc};
use crate::{
    echo::{self, Echo, Running},
    golden,
    limits::ServerLimits,
    operation::Operation,
    v1::{
        AgentCapabilities, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};

/// One call, as each binding writes it.
struct Raw {
    operation: Operation,
    params: &'static str,
    /// Verb, path below `/a2a` and body of HTTP+JSON.
    rest: [&'static str; 3],
}

const fn raw(operation: Operation, params: &'static str, rest: [&'static str; 3]) -> Raw {
    Raw { operation, params, rest }
}

const HI: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
const NO: &str =
    r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"TASK_NOT_FOUND"}]}}"#;
const HOOK: &str = r#"{"taskId":"task-1","id":"hook"}"#;
const NO_HOOK: &str = r#"{"taskId":"no","id":"hook"}"#;

/// Every operation twice: answered, and refused; the last is refused by an agent that has less than it declares.
#[rustfmt::skip]
fn calls() -> Vec<Raw> {
    use Operation as O;
    vec![
        raw(O::SendMessage, HI, ["POST", "/message:send", HI]),
        raw(O::SendMessage, NO, ["POST", "/message:send", NO]),
        raw(O::SendStreamingMessage, HI, ["POST", "/message:stream", HI]),
        raw(O::SendStreamingMessage, NO, ["POST", "/message:stream", NO]),
        raw(O::GetTask, r#"{"id":"task-1"}"#, ["GET", "/tasks/task-1", ""]),
        raw(O::GetTask, r#"{"id":"no"}"#, ["GET", "/tasks/no", ""]),
        raw(O::ListTasks, r#"{"pageSize":2}"#, ["GET", "/tasks?pageSize=2", ""]),
        raw(O::ListTasks, r#"{"pageSize":101}"#, ["GET", "/tasks?pageSize=101", ""]),
        raw(O::CancelTask, r#"{"id":"task-1"}"#, ["POST", "/tasks/task-1:cancel", "{}"]),
        raw(O::CancelTask, r#"{"id":"done"}"#, ["POST", "/tasks/done:cancel", "{}"]),
        raw(O::SubscribeToTask, r#"{"id":"task-1"}"#, ["GET", "/tasks/task-1:subscribe", ""]),
        raw(O::SubscribeToTask, r#"{"id":"no"}"#, ["GET", "/tasks/no:subscribe", ""]),
        raw(O::CreateTaskPushNotificationConfig, r#"{"taskId":"task-1","url":"http://x/"}"#,
            ["POST", "/tasks/task-1/pushNotificationConfigs", r#"{"url":"http://x/"}"#]),
        raw(O::CreateTaskPushNotificationConfig, r#"{"taskId":"no","url":"http://x/"}"#,
            ["POST", "/tasks/no/pushNotificationConfigs", r#"{"url":"http://x/"}"#]),
        raw(O::GetTaskPushNotificationConfig, HOOK, ["GET", "/tasks/task-1/pushNotificationConfigs/hook", ""]),
        raw(O::GetTaskPushNotificationConfig, NO_HOOK, ["GET", "/tasks/no/pushNotificationConfigs/hook", ""]),
        raw(O::ListTaskPushNotificationConfigs, r#"{"taskId":"task-1"}"#, ["GET", "/tasks/task-1/pushNotificationConfigs", ""]),
        raw(O::ListTaskPushNotificationConfigs, r#"{"taskId":"no"}"#, ["GET", "/tasks/no/pushNotificationConfigs", ""]),
        raw(O::DeleteTaskPushNotificationConfig, HOOK, ["DELETE", "/tasks/task-1/pushNotificationConfigs/hook", ""]),
        raw(O::DeleteTaskPushNotificationConfig, NO_HOOK, ["DELETE", "/tasks/no/pushNotificationConfigs/hook", ""]),
        raw(O::GetExtendedAgentCard, "{}", ["GET", "/extendedAgentCard", ""]),
        raw(O::GetExtendedAgentCard, "{}", ["GET", "/extendedAgentCard", ""]),
    ]
}

/// What an answer says: a result as JSON, an error by its reason and message. JSON-RPC's own errors have no
/// reason there, for their code says as much.
fn said(result: &Value, error: &Value, details: &Value) -> String {
    let reason = details[0]["reason"].as_str().or(match error["code"].as_i64() {
        Some(-32602) => Some("INVALID_PARAMS"),
        _ => None,
    });
    match &error["message"] {
        Value::Null => result.to_string(),
        message => format!("{} {message}", reason.unwrap_or("-")),
    }
}

/// Sends a request and returns the documents of the answer: one, or those of the events.
async fn documents(agent: &Running, [verb, target, kind, body]: [&str; 4]) -> Vec<Value> {
    let length = body.len();
    let head = format!(
        "{verb} {target} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
         Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let answer = exchange(agent, &head).await;
    let (_, body) = answer.split_once("\n\n").expect("a head and a body");
    let events: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let texts = if events.is_empty() { vec![body] } else { events };
    texts.into_iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

async fn over_json_rpc(agent: &Running, call: &Raw) -> Vec<String> {
    let (method, params) = (call.operation.method(), call.params);
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let answers = documents(agent, ["POST", "/", "application/json", &body]).await;
    let said = |it: &Value| said(&it["result"], &it["error"], &it["error"]["data"]);
    answers.iter().map(said).collect()
}

async fn over_http_json(agent: &Running, call: &Raw) -> Vec<String> {
    let [verb, path, body] = call.rest;
    let target = format!("/a2a{path}");
    let answers = documents(agent, [verb, &target, "application/a2a+json", body]).await;
    answers.iter().map(|it| said(it, &it["error"], &it["error"]["details"])).collect()
}

async fn over_grpc(agent: &Running, call: &Raw) -> Vec<String> {
    let (method, body) = (call.operation.method(), encoded(call));
    let answer = grpc::call(agent, method, Some("1.0"), body).await;
    let details = [&answer.trailers, &answer.headers]
        .into_iter()
        .find_map(|place| place.get("grpc-status-details-bin"));
    if let Some(details) = details {
        let status = golden::decoded(details.as_bytes());
        return vec![said(&Value::Null, &status, &status["details"])];
    }
    let mut rest = &answer.body[..];
    let mut said = Vec::new();
    while let [_, a, b, c, d, after @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        said.push(decoded(call.operation, &after[..length]).to_string());
        rest = &after[length..];
    }
    said
}

/// The request in binary form.
fn encoded(call: &Raw) -> Bytes {
    use Operation as O;
    fn of<T: Message + DeserializeOwned>(params: &str) -> Bytes {
        grpc::framed(&serde_json::from_str::<T>(params).expect("params are a request"))
    }
    let encode = match call.operation {
        O::SendMessage | O::SendStreamingMessage => of::<SendMessageRequest>,
        O::GetTask => of::<GetTaskRequest>,
        O::ListTasks => of::<ListTasksRequest>,
        O::CancelTask => of::<CancelTaskRequest>,
        O::SubscribeToTask => of::<SubscribeToTaskRequest>,
        O::CreateTaskPushNotificationConfig => of::<TaskPushNotificationConfig>,
        O::GetTaskPushNotificationConfig => of::<GetTaskPushNotificationConfigRequest>,
        O::ListTaskPushNotificationConfigs => of::<ListTaskPushNotificationConfigsRequest>,
        O::DeleteTaskPushNotificationConfig => of::<DeleteTaskPushNotificationConfigRequest>,
        O::GetExtendedAgentCard => of::<GetExtendedAgentCardRequest>,
    };
    encode(call.params)
}

/// One message of the answer, as JSON.
fn decoded(operation: Operation, message: &[u8]) -> Value {
    use Operation as O;
    fn of<T: Message + Default + Serialize>(message: &[u8]) -> Value {
        serde_json::to_value(T::decode(message).expect("a message")).expect("answers are JSON")
    }
    let decode = match operation {
        O::SendMessage => of::<SendMessageResponse>,
        O::SendStreamingMessage | O::SubscribeToTask => of::<StreamResponse>,
        O::GetTask | O::CancelTask => of::<Task>,
        O::ListTasks => of::<ListTasksResponse>,
        O::CreateTaskPushNotificationConfig | O::GetTaskPushNotificationConfig => {
            of::<TaskPushNotificationConfig>
        }
        O::ListTaskPushNotificationConfigs => of::<ListTaskPushNotificationConfigsResponse>,
        O::DeleteTaskPushNotificationConfig => |_: &[u8]| Value::Object(serde_json::Map::new()),
        O::GetExtendedAgentCard => of::<AgentCard>,
    };
    decode(message)
}

#[tokio::test]
async fn every_operation_is_answered_the_same_on_every_binding() {
    let whole = echo::serve(Arc::new(Echo::whole()), ServerLimits::default()).await;
    let hollow = AgentCapabilities { extended_agent_card: Some(true), ..Default::default() };
    let hollow = echo::serve(Arc::new(Echo::with(hollow)), ServerLimits::default()).await;
    let mut calls = calls();
    let names = calls.chunks(2).map(|pair| pair.iter().map(|it| it.operation).collect::<Vec<_>>());
    let all: Vec<_> = Operation::table().iter().map(|row| vec![row.operation; 2]).collect();
    assert_eq!(names.collect::<Vec<_>>(), all, "each is answered and refused");
    let last = calls.pop().expect("there are calls");
    let calls = calls.iter().map(|call| (&whole, call)).chain([(&hollow, &last)]);
    let mut lines = Vec::new();
    for (agent, call) in calls {
        let answered = over_json_rpc(agent, call).await;
        assert_eq!(over_http_json(agent, call).await, answered, "{}", call.operation);
        assert_eq!(over_grpc(agent, call).await, answered, "{}", call.operation);
        lines.push(format!("{} {}", call.operation, answered.join(" | ")));
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    SendMessage {"task":{"artifacts":[{"artifactId":"artifact-1","parts":[{"text":"hi"}]}],"contextId":"context-1","id":"task-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}}
    SendMessage TASK_NOT_FOUND "as you wish"
    SendStreamingMessage {"task":{"contextId":"context-1","id":"task-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | {"artifactUpdate":{"artifact":{"artifactId":"artifact-1","parts":[{"text":"hi"}]},"contextId":"context-1","lastChunk":true,"taskId":"task-1"}} | {"statusUpdate":{"contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"taskId":"task-1"}}
    SendStreamingMessage TASK_NOT_FOUND "as you wish"
    GetTask {"contextId":"context-1","id":"task-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}
    GetTask TASK_NOT_FOUND "there is no task \"no\" here"
    ListTasks {"nextPageToken":"","pageSize":2,"tasks":[],"totalSize":0}
    ListTasks INVALID_PARAMS "invalid parameters: pageSize: is 101; it may be 1 to 100"
    CancelTask {"contextId":"context-1","id":"task-1","status":{"state":"TASK_STATE_CANCELED","timestamp":"2026-01-02T03:04:05.678Z"}}
    CancelTask TASK_NOT_CANCELABLE "task \"done\" is completed and cannot be canceled"
    SubscribeToTask {"task":{"contextId":"context-1","id":"task-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | {"statusUpdate":{"contextId":"context-1","status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-02T03:04:05.678Z"},"taskId":"task-1"}}
    SubscribeToTask TASK_NOT_FOUND "there is no task \"no\" here"
    CreateTaskPushNotificationConfig {"id":"hook","taskId":"task-1","url":"http://x/"}
    CreateTaskPushNotificationConfig TASK_NOT_FOUND "there is no task \"no\" here"
    GetTaskPushNotificationConfig {"id":"hook","taskId":"task-1","url":"http://127.0.0.1:1/hook"}
    GetTaskPushNotificationConfig TASK_NOT_FOUND "there is no task \"no\" here"
    ListTaskPushNotificationConfigs {"configs":[{"id":"hook","taskId":"task-1","url":"http://127.0.0.1:1/hook"}],"nextPageToken":"0+"}
    ListTaskPushNotificationConfigs TASK_NOT_FOUND "there is no task \"no\" here"
    DeleteTaskPushNotificationConfig {}
    DeleteTaskPushNotificationConfig TASK_NOT_FOUND "there is no task \"no\" here"
    GetExtendedAgentCard {"capabilities":{"extendedAgentCard":true,"pushNotifications":true,"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"Says what it hears.","name":"echo","skills":[{"description":"Says what it hears.","id":"echo","name":"Echo","tags":["test"]}],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"http://127.0.0.1:1/"}],"version":"1.2.3"}
    GetExtendedAgentCard EXTENDED_AGENT_CARD_NOT_CONFIGURED "the card declares an extended card, but none is set up"
    "#);
}
