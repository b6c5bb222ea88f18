//! Which Messages start which runs, and what the others are answered.

use examples::{Kind, Options, Running};
use protocol::{
    card,
    error::ErrorKind,
    model::metadata,
    v1::{GetTaskRequest, Message, Part, SendMessageRequest, TaskState},
    wkt::Struct,
};
use serde_json::json;

use crate::scene::{
    PATIENCE, Scene, client, example, kind, outbound, output, said, send, workflow,
};

const ECHO: &str = "steps:\n  a: {agent: x}\n";
const TRIP: &str = "title: A trip\ndescription: Goes places.\ntags: [travel]\nexamples: [To Rome]\n\
                    inputs:\n  wish: {type: string, from: text}\n  people: {type: integer}\n\
                    steps:\n  a:\n    agent: x\n    message: ${{ inputs.people }} go to ${{ inputs.wish }}\n\
                    outputs:\n  ticket: {value: \"${{ steps.a.text }}\", media_type: text/markdown}\n";

async fn echo() -> Running {
    example(Kind::Echo, Options::default()).await
}

async fn two(agent: &Running) -> Scene {
    let greeting = workflow("greeting", &[("x", agent)], ECHO);
    Scene::new(&[greeting, workflow("trip", &[("x", agent)], TRIP)]).await
}

#[tokio::test]
async fn the_card_has_a_skill_for_each_workflow() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let card = card::fetch(&outbound(), &scene.url).await.expect("a card").card;
    let ids: Vec<&str> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(ids, ["greeting", "trip"]);
    let trip = &card.skills[1];
    assert_eq!((trip.name.as_str(), trip.description.as_str()), ("A trip", "Goes places."));
    assert_eq!(
        (&trip.tags[..], &trip.examples[..]),
        (&["travel".to_owned()][..], &["To Rome".to_owned()][..])
    );
    assert_eq!(trip.input_modes, ["application/json", "text/plain"]);
    assert_eq!(trip.output_modes, ["text/markdown"]);
    assert_eq!(card.skills[0].tags, ["workflow"], "a skill has a tag");
    assert_eq!(card.supported_interfaces[0].url, scene.url);
    let capabilities = card.capabilities.unwrap_or_default();
    assert_eq!(capabilities.streaming, Some(true));
    assert_eq!(capabilities.extensions[0].uri, metadata::WORKFLOW);
}

#[tokio::test]
async fn the_only_workflow_runs_and_the_task_tells_all_of_it() {
    let agent = echo().await;
    let scene = Scene::new(&[workflow("greeting", &[("x", &agent)], ECHO)]).await;
    let message = said("Hello").with_context("ours");
    let task = scene.send(message.clone()).await;
    assert_eq!(output(&task), "Hello");
    assert_eq!(task.context_id, "ours");
    assert_eq!(task.metadata(metadata::WORKFLOW), Some(&json!("greeting")));
    assert_eq!(task.history, [message.with_task(&task.id)]);
    assert_eq!(scene.get(&task.id).await, task);
    let none =
        GetTaskRequest { id: task.id.clone(), history_length: Some(0), ..Default::default() };
    let none = scene.client.get_task(none, PATIENCE).await.expect("a Task");
    assert_eq!((none.history.len(), none.artifacts.len()), (0, 1));
}

#[tokio::test]
async fn a_workflow_is_named_by_message_request_or_tenant() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let named = |name: &str| said("Hello").with_metadata(metadata::WORKFLOW, name);
    assert_eq!(output(&scene.send(named("greeting")).await), "Hello");
    let by_request = SendMessageRequest {
        metadata: Some(Struct(serde_json::Map::from_iter([(
            metadata::WORKFLOW.to_owned(),
            json!("greeting"),
        )]))),
        ..said("Hello").into()
    };
    assert_eq!(output(&send(&scene.client, by_request.clone()).await.expect("a Task")), "Hello");
    let tenant = client(&scene.url, "greeting");
    assert_eq!(output(&send(&tenant, said("Hello").into()).await.expect("a Task")), "Hello");
    let both = SendMessageRequest { message: Some(named("trip")), ..by_request };
    let both = send(&scene.client, both).await.expect("a Task");
    assert_eq!(both.metadata(metadata::WORKFLOW), Some(&json!("trip")), "the Message has the word");
    for refused in [
        scene.try_send(named("trips")).await,
        scene.try_send(said("x").with_metadata(metadata::WORKFLOW, 7)).await,
        send(&client(&scene.url, "nobody"), said("x").into()).await,
    ] {
        assert_eq!(kind(refused), ErrorKind::InvalidParams);
    }
}

#[tokio::test]
async fn what_is_not_clear_is_asked_and_the_answer_starts_the_run_under_the_same_task() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let first = scene.send(said("Rome")).await;
    assert_eq!(first.state(), TaskState::InputRequired);
    let question = first.status.as_ref().and_then(|status| status.message.as_ref()).expect("words");
    assert!(question.text().contains("- trip: Goes places."), "{}", question.text());
    assert_eq!(question.parts[1].as_data().expect("data")["workflows"][0]["name"], "greeting");
    let follow_up = |text| said(text).with_task(&first.id);
    let second = scene.send(follow_up("trip")).await;
    assert_eq!((second.state(), &second.id), (TaskState::InputRequired, &first.id));
    assert!(second.status_text().expect("words").contains("the input `people` is required"));
    let listed = scene.client.list_tasks(Default::default(), PATIENCE).await.expect("a page");
    assert_eq!((listed.total_size, listed.tasks[0].state()), (1, TaskState::InputRequired));
    let third = scene.send(follow_up("3")).await;
    assert_eq!(output(&third), "3 go to Rome");
    assert_eq!((&third.id, &third.context_id), (&first.id, &first.context_id));
    let history: Vec<String> = third.history.iter().map(Message::text).collect();
    assert_eq!(history, ["Rome", "trip", "3"]);
    assert_eq!(kind(scene.try_send(follow_up("4")).await), ErrorKind::UnsupportedOperation);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_at_once_one_starts_the_run() {
    let agent = echo().await;
    let scene = two(&agent).await;
    for _ in 0..10 {
        let before = agent.calls.count();
        let asked = scene.send(said("Hello")).await;
        let answer = || scene.try_send(said("greeting").with_task(&asked.id));
        let (one, other) = tokio::join!(answer(), answer());
        let done = [one, other].into_iter().filter_map(|answer| match answer {
            Ok(task) => Some(task),
            Err(error) => {
                assert_eq!(error.kind, Some(ErrorKind::UnsupportedOperation), "{error}");
                None
            }
        });
        assert_eq!(done.map(|task| output(&task)).collect::<Vec<_>>(), ["Hello"]);
        assert_eq!(agent.calls.count(), before + 1);
    }
}

#[tokio::test]
async fn a_question_before_the_run_outlives_the_server() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let first = scene.send(said("Rome").with_metadata(metadata::WORKFLOW, "trip")).await;
    let scene = scene.restarted().await;
    assert_eq!(scene.get(&first.id).await, first);
    let people = Message::user(vec![Part::data(json!({"people": 2}))]).with_task(&first.id);
    assert_eq!(output(&scene.send(people).await), "2 go to Rome");
}

#[tokio::test]
async fn a_task_whose_run_has_not_started_can_be_canceled() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let asked = scene.send(said("Rome")).await;
    let mut followed = scene.subscribe(&asked.id).await.expect("a stream");
    let canceled = scene.cancel(&asked.id).await.expect("a Task");
    assert_eq!(canceled.state(), TaskState::Canceled);
    let events = crate::scene::rest(&mut followed).await;
    assert_eq!(
        events.last().and_then(protocol::v1::StreamResponse::state),
        Some(TaskState::Canceled)
    );
    assert_eq!(kind(scene.cancel(&asked.id).await), ErrorKind::TaskNotCancelable);
    let late = scene.try_send(said("trip").with_task(&asked.id)).await;
    assert_eq!(kind(late), ErrorKind::UnsupportedOperation);
    assert_eq!(agent.calls.count(), 0);
}

#[tokio::test]
async fn a_run_that_no_agent_serves_is_rejected_and_the_task_says_why() {
    let nobody = "name: lonely\nsteps:\n  a: {agent: {tags: [flights]}}\n".to_owned();
    let scene = Scene::new(&[nobody]).await;
    let task = scene.send(said("Hello")).await;
    assert_eq!(task.state(), TaskState::Rejected);
    let why = task.status_text().expect("words");
    assert!(why.contains("the registry is empty"), "{why}");
    assert_eq!(scene.get(&task.id).await, task);
    let more = scene.try_send(said("Please").with_task(&task.id)).await;
    assert_eq!(kind(more), ErrorKind::UnsupportedOperation);
}

#[tokio::test]
async fn an_agent_that_cannot_be_reached_is_an_error_to_try_again_and_no_task() {
    let agent = echo().await;
    let file = workflow("greeting", &[("x", &agent)], ECHO);
    agent.shutdown().await.expect("it stops");
    let scene = Scene::new(&[file]).await;
    assert_eq!(kind(scene.try_send(said("Hello")).await), ErrorKind::Unavailable);
    let listed = scene.client.list_tasks(Default::default(), PATIENCE).await.expect("a page");
    assert_eq!(listed.total_size, 0);
}

#[tokio::test]
async fn without_a_workflow_every_message_is_rejected() {
    let scene = Scene::new(&[]).await;
    assert_eq!(scene.send(said("Hello")).await.state(), TaskState::Rejected);
}

#[tokio::test]
async fn an_agent_is_told_which_message_started_the_run() {
    let agent = echo().await;
    let scene = Scene::new(&[workflow("greeting", &[("x", &agent)], ECHO)]).await;
    let message = said("Hello");
    let task = scene.send(message.clone()).await;
    let remote = client(&agent.url, "");
    let theirs = remote.list_tasks(Default::default(), PATIENCE).await.expect("a page").tasks;
    let request = GetTaskRequest { id: theirs[0].id.clone(), ..Default::default() };
    let theirs = remote.get_task(request, PATIENCE).await.expect("a Task");
    assert_eq!(theirs.history[0].metadata(metadata::ORIGIN), Some(&json!(message.message_id)));
    assert_eq!(theirs.context_id, task.context_id);
}

#[tokio::test]
async fn errors_name_what_is_wrong() {
    let agent = echo().await;
    let scene = two(&agent).await;
    let unknown = scene.try_send(said("x").with_task("yesterday")).await;
    assert_eq!(kind(unknown), ErrorKind::TaskNotFound);
    let nowhere = "0198c0de-7a11-7000-8000-000000000000";
    assert_eq!(kind(scene.try_send(said("x").with_task(nowhere)).await), ErrorKind::TaskNotFound);
    assert_eq!(kind(scene.cancel(nowhere).await), ErrorKind::TaskNotFound);
    let asked = scene.send(said("Rome")).await;
    let elsewhere = said("trip").with_task(&asked.id).with_context("elsewhere");
    assert_eq!(kind(scene.try_send(elsewhere).await), ErrorKind::InvalidParams);
    let long = said("Rome").with_context("c".repeat(1_000));
    assert_eq!(kind(scene.try_send(long).await), ErrorKind::InvalidParams);
}
