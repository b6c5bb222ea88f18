//! What all agents have in common.

use std::time::Duration;

use examples::{CallOutcome, Holds, Kind, Options};
use futures_util::StreamExt as _;
use protocol::{
    client::FailureClass,
    outbound::FetchLimits,
    v1::{
        GetTaskRequest, ListTasksRequest, Message, Part, SendMessageRequest, StreamResponse, Task,
        TaskState, stream_response::Payload,
    },
};

use crate::asking::{Asked, PATIENCE, all, artifact_text, start, text};

#[tokio::test]
async fn the_same_message_is_worked_on_once_and_answered_with_the_same_task() {
    let echo = start(Kind::Echo, Options::default()).await;
    let message = Message::user(vec![Part::text("hello")]);
    let first = echo.task(message.clone()).await;
    let again = echo.task(message.clone()).await;
    assert_eq!(again, first);
    let events = all(echo.stream(message.clone().into()).await).await;
    assert_eq!(events[0].task_id(), first.id);
    assert_eq!(events.last().and_then(StreamResponse::state), Some(TaskState::Completed));
    let other = Message::user(vec![Part::text("other")]).with_id(&message.message_id);
    assert_ne!(echo.task(other).await.id, first.id);
    let outcomes: Vec<CallOutcome> =
        echo.agent.calls.all().iter().map(|call| call.outcome).collect();
    use CallOutcome::{Accepted, Repeated};
    assert_eq!(outcomes, [Accepted, Repeated, Repeated, Accepted]);
}

#[tokio::test]
async fn work_that_is_held_back_has_not_begun_and_is_done_once_it_is_released() {
    let holds = Holds::after(1);
    let echo = start(Kind::Echo, Options { holds: holds.clone(), ..Options::default() }).await;
    assert_eq!(
        echo.task(Message::user(vec![Part::text("one")])).await.state(),
        TaskState::Completed
    );
    let mut events = echo.stream(text("two")).await;
    let Some(Payload::Task(begun)) = events.next().await.expect("an event").expect("one").payload
    else {
        panic!("no Task")
    };
    tokio::time::timeout(PATIENCE, holds.until_held()).await.expect("it is held back");
    assert_eq!(begun.state(), TaskState::Submitted);
    holds.release();
    let states: Vec<TaskState> =
        all(events).await.iter().filter_map(StreamResponse::state).collect();
    assert_eq!(states, [TaskState::Completed]);
}

#[tokio::test]
async fn every_call_is_written_down_and_served() {
    let echo = start(Kind::Echo, Options::default()).await;
    let mut message = Message::user(vec![Part::text("one"), Part::text("two")]);
    message = message.with_id("m-1").with_context("c-1");
    message.reference_task_ids.push("t-0".to_owned());
    echo.task(message).await;
    drop(all(echo.stream(text("three")).await).await);
    assert_eq!(echo.agent.calls.count(), 2);
    let url = format!("{}/calls", echo.agent.url);
    let fetched = echo.outbound.fetch(&url, FetchLimits::default()).await;
    let served: serde_json::Value =
        serde_json::from_slice(&fetched.expect("an answer").body).expect("JSON");
    let expected = serde_json::json!({
        "message_id": "m-1", "text": "one\ntwo", "reference_task_ids": ["t-0"],
        "context_id": "c-1", "task_id": "", "streaming": false, "outcome": "accepted",
    });
    assert_eq!(served[0], expected);
    assert_eq!(served[1]["streaming"], true);
}

/// The events of one stream, each told apart by its content.
fn sequence(events: &[StreamResponse]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event.payload.as_ref().expect("a payload") {
            Payload::ArtifactUpdate(update) => {
                update.artifact.as_ref().map(protocol::v1::Artifact::text).unwrap_or_default()
            }
            other => format!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn every_subscriber_sees_its_snapshot_and_then_the_same_events() {
    let options = Options { pace: Some(Duration::from_millis(300)), ..Options::default() };
    let chunks = start(Kind::Chunks, options).await;
    let mut sender = chunks.stream(text("count to 60")).await;
    let mut seen = Vec::new();
    let mut subscribers = Vec::new();
    for _ in 0..3 {
        for _ in 0..5 {
            seen.push(sender.next().await.expect("more events").expect("an event"));
        }
        let stream = chunks.subscribe(seen[0].task_id()).await.expect("a stream");
        subscribers.push(tokio::spawn(all(stream)));
    }
    // One that leaves at once harms nobody.
    drop(chunks.subscribe(seen[0].task_id()).await.expect("a stream"));
    seen.extend(all(sender).await);
    let whole = sequence(&seen);
    for subscriber in subscribers {
        let events = subscriber.await.expect("it followed to the end");
        let Some(Payload::Task(snapshot)) = &events[0].payload else {
            panic!("a subscription begins with the Task");
        };
        let pieces = snapshot.artifacts.first().map_or(0, |artifact| artifact.parts.len());
        assert!(pieces < 60, "it subscribed before the end");
        let rest = sequence(&events[1..]);
        assert_eq!(rest, whole[whole.len() - rest.len()..]);
        let pieces_after = events[1..].iter().filter(|event| event.state().is_none()).count();
        assert_eq!(pieces + pieces_after, 60, "nothing is missing and nothing comes twice");
    }
}

#[tokio::test]
async fn a_task_that_ended_cannot_be_subscribed_to_or_continued() {
    let echo = start(Kind::Echo, Options::default()).await;
    let task = echo.task(text("hello")).await;
    let error = echo.subscribe(&task.id).await.expect_err("it ended");
    assert_eq!(error.class, FailureClass::Unsupported);
    let more = Message::user(vec![Part::text("more")]);
    let continued = echo.try_task(more.clone().with_task(&task.id)).await;
    assert_eq!(continued.expect_err("it ended").class, FailureClass::Unsupported);
    let elsewhere = more.clone().with_task(&task.id).with_context("other");
    let elsewhere = echo.try_task(elsewhere).await;
    assert_eq!(elsewhere.expect_err("not its context").class, FailureClass::Invalid);
    let unknown = echo.try_task(more.with_task("unknown")).await;
    assert_eq!(unknown.expect_err("no such task").class, FailureClass::NotFound);
    assert_eq!(echo.agent.calls.all()[3].outcome, CallOutcome::Refused);
}

#[tokio::test]
async fn an_agent_without_streaming_says_so_and_refuses_streams() {
    let options = Options { streaming: false, ..Options::default() };
    let echo = start(Kind::Echo, options).await;
    let fetched = protocol::card::fetch(&echo.outbound, &echo.agent.card_url()).await;
    let capabilities = fetched.expect("a card").card.capabilities.expect("capabilities");
    assert_eq!(capabilities.streaming, Some(false));
    let stream = echo.client.send_streaming_message(text("hello"), PATIENCE).await;
    assert_eq!(stream.expect_err("refused").class, FailureClass::Unsupported);
    assert_eq!(echo.task(text("hello")).await.state(), TaskState::Completed);
}

#[tokio::test]
async fn a_call_may_return_at_once_and_its_task_goes_on() {
    let slow = start(Kind::Slow, Options::default()).await;
    let begun = slow.begun(text("for 50ms")).await;
    assert!(!begun.state().is_terminal());
    let stream = slow.subscribe(&begun.id).await.expect("a stream");
    drop(all(stream).await);
    let task = slow.get(&begun.id).await;
    assert_eq!(artifact_text(&task, "result"), "for 50ms");
}

#[tokio::test]
async fn work_goes_on_when_its_caller_is_gone() {
    let slow = start(Kind::Slow, Options::default()).await;
    let message = Message::user(vec![Part::text("for 500ms")]);
    let request: SendMessageRequest = message.clone().into();
    let mut stream = slow.stream(request.clone()).await;
    let first = stream.next().await.expect("an event").expect("the Task");
    drop(stream);
    let impatient = slow.client.send_message(request.clone(), Duration::from_millis(20)).await;
    assert_eq!(impatient.expect_err("too early").class, FailureClass::Timeout);
    let task = slow.task(request).await;
    assert_eq!(task.id, first.task_id());
    assert_eq!(task.state(), TaskState::Completed);
}

#[tokio::test]
async fn history_is_as_long_as_asked_for() {
    let echo = start(Kind::Echo, Options::default()).await;
    let task = echo.task(text("hello")).await;
    assert_eq!(task.history.len(), 1);
    assert_eq!(task.history[0].task_id, task.id);
    let mut request =
        GetTaskRequest { id: task.id, history_length: Some(0), ..GetTaskRequest::default() };
    let without = echo.client.get_task(request.clone(), PATIENCE).await;
    assert_eq!(without.expect("a Task").history, []);
    request.history_length = Some(5);
    let with = echo.client.get_task(request, PATIENCE).await;
    assert_eq!(with.expect("a Task").history.len(), 1);
}

async fn list(asked: &Asked, request: ListTasksRequest) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut request = request;
    loop {
        let page = asked.client.list_tasks(request.clone(), PATIENCE).await;
        let page = page.expect("a page");
        tasks.extend(page.tasks);
        if page.next_page_token.is_empty() {
            assert_eq!(tasks.len(), usize::try_from(page.total_size).expect("a size"));
            return tasks;
        }
        request.page_token = page.next_page_token;
    }
}

#[tokio::test]
async fn tasks_are_listed_newest_first_in_pages_that_miss_and_repeat_nothing() {
    let echo = start(Kind::Echo, Options::default()).await;
    let mut ids = Vec::new();
    for number in 0..7 {
        let message = Message::user(vec![Part::text(format!("{number}"))]);
        let context = if number % 2 == 0 { "even" } else { "odd" };
        ids.push(echo.task(message.with_context(context)).await.id);
    }
    let request = ListTasksRequest { page_size: Some(3), ..ListTasksRequest::default() };
    let listed = list(&echo, request.clone()).await;
    let times: Vec<_> =
        listed.iter().map(|task| task.status.as_ref().and_then(|s| s.timestamp)).collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "{times:?}");
    let mut listed_ids: Vec<String> = listed.iter().map(|task| task.id.clone()).collect();
    listed_ids.sort();
    ids.sort();
    assert_eq!(listed_ids, ids);
    assert!(listed.iter().all(|task| task.artifacts.is_empty()));

    let odd = ListTasksRequest {
        context_id: "odd".to_owned(),
        include_artifacts: Some(true),
        history_length: Some(0),
        ..request.clone()
    };
    let odd = list(&echo, odd).await;
    assert_eq!(odd.len(), 3);
    assert!(odd.iter().all(|task| task.artifacts.len() == 1 && task.history.is_empty()));

    let failed = ListTasksRequest { status: TaskState::Failed.into(), ..request.clone() };
    assert_eq!(list(&echo, failed).await, []);
    let newest = ListTasksRequest { status_timestamp_after: times[0], ..request };
    let newest = list(&echo, newest).await;
    assert!(!newest.is_empty() && newest.len() <= ids.len());
    assert!(newest.iter().all(|task| task.status.as_ref().and_then(|s| s.timestamp) >= times[0]));
}

#[tokio::test]
async fn a_page_token_made_elsewhere_is_refused() {
    let echo = start(Kind::Echo, Options::default()).await;
    let request =
        ListTasksRequest { page_token: "elsewhere".to_owned(), ..ListTasksRequest::default() };
    let error = echo.client.list_tasks(request, PATIENCE).await;
    assert_eq!(error.expect_err("it is not ours").class, FailureClass::Invalid);
}

#[tokio::test]
async fn shutting_down_answers_those_who_wait() {
    let slow = start(Kind::Slow, Options::default()).await;
    let client = slow.client.clone();
    let calls = slow.agent.calls.clone();
    let waiting =
        tokio::spawn(async move { client.send_message(text("for 600s"), PATIENCE).await });
    let received = async {
        while calls.count() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, received).await.expect("the call arrives");
    let stopped = tokio::time::timeout(PATIENCE / 6, slow.agent.shutdown()).await;
    stopped.expect("nobody is waited for").expect("a clean end");
    let error = waiting.await.expect("it answered").expect_err("no Task ended");
    assert_eq!(error.class, FailureClass::Unavailable);
}
