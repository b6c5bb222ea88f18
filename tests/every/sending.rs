//! `convoke send` and `convoke card show`

use examples::{Kind, Options};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Answer, Scripted, card, completed, example, task},
    convoke::Convoke,
};

use crate::steady;

#[tokio::test]
async fn a_message_is_sent_and_its_answer_printed() {
    let echo = example(Kind::Echo, Options::default()).await;
    let convoke = Convoke::default();
    let done = convoke.run(["send", &echo.url, "Hello."]).await.exits(0);
    assert_eq!(done.stdout, "Hello.\n");
    let call = &echo.calls.all()[0];
    assert_eq!(call.text, "Hello.");
    assert!(!call.streaming && call.task_id.is_empty());
    assert_eq!(call.message_id.len(), 36);
    assert!(!convoke.data().exists(), "sending needs no data folder");
    let _steady = steady();
    assert_snapshot!(done.stderr, @r"
    Task ID completed
    echo
    ");
}

#[tokio::test]
async fn an_answer_as_json_is_the_answer_of_the_agent() {
    let echo = example(Kind::Echo, Options::default()).await;
    let direct = example(Kind::Echo, Options { direct: true, ..Options::default() }).await;
    let convoke = Convoke::default();
    let task = convoke.run(["--json", "send", &echo.card_url(), "Hello."]).await.exits(0).json();
    assert_eq!(task["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["task"]["artifacts"][0]["parts"][0]["text"], "Hello.");
    let message = convoke.run(["send", "--json", &direct.url, "Hello."]).await.exits(0).json();
    assert_eq!(message["message"]["parts"][0]["text"], "Hello.");
}

#[tokio::test]
async fn a_stream_is_printed_as_it_comes() {
    let chunks = example(Kind::Chunks, Options { chunks: 3, ..Options::default() }).await;
    let convoke = Convoke::default();
    let done = convoke.run(["send", "--stream", &chunks.url, "Count."]).await.exits(0);
    assert_eq!(done.stdout, "1 \n2 \n3 \n");
    assert!(chunks.calls.all()[0].streaming);
    let events = convoke.run(["send", "--stream", "--json", &chunks.url, "Count."]).await.exits(0);
    let events: Vec<Value> = events
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is an event"))
        .collect();
    assert!(events[0]["task"].is_object());
    assert_eq!(events.iter().filter(|event| event["artifactUpdate"].is_object()).count(), 3);
}

#[tokio::test]
async fn a_message_can_go_on_with_a_task_in_a_context() {
    let agent =
        Scripted::start(|request| request.result(&json!({"task": completed("t", "done")}))).await;
    let convoke = Convoke::default();
    let flags = ["--task", "t", "--context", "c"];
    let args = ["send", &agent.url, "More."].into_iter().chain(flags);
    let _done = convoke.run(args).await.exits(0);
    let message = &agent.received("SendMessage")[0].params["message"];
    assert_eq!(message["taskId"], "t");
    assert_eq!(message["contextId"], "c");
    assert_eq!(message["parts"][0]["text"], "More.");
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_waited_for_as_long_as_asked() {
    let agent = Scripted::start(|_| Answer::Never).await;
    let convoke = Convoke::default();
    for flag in [&[][..], &["--stream"]] {
        let args = ["send", &agent.url, "Hello.", "--timeout", "1"];
        let done = convoke.run(args.iter().chain(flag)).await.exits(3);
        assert!(done.stderr.contains("did not answer within 1s"), "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
}

#[tokio::test]
async fn the_exit_code_tells_how_the_task_stands() {
    let convoke = Convoke::default();
    for (state, code) in [("FAILED", 1), ("REJECTED", 1), ("INPUT_REQUIRED", 4), ("WORKING", 0)] {
        let agent = Scripted::start(move |request| {
            let answer = json!({"task": task("t", state)});
            match request.method.as_str() {
                "SendMessage" => request.result(&answer),
                _ => request.events(&[answer]),
            }
        })
        .await;
        let _once = convoke.run(["send", &agent.url, "Hello."]).await.exits(code);
        if state != "WORKING" {
            let args = ["send", agent.url.as_str(), "Hello.", "--stream"];
            let _stream = convoke.run(args).await.exits(code);
        }
    }
}

#[tokio::test]
async fn a_card_is_shown_from_its_url_its_host_and_a_file() {
    let agent = Scripted::with_card(|url| {
        axum::response::IntoResponse::into_response(axum::Json(card("shown", url)))
    })
    .await;
    let convoke = Convoke::default();
    let card = card("shown", &agent.url);
    convoke.write("card.json", card.to_string());
    let well_known = format!("{}/.well-known/agent-card.json", agent.url);
    for from in [agent.url.as_str(), &well_known, "card.json"] {
        let shown = convoke.run(["--json", "card", "show", from]).await.exits(0);
        assert_eq!(shown.json(), card);
    }
    let shown = convoke.run(["card", "show", "card.json"]).await.exits(0);
    assert_eq!(shown.stderr, "");
    let _steady = steady();
    assert_snapshot!(shown.stdout, @r"
    shown 1
    Does what its test says.
    card card.json
    interface JSONRPC 1.0 http://127.0.0.1:PORT
    capabilities streaming

    act  Act
      Acts.
      tags acting

    signature unsigned
    ");
}

#[tokio::test]
async fn a_file_that_is_no_card_is_refused() {
    let convoke = Convoke::default();
    convoke.write("list.json", "[]");
    convoke.write("text.json", "Hello.");
    let list = convoke.run(["card", "show", "list.json"]).await;
    let text = convoke.run(["card", "show", "text.json"]).await;
    let absent = convoke.run(["card", "show", "absent.json"]).await.exits(2);
    assert!(absent.stderr.contains("absent.json"));
    assert_snapshot!(list.complaint(), @r"
exit 2
error: an Agent Card is a JSON object, and this is an array
");
    assert_snapshot!(text.complaint(), @r"
    exit 2
    error: text.json is not JSON: expected value at line 1 column 1
    ");
}

#[tokio::test]
async fn a_stream_is_left_when_the_agent_asks_and_the_answer_goes_to_its_task() {
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let convoke = Convoke::default();
    let asked = convoke.run(["--json", "send", &asks.url, "Notice.", "--stream"]).await.exits(4);
    let first: Value = serde_json::from_str(asked.stdout.lines().next().unwrap()).unwrap();
    let task = first["task"]["id"].as_str().unwrap();
    let done = convoke.run(["send", &asks.url, "water", "--stream", "--task", task]).await.exits(0);
    assert!(done.stdout.starts_with("Notice. [water]"), "{}", done.stdout);
}
