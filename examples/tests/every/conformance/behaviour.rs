//! What a Message chooses.

use examples::ConformanceProfile::Full;
use futures_util::future::join_all;
use protocol::{
    card::Binding,
    client::{Client, FailureClass, Interface},
    error::ErrorKind,
    v1::{
        Artifact, CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part,
        StreamResponse, Task, TaskState, TaskStatus, part::Content, stream_response::Payload,
    },
    wkt::Timestamp,
};
use serde_json::json;

use super::{agent, answer, chosen};
use crate::asking::{Asked, PATIENCE, all};

/// An event in one line, without what differs from run to run.
pub(super) fn shown(event: &StreamResponse) -> String {
    match event.payload.as_ref().expect("an event") {
        Payload::Task(task) => format!("task {}", task_shown(task)),
        Payload::Message(message) => format!("message {:?}", message.text()),
        Payload::StatusUpdate(update) => {
            let text = update.status.as_ref().and_then(TaskStatus::text);
            format!("{}{}", update.state().word(), said(text))
        }
        Payload::ArtifactUpdate(update) => {
            let artifact = artifact_shown(update.artifact.as_ref().expect("an artifact"));
            let append = if update.append { " append" } else { "" };
            let last = if update.last_chunk { " last" } else { "" };
            format!("{artifact}{append}{last}")
        }
    }
}

fn task_shown(task: &Task) -> String {
    let mut line = format!("{}{}", task.state().word(), said(task.status_text()));
    for artifact in &task.artifacts {
        line = format!("{line}, {}", artifact_shown(artifact));
    }
    line
}

fn said(text: Option<String>) -> String {
    text.map(|text| format!(" {text:?}")).unwrap_or_default()
}

fn artifact_shown(artifact: &Artifact) -> String {
    let parts: Vec<String> = artifact.parts.iter().map(part_shown).collect();
    format!("{} [{}]", artifact.name, parts.join(", "))
}

fn part_shown(part: &Part) -> String {
    let content = match part.content.as_ref().expect("a Part holds something") {
        Content::Text(text) => format!("text {text:?}"),
        Content::Raw(bytes) => format!("raw {:?}", String::from_utf8_lossy(bytes)),
        Content::Url(url) => format!("url {url}"),
        Content::Data(data) => format!("data {}", data.0),
    };
    [&content, &part.filename, &part.media_type].map(String::as_str).join(" ").trim().to_owned()
}

async fn streamed(agent: &Asked, prefix: &str) -> String {
    let events = all(agent.stream(chosen(prefix)).await).await;
    let events: Vec<String> = events.iter().map(shown).collect();
    format!("{prefix}: {}", events.join(" | "))
}

#[tokio::test]
async fn every_behaviour_that_ends_by_itself_streams_the_same_on_every_binding() {
    let prefixes = [
        "tck-complete-task",
        "tck-message-response",
        "tck-artifact-text",
        "tck-artifact-file",
        "tck-artifact-file-url",
        "tck-artifact-data",
        "tck-reject-task",
        "tck-stream-001",
        "tck-stream-002",
        "tck-stream-003",
        "tck-stream-ordering-001",
        "tck-stream-artifact-text",
        "tck-stream-artifact-file",
        "tck-stream-artifact-chunked",
        "tck-stream-basic",
        "tck-stream-chunked",
        "test-resubscribe-message-id",
        "tck-long-running",
        "tck-task-failure",
        "anything else",
    ];
    let tables = join_all(Binding::ALL.map(async |binding| {
        let agent = agent(Full, binding).await;
        // So many at once are too much for the stack of a test.
        join_all(prefixes.map(|prefix| Box::pin(streamed(&agent, prefix)))).await.join("\n")
    }))
    .await;
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
    insta::assert_snapshot!(tables[0], @r#"
    tck-complete-task: task submitted | completed "Hello from TCK"
    tck-message-response: message "Direct message response"
    tck-artifact-text: task submitted | result [text "Generated text content"] last | completed
    tck-artifact-file: task submitted | result [raw "tck" output.txt text/plain] last | completed
    tck-artifact-file-url: task submitted | result [url https://example.com/output.txt output.txt text/plain] last | completed
    tck-artifact-data: task submitted | result [data {"count":42,"key":"value"}] last | completed
    tck-reject-task: task submitted | rejected "rejected"
    tck-stream-001: task submitted | working "Working" | result [text "Stream hello from TCK"] last | completed
    tck-stream-002: task submitted | completed
    tck-stream-003: task submitted | working "Working" | result [text "Stream task lifecycle"] last | completed
    tck-stream-ordering-001: task submitted | working "Working" | result [text "Ordered output"] last | completed
    tck-stream-artifact-text: task submitted | working "Working" | result [text "Streamed text content"] last | completed
    tck-stream-artifact-file: task submitted | working "Working" | result [raw "tck" output.txt text/plain] last | completed
    tck-stream-artifact-chunked: task submitted | working "Working" | result [text "chunk-1 "] | result [text "chunk-2"] append last | completed
    tck-stream-basic: task submitted | working "Working" | result [text "Streamed text content"] last | completed
    tck-stream-chunked: task submitted | working "Working" | result [text "chunk-1 "] | result [text "chunk-2"] append last | completed
    test-resubscribe-message-id: task submitted | working "Working" | completed
    tck-long-running: task submitted | working "Working" | result [text "Long-running output"] last | completed
    tck-task-failure: task submitted | failed "failed as asked"
    anything else: task submitted | working "Working" | completed "Done."
    "#);
}

#[tokio::test]
async fn a_chunked_artifact_is_kept_as_one() {
    let agent = agent(Full, Binding::JsonRpc).await;
    let task = agent.task(chosen("tck-stream-artifact-chunked")).await;
    let line = r#"completed, result [text "chunk-1 ", text "chunk-2"]"#;
    assert_eq!(task_shown(&task), line);
}

#[tokio::test]
async fn the_task_comes_first_with_the_message_in_its_history() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let message = Message::user(vec![Part::text("hello")]).with_id("tck-complete-task-1");
        let events = all(agent.stream(message.into()).await).await;
        let Some(Payload::Task(task)) = &events[0].payload else { panic!("no Task: {events:?}") };
        assert_eq!(task.state(), TaskState::Submitted, "{binding}");
        assert_eq!(task.history[0].message_id, "tck-complete-task-1", "{binding}");
    }
}

#[tokio::test]
async fn an_interrupted_task_goes_on_as_the_answer_chooses() {
    let mut tables = Vec::new();
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let mut lines = Vec::new();
        for (prefix, answers) in [
            ("tck-input-required", ["tck-input-required", "tck-artifact-text"]),
            ("tck-auth-required", ["tck-auth-required", "tck-complete-task"]),
            ("tck-multi-turn", ["tck-complete-task", "done"]),
        ] {
            let mut task = agent.task(chosen(prefix)).await;
            let mut line = format!("{prefix}: {}", task_shown(&task));
            for text in answers {
                task = agent.task(answer(&task.id, text)).await;
                line = format!("{line} | {text}: {}", task_shown(&task));
            }
            assert_eq!(task.history.len(), 3, "{binding} {prefix}");
            lines.push(line);
        }
        tables.push(lines.join("\n"));
    }
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0], tables[2]);
    insta::assert_snapshot!(tables[0], @r#"
    tck-input-required: input required "What else?" | tck-input-required: input required "What else?" | tck-artifact-text: completed, result [text "Generated text content"]
    tck-auth-required: authorization required "Authorize this elsewhere, then say so here." | tck-auth-required: authorization required "Authorize this elsewhere, then say so here." | tck-complete-task: completed "Hello from TCK"
    tck-multi-turn: input required "Go on, or say done." | tck-complete-task: input required "Go on, or say done." | done: completed
    "#);
}

#[tokio::test]
async fn a_task_that_never_ends_can_be_canceled() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let task = agent.begun(chosen("tck-cancel")).await;
        let cancel = CancelTaskRequest { id: task.id, ..CancelTaskRequest::default() };
        let canceled = agent.client.cancel_task(cancel, PATIENCE).await.expect("a Task");
        assert_eq!(canceled.state(), TaskState::Canceled, "{binding}");
    }
}

#[tokio::test]
async fn the_same_message_is_work_once_more() {
    let agent = agent(Full, Binding::JsonRpc).await;
    let message = Message::user(vec![Part::text("hello")]).with_id("tck-complete-task");
    let first = agent.task(message.clone()).await;
    assert_ne!(agent.task(message).await.id, first.id);
    let paused = agent.task(chosen("tck-input-required")).await;
    let answer = answer(&paused.id, "tck-input-required");
    for _ in 0..2 {
        assert_eq!(agent.task(answer.clone()).await.state(), TaskState::InputRequired);
    }
    assert_eq!(agent.get(&paused.id).await.history.len(), 3);
}

#[tokio::test]
async fn parts_that_the_card_does_not_name_are_refused() {
    let parts = [
        (Part::text("tck-complete-task"), None),
        (Part::data(json!(1)), None),
        (Part::text("tck-complete-task").with_media_type("Text/Plain; charset=utf-8"), None),
        (Part::raw(b"?".to_vec()), None),
        (Part::raw(b"?".to_vec()).with_media_type("image/png"), Some("image/png")),
        (Part::text("<p>").with_media_type("text/html"), Some("text/html")),
    ];
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        for (part, strange) in &parts {
            let message = Message::user(vec![Part::text("tck-complete-task"), part.clone()]);
            let error = agent.try_task(message).await.err();
            let kind = error.as_ref().and_then(|error| error.kind);
            assert_eq!(kind, strange.map(|_| ErrorKind::ContentTypeNotSupported), "{part:?}");
            if let (Some(error), Some(strange)) = (error, strange) {
                assert!(error.message.contains(strange), "{binding}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn each_tenant_is_an_agent_of_its_own() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        let client = |tenant: &str| {
            let interface =
                Interface { tenant: tenant.to_owned(), ..agent.client.interface().clone() };
            Client::new(agent.outbound.clone(), interface).expect("an interface that is spoken")
        };
        let (blue, red) = (client("blue"), client("red"));
        let task = agent.task(chosen("tck-complete-task")).await;
        blue.send_message(chosen("tck-complete-task"), PATIENCE).await.expect("a Task");
        let list = |client: Client| async move {
            let page = client.list_tasks(ListTasksRequest::default(), PATIENCE).await;
            page.expect("a page").tasks
        };
        assert_eq!(list(agent.client.clone()).await.len(), 1, "{binding}");
        let of_blue = list(blue.clone()).await;
        assert_eq!((of_blue.len(), list(red).await.len()), (1, 0), "{binding}");
        assert_ne!(of_blue[0].id, task.id, "{binding}");
        let get = GetTaskRequest { id: task.id, ..GetTaskRequest::default() };
        let error = blue.get_task(get, PATIENCE).await.expect_err("it is another agent's");
        assert_eq!(error.class, FailureClass::NotFound, "{binding}");
    }
}

#[tokio::test]
async fn tasks_are_listed_by_every_filter_on_every_binding() {
    for binding in Binding::ALL {
        let agent = agent(Full, binding).await;
        for (context, prefix) in
            [("a", "tck-artifact-text"), ("a", "tck-input-required"), ("b", "tck-artifact-text")]
        {
            let message = Message::user(vec![Part::text(prefix)]).with_context(context);
            agent.task(message).await;
        }
        let list = async |request: ListTasksRequest| {
            agent.client.list_tasks(request, PATIENCE).await.expect("a page")
        };
        let every = list(ListTasksRequest::default()).await;
        let times: Vec<_> = every.tasks.iter().map(since).collect();
        assert!(times.len() == 3 && times.is_sorted_by(|one, next| one >= next), "{times:?}");
        assert!(every.tasks.iter().all(|task| task.artifacts.is_empty()), "{binding}");
        let of_a = ListTasksRequest { context_id: "a".to_owned(), ..ListTasksRequest::default() };
        assert_eq!(list(of_a.clone()).await.total_size, 2, "{binding}");
        let paused = TaskState::InputRequired.into();
        let paused = list(ListTasksRequest { status: paused, ..of_a.clone() }).await;
        assert_eq!(paused.total_size, 1, "{binding}");
        for (seconds, expected) in [(-3600, 2), (1, 0)] {
            let seconds = times[0].seconds + seconds;
            let after = Some(Timestamp { seconds, nanos: 0 });
            let after = ListTasksRequest { status_timestamp_after: after, ..of_a.clone() };
            assert_eq!(list(after).await.total_size, expected, "{binding}");
        }
        let whole = ListTasksRequest {
            context_id: "b".to_owned(),
            include_artifacts: Some(true),
            history_length: Some(0),
            ..ListTasksRequest::default()
        };
        let page = list(whole).await;
        let line = "completed, result [text \"Generated text content\"]";
        assert_eq!((task_shown(&page.tasks[0]).as_str(), page.tasks[0].history.len()), (line, 0));
        let mut ids = Vec::new();
        let mut request = ListTasksRequest { page_size: Some(1), ..ListTasksRequest::default() };
        loop {
            let page = list(request.clone()).await;
            assert_eq!((page.tasks.len(), page.page_size, page.total_size), (1, 1, 3), "{binding}");
            ids.push(page.tasks[0].id.clone());
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        let expected: Vec<_> = every.tasks.iter().map(|task| task.id.clone()).collect();
        assert_eq!(ids, expected, "{binding}");
    }
}

fn since(task: &Task) -> Timestamp {
    task.status.as_ref().and_then(|status| status.timestamp).expect("a status has a time")
}
