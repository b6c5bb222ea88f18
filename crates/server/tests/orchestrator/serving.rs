//! Bursts, Messages that come twice, workflows that change, hosts, and media types.

use std::time::Duration;

use examples::{Kind, Options, Running};
use executor::RunLimits;
use protocol::{
    card::{self, Binding},
    error::ErrorKind,
    v1::{
        ListTasksRequest, Message, Part, SendMessageConfiguration, SendMessageRequest,
        StreamResponse, Task, TaskState, part::Content,
    },
};
use serde_json::{Value, json};
use server::{Hosts, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::scene::{
    PATIENCE, Scene, client_of, example, kind, next, outbound, output, rest, said, send, soon,
    workflow,
};

const ECHO: &str = "steps:\n  a: {agent: x}\n";

async fn echo() -> Running {
    example(Kind::Echo, Options::default()).await
}

async fn slow() -> Running {
    example(Kind::Slow, Options::default()).await
}

/// A scene with one workflow that sends on what is said, and so many runs at once and in the queue.
async fn limited(agent: &Running, max_active: usize, queue: usize) -> Scene {
    let limits = RunLimits { max_active, queue };
    Scene::with(&[workflow("w", &[("x", agent)], ECHO)], Settings::default(), limits).await
}

async fn unlimited(agent: &Running, settings: Settings) -> Scene {
    Scene::with(&[workflow("w", &[("x", agent)], ECHO)], settings, RunLimits::NONE).await
}

async fn get(scene: &Scene, path: &str, host: &str) -> String {
    scene.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await
}

async fn ready(scene: &Scene) -> (bool, Value) {
    let answer = get(scene, "/readyz", "localhost").await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.starts_with("HTTP/1.1 200"), serde_json::from_str(body).expect("JSON"))
}

#[tokio::test]
async fn what_does_not_fit_is_refused_by_every_binding_and_leaves_no_trace() {
    let agent = slow().await;
    let scene = limited(&agent, 1, 1).await;
    let working = scene.send_off(said("60m")).await;
    let queued = scene.send_off(said("60m")).await;
    assert_eq!(queued.state(), TaskState::Submitted);
    for binding in Binding::ALL {
        let client = client_of(&scene.url, binding, "");
        let refused = send(&client, said("60m").into()).await.expect_err("it is full");
        assert_eq!(refused.kind, Some(ErrorKind::ResourceExhausted), "{binding:?}");
        assert_eq!(refused.retry_after, Some(Duration::from_secs(5)), "{binding:?}");
    }
    let list = |status: TaskState| {
        let request = ListTasksRequest { status: status.into(), ..Default::default() };
        scene.client.list_tasks(request, PATIENCE)
    };
    let submitted = list(TaskState::Submitted).await.expect("a page");
    let ids: Vec<&str> = submitted.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, [queued.id.as_str()]);
    let all = list(TaskState::Unspecified).await.expect("a page");
    assert_eq!(all.total_size, 2);
    scene.cancel(&working.id).await.expect("it can be canceled");
    scene.until(&queued.id, |task| task.state() == TaskState::Working).await;
}

#[tokio::test]
async fn a_queued_task_is_waited_for_followed_and_canceled_like_any_other() {
    let agent = slow().await;
    let scene = limited(&agent, 1, 3).await;
    let working = scene.send_off(said("60m")).await;
    let mut followed = scene.stream(said("1ms")).await;
    let first = next(&mut followed).await.expect("the Task");
    assert_eq!(first.state(), Some(TaskState::Submitted));
    let gone = scene.send_off(said("60m")).await;
    let canceled = scene.cancel(&gone.id).await.expect("it can be canceled");
    assert_eq!(canceled.state(), TaskState::Canceled);
    let (done, ()) = tokio::join!(scene.send(said("2ms")), async {
        let two = |page: &protocol::v1::ListTasksResponse| page.total_size == 2;
        soon("both wait", async {
            let submitted =
                || ListTasksRequest { status: TaskState::Submitted.into(), ..Default::default() };
            while !two(&scene.client.list_tasks(submitted(), PATIENCE).await.expect("a page")) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        scene.cancel(&working.id).await.expect("it can be canceled");
    });
    assert_eq!(output(&done), "2ms", "a blocking call waits through the queue");
    let states: Vec<_> =
        rest(&mut followed).await.iter().filter_map(StreamResponse::state).collect();
    assert_eq!(states.first(), Some(&TaskState::Working));
    assert_eq!(states.last(), Some(&TaskState::Completed));
}

#[tokio::test]
async fn a_question_waits_in_no_queue_and_the_run_that_it_becomes_does() {
    let agent = slow().await;
    let files = ["one", "two"].map(|name| workflow(name, &[("x", &agent)], ECHO));
    let limits = RunLimits { max_active: 1, queue: 1 };
    let scene = Scene::with(&files, Settings::default(), limits).await;
    let to_one = || said("60m").with_metadata(protocol::model::metadata::WORKFLOW, "one");
    let working = scene.send_off(to_one()).await;
    let asked = scene.send(said("1ms")).await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    let _queued = scene.send_off(to_one()).await;
    let full = scene.try_send(said("one").with_task(&asked.id)).await;
    assert_eq!(kind(full), ErrorKind::ResourceExhausted);
    assert_eq!(scene.get(&asked.id).await, asked, "nothing of it is kept");
    scene.cancel(&working.id).await.expect("it can be canceled");
    let request = ListTasksRequest { status: TaskState::Submitted.into(), ..Default::default() };
    soon("room in the queue", async {
        while scene.client.list_tasks(request.clone(), PATIENCE).await.expect("a page").total_size
            > 0
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let queued = scene.send_off(said("one").with_task(&asked.id)).await;
    assert_eq!((queued.state(), &queued.id), (TaskState::Submitted, &asked.id));
}

#[tokio::test]
async fn a_message_that_comes_again_is_answered_with_the_task_that_it_made() {
    let agent = echo().await;
    let scene = unlimited(&agent, Settings::default()).await;
    let message = said("Hello").with_id("twice");
    let task = scene.send(message.clone()).await;
    assert_eq!(scene.send(message.clone()).await, task);
    let mut stream = scene.stream(message.clone()).await;
    assert_eq!(next(&mut stream).await.expect("the Task").task_id(), task.id);
    let last = rest(&mut stream).await.pop().expect("what came of it is told again");
    assert_eq!(last.state(), Some(TaskState::Completed));
    let other = scene.send(said("Hi").with_id("twice")).await;
    assert_eq!(output(&other), "Hi", "other content is other work");
    assert_ne!(other.id, task.id);
    let scene = scene.restarted().await;
    assert_eq!(scene.send(message).await, task);
    assert_eq!(agent.calls.count(), 2);
}

#[tokio::test]
async fn many_equal_messages_at_once_start_one_run() {
    let agent = echo().await;
    let scene = unlimited(&agent, Settings::default()).await;
    let message = said("Hello");
    let sent = (0..8).map(|_| scene.send(message.clone()));
    let tasks: Vec<Task> = futures_util::future::join_all(sent).await;
    assert!(tasks.iter().all(|task| *task == tasks[0]), "{tasks:?}");
    assert_eq!(agent.calls.count(), 1);
}

#[tokio::test]
async fn a_message_is_remembered_for_as_long_as_is_set_or_not_at_all() {
    let agent = echo().await;
    for remember in [None, Some(Duration::from_nanos(1))] {
        let scene = unlimited(&agent, Settings { remember, ..Settings::default() }).await;
        let message = said("Hello");
        let (first, second) = (scene.send(message.clone()).await, scene.send(message).await);
        assert_ne!(first.id, second.id, "{remember:?}");
    }
}

#[tokio::test]
async fn a_follow_up_that_comes_again_is_delivered_once() {
    let agent = example(Kind::Asks, Options { turns: 2, ..Options::default() }).await;
    let file = workflow("w", &[("x", &agent)], "steps:\n  a: {agent: x, message: hi}\n");
    let scene = Scene::with(&[file], Settings::default(), RunLimits::NONE).await;
    let asked = scene.send(said("go")).await;
    let answer = said("water").with_task(&asked.id);
    let again = scene.send(answer.clone()).await;
    assert_eq!(again.state(), TaskState::InputRequired);
    assert_eq!(scene.send(answer.clone()).await, again, "the second question is still open");
    let scene = scene.restarted().await;
    assert_eq!(scene.send(answer).await, again);
    let done = scene.send(said("water").with_task(&asked.id)).await;
    assert_eq!(output(&done), "hi [water | water]");
    assert_eq!(agent.calls.count(), 3);
}

#[tokio::test]
async fn what_is_said_before_the_run_counts_once_too() {
    let agent = echo().await;
    let files = ["one", "two"].map(|name| workflow(name, &[("x", &agent)], ECHO));
    let scene = Scene::with(&files, Settings::default(), RunLimits::NONE).await;
    let first = said("Hello");
    let asked = scene.send(first.clone()).await;
    assert_eq!(scene.send(first).await, asked);
    let unclear = said("three").with_task(&asked.id);
    let again = scene.send(unclear.clone()).await;
    assert_eq!(scene.send(unclear).await.history, again.history);
    let choice = said("one").with_task(&asked.id);
    let done = scene.send(choice.clone()).await;
    assert_eq!(scene.send(choice).await, done, "a Task that has ended is no error then");
    assert_eq!(agent.calls.count(), 1);
}

#[tokio::test]
async fn a_workflow_that_is_added_changed_or_removed_is_offered_as_it_is_now() {
    let agent = slow().await;
    let scene = Scene::of_folder(&[("a.yaml", workflow("one", &[("x", &agent)], ECHO))]).await;
    let skills = async || {
        let card = card::fetch(&outbound(), &scene.url).await.expect("a card").card;
        card.skills.into_iter().map(|it| (it.id, it.name)).collect::<Vec<_>>()
    };
    let until = async |wanted: &[(&str, &str)]| {
        let pair = |(id, name): &(&str, &str)| (id.to_string(), name.to_string());
        let wanted: Vec<_> = wanted.iter().map(pair).collect();
        soon("the skills", async {
            while skills().await != wanted {
                tokio::task::yield_now().await;
            }
        })
        .await;
    };
    let tag = async || {
        let answer = get(&scene, "/.well-known/agent-card.json", "localhost").await;
        let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("etag:"));
        line.expect("a tag").to_owned()
    };
    let running = scene.send_off(said("2s")).await;
    let before = tag().await;
    scene.write("b.yaml", &workflow("two", &[("x", &agent)], ECHO));
    until(&[("one", "one"), ("two", "two")]).await;
    assert_ne!(tag().await, before);
    let fixed = "title: Fixed\nsteps:\n  a: {agent: x, message: 1ms}\n";
    scene.write("a.yaml", &workflow("one", &[("x", &agent)], fixed));
    until(&[("one", "Fixed"), ("two", "two")]).await;
    scene.remove("b.yaml");
    until(&[("one", "Fixed")]).await;
    assert_eq!(output(&scene.send(said("60m")).await), "1ms", "the new version");
    let ended = scene.until(&running.id, |task| task.state().is_terminal()).await;
    assert_eq!(output(&ended), "2s", "a run keeps the version it started with");
    assert_eq!(ready(&scene).await.1["workflows"]["broken"], json!([]));
}

#[tokio::test]
async fn a_file_that_breaks_is_named_by_readiness_and_its_workflow_stays() {
    let agent = echo().await;
    let scene = Scene::of_folder(&[("a.yaml", workflow("one", &[("x", &agent)], ECHO))]).await;
    scene.write("a.yaml", "name: one\nstep: {}\n");
    let named = soon("the problem", async {
        loop {
            let (is_ready, body) = ready(&scene).await;
            assert!(is_ready, "one broken file takes nobody out of service");
            if body["workflows"]["broken"] != json!([]) {
                return body;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(named["workflows"]["count"], 1);
    let broken = &named["workflows"]["broken"][0];
    assert!(broken["file"].as_str().expect("a name").ends_with("a.yaml"), "{named}");
    assert!(broken["problems"].to_string().contains("did you mean `steps`?"), "{named}");
    assert_eq!(output(&scene.send(said("Hello")).await), "Hello");
}

#[tokio::test]
async fn it_says_that_it_lives_and_whether_it_is_ready() {
    let scene = Scene::new(&[]).await;
    assert!(get(&scene, "/healthz", "localhost").await.starts_with("HTTP/1.1 200"));
    assert_eq!(ready(&scene).await.1["ready"], true);
}

#[tokio::test]
async fn a_request_that_names_another_host_is_refused_whatever_it_asks() {
    let agent = echo().await;
    let hosts = Hosts::new(["convoke.internal"]);
    let scene = unlimited(&agent, Settings { hosts, ..Settings::default() }).await;
    let card = "/.well-known/agent-card.json";
    for host in
        ["localhost:1", "127.0.0.1", "[::1]:80", "convoke.internal", "CONVOKE.internal:8100"]
    {
        assert!(get(&scene, card, host).await.starts_with("HTTP/1.1 200"), "{host}");
    }
    for path in [card, "/", "/a2a/tasks", "/readyz", "/healthz", "/nowhere"] {
        let answer = get(&scene, path, "evil.example").await;
        assert!(answer.starts_with("HTTP/1.1 421"), "{path}: {answer}");
        assert!(answer.contains("the host \"evil.example\""), "{answer}");
    }
    let call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\",\"params\":{}}";
    let post = format!(
        "POST / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{call}",
        call.len()
    );
    assert!(scene.raw(&post).await.starts_with("HTTP/1.1 421"));
}

async fn two_outputs(agent: &Running) -> Scene {
    let rest = "inputs:\n  wish: {type: string, from: text}\nsteps:\n  a: {agent: x, message: \"${{ inputs.wish }}\"}\n\
                outputs:\n  words: {value: \"${{ steps.a.text }}\", media_type: text/markdown}\n  \
                data: {value: {said: \"${{ steps.a.text }}\"}, media_type: application/json}\n";
    Scene::new(&[workflow("w", &[("x", agent)], rest)]).await
}

fn accepting(message: Message, modes: &[&str]) -> SendMessageRequest {
    let configuration = SendMessageConfiguration {
        accepted_output_modes: modes.iter().map(ToString::to_string).collect(),
        ..Default::default()
    };
    SendMessageRequest { configuration: Some(configuration), ..message.into() }
}

#[tokio::test]
async fn a_client_gets_the_outputs_that_it_accepts() {
    let agent = echo().await;
    let scene = two_outputs(&agent).await;
    let modes = async |accepts: &[&str]| {
        let task = send(&scene.client, accepting(said("Hi"), accepts)).await.expect("a Task");
        let parts = task.artifacts.iter().flat_map(|it| &it.parts);
        parts.map(|part| part.media_type.clone()).collect::<Vec<_>>()
    };
    assert_eq!(modes(&[]).await, ["text/markdown", "application/json"]);
    assert_eq!(modes(&["application/json"]).await, ["application/json", "application/json"]);
    assert_eq!(modes(&["text/markdown"]).await, ["text/markdown"]);
    assert_eq!(modes(&["text/*", "application/json"]).await, ["text/markdown", "application/json"]);
}

#[tokio::test]
async fn what_is_accepted_is_remembered_from_the_message_that_asked_first() {
    let agent = echo().await;
    let rest =
        "inputs:\n  n: {type: integer}\nsteps:\n  a: {agent: x, message: \"${{ inputs.n }}\"}\n";
    let scene = Scene::new(&[workflow("w", &[("x", &agent)], rest)]).await;
    let asked = send(&scene.client, accepting(said("Hi"), &["application/json"])).await;
    let asked = asked.expect("a Task");
    let scene = scene.restarted().await;
    let done = scene.send(said("7").with_task(&asked.id)).await;
    assert_eq!(done.artifacts[0].parts[0].as_data(), Some(&json!(7)));
}

#[tokio::test]
async fn media_types_that_nothing_takes_or_yields_are_refused_before_a_run() {
    let agent = echo().await;
    let scene = two_outputs(&agent).await;
    let image = Part {
        content: Some(Content::Raw(vec![1])),
        media_type: "image/png".to_owned(),
        ..Part::default()
    };
    let refused = scene.try_send(Message::user(vec![Part::text("Hi"), image])).await;
    let refused = refused.expect_err("no input takes it");
    assert_eq!(refused.kind, Some(ErrorKind::ContentTypeNotSupported));
    let text = refused.to_string();
    assert!(
        text.contains("message.parts[1] is image/png") && text.contains("text/plain"),
        "{text}"
    );
    let data = scene.try_send(Message::user(vec![Part::data(json!({}))])).await;
    assert_eq!(kind(data), ErrorKind::ContentTypeNotSupported);
    let audio = send(&scene.client, accepting(said("Hi"), &["audio/wav"])).await;
    let audio = audio.expect_err("nothing could come of it");
    assert_eq!(audio.kind, Some(ErrorKind::ContentTypeNotSupported));
    assert!(audio.to_string().contains("yields: application/json, text/markdown"), "{audio}");
    let listed = scene.client.list_tasks(Default::default(), PATIENCE).await.expect("a page");
    assert_eq!(listed.total_size, 0);
}

#[tokio::test]
async fn the_card_says_what_is_taken_and_yielded() {
    let agent = echo().await;
    let scene = two_outputs(&agent).await;
    let card = card::fetch(&outbound(), &scene.url).await.expect("a card").card;
    assert_eq!(card.default_input_modes, ["text/plain"]);
    assert_eq!(card.default_output_modes, ["application/json", "text/markdown"]);
    let scene = unlimited(&agent, Settings::default()).await;
    let card = card::fetch(&outbound(), &scene.url).await.expect("a card").card;
    assert_eq!(card.default_input_modes, ["application/json", "text/plain"]);
    assert_eq!(card.default_output_modes, ["application/json", "text/plain"]);
}

#[tokio::test]
async fn the_limits_of_the_bindings_are_those_that_are_set() {
    let agent = slow().await;
    let mut settings = Settings::default();
    settings.limits.max_body_bytes = 300;
    settings.limits.body_timeout = Duration::from_millis(50);
    settings.limits.keep_alive = Duration::from_millis(50);
    settings.limits.card_max_age = Duration::from_secs(7);
    let scene = unlimited(&agent, settings).await;
    let large = scene.try_send(said(&"x".repeat(400))).await.expect_err("it is too large");
    assert!(large.to_string().contains("300 bytes"), "{large}");
    let card = get(&scene, "/.well-known/agent-card.json", "localhost").await;
    assert!(card.contains("max-age=7\r\n"), "{card}");
    let unsent = "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
                  Content-Type: application/json\r\nContent-Length: 9\r\n\r\n";
    assert!(scene.raw(unsent).await.starts_with("HTTP/1.1 408"));
    let task = scene.send_off(said("60m")).await;
    let call = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"SubscribeToTask\",\"params\":{{\"id\":\"{}\"}}}}",
        task.id
    );
    let address = scene.url.strip_prefix("http://").expect("its URL");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let post = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nAccept: text/event-stream\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{call}",
        call.len()
    );
    stream.write_all(post.as_bytes()).await.expect("it is read");
    let mut seen = String::new();
    soon("two signs of life", async {
        let mut buffer = [0; 4096];
        while seen.matches("\n:").count() < 2 {
            let read = stream.read(&mut buffer).await.expect("a stream");
            assert!(read > 0, "the stream ended: {seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    })
    .await;
}
