//! Callers with credentials: who is let in, what each may do, and whose Tasks are whose.

mod cards;
mod relays;
mod tokens;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use examples::{Kind, Options, Running};
use protocol::{
    auth::Secret,
    card::Binding,
    client::{Client, ClientError, Interface},
    error::ErrorKind,
    model::metadata,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, SendMessageRequest,
        SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState, TaskStatus,
    },
};
use server::Settings;

use crate::{
    pushes::{hook::Hook, readiness},
    scene::{
        PATIENCE, Scene, example, keys, kind, next, outbound, output, said, send, soon, workflow,
    },
};

/// All operations.
const OPERATIONS: [&str; 11] = [
    "send",
    "stream",
    "get",
    "list",
    "cancel",
    "subscribe",
    "create",
    "config",
    "configs",
    "delete",
    "card",
];

/// A client of a scene over a binding, with a key in the header of its own.
pub(crate) fn over(scene: &Scene, binding: Binding, tenant: &str, key: Option<&Secret>) -> Client {
    let interface = protocol::server::interface(binding, &scene.url);
    let interface = Interface::of(&interface).expect("it is spoken");
    let interface = Interface { tenant: tenant.to_owned(), ..interface };
    let client = Client::new(outbound(), interface).expect("a client");
    let Some(key) = key else { return client };
    let value = HeaderValue::from_str(key.expose()).expect("keys are ASCII");
    client.with_headers(HeaderMap::from_iter([("x-api-key".parse().expect("a name"), value)]))
}

pub(crate) fn of(scene: &Scene, key: &Secret) -> Client {
    over(scene, Binding::JsonRpc, "", Some(key))
}

/// Calls an operation about a Task. What is answered does not matter, but for lists: what they hold.
async fn call(client: &Client, operation: &str, id: &str) -> Result<Vec<String>, ClientError> {
    let id = id.to_owned();
    let hook = || TaskPushNotificationConfig {
        task_id: id.clone(),
        id: "hook".to_owned(),
        url: "http://127.0.0.1:9/hook".to_owned(),
        ..TaskPushNotificationConfig::default()
    };
    let message = || SendMessageRequest::from(said("more").with_task(&id));
    let none = Vec::new;
    match operation {
        "send" => client.send_message(message(), PATIENCE).await.map(|_| none()),
        "stream" => client.send_streaming_message(message(), PATIENCE).await.map(|_| none()),
        "get" => {
            let request = GetTaskRequest { id, ..Default::default() };
            client.get_task(request, PATIENCE).await.map(|task| vec![task.id])
        }
        "list" => {
            let listed = client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
            listed.map(|page| page.tasks.into_iter().map(|task| task.id).collect())
        }
        "cancel" => {
            let request = CancelTaskRequest { id, ..Default::default() };
            client.cancel_task(request, PATIENCE).await.map(|_| none())
        }
        "subscribe" => {
            let request = SubscribeToTaskRequest { id, ..Default::default() };
            client.subscribe_to_task(request, PATIENCE).await.map(|_| none())
        }
        "create" => client.create_push_config(hook(), PATIENCE).await.map(|_| none()),
        "config" => {
            let TaskPushNotificationConfig { task_id, id, .. } = hook();
            let request =
                GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
            client.get_push_config(request, PATIENCE).await.map(|config| vec![config.id])
        }
        "configs" => {
            let request =
                ListTaskPushNotificationConfigsRequest { task_id: id, ..Default::default() };
            let listed = client.list_push_configs(request, PATIENCE).await;
            listed.map(|page| page.configs.into_iter().map(|config| config.id).collect())
        }
        "delete" => {
            let TaskPushNotificationConfig { task_id, id, .. } = hook();
            let request =
                DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
            client.delete_push_config(request, PATIENCE).await.map(|()| none())
        }
        "card" => {
            let request = GetExtendedAgentCardRequest::default();
            client.get_extended_card(request, PATIENCE).await.map(|_| none())
        }
        other => panic!("no operation {other}"),
    }
}

/// A guarded scene with a workflow `w` whose agent asks, and a paused Task of `ada`.
async fn asking() -> (Running, Scene, Secret, Task) {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n";
    let scene =
        Scene::guarded(&[workflow("w", &[("x", &agent)], steps)], Settings::default()).await;
    let ada = scene.key("ada", &["runs:start:*", "runs:read"]).await;
    let task = send(&of(&scene, &ada), said("go").into()).await.expect("a Task");
    assert_eq!(task.state(), TaskState::InputRequired);
    (agent, scene, ada, task)
}

#[tokio::test]
async fn no_operation_shows_or_touches_a_task_of_another_account() {
    let (_agent, scene, ada, task) = asking().await;
    let eve = scene.key("eve", &["admin"]).await;
    let before = send_get(&of(&scene, &ada), &task.id).await;
    call(&of(&scene, &ada), "create", &task.id).await.expect("a webhook");
    for binding in Binding::ALL {
        for tenant in ["", "w"] {
            let stranger = over(&scene, binding, tenant, Some(&eve));
            for operation in OPERATIONS {
                let answered = call(&stranger, operation, &task.id).await;
                match operation {
                    "list" => assert_eq!(answered.expect("a list"), [""; 0], "{binding}"),
                    "card" => drop(answered.expect("a card")),
                    _ => {
                        assert_eq!(
                            kind(answered),
                            ErrorKind::TaskNotFound,
                            "{binding} {operation}"
                        );
                    }
                }
            }
        }
        let owner = over(&scene, binding, "", Some(&ada));
        for (operation, shown) in
            [("get", &*task.id), ("list", &task.id), ("config", "hook"), ("configs", "hook")]
        {
            let answered = call(&owner, operation, &task.id).await.expect("it is hers");
            assert_eq!(answered, [shown], "{binding} {operation}");
        }
        call(&owner, "subscribe", &task.id).await.expect("it is hers");
    }
    assert_eq!(send_get(&of(&scene, &ada), &task.id).await, before, "nothing has happened to it");
}

async fn send_get(client: &Client, id: &str) -> Task {
    let request = GetTaskRequest { id: id.to_owned(), ..Default::default() };
    client.get_task(request, PATIENCE).await.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn without_good_credentials_no_operation_is_done_on_any_binding() {
    let (_agent, scene, _, task) = asking().await;
    let stranger = Secret::draw("cvk_0123456789_");
    for binding in Binding::ALL {
        for tenant in ["", "w"] {
            for key in [None, Some(&stranger)] {
                let client = over(&scene, binding, tenant, key);
                for operation in OPERATIONS {
                    let refused = kind(call(&client, operation, &task.id).await);
                    assert_eq!(refused, ErrorKind::Unauthenticated, "{binding} {operation}");
                }
            }
        }
    }
}

#[tokio::test]
async fn every_operation_needs_its_scope_on_every_binding() {
    let (_agent, scene, _, task) = asking().await;
    let start = scene.key("ada", &["runs:start:w", "agents:read", "agents:curate"]).await;
    let read = scene.key("ada", &["runs:read"]).await;
    for binding in Binding::ALL {
        for operation in OPERATIONS {
            let starts = ["send", "stream", "cancel"].contains(&operation);
            for (key, may) in [(&start, starts || operation == "card"), (&read, !starts)] {
                if may && starts {
                    // It would change the Task.
                    continue;
                }
                let answered =
                    call(&over(&scene, binding, "", Some(key)), operation, &task.id).await;
                match may {
                    // There is no webhook to be read.
                    true if operation == "config" => _ = answered,
                    true => drop(answered.unwrap_or_else(|error| panic!("{operation}: {error}"))),
                    false => assert_eq!(
                        kind(answered),
                        ErrorKind::PermissionDenied,
                        "{binding} {operation}"
                    ),
                }
            }
        }
    }
    let done = send(&of(&scene, &start), said("water").with_task(&task.id).into()).await;
    assert_eq!(output(&done.expect("it may answer")), "hi [water]");
}

#[tokio::test]
async fn a_key_starts_answers_and_cancels_runs_of_its_workflows_only() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n";
    let files = ["one", "two", "three"].map(|name| workflow(name, &[("x", &agent)], steps));
    let scene = Scene::guarded(&files, Settings::default()).await;
    let naming = |name: &str| said("go").with_metadata(metadata::WORKFLOW, name);
    let all = of(&scene, &scene.key("ada", &["runs:start:*"]).await);
    let two = send(&all, naming("two").into()).await.expect("a Task");
    let some = of(
        &scene,
        &scene.key("ada", &["runs:start:one", "runs:start:three", "runs:start:gone"]).await,
    );
    for name in ["two", "nothing"] {
        assert_eq!(
            kind(send(&some, naming(name).into()).await),
            ErrorKind::PermissionDenied,
            "{name}"
        );
        let tenant = SendMessageRequest { tenant: name.to_owned(), ..said("go").into() };
        assert_eq!(kind(send(&some, tenant).await), ErrorKind::PermissionDenied, "{name}");
    }
    for operation in ["send", "stream", "cancel"] {
        let refused = kind(call(&some, operation, &two.id).await);
        assert_eq!(refused, ErrorKind::PermissionDenied, "{operation}");
    }
    let gone = send(&some, naming("gone").into()).await.expect_err("there is none");
    assert!(!gone.to_string().contains("two"), "it names what may be started only: {gone}");
    let asked = send(&some, said("go").into()).await.expect("a question");
    let question = asked.status.as_ref().and_then(TaskStatus::text).unwrap_or_default();
    assert_eq!(asked.state(), TaskState::InputRequired);
    assert!(
        question.contains("one") && question.contains("three") && !question.contains("two"),
        "{question}"
    );
    let only = of(&scene, &scene.key("ada", &["runs:start:three"]).await);
    let begun = send(&only, said("go").into()).await.expect("the only one is meant");
    assert_eq!(begun.metadata.expect("it names the workflow").0[metadata::WORKFLOW], "three");
}

#[tokio::test]
async fn a_key_that_is_revoked_stops_at_once_also_in_a_stream() {
    let (_agent, scene, ada, task) = asking().await;
    let other = scene.key("ada", &["runs:start:*", "runs:read"]).await;
    let client = over(&scene, Binding::JsonRpc, "", Some(&ada));
    let request = SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() };
    let mut stream = client.subscribe_to_task(request, PATIENCE).await.expect("a stream");
    next(&mut stream).await.expect("the Task as it is");
    let id = &ada.expose()[4..14];
    assert!(keys(&scene.store).revoke(id).await.expect("it is written"));
    assert_eq!(kind(call(&client, "get", &task.id).await), ErrorKind::Unauthenticated);
    send(&of(&scene, &other), said("water").with_task(&task.id).into()).await.expect("an answer");
    use futures_util::StreamExt as _;
    let last = soon("the end", stream.next()).await.expect("an event or an error");
    assert_eq!(kind(last), ErrorKind::Unauthenticated);
    assert!(soon("the end", stream.next()).await.is_none());
}

#[tokio::test]
async fn an_equal_message_of_another_account_is_another_one() {
    let (_agent, scene, ada, task) = asking().await;
    let eve = scene.key("eve", &["runs:start:*"]).await;
    let message: Message = said("go").with_id("the-same");
    let first = send(&of(&scene, &ada), message.clone().into()).await.expect("a Task");
    let again = send(&of(&scene, &ada), message.clone().into()).await.expect("a Task");
    let other = send(&of(&scene, &eve), message.into()).await.expect("a Task");
    assert_eq!(first.id, again.id);
    assert!(![&first.id, &task.id].contains(&&other.id));
}

#[tokio::test]
async fn an_equal_message_is_not_answered_to_a_key_that_could_not_have_sent_it() {
    let (_agent, scene, ada, _) = asking().await;
    let other = scene.key("ada", &["runs:start:other"]).await;
    let message = said("go").with_id("the-same").with_metadata(metadata::WORKFLOW, "w");
    let first = send(&of(&scene, &ada), message.clone().into()).await.expect("a Task");
    let refused = kind(send(&of(&scene, &other), message.clone().into()).await);
    assert_eq!(refused, ErrorKind::PermissionDenied);
    let again = send(&of(&scene, &ada), message.into()).await.expect("a Task");
    assert_eq!(again.id, first.id);
}

#[tokio::test]
async fn webhooks_of_every_account_that_missed_something_are_counted_by_readyz() {
    let (_agent, scene, ada, task) = asking().await;
    let hook = Hook::answering(|_| async { StatusCode::BAD_REQUEST }).await;
    let config = TaskPushNotificationConfig {
        task_id: task.id.clone(),
        url: hook.url.clone(),
        ..TaskPushNotificationConfig::default()
    };
    let client = of(&scene, &ada);
    client.create_push_config(config, PATIENCE).await.expect("a webhook");
    send(&client, said("water").with_task(&task.id).into()).await.expect("an answer");
    soon("the count", async {
        while readiness(&scene).await["dead"] != 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn the_name_of_a_context_does_not_lead_into_that_of_another_account() {
    let (agent, scene, ada, task) = asking().await;
    let eve = scene.key("eve", &["runs:start:*", "runs:read"]).await;
    let message = said("go").with_context(&task.context_id);
    let other = send(&of(&scene, &eve), message.into()).await.expect("a Task");
    assert_eq!(other.context_id, task.context_id, "each account has its own contexts");
    let contexts: Vec<String> = agent.calls.all().into_iter().map(|it| it.context_id).collect();
    let [first, second] = &contexts[..] else { panic!("two Messages: {contexts:?}") };
    assert_ne!(first, second, "the agent is not led to mix them up");
    let again = send(&of(&scene, &ada), said("x").with_context(&task.context_id).into()).await;
    again.expect("a Task");
    assert_eq!(agent.calls.all()[2].context_id, *first, "it is the same for its owner");
}

#[tokio::test]
async fn runs_and_pauses_of_every_account_go_on_after_a_restart() {
    let slow = example(Kind::Slow, Options::default()).await;
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let files = [
        workflow("slow", &[("x", &slow)], "steps:\n  a: {agent: x, message: 3s}\n"),
        workflow("asks", &[("x", &asks)], "steps:\n  a: {agent: x, message: hi}\n"),
    ];
    let scene = Scene::guarded(&files, Settings::default()).await;
    let mut begun = Vec::new();
    for account in ["ada", "eve"] {
        let key = scene.key(account, &["admin"]).await;
        let client = of(&scene, &key);
        let naming = |name: &str| said("go").with_metadata(metadata::WORKFLOW, name);
        let asked = send(&client, naming("asks").into()).await.expect("a Task");
        let mut stream = client.send_streaming_message(naming("slow").into(), PATIENCE).await;
        let first = next(stream.as_mut().expect("a stream")).await.expect("the Task");
        begun.push((key, asked.id, first.task_id().to_owned()));
    }
    let scene = scene.restarted().await;
    for (key, asked, slow) in &begun {
        let client = of(&scene, key);
        soon("the end of a run that nobody asks to go on", async {
            while send_get(&client, slow).await.state() != TaskState::Completed {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let done = send(&client, said("water").with_task(asked).into()).await.expect("an answer");
        assert_eq!(output(&done), "hi [water]");
        let listed = call(&client, "list", "").await.expect("a list");
        assert_eq!(listed.len(), 2, "those of the account");
    }
}

/// The head of an answer to a plain request.
async fn head(
    scene: &Scene,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, String) {
    let outbound = outbound();
    let url = outbound.check(&format!("{}{path}", scene.url)).expect("a URL");
    let mut request = outbound.request(method, &url).expect("a request");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = r#"{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}"#;
    let request = request.header("content-type", "application/json").header("a2a-version", "1.0");
    let answer = outbound.send(&url, request.body(body)).await.expect("an answer");
    let challenge =
        answer.headers().get("www-authenticate").map(|value| value.to_str().expect("text"));
    (answer.status().as_u16(), challenge.unwrap_or_default().to_owned())
}

#[tokio::test]
async fn refusals_over_http_say_how_to_be_let_in_and_some_routes_are_open() {
    let (_agent, scene, ada, task) = asking().await;
    let start = scene.key("ada", &["runs:start:*"]).await;
    let (key, bearer) = (ada.expose(), format!("bearer {}", ada.expose()));
    let of_task = format!("/a2a/tasks/{}", task.id);
    for (method, path) in
        [(Method::POST, "/"), (Method::GET, "/a2a/tasks"), (Method::GET, &of_task)]
    {
        let asked =
            async |headers: &[(&str, &str)]| head(&scene, method.clone(), path, headers).await;
        let refused = (401, "Bearer realm=\"convoke\"".to_owned());
        assert_eq!(asked(&[]).await, refused, "{path}");
        assert_eq!(asked(&[("authorization", "Basic YTpi")]).await, refused, "{path}");
        assert_eq!(asked(&[("authorization", "Bearer x.y.z")]).await, refused, "{path}");
        assert_eq!(
            asked(&[("x-api-key", "wrong"), ("authorization", &bearer)]).await,
            refused,
            "{path}"
        );
        let lacking = (403, "Bearer realm=\"convoke\", error=\"insufficient_scope\"".to_owned());
        assert_eq!(asked(&[("x-api-key", start.expose())]).await, lacking, "{path}");
        assert_eq!(asked(&[("x-api-key", key)]).await, (200, String::new()), "{path}");
        assert_eq!(asked(&[("authorization", &bearer)]).await, (200, String::new()), "{path}");
    }
    for path in ["/healthz", "/readyz", "/.well-known/agent-card.json", "/.well-known/jwks.json"] {
        assert_eq!(head(&scene, Method::GET, path, &[]).await, (200, String::new()), "{path}");
    }
}
