//! Webhooks: how they are made and removed, and what they are sent.

use examples::{ConformanceProfile::Full, Kind, Options};
use protocol::{
    card::Binding,
    client::{ClientError, FailureClass},
    v1::{
        AuthenticationInfo, DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest, ListTaskPushNotificationConfigsRequest,
        ListTaskPushNotificationConfigsResponse, SendMessageConfiguration, SendMessageRequest,
        TaskPushNotificationConfig,
    },
};

use super::{agent, answer, chosen, webhook::Webhook};
use crate::asking::{Asked, PATIENCE, start};

/// A request that brings a webhook along.
fn inline(request: SendMessageRequest, config: TaskPushNotificationConfig) -> SendMessageRequest {
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(config),
        ..SendMessageConfiguration::default()
    };
    SendMessageRequest { configuration: Some(configuration), ..request }
}

/// The four operations on configurations, as far as the tests use them.
impl Asked {
    async fn create(
        &self,
        task_id: &str,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        let config = TaskPushNotificationConfig { task_id: task_id.to_owned(), ..config };
        self.client.create_push_config(config, PATIENCE).await
    }

    async fn read(
        &self,
        task_id: &str,
        id: &str,
    ) -> Result<TaskPushNotificationConfig, ClientError> {
        let (task_id, id) = (task_id.to_owned(), id.to_owned());
        let request = GetTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
        self.client.get_push_config(request, PATIENCE).await
    }

    async fn list(
        &self,
        task_id: &str,
        page_size: i32,
        page_token: &str,
    ) -> Result<ListTaskPushNotificationConfigsResponse, ClientError> {
        let request = ListTaskPushNotificationConfigsRequest {
            task_id: task_id.to_owned(),
            page_size,
            page_token: page_token.to_owned(),
            ..Default::default()
        };
        self.client.list_push_configs(request, PATIENCE).await
    }

    async fn delete(&self, task_id: &str, id: &str) -> Result<(), ClientError> {
        let (task_id, id) = (task_id.to_owned(), id.to_owned());
        let request = DeleteTaskPushNotificationConfigRequest { task_id, id, ..Default::default() };
        self.client.delete_push_config(request, PATIENCE).await
    }
}

#[tokio::test]
async fn a_webhook_of_the_message_hears_everything_in_order_with_its_credentials() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let webhook = Webhook::answering(&[]).await;
        let config = TaskPushNotificationConfig {
            token: "for-this-task".to_owned(),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".to_owned(),
                credentials: "secret".to_owned(),
            }),
            ..webhook.config()
        };
        let task = agent.task(inline(chosen("tck-stream-artifact-chunked"), config)).await;
        let events = [
            "task submitted",
            "working \"Working\"",
            "result [text \"chunk-1 \"]",
            "result [text \"chunk-2\"] append last",
            "completed",
        ];
        assert_eq!(webhook.shown(events.len()).await, events, "{binding}");
        for (head, event) in webhook.wait_for(events.len()).await {
            assert_eq!(event.task_id(), task.id, "{binding}");
            assert_eq!(head["authorization"], "Bearer secret", "{binding}");
            assert_eq!(head["x-a2a-notification-token"], "for-this-task", "{binding}");
            assert_eq!(head["content-type"], "application/a2a+json", "{binding}");
        }
        let kept = agent.list(&task.id, 0, "").await.expect("a page").configs;
        assert_eq!(kept.len(), 1, "{binding}");
        assert!(!kept[0].id.is_empty() && kept[0].task_id == task.id, "{binding}");
    }
}

#[tokio::test]
async fn a_streaming_message_brings_its_webhook_too() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let webhook = Webhook::answering(&[]).await;
        drop(agent.stream(inline(chosen("tck-complete-task"), webhook.config())).await);
        let events = ["task submitted", "completed \"Hello from TCK\""];
        assert_eq!(webhook.shown(2).await, events, "{binding}");
    }
}

#[tokio::test]
async fn several_webhooks_of_a_task_hear_what_happens_from_then_on_until_they_are_removed() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let task = agent.task(chosen("tck-input-required")).await;
        let (stays, goes) = (Webhook::answering(&[]).await, Webhook::answering(&[]).await);
        agent.create(&task.id, stays.config()).await.expect("a configuration");
        let leaving = agent.create(&task.id, goes.config()).await.expect("a configuration");
        agent.task(answer(&task.id, "tck-input-required")).await;
        let turn = ["working", "input required \"What else?\""];
        assert_eq!(stays.shown(2).await, turn, "{binding}");
        assert_eq!(goes.shown(2).await, turn, "{binding}");

        agent.delete(&task.id, &leaving.id).await.expect("it is removed");
        let late = Webhook::answering(&[]).await;
        let last = answer(&task.id, "tck-complete-task");
        agent.task(inline(last, late.config())).await;
        let end = ["working", "completed \"Hello from TCK\""];
        assert_eq!(late.shown(2).await, end, "{binding}");
        assert_eq!(stays.shown(4).await, [turn, end].concat(), "{binding}");
        assert_eq!(goes.count(), 2, "{binding}");
    }
}

#[tokio::test]
async fn configurations_are_kept_replaced_paged_and_removed_on_every_binding() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let task = agent.task(chosen("tck-complete-task")).await.id;
        let config = |id: &str, token: &str| TaskPushNotificationConfig {
            id: id.to_owned(),
            token: token.to_owned(),
            url: "https://example.com/hook".to_owned(),
            ..TaskPushNotificationConfig::default()
        };
        let made = agent.create(&task, config("", "a")).await.expect("a configuration");
        assert_eq!((made.task_id.as_str(), made.token.as_str()), (task.as_str(), "a"));
        assert!(!made.id.is_empty(), "{binding}");
        for id in ["b", "c", "d", "c"] {
            agent.create(&task, config(id, id)).await.expect("a configuration");
        }
        agent.create(&task, config("b", "new")).await.expect("a configuration");
        assert_eq!(agent.read(&task, &made.id).await.expect("it is kept"), made, "{binding}");
        assert_eq!(agent.read(&task, "b").await.expect("it is kept").token, "new", "{binding}");

        let two = pages(&agent, &task, 2, None).await;
        assert_eq!(two, [vec!["a", "new"], vec!["c", "d"]], "{binding}");
        // What goes meanwhile is not repeated, and does not hide what comes after it.
        let three = pages(&agent, &task, 3, Some("c")).await;
        assert_eq!(three, [vec!["a", "new", "c"], vec!["d"]], "{binding}");
        for _ in 0..2 {
            agent.delete(&task, "c").await.expect("removing twice is no error");
        }
        let gone = agent.read(&task, "c").await.expect_err("it is gone");
        assert_eq!(gone.class, FailureClass::NotFound, "{binding}");
        let error = agent.list(&task, 0, "elsewhere").await.expect_err("it is not ours");
        assert_eq!(error.class, FailureClass::Invalid, "{binding}");
    }
}

/// The tokens of all configurations, page by page; one is removed after the first page.
async fn pages(agent: &Asked, task: &str, size: i32, removed: Option<&str>) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let page = agent.list(task, size, &token).await.expect("a page");
        pages.push(page.configs.into_iter().map(|one| one.token).collect());
        token = page.next_page_token;
        if token.is_empty() {
            return pages;
        }
        if let Some(id) = removed {
            agent.delete(task, id).await.expect("it is removed");
        }
    }
}

#[tokio::test]
async fn a_task_that_does_not_exist_has_no_configurations() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let config = TaskPushNotificationConfig {
            url: "https://example.com/hook".to_owned(),
            ..TaskPushNotificationConfig::default()
        };
        let errors = [
            agent.create("none", config).await.err(),
            agent.read("none", "hook").await.err(),
            agent.list("none", 0, "").await.err(),
            agent.delete("none", "hook").await.err(),
        ];
        for error in errors {
            let class = error.map(|error| error.class);
            assert_eq!(class, Some(FailureClass::NotFound), "{binding}");
        }
    }
}

#[tokio::test]
async fn a_webhook_out_of_reach_gets_the_same_event_again_before_the_next_one() {
    let agent = agent(Full, Binding::JsonRpc).await;
    let webhook = Webhook::answering(&[503, 429, 204, 500]).await;
    agent.task(inline(chosen("tck-complete-task"), webhook.config())).await;
    let first = "task submitted";
    let second = "completed \"Hello from TCK\"";
    assert_eq!(webhook.shown(5).await, [first, first, first, second, second]);
}

#[tokio::test]
async fn an_event_that_is_refused_for_good_is_left_out() {
    let agent = agent(Full, Binding::JsonRpc).await;
    let webhook = Webhook::answering(&[400, 410]).await;
    agent.task(inline(chosen("tck-stream-basic"), webhook.config())).await;
    let events = [
        "task submitted",
        "working \"Working\"",
        "result [text \"Streamed text content\"] last",
        "completed",
    ];
    assert_eq!(webhook.shown(4).await, events);
}

#[tokio::test]
async fn a_webhook_that_is_removed_is_not_tried_again() {
    let agent = agent(Full, Binding::JsonRpc).await;
    let task = agent.task(chosen("tck-input-required")).await.id;
    let removed = Webhook::answering(&[503; 9]).await;
    let config = agent.create(&task, removed.config()).await.expect("a configuration");
    agent.begun(answer(&task, "tck-cancel")).await;
    removed.wait_for(1).await;
    agent.delete(&task, &config.id).await.expect("it is removed");
    let tried = removed.count();
    // Fails as often as it would take the removed one to be tried twice more.
    let other = Webhook::answering(&[503; 4]).await;
    let last = agent.create(&task, other.config()).await.expect("a configuration");
    let cancel = protocol::v1::CancelTaskRequest { id: last.task_id, ..Default::default() };
    agent.client.cancel_task(cancel, PATIENCE).await.expect("a Task");
    assert_eq!(other.shown(5).await, ["canceled"; 5]);
    assert_eq!(removed.count(), tried);
}

#[tokio::test]
async fn webhooks_on_this_machine_are_called_only_when_that_is_allowed() {
    for binding in Binding::ALL {
        let options = Options { binding, ..Options::default() };
        let agent = start(Kind::Conformance, options).await;
        let webhook = Webhook::answering(&[]).await;
        let task = agent.task(chosen("tck-input-required")).await.id;
        let fields = |error: ClientError| {
            let violations = error.remote.expect("the agent said it").violations;
            violations.into_iter().map(|one| one.field).collect::<Vec<_>>()
        };
        let refused = agent.create(&task, webhook.config()).await.expect_err("refused");
        assert_eq!(fields(refused), ["url"], "{binding}");
        let request = inline(chosen("tck-complete-task"), webhook.config());
        let refused = agent.try_task(request).await.expect_err("refused");
        assert_eq!(fields(refused), ["configuration.taskPushNotificationConfig.url"], "{binding}");
        assert_eq!(agent.list(&task, 0, "").await.expect("a page").configs, [], "{binding}");

        // A name is looked up when there is something to send, and led inside then.
        let named = webhook.url.replace("127.0.0.1", "localhost");
        let named = TaskPushNotificationConfig { url: named, ..webhook.config() };
        agent.create(&task, named).await.expect("a configuration");
        assert_eq!(agent.task(answer(&task, "tck-complete-task")).await.id, task);
        assert_eq!(webhook.count(), 0, "{binding}");
    }
}
