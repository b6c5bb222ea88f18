//! `convoke task`

use insta::assert_snapshot;
use protocol::operation::Operation;
use serde_json::{Value, json};
use tests::{agent::Mirror, convoke::Convoke};

use super::BINDINGS;
use crate::steady;

/// A verb, what follows the agent, and what the agent is asked then.
type Row = (&'static [&'static str], &'static str, Operation, Value);

fn tasks() -> Vec<Row> {
    use Operation as O;
    let filters = "--context c --status input-required --since 2026-03-01T10:00:00+01:00 \
                   --page-size 7 --page-token 2 --history 1 --artifacts";
    let filtered = json!({
        "contextId": "c",
        "status": "TASK_STATE_INPUT_REQUIRED",
        "statusTimestampAfter": "2026-03-01T09:00:00Z",
        "pageSize": 7,
        "pageToken": "2",
        "historyLength": 1,
        "includeArtifacts": true,
    });
    let metadata = json!({"id": "t", "metadata": {"k": 1}});
    vec![
        (&["get"], "t", O::GetTask, json!({"id": "t"})),
        (&["get"], "t --history 3", O::GetTask, json!({"id": "t", "historyLength": 3})),
        (&["list"], "", O::ListTasks, json!({})),
        (&["list"], filters, O::ListTasks, filtered),
        (&["cancel"], "t", O::CancelTask, json!({"id": "t"})),
        (&["cancel"], "t --metadata k=1", O::CancelTask, metadata),
        (&["subscribe"], "t", O::SubscribeToTask, json!({"id": "t"})),
    ]
}

fn webhooks() -> Vec<Row> {
    use Operation as O;
    let all = "t --url https://h.test/ --id w --token s --scheme Bearer --credentials-env HOOK";
    let made = json!({
        "taskId": "t",
        "url": "https://h.test/",
        "id": "w",
        "token": "s",
        "authentication": {"scheme": "Bearer", "credentials": "hush"},
    });
    let plain = json!({"taskId": "t", "url": "https://h.test/"});
    let one = json!({"taskId": "t", "id": "w"});
    let page = json!({"taskId": "t", "pageSize": 7, "pageToken": "2"});
    let listed = "t --page-size 7 --page-token 2";
    vec![
        (&["push", "create"], all, O::CreateTaskPushNotificationConfig, made),
        (
            &["push", "create"],
            "t --url https://h.test/",
            O::CreateTaskPushNotificationConfig,
            plain,
        ),
        (&["push", "get"], "t w", O::GetTaskPushNotificationConfig, one.clone()),
        (&["push", "list"], listed, O::ListTaskPushNotificationConfigs, page),
        (&["push", "delete"], "t w", O::DeleteTaskPushNotificationConfig, one),
    ]
}

#[tokio::test]
async fn every_field_of_every_operation_on_tasks_is_sent_by_every_binding() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    for binding in BINDINGS {
        for (verb, rest, operation, request) in tasks().into_iter().chain(webhooks()) {
            let args = ["task"].iter().chain(verb).copied().chain([mirror.url.as_str()]);
            let args = args.chain(rest.split_whitespace()).chain(["--binding", binding]);
            let mut command = convoke.command(args.chain(["--header", "x-key: k"]));
            command.env("HOOK", "hush");
            let output = command.output().await.expect("the binary runs");
            assert!(output.status.success(), "{binding} {verb:?}: {output:?}");
            let call = mirror.last();
            assert_eq!(call.operation, operation, "{binding}");
            assert_eq!(call.request, request, "{binding} {verb:?}");
            assert_eq!(call.key.as_deref(), Some("k"), "{binding} {verb:?}");
        }
    }
}

#[tokio::test]
async fn all_pages_are_read_and_one_page_names_the_next() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let one = convoke.run(["task", "list", &mirror.url]).await.exits(0);
    assert_snapshot!(one.stdout, @r"
    TASK  STATE    SINCE                 CONTEXT
    t1    working  2026-01-02 03:04:05Z  context
    ");
    assert_snapshot!(one.stderr, @"there are more: --page-token 2, or --all");
    let all =
        convoke.run(["task", "list", &mirror.url, "--all", "--history", "1", "--artifacts"]).await;
    assert_snapshot!(all.stdout, @r"
    TASK  STATE    SINCE                 CONTEXT  MESSAGES  ARTIFACTS
    t1    working  2026-01-02 03:04:05Z  context  0
    t2    working  2026-01-02 03:04:05Z  context  0
    t3    working  2026-01-02 03:04:05Z  context  0
    ");
    assert_eq!(all.stderr, "");
    let json = convoke.run(["--json", "task", "list", &mirror.url, "--all"]).await.exits(0).json();
    let ids: Vec<_> = (0..3).map(|place| json["tasks"][place]["id"].clone()).collect();
    assert_eq!(ids, ["t1", "t2", "t3"]);
    assert_eq!((json["nextPageToken"].clone(), json["totalSize"].clone()), (json!(""), json!(3)));
    let hooks = convoke.run(["task", "push", "list", &mirror.url, "t", "--all"]).await.exits(0);
    assert_snapshot!(hooks.stdout, @r"
    w1  https://hook.test/ with a token
    w2  https://hook.test/ with a token
    w3  https://hook.test/ with a token
    ");
    let hooks = convoke.run(["--json", "task", "push", "list", &mirror.url, "t"]).await.exits(0);
    assert_eq!(hooks.json()["nextPageToken"], "2");
}

#[tokio::test]
async fn a_task_is_shown_with_the_history_that_was_asked_for() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let plain = convoke.run(["task", "get", &mirror.url, "t"]).await.exits(0);
    assert_snapshot!(plain.stderr, @r"
    Task t completed
    answer
    ");
    let shown = convoke.run(["task", "get", &mirror.url, "t", "--history", "5"]).await.exits(0);
    assert_snapshot!(shown.stderr, @r"
    Task t completed
    user Hello.
    answer
    ");
    let json = convoke.run(["--json", "task", "get", &mirror.url, "t"]).await.exits(0).json();
    assert_eq!(
        (json["id"].clone(), json["status"]["state"].clone()),
        (json!("t"), json!("TASK_STATE_COMPLETED"))
    );
}

#[tokio::test]
async fn a_webhook_is_shown_without_its_secrets() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let args = [
        "task",
        "push",
        "create",
        &mirror.url,
        "t",
        "--url",
        "https://h.test/",
        "--token",
        "secret",
    ];
    let made = convoke.run(args).await.exits(0);
    assert_snapshot!(made.stdout, @"  https://h.test/ with a token");
    let deleted = convoke.run(["task", "push", "delete", &mirror.url, "t", "w"]).await.exits(0);
    assert_eq!(deleted.stdout, "deleted w\n");
    let wrong =
        convoke.run(args.iter().chain(&["--scheme", "Bearer", "--credentials-env", "NO_SUCH"]));
    let wrong = wrong.await.exits(2);
    assert!(wrong.stderr.contains("NO_SUCH"), "{}", wrong.stderr);
}

#[tokio::test]
async fn a_task_that_has_ended_is_shown_instead_of_followed() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let shown = convoke.run(["task", "subscribe", &mirror.url, "ended"]).await.exits(0);
    assert_eq!(mirror.last().operation, Operation::GetTask);
    let _steady = steady();
    assert!(shown.stderr.contains("Task ended completed"), "{}", shown.stderr);
}
