//! The profile that asks who calls.

use examples::{ConformanceProfile::Auth, READ_TOKEN, TOKEN};
use protocol::{
    card::Binding,
    client::{Client, ClientError},
    outbound::FetchLimits,
    v1::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTasksRequest, SubscribeToTaskRequest,
        TaskPushNotificationConfig, send_message_response::Payload,
    },
};

use super::{agent, chosen};
use crate::asking::{Asked, PATIENCE};

fn with(agent: &Asked, authorization: &str) -> Client {
    agent.client.clone().with_authorization(authorization.parse().expect("a header"))
}

fn outcome<T>(answered: Result<T, ClientError>) -> String {
    let error = answered.err();
    error.map_or("let in".to_owned(), |error| match error.kind {
        Some(kind) => format!("{:?} {kind}", error.class),
        None => format!("{:?}", error.class),
    })
}

/// How every operation answers a caller, one in a line.
async fn outcomes(client: &Client, task: &str) -> Vec<String> {
    let (id, task_id) = (task.to_owned(), task.to_owned());
    let config = TaskPushNotificationConfig {
        task_id: task_id.clone(),
        id: "hook".to_owned(),
        url: "https://example.com/hook".to_owned(),
        ..TaskPushNotificationConfig::default()
    };
    let get = GetTaskRequest { id: id.clone(), ..Default::default() };
    let subscribe = SubscribeToTaskRequest { id: id.clone(), ..Default::default() };
    let cancel = CancelTaskRequest { id, ..Default::default() };
    let get_config = GetTaskPushNotificationConfigRequest {
        task_id: task_id.clone(),
        id: "hook".to_owned(),
        ..Default::default()
    };
    let list_configs =
        ListTaskPushNotificationConfigsRequest { task_id: task_id.clone(), ..Default::default() };
    let delete_config = DeleteTaskPushNotificationConfigRequest {
        task_id,
        id: "other".to_owned(),
        ..Default::default()
    };
    let said = || chosen("tck-complete-task");
    vec![
        outcome(client.send_message(said(), PATIENCE).await),
        outcome(client.send_streaming_message(said(), PATIENCE).await),
        outcome(client.get_task(get, PATIENCE).await),
        outcome(client.list_tasks(ListTasksRequest::default(), PATIENCE).await),
        outcome(client.subscribe_to_task(subscribe, PATIENCE).await),
        outcome(client.create_push_config(config, PATIENCE).await),
        outcome(client.get_push_config(get_config, PATIENCE).await),
        outcome(client.list_push_configs(list_configs, PATIENCE).await),
        outcome(client.delete_push_config(delete_config, PATIENCE).await),
        outcome(client.get_extended_card(GetExtendedAgentCardRequest::default(), PATIENCE).await),
        outcome(client.cancel_task(cancel, PATIENCE).await),
    ]
}

/// A paused Task with a webhook of the id that [`outcomes`] asks for.
async fn prepared(client: &Client) -> String {
    let sent = client.send_message(chosen("tck-input-required"), PATIENCE).await;
    let Some(Payload::Task(task)) = sent.expect("an answer").payload else { panic!("no Task") };
    let config = TaskPushNotificationConfig {
        task_id: task.id.clone(),
        id: "hook".to_owned(),
        url: "https://example.com/hook".to_owned(),
        ..TaskPushNotificationConfig::default()
    };
    client.create_push_config(config, PATIENCE).await.expect("a configuration");
    task.id
}

#[tokio::test]
async fn tokens_decide_what_may_be_called_on_every_binding() {
    let mut tables = Vec::new();
    for binding in Binding::ALL {
        let agent = agent(Auth, binding).await;
        let whole = with(&agent, &format!("Bearer {TOKEN}"));
        let task = prepared(&whole).await;
        let callers = [
            ("nobody", agent.client.clone()),
            ("basic", with(&agent, "Basic Y29udm9rZQ==")),
            ("stranger", with(&agent, "Bearer guessed")),
            ("reader", with(&agent, &format!("bearer {READ_TOKEN}"))),
            ("whole", whole),
        ];
        let mut lines = Vec::new();
        for (name, client) in &callers {
            lines.push(format!("{name}: {}", outcomes(client, &task).await.join(", ")));
        }
        tables.push(lines.join("\n"));
    }
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
    insta::assert_snapshot!(tables[0], @r"
    nobody: Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED
    basic: Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED
    stranger: Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED, Unauthorized UNAUTHENTICATED
    reader: Unauthorized PERMISSION_DENIED, Unauthorized PERMISSION_DENIED, let in, let in, let in, Unauthorized PERMISSION_DENIED, let in, let in, Unauthorized PERMISSION_DENIED, let in, Unauthorized PERMISSION_DENIED
    whole: let in, let in, let in, let in, let in, let in, let in, let in, let in, let in, let in
    ");
}

#[tokio::test]
async fn over_http_a_refusal_says_how_to_be_let_in() {
    let agent = agent(Auth, Binding::HttpJson).await;
    let fetched = agent.outbound.fetch(&agent.agent.card_url(), FetchLimits::default()).await;
    assert_eq!(fetched.expect("an answer").status, 200, "the card is public");
    let url = format!("{}/a2a/tasks?A2A-Version=1.0", agent.agent.url);
    let refused = agent.outbound.fetch(&url, FetchLimits::default()).await.expect("an answer");
    assert_eq!(refused.status, 401);
    assert_eq!(refused.headers["www-authenticate"], "Bearer");

    let client = with(&agent, &format!("Bearer {READ_TOKEN}"));
    let error = client.send_message(chosen("tck-complete-task"), PATIENCE).await;
    let message = error.expect_err("it may only read").message;
    assert!(message.contains("tasks:write"), "{message}");
}
