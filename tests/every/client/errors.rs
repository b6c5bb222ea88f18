//! What is said when it does not go well.

use examples::{Kind, Options};
use insta::assert_snapshot;
use serde_json::json;
use tests::{
    agent::{Mirror, Scripted, completed, example, task},
    convoke::Convoke,
};

use super::BINDINGS;
use crate::steady;

#[tokio::test]
async fn an_error_of_the_agent_says_what_failed_where_why_and_what_next() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let mut said = Vec::new();
    for binding in BINDINGS {
        let done = convoke.run(["task", "get", &mirror.url, "none", "--binding", binding]).await;
        assert_eq!(done.stdout, "");
        said.push(done.complaint());
    }
    let _steady = steady();
    assert_snapshot!(said.concat(), @r#"
    exit 1
    error: GetTask failed: http://127.0.0.1:PORT/ answered: there is no task "none" here (TASK_NOT_FOUND); check the address and the ids in the request
    exit 1
    error: GetTask failed: http://127.0.0.1:PORT/a2a answered: there is no task "none" here (TASK_NOT_FOUND); check the address and the ids in the request
    exit 1
    error: GetTask failed: http://127.0.0.1:PORT/ answered: there is no task "none" here (TASK_NOT_FOUND); check the address and the ids in the request
    "#);
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_3_and_a_task_that_failed_is_1() {
    let convoke = Convoke::default();
    let echo = example(Kind::Echo, Options::default()).await;
    let card = convoke.run(["--json", "card", "show", &echo.url]).await.exits(0).stdout;
    let url = echo.url.clone();
    echo.shutdown().await.expect("it stops");
    for command in [&["send", &url, "x"][..], &["task", "get", &url, "t"], &["task", "list", &url]]
    {
        let gone = convoke.run(command).await.exits(3);
        assert!(gone.stderr.contains("cannot be reached"), "{}", gone.stderr);
    }
    // Known from a file, and still not there.
    convoke.write("card.json", card);
    convoke.run(["agents", "add", "card.json", "--approve"]).await.exits(0);
    let gone = convoke.run(["send", "echo", "x"]).await.exits(3);
    assert!(gone.stderr.contains("cannot be reached"), "{}", gone.stderr);
    let mirror = Mirror::start().await;
    for text in ["fail", "reject"] {
        let done = convoke.run(["send", &mirror.url, text]).await.exits(1);
        assert!(done.stderr.contains("Why not."), "{}", done.stderr);
    }
}

#[tokio::test]
async fn a_pause_says_how_to_go_on() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let asked = convoke.run(["send", &mirror.url, "ask"]).await;
    let authorize = convoke.run(["send", &mirror.url, "authorize"]).await;
    let _steady = steady();
    assert_snapshot!(asked.complaint(), @r"
    exit 4
    Task task input required
    Why not.
    answer with: convoke send http://127.0.0.1:PORT --task task TEXT
    ");
    assert_snapshot!(authorize.complaint(), @r"
    exit 4
    Task task authorization required
    Why not.
    authorize it where it says, then: convoke task subscribe http://127.0.0.1:PORT task
    ");
}

#[tokio::test]
async fn a_stream_that_is_cut_is_taken_up_again_and_repeats_nothing() {
    let agent = Scripted::start(|request| {
        let piece = |text: &str, append: bool| {
            json!({"artifactUpdate": {"taskId": "t", "contextId": "context", "append": append,
                "artifact": {"artifactId": "answer", "parts": [{"text": text}]}}})
        };
        let mut known = task("t", "WORKING");
        match request.method.as_str() {
            "SendStreamingMessage" => {
                request.events_then_cut(&[json!({"task": known}), piece("one", false)])
            }
            _ => {
                known["artifacts"] = json!([{"artifactId": "answer", "parts": [{"text": "one"}]}]);
                let end = json!({"statusUpdate": {"taskId": "t", "contextId": "context",
                    "status": {"state": "TASK_STATE_COMPLETED"}}});
                request.events(&[json!({"task": known}), piece("two", true), end])
            }
        }
    })
    .await;
    let convoke = Convoke::default();
    let done = convoke.run(["send", &agent.url, "x", "--stream"]).await.exits(0);
    assert_eq!(done.stdout, "one\ntwo\n");
    assert_eq!(agent.received("SubscribeToTask").len(), 1);
    assert!(done.stderr.contains("the stream was cut"), "{}", done.stderr);
}

#[tokio::test]
async fn a_task_whose_streams_all_end_early_is_asked_for_in_the_end() {
    let state = |state: &'static str| {
        Scripted::start(move |request| match request.method.as_str() {
            "GetTask" => request.result(&match state {
                "COMPLETED" => completed("t", "done"),
                other => task("t", other),
            }),
            _ => request.events(&[json!({"task": task("t", "WORKING")})]),
        })
    };
    let convoke = Convoke::default();
    let agent = state("COMPLETED").await;
    let done = convoke.run(["send", &agent.url, "x", "--stream"]).await.exits(0);
    assert_eq!(done.stdout, "done\n");
    let agent = state("WORKING").await;
    let left = convoke.run(["send", &agent.url, "x", "--stream"]).await.exits(3);
    assert!(left.stderr.contains("ask for it with `convoke task get"), "{}", left.stderr);
}

#[tokio::test]
async fn a_list_without_an_end_is_left() {
    let agent = Scripted::start(|request| {
        request.result(&json!({"tasks": [], "nextPageToken": "x", "pageSize": 1, "totalSize": 1}))
    })
    .await;
    let convoke = Convoke::default();
    let done = convoke.run(["task", "list", &agent.url, "--all"]).await.exits(1);
    assert!(done.stderr.contains("names page `x` twice"), "{}", done.stderr);
}

#[tokio::test]
async fn ctrl_c_leaves_and_the_task_goes_on() {
    let agent = Scripted::start(|request| {
        request.events_then_silence(&[json!({"task": task("t", "WORKING")})])
    })
    .await;
    let convoke = Convoke::default();
    for args in
        [&["send", &agent.url, "x", "--stream"][..], &["task", "subscribe", &agent.url, "t"]]
    {
        let mut process = convoke.start(args);
        process.until("Task t working").await;
        process.interrupt();
        process.end().await.exits(130);
    }
    assert!(agent.received("CancelTask").is_empty());
}

#[tokio::test]
async fn an_agent_that_speaks_nothing_we_do_is_named() {
    let agent = Scripted::with_card(|url| {
        let mut card = tests::agent::card("strange", url);
        card["supportedInterfaces"][0]["protocolBinding"] = json!("SOAP");
        axum::response::IntoResponse::into_response(axum::Json(card))
    })
    .await;
    let convoke = Convoke::default();
    let done = convoke.run(["send", &agent.url, "x"]).await.exits(3);
    assert!(
        done.stderr.contains(&format!("{}: none of the agent's interfaces", agent.url)),
        "{}",
        done.stderr
    );
}
