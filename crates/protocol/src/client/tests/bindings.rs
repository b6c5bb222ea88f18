//! The one table: every operation, well and badly, over every binding, by our client against our
//! server. What comes out must be the same whichever the binding.

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture};

use super::{SOON, is_untaken};
use crate::{
    card::Binding,
    client::{Client, ClientError, ClientStream, Delivery, FailureClass, Interface},
    echo::{self, Echo, Running, TASK, says},
    error::ErrorKind,
    limits::{ClientLimits, ServerLimits},
    outbound::{Outbound, Policy},
    server,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, Part,
        SendMessageRequest, SubscribeToTaskRequest, TaskPushNotificationConfig, TaskState,
    },
    wkt::Timestamp,
};

pub(super) fn client(agent: &Running, binding: Binding) -> Client {
    client_with(agent, binding, ClientLimits::default())
}

pub(super) fn interface(agent: &Running, binding: Binding) -> Interface {
    Interface::of(&server::interface(binding, &agent.url)).expect("a known binding")
}

pub(super) fn client_with(agent: &Running, binding: Binding, limits: ClientLimits) -> Client {
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    Client::with_limits(outbound, interface(agent, binding), limits).expect("it can be called")
}

pub(super) async fn agent(echo: Echo) -> Running {
    echo::serve(Arc::new(echo), ServerLimits::default()).await
}

/// What a case shows: the answer as JSON, or every part of the error but its address.
pub(super) type Shown = BoxFuture<'static, String>;

fn answer<T: serde::Serialize>(answered: Result<T, ClientError>) -> String {
    match answered {
        Ok(answer) => serde_json::to_string(&answer).expect("answers are JSON"),
        Err(error) => failure(&error),
    }
}

fn failure(error: &ClientError) -> String {
    let remote = error.remote.as_deref().expect("the agent said it");
    let violations: Vec<String> =
        remote.violations.iter().map(|one| format!("{}: {}", one.field, one.description)).collect();
    format!(
        "{:?} {} {:?} {:?} {:?} {violations:?}",
        error.class,
        error.kind.map_or("-".to_owned(), |kind| kind.to_string()),
        error.delivery,
        remote.message,
        remote.metadata,
    )
}

async fn events(opened: Result<ClientStream, ClientError>) -> String {
    match opened {
        Ok(stream) => stream.map(answer).collect::<Vec<_>>().await.join(" | "),
        Err(error) => failure(&error),
    }
}

fn get(id: &str) -> GetTaskRequest {
    GetTaskRequest { id: id.to_owned(), history_length: Some(0), ..GetTaskRequest::default() }
}

fn cancel(id: &str) -> CancelTaskRequest {
    CancelTaskRequest { id: id.to_owned(), ..CancelTaskRequest::default() }
}

fn subscribe(id: &str) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { id: id.to_owned(), ..SubscribeToTaskRequest::default() }
}

fn hook(task_id: &str) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: task_id.to_owned(),
        url: "http://x/".to_owned(),
        token: "t".to_owned(),
        ..TaskPushNotificationConfig::default()
    }
}

fn get_hook(task_id: &str) -> GetTaskPushNotificationConfigRequest {
    let (task_id, id) = (task_id.to_owned(), "hook".to_owned());
    GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() }
}

fn list_hooks(task_id: &str) -> ListTaskPushNotificationConfigsRequest {
    let (task_id, page_token) = (task_id.to_owned(), "a b&c".to_owned());
    ListTaskPushNotificationConfigsRequest {
        task_id,
        page_size: 7,
        page_token,
        ..Default::default()
    }
}

fn delete_hook(task_id: &str) -> DeleteTaskPushNotificationConfigRequest {
    let (task_id, id) = (task_id.to_owned(), "hook".to_owned());
    DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() }
}

fn list(page_size: i32) -> ListTasksRequest {
    ListTasksRequest {
        context_id: "c/1 ä".to_owned(),
        status: TaskState::Working.into(),
        page_size: Some(page_size),
        page_token: "true".to_owned(),
        history_length: Some(0),
        status_timestamp_after: Some(Timestamp { seconds: 1_767_323_045, nanos: 678_000_000 }),
        include_artifacts: Some(true),
        ..ListTasksRequest::default()
    }
}

/// The cases, each by a name. A line of the table shows what reached the agent and what came back.
pub(super) fn cases(client: &Client) -> Vec<(&'static str, Shown)> {
    macro_rules! call {
        ($method:ident, $request:expr) => {{
            let client = client.clone();
            async move { answer(client.$method($request, SOON).await) }.boxed()
        }};
    }
    macro_rules! stream {
        ($method:ident, $request:expr) => {{
            let client = client.clone();
            async move { events(client.$method($request, SOON).await).await }.boxed()
        }};
    }
    vec![
        ("send", call!(send_message, says("hi"))),
        ("send: message", call!(send_message, says("message"))),
        ("send: error", call!(send_message, says("UNSUPPORTED_OPERATION"))),
        ("send: invalid", call!(send_message, SendMessageRequest::default())),
        ("send: too deep", call!(send_message, deep())),
        ("stream", stream!(send_streaming_message, says("hi"))),
        ("stream: error", stream!(send_streaming_message, says("early error"))),
        ("stream: late error", stream!(send_streaming_message, says("late error"))),
        ("stream: invalid", stream!(send_streaming_message, SendMessageRequest::default())),
        ("get", call!(get_task, get(TASK))),
        ("get: odd id", call!(get_task, get("a/b?c:d %é"))),
        ("get: invalid", call!(get_task, GetTaskRequest { history_length: Some(-1), ..get(TASK) })),
        ("list", call!(list_tasks, list(3))),
        ("list: invalid", call!(list_tasks, list(101))),
        ("cancel", call!(cancel_task, cancel(TASK))),
        ("cancel: error", call!(cancel_task, cancel("done"))),
        ("subscribe", stream!(subscribe_to_task, subscribe(TASK))),
        ("subscribe: error", stream!(subscribe_to_task, subscribe("other"))),
        ("create push", call!(create_push_config, hook(TASK))),
        ("create push: error", call!(create_push_config, hook("other"))),
        ("get push", call!(get_push_config, get_hook(TASK))),
        ("get push: error", call!(get_push_config, get_hook("other"))),
        ("list push", call!(list_push_configs, list_hooks(TASK))),
        ("list push: error", call!(list_push_configs, list_hooks("other"))),
        ("delete push", call!(delete_push_config, delete_hook(TASK))),
        ("delete push: error", call!(delete_push_config, delete_hook("other"))),
        ("card", call!(get_extended_card, GetExtendedAgentCardRequest::default())),
    ]
}

/// Data deeper than is taken.
fn deep() -> SendMessageRequest {
    let data = (0..40).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    Message::user(vec![Part::data(data)]).with_id("m-1").into()
}

async fn table(binding: Binding) -> String {
    let echo = Arc::new(Echo::whole());
    let agent = echo::serve(echo.clone(), ServerLimits::default()).await;
    let mut lines = Vec::new();
    for (name, shown) in cases(&client(&agent, binding)) {
        let shown = shown.await;
        lines.push(format!("{name}: {} => {shown}", echo.take_request()));
    }
    lines.join("\n")
}

#[tokio::test]
async fn every_operation_answers_the_same_over_every_binding() {
    let table_of = table(Binding::JsonRpc).await;
    for other in [Binding::HttpJson, Binding::Grpc] {
        // Where a request is refused before it is decoded, each binding has words of its own.
        let other_table = table(other).await;
        for (one, other_line) in table_of.lines().zip(other_table.lines()) {
            if !one.starts_with("send: too deep") {
                assert_eq!(one, other_line, "{other}");
            }
        }
        assert!(
            other_table.contains("send: too deep:  => Invalid INVALID_PARAMS Answered"),
            "{other_table}"
        );
    }
    insta::assert_snapshot!(table_of, @r#"
    send: {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hi"}]}} => {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"},"artifacts":[{"artifactId":"artifact-1","parts":[{"text":"hi"}]}]}}
    send: message: {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"message"}]}} => {"message":{"messageId":"m-2","role":"ROLE_AGENT","parts":[{"text":"hello"}]}}
    send: error: {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"UNSUPPORTED_OPERATION"}]}} => Unsupported UNSUPPORTED_OPERATION Answered "as you wish" {"taskId": "task-1"} []
    send: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: message: is required" {} ["message: is required"]
    send: too deep:  => Invalid INVALID_PARAMS Answered "invalid parameters: message.parts[0].data[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: JSON is nested more than 32 levels deep; flatten it, or send it as text or a file" {} ["message.parts[0].data[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: JSON is nested more than 32 levels deep; flatten it, or send it as text or a file"]
    stream: {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hi"}]}} => {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | {"artifactUpdate":{"taskId":"task-1","contextId":"context-1","artifact":{"artifactId":"artifact-1","parts":[{"text":"hi"}]},"lastChunk":true}} | {"statusUpdate":{"taskId":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-01-02T03:04:05.678Z"}}}
    stream: error: {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"early error"}]}} => NotFound TASK_NOT_FOUND Answered "there is no task \"task-1\" here" {"taskId": "task-1"} []
    stream: late error: {"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"late error"}]}} => {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | Unavailable UNAVAILABLE Answered "gone" {} []
    stream: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: message: is required" {} ["message: is required"]
    get: {"id":"task-1","historyLength":0} => {"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}
    get: odd id: {"id":"a/b?c:d %é","historyLength":0} => NotFound TASK_NOT_FOUND Answered "there is no task \"a/b?c:d %é\" here" {"taskId": "a/b?c:d %é"} []
    get: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: historyLength: must not be negative; leave it out for no limit" {} ["historyLength: must not be negative; leave it out for no limit"]
    list: {"contextId":"c/1 ä","status":"TASK_STATE_WORKING","pageSize":3,"pageToken":"true","historyLength":0,"statusTimestampAfter":"2026-01-02T03:04:05.678Z","includeArtifacts":true} => {"tasks":[],"nextPageToken":"","pageSize":3,"totalSize":0}
    list: invalid:  => Invalid INVALID_PARAMS Answered "invalid parameters: pageSize: is 101; it may be 1 to 100" {} ["pageSize: is 101; it may be 1 to 100"]
    cancel: {"id":"task-1"} => {"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_CANCELED","timestamp":"2026-01-02T03:04:05.678Z"}}
    cancel: error: {"id":"done"} => Invalid TASK_NOT_CANCELABLE Answered "task \"done\" is completed and cannot be canceled" {"taskId": "done"} []
    subscribe: {"id":"task-1"} => {"task":{"id":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}} | {"statusUpdate":{"taskId":"task-1","contextId":"context-1","status":{"state":"TASK_STATE_INPUT_REQUIRED","timestamp":"2026-01-02T03:04:05.678Z"}}}
    subscribe: error: {"id":"other"} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    create push: {"taskId":"task-1","url":"http://x/","token":"t"} => {"id":"hook","taskId":"task-1","url":"http://x/","token":"t"}
    create push: error: {"taskId":"other","url":"http://x/","token":"t"} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    get push: {"taskId":"task-1","id":"hook"} => {"id":"hook","taskId":"task-1","url":"http://127.0.0.1:1/hook"}
    get push: error: {"taskId":"other","id":"hook"} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    list push: {"taskId":"task-1","pageSize":7,"pageToken":"a b&c"} => {"configs":[{"id":"hook","taskId":"task-1","url":"http://127.0.0.1:1/hook"}],"nextPageToken":"7+a b&c"}
    list push: error: {"taskId":"other","pageSize":7,"pageToken":"a b&c"} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    delete push: {"taskId":"task-1","id":"hook"} => null
    delete push: error: {"taskId":"other","id":"hook"} => NotFound TASK_NOT_FOUND Answered "there is no task \"other\" here" {"taskId": "other"} []
    card: {} => {"name":"echo","description":"Says what it hears.","supportedInterfaces":[{"url":"http://127.0.0.1:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"version":"1.2.3","capabilities":{"streaming":true,"pushNotifications":true,"extendedAgentCard":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"echo","name":"Echo","description":"Says what it hears.","tags":["test"]}]}
    "#);
}

/// Runs a check on each binding in turn.
async fn on_each<F, Fut, T: Debug>(echo: fn() -> Echo, check: F)
where
    F: Fn(Client, Binding) -> Fut,
    Fut: Future<Output = T>,
{
    for binding in Binding::ALL {
        let agent = agent(echo()).await;
        check(client(&agent, binding), binding).await;
    }
}

#[tokio::test]
async fn an_agent_without_the_optional_operations_says_so_on_every_binding() {
    on_each(Echo::default, async |client, binding| {
        let push = client.create_push_config(hook(TASK), SOON).await.expect_err("no push");
        assert_eq!(push.kind, Some(ErrorKind::PushNotificationNotSupported), "{binding}");
        let card = client.get_extended_card(GetExtendedAgentCardRequest::default(), SOON).await;
        let card = card.expect_err("no card");
        assert_eq!(card.kind, Some(ErrorKind::UnsupportedOperation), "{binding}");
    })
    .await;
}

#[tokio::test]
async fn every_error_of_a_service_keeps_its_kind_and_its_delay_on_every_binding() {
    on_each(Echo::default, async |client, binding| {
        // HTTP's header counts whole seconds.
        let delay = if binding == Binding::Grpc { 1500 } else { 2000 };
        for row in ErrorKind::table() {
            let unary = client.send_message(says(row.reason), SOON).await.expect_err("an error");
            let stream = client.send_streaming_message(says(row.reason), SOON).await;
            for error in [unary, stream.expect_err("an error")] {
                assert_eq!(error.kind, Some(row.kind), "{binding}: {error}");
                assert_eq!(error.is_untaken(), is_untaken(row.kind), "{error}");
                let delay =
                    matches!(row.kind, ErrorKind::ResourceExhausted | ErrorKind::Unavailable)
                        .then_some(Duration::from_millis(delay));
                assert_eq!(error.retry_after, delay, "{binding}: {error}");
                assert_eq!(error.remote.expect("kept").metadata["taskId"], TASK);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_deadline_ends_a_call_on_every_binding() {
    on_each(Echo::default, async |client, binding| {
        let soon = Duration::from_millis(50);
        let unary = client.send_message(says("pending"), soon).await.expect_err("too late");
        let stream = client.send_streaming_message(says("mute"), soon).await;
        for error in [unary, stream.expect_err("too late")] {
            let seen = (error.class, error.delivery, error.is_retryable());
            assert_eq!(seen, (FailureClass::Timeout, Delivery::Unknown, true), "{binding}");
            assert!(error.message.contains("did not answer within 50ms"), "{error}");
        }
    })
    .await;
}

#[tokio::test]
async fn answers_and_events_over_the_limit_are_given_up_on_every_binding() {
    let limits =
        ClientLimits { max_response_bytes: 2000, max_event_bytes: 2000, ..ClientLimits::default() };
    for binding in Binding::ALL {
        let agent = agent(Echo::default()).await;
        let client = client_with(&agent, binding, limits);
        client.send_message(says("short"), SOON).await.expect("under the limit");
        let long = "é".repeat(1000);
        let error = client.send_message(says(&long), SOON).await.expect_err("over the limit");
        assert_eq!(error.class, FailureClass::InvalidResponse, "{binding}: {error}");
        assert_eq!(error.delivery, Delivery::Answered, "{binding}: {error}");
        let stream = client.send_streaming_message(says(&long), SOON).await.expect("a stream");
        let items: Vec<_> = stream.collect().await;
        assert_eq!(items.len(), 2, "{binding}: {items:?}");
        let error = items[1].as_ref().expect_err("over the limit");
        assert_eq!(error.class, FailureClass::InvalidResponse, "{binding}: {error}");
        assert!(error.message.contains("2000 bytes"), "{binding}: {error}");
    }
}

#[tokio::test]
async fn a_request_over_the_servers_limit_is_refused_on_every_binding() {
    for binding in Binding::ALL {
        let limits = ServerLimits { max_body_bytes: 400, ..ServerLimits::default() };
        let agent = echo::serve(Arc::new(Echo::default()), limits).await;
        let client = client(&agent, binding);
        client.send_message(says("short"), SOON).await.expect("under the limit");
        let error =
            client.send_message(says(&"x".repeat(400)), SOON).await.expect_err("over the limit");
        assert_eq!(error.class, FailureClass::Invalid, "{binding}: {error}");
        assert!(error.message.contains("400 bytes (max_body_bytes)"), "{binding}: {error}");
    }
}

#[tokio::test]
async fn a_silent_stream_is_left_after_the_idle_time_on_every_binding() {
    let limits = ClientLimits { stream_idle: Duration::from_millis(60), ..ClientLimits::default() };
    for binding in Binding::ALL {
        let agent = agent(Echo::default()).await;
        let client = client_with(&agent, binding, limits);
        let stream = client.send_streaming_message(says("silent"), SOON).await.expect("a stream");
        let items: Vec<_> = tokio::time::timeout(SOON, stream.collect()).await.expect("it ends");
        assert_eq!(items.len(), 2, "{binding}");
        let error = items[1].as_ref().expect_err("silent");
        assert_eq!(error.class, FailureClass::Timeout, "{binding}: {error}");
        assert!(error.message.contains("was silent for 60ms"), "{binding}: {error}");
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_noticed_by_the_agent_on_every_binding() {
    for binding in Binding::ALL {
        let echo = Echo::default();
        let streams = echo.streams.clone();
        let agent = agent(echo).await;
        let client = client(&agent, binding);
        let mut stream =
            client.send_streaming_message(says("silent"), SOON).await.expect("a stream");
        stream.next().await.expect("an event").expect("a task");
        let open = Arc::strong_count(&streams);
        drop(stream);
        let noticed = async {
            while Arc::strong_count(&streams) == open {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(SOON, noticed).await.unwrap_or_else(|_| panic!("{binding}"));
    }
}

#[tokio::test]
async fn a_server_that_shuts_down_ends_its_streams_on_every_binding() {
    for binding in Binding::ALL {
        let agent = agent(Echo::default()).await;
        let client = client(&agent, binding);
        let mut stream =
            client.send_streaming_message(says("silent"), SOON).await.expect("a stream");
        stream.next().await.expect("an event").expect("a task");
        drop(agent);
        let end = tokio::time::timeout(SOON, stream.next()).await.expect("it ends");
        assert!(end.is_none(), "{binding}: {end:?}");
    }
}

#[tokio::test]
async fn extensions_tenant_and_version_reach_the_agent_on_every_binding() {
    for binding in Binding::ALL {
        let echo = Arc::new(Echo::with_extension("urn:x", true));
        let agent = echo::serve(echo.clone(), ServerLimits::default()).await;
        let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
        let interface = Interface { tenant: "blue 1/2".to_owned(), ..interface(&agent, binding) };
        let client = Client::new(outbound, interface).expect("it can be called");
        let error = client.get_task(get(TASK), SOON).await.expect_err("it is required");
        assert_eq!(error.kind, Some(ErrorKind::ExtensionSupportRequired), "{binding}: {error}");
        let client = client.with_extensions(["urn:x"]);
        client.get_task(get(TASK), SOON).await.expect("a task");
        let call = echo.last();
        assert_eq!((call.tenant.as_str(), call.extensions), ("blue 1/2", vec!["urn:x".to_owned()]));
        assert_eq!(call.headers["a2a-version"], "1.0", "{binding}");
    }
}

#[tokio::test]
async fn credentials_reach_the_agent_on_every_binding() {
    for binding in Binding::ALL {
        let echo = Arc::new(Echo::with_extension("urn:x", true));
        let agent = echo::serve(echo.clone(), ServerLimits::default()).await;
        let client = client(&agent, binding);
        // In whichever order the client was told, and with nothing lost.
        let ways = [
            client.clone().with_authorization(bearer("a")).with_extensions(["urn:x"]),
            client.with_extensions(["urn:x"]).with_authorization(bearer("a")),
        ];
        for client in ways {
            client.get_task(get(TASK), SOON).await.expect("a task");
            assert_eq!(echo.last().headers["authorization"], "Bearer a", "{binding}");
        }
    }
}

#[tokio::test]
async fn further_headers_reach_the_agent_and_replace_nothing_that_the_binding_says() {
    for binding in Binding::ALL {
        let echo = Arc::new(Echo::with_extension("urn:x", true));
        let agent = echo::serve(echo.clone(), ServerLimits::default()).await;
        let further = ["x-key", "a2a-version", "a2a-extensions", "authorization", "content-type"];
        let further =
            further.map(|name| (name.parse().expect("a name"), "mine".parse().expect("a value")));
        let client = client(&agent, binding)
            .with_headers(further.into_iter().collect())
            .with_extensions(["urn:x"])
            .with_authorization(bearer("a"));
        client.send_message(says("hi"), SOON).await.expect("an answer");
        let call = echo.last();
        assert_eq!(call.headers["x-key"], "mine", "{binding}");
        assert_eq!(call.headers["a2a-version"], "1.0", "{binding}");
        assert_eq!(call.headers["authorization"], "Bearer a", "{binding}");
        assert_eq!(call.extensions, ["urn:x"], "{binding}");
        for name in ["a2a-version", "authorization", "content-type"] {
            assert_eq!(call.headers.get_all(name).iter().count(), 1, "{binding} {name}");
        }
    }
}

#[tokio::test]
async fn a_caller_that_the_agent_does_not_let_in_gets_no_further_on_any_operation() {
    let agent = agent(Echo::only_for("Bearer a")).await;
    for binding in Binding::ALL {
        let client = client(&agent, binding).with_authorization(bearer("b"));
        // What cannot be decoded is refused before anybody asks who sent it.
        for (case, shown) in
            cases(&client).into_iter().filter(|(case, _)| *case != "send: too deep")
        {
            let shown = shown.await;
            assert!(shown.starts_with("Unauthorized UNAUTHENTICATED"), "{binding} {case}: {shown}");
        }
        let client = client.with_authorization(bearer("a"));
        client.get_task(get(TASK), SOON).await.expect("a task");
    }
}

fn bearer(token: &str) -> http::HeaderValue {
    format!("Bearer {token}").parse().expect("tokens are ASCII")
}
