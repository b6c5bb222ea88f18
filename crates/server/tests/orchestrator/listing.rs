//! ListTasks.

use examples::{Kind, Options};
use protocol::{
    error::ErrorKind,
    v1::{ListTasksRequest, ListTasksResponse, Task, TaskState},
};

use crate::scene::{PATIENCE, Scene, example, kind, said, workflow};

const STEPS: &str = "steps:\n  a: {agent: x}\n";

async fn list(scene: &Scene, request: ListTasksRequest) -> ListTasksResponse {
    scene.client.list_tasks(request, PATIENCE).await.unwrap_or_else(|error| panic!("{error}"))
}

fn ids(tasks: &[Task]) -> Vec<&str> {
    tasks.iter().map(|task| task.id.as_str()).collect()
}

#[tokio::test]
async fn tasks_are_listed_newest_first_page_by_page() {
    let agent = example(Kind::Echo, Options::default()).await;
    let scene = Scene::new(&[workflow("w", &[("x", &agent)], STEPS)]).await;
    let mut tasks = Vec::new();
    for number in 0..5 {
        tasks.push(scene.send(said(&number.to_string())).await);
    }
    tasks.reverse();
    let mut seen: Vec<Task> = Vec::new();
    let mut token = String::new();
    loop {
        let page = ListTasksRequest { page_size: Some(2), page_token: token, ..Default::default() };
        let page = list(&scene, page).await;
        assert_eq!((page.total_size, page.page_size), (5, 2));
        seen.extend(page.tasks);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(ids(&seen), ids(&tasks));
    assert!(seen.iter().all(|task| task.artifacts.is_empty() && task.history.len() == 1));
    let all = ListTasksRequest {
        include_artifacts: Some(true),
        history_length: Some(0),
        ..Default::default()
    };
    let all = list(&scene, all).await;
    assert_eq!(all.page_size, 50);
    assert!(all.tasks.iter().all(|task| task.artifacts.len() == 1 && task.history.is_empty()));
    let rows =
        list(&scene, ListTasksRequest { history_length: Some(0), ..Default::default() }).await;
    let whole = Task { artifacts: Vec::new(), history: Vec::new(), ..tasks[0].clone() };
    assert_eq!(rows.tasks[0], whole, "the row has all of the Task but these");
}

#[tokio::test]
async fn tasks_are_listed_by_context_state_and_time() {
    let (echo, asks) = (
        example(Kind::Echo, Options::default()).await,
        example(Kind::Asks, Options::default()).await,
    );
    let files =
        [workflow("echo", &[("x", &echo)], STEPS), workflow("asks", &[("x", &asks)], STEPS)];
    let scene = Scene::new(&files).await;
    let done = scene.send(said("1").with_metadata("urn:convoke:workflow:v1", "echo")).await;
    let other = said("2").with_context("other").with_metadata("urn:convoke:workflow:v1", "asks");
    let paused = scene.send(other).await;
    let of = async |request| list(&scene, request).await;
    let of_context =
        of(ListTasksRequest { context_id: "other".to_owned(), ..Default::default() }).await;
    assert_eq!(ids(&of_context.tasks), [paused.id.as_str()]);
    let by_state = async |state: TaskState| {
        of(ListTasksRequest { status: state.into(), ..Default::default() }).await
    };
    let waiting = by_state(TaskState::InputRequired).await;
    assert_eq!(waiting.tasks[0].status, paused.status, "with what it asks");
    assert_eq!(ids(&by_state(TaskState::Completed).await.tasks), [done.id.as_str()]);
    assert_eq!(by_state(TaskState::Submitted).await.total_size, 0);
    let after = paused.status.as_ref().and_then(|status| status.timestamp);
    let recent = ListTasksRequest { status_timestamp_after: after, ..Default::default() };
    let recent = of(recent).await;
    assert_eq!((ids(&recent.tasks), recent.total_size), (vec![paused.id.as_str()], 1));
}

#[tokio::test]
async fn a_page_token_of_another_list_and_a_page_of_no_size_are_invalid() {
    let scene = Scene::new(&[]).await;
    for _ in 0..2 {
        scene.send(said("x")).await;
    }
    let first = list(&scene, ListTasksRequest { page_size: Some(1), ..Default::default() }).await;
    let wrong = [
        ListTasksRequest { page_token: "nonsense".to_owned(), ..Default::default() },
        ListTasksRequest {
            page_token: first.next_page_token,
            context_id: "another".to_owned(),
            ..Default::default()
        },
        ListTasksRequest { page_size: Some(0), ..Default::default() },
        ListTasksRequest { page_size: Some(101), ..Default::default() },
    ];
    for request in wrong {
        let refused = scene.client.list_tasks(request.clone(), PATIENCE).await;
        assert_eq!(kind(refused), ErrorKind::InvalidParams, "{request:?}");
    }
}
