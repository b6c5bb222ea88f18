//! Every flag reaches the agent.

use std::process::Stdio;

use examples::{Kind, Options};
use protocol::operation::Operation;
use serde_json::{Value, json};
use tests::{
    agent::{AskedCall, Mirror, example},
    convoke::Convoke,
};
use tokio::io::AsyncWriteExt as _;

use super::BINDINGS;

/// Runs a command and returns what the agent was asked by it.
async fn asked(convoke: &Convoke, mirror: &Mirror, args: &[&str]) -> AskedCall {
    let _done = convoke.run(args).await.exits(0);
    mirror.last()
}

/// Whether a JSON pointer leads to the value.
fn holds(request: &Value, pointer: &str, value: &Value) -> bool {
    request.pointer(pointer) == Some(value)
}

fn send_flags() -> Vec<(&'static [&'static str], &'static str, Value)> {
    vec![
        (&["Second."], "/message/parts/1/text", json!("Second.")),
        (&["--text", "--more"], "/message/parts/1/text", json!("--more")),
        (&["--file", "a.txt"], "/message/parts/1/raw", json!("aGVp")),
        (&["--file", "a.txt"], "/message/parts/1/filename", json!("a.txt")),
        (&["--file", "a.txt"], "/message/parts/1/mediaType", json!("text/plain")),
        (&["--file", "a.txt:image/x-y"], "/message/parts/1/mediaType", json!("image/x-y")),
        (
            &["--file-url", "https://f.test/d/b.pdf"],
            "/message/parts/1/url",
            json!("https://f.test/d/b.pdf"),
        ),
        (&["--file-url", "https://f.test/d/b.pdf"], "/message/parts/1/filename", json!("b.pdf")),
        (
            &["--file-url", "https://f.test/d/b.pdf"],
            "/message/parts/1/mediaType",
            json!("application/pdf"),
        ),
        (&["--data-part", "{\"n\":[1,null]}"], "/message/parts/1/data", json!({"n": [1, null]})),
        (&["--data-part", "@d.json"], "/message/parts/1/data", json!({"of": "file"})),
        (&["--task", "t"], "/message/taskId", json!("t")),
        (&["--context", "c"], "/message/contextId", json!("c")),
        (&["--reference", "a", "--reference", "b"], "/message/referenceTaskIds", json!(["a", "b"])),
        (&["--message-id", "mine"], "/message/messageId", json!("mine")),
        (
            &["--metadata", "a=1", "--metadata", "b=x"],
            "/message/metadata",
            json!({"a": 1, "b": "x"}),
        ),
        (
            &["--accept", "text/plain", "--accept", "image/*"],
            "/configuration/acceptedOutputModes",
            json!(["text/plain", "image/*"]),
        ),
        (&["--history", "0"], "/configuration/historyLength", json!(0)),
        (&["--return-immediately"], "/configuration/returnImmediately", json!(true)),
        (
            &["--push", "https://h.test/"],
            "/configuration/taskPushNotificationConfig/url",
            json!("https://h.test/"),
        ),
        (
            &["--push", "https://h.test/", "--push-token", "s"],
            "/configuration/taskPushNotificationConfig/token",
            json!("s"),
        ),
        (&["--tenant", "me"], "/tenant", json!("me")),
    ]
}

fn with_files() -> Convoke {
    let convoke = Convoke::default();
    convoke.write("a.txt", "hei");
    convoke.write("d.json", "{\"of\": \"file\"}");
    convoke
}

#[tokio::test]
async fn every_flag_of_send_changes_what_the_agent_is_asked() {
    let (convoke, mirror) = (with_files(), Mirror::start().await);
    let base = ["send", mirror.url.as_str(), "Hello."];
    let plain = asked(&convoke, &mirror, &base).await;
    assert_eq!(plain.operation, Operation::SendMessage);
    assert!(plain.request.get("configuration").is_none(), "{}", plain.request);
    for (flags, pointer, value) in send_flags() {
        let args: Vec<&str> = base.iter().chain(flags).copied().collect();
        // Whatever is answered: of --task it is another Task, which is refused.
        let done = convoke.run(&args).await;
        let call = mirror.last();
        assert!(holds(&call.request, pointer, &value), "{flags:?}: {}\n{done:?}", call.request);
        assert!(!holds(&plain.request, pointer, &value), "{flags:?} changes nothing");
    }
    let streamed = asked(&convoke, &mirror, &["send", &mirror.url, "Hello.", "--stream"]).await;
    assert_eq!(streamed.operation, Operation::SendStreamingMessage);
}

#[tokio::test]
async fn all_flags_together_arrive_by_every_binding() {
    let (convoke, mirror) = (with_files(), Mirror::start().await);
    for binding in BINDINGS {
        let mut args = vec!["send", &mirror.url, "Grüße 世界 🌍", "--binding", binding];
        args.extend(["--file", "a.txt:image/x-y", "--file-url", "https://f.test/b.pdf"]);
        args.extend(["--data-part", "{\"ü\":[1,null]}", "--context", "c", "--reference", "r"]);
        args.extend(["--message-id", "mine", "--metadata", "k=[1]", "--accept", "text/plain"]);
        args.extend(["--history", "2", "--push", "https://h.test/", "--push-token", "s"]);
        args.extend(["--tenant", "me", "--return-immediately", "--header", "X-Key: se:cret"]);
        args.extend(["--extension", "urn:test:a", "--extension", "urn:test:b"]);
        let call = asked(&convoke, &mirror, &args).await;
        assert_eq!(call.is_grpc, binding == "grpc");
        assert_eq!(call.key.as_deref(), Some("se:cret"), "{binding}");
        assert_eq!(call.extensions, ["urn:test:a", "urn:test:b"], "{binding}");
        assert_eq!(call.tenant, "me", "{binding}");
        let mut request = call.request;
        // HTTP+JSON has it in the path.
        request.as_object_mut().expect("a request").remove("tenant");
        let expected = json!({
            "message": {
                "messageId": "mine",
                "contextId": "c",
                "role": "ROLE_USER",
                "referenceTaskIds": ["r"],
                "metadata": {"k": [1]},
                "parts": [
                    {"text": "Grüße 世界 🌍"},
                    {"raw": "aGVp", "filename": "a.txt", "mediaType": "image/x-y"},
                    {"url": "https://f.test/b.pdf", "filename": "b.pdf", "mediaType": "application/pdf"},
                    {"data": {"ü": [1, null]}, "mediaType": "application/json"},
                ],
            },
            "configuration": {
                "acceptedOutputModes": ["text/plain"],
                "historyLength": 2,
                "returnImmediately": true,
                "taskPushNotificationConfig": {"url": "https://h.test/", "token": "s"},
            },
        });
        assert_eq!(request, expected, "{binding}");
    }
}

#[tokio::test]
async fn a_text_comes_from_stdin() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let mut command = convoke.command(["send", &mirror.url, "--text", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all("Zeile 1\nZeile 2".as_bytes()).await.expect("it reads its input");
    drop(stdin);
    assert!(child.wait().await.expect("it can be waited for").success());
    assert_eq!(mirror.last().request["message"]["parts"], json!([{"text": "Zeile 1\nZeile 2"}]));
}

#[tokio::test]
async fn empty_parts_and_empty_messages_are_refused_before_anybody_is_asked() {
    let (convoke, mirror) = (with_files(), Mirror::start().await);
    let complaints: [(&[&str], &str); 9] = [
        (&[], "there is nothing to send"),
        (&[""], "a text is empty"),
        (&["--file", "none.txt"], "cannot read none.txt"),
        (&["--file-url", "b.pdf"], "--file-url `b.pdf`"),
        (&["--data-part", "{"], "--data-part is not JSON"),
        (&["--data-part", "@a.txt"], "a.txt is not JSON"),
        (&["Hello.", "--accept", "text"], "--accept `text` is no media type"),
        (&["Hello.", "--extension", "a,b"], "--extension `a,b` is no URI"),
        (&["Hello.", "--metadata", "k"], "--metadata KEY=VALUE"),
    ];
    for (flags, said) in complaints {
        let args = ["send", mirror.url.as_str()].into_iter().chain(flags.iter().copied());
        let done = convoke.run(args).await.exits(2);
        assert!(done.stderr.contains(said), "{flags:?}: {}", done.stderr);
    }
    assert!(mirror.all().is_empty());
}

#[tokio::test]
async fn an_interface_is_chosen_by_its_address_and_one_off_the_card_by_its_binding_too() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let grpc = mirror.url.trim_start_matches("http://");
    let call = asked(&convoke, &mirror, &["send", &mirror.url, "x", "--interface", grpc]).await;
    assert!(call.is_grpc);
    let other = Mirror::start().await;
    let elsewhere = format!("{}/a2a", other.url);
    let args = ["send", mirror.url.as_str(), "x", "--interface", &elsewhere];
    let refused = convoke.run(args).await.exits(2);
    assert!(refused.stderr.contains("lists no interface at"), "{}", refused.stderr);
    assert!(other.all().is_empty());
    let args: Vec<&str> = args.into_iter().chain(["--binding", "http+json"]).collect();
    let _call = asked(&convoke, &other, &args).await;
    assert_eq!(mirror.all().len(), 1);
}

#[tokio::test]
async fn an_agent_of_the_directory_is_called_by_its_name() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    convoke.run(["agents", "add", &mirror.url, "--name", "glass", "--approve"]).await.exits(0);
    let call = asked(&convoke, &mirror, &["send", "glass", "x", "--header", "X-Key: k"]).await;
    assert_eq!(call.key.as_deref(), Some("k"));
    let call = asked(&convoke, &mirror, &["task", "get", "Glass", "t"]).await;
    assert_eq!(call.operation, Operation::GetTask);
    let unknown = convoke.run(["send", "glas", "x"]).await.exits(2);
    assert!(unknown.stderr.contains("did you mean `glass`?"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("An address begins with"), "{}", unknown.stderr);
}

#[tokio::test]
async fn a_header_goes_to_the_origin_that_was_typed_and_nowhere_else() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    // A card that points at somebody else's interface.
    let interface = mirror.url.clone();
    let liar = tests::agent::Scripted::with_card(move |_| {
        let card = tests::agent::card("liar", &interface);
        axum::response::IntoResponse::into_response(axum::Json(card))
    })
    .await;
    let args = ["send", liar.url.as_str(), "x", "--header", "X-Key: secret"];
    let sent = convoke.run(args).await.exits(0);
    assert_eq!(mirror.last().key, None);
    assert!(sent.stderr.contains("--header does not go to"), "{}", sent.stderr);
    let args: Vec<&str> = args.into_iter().chain(["--interface", &mirror.url]).collect();
    let sent = convoke.run(args).await.exits(0);
    assert_eq!(mirror.last().key.as_deref(), Some("secret"));
    assert!(!sent.stderr.contains("--header"), "{}", sent.stderr);
}

#[tokio::test]
async fn a_message_goes_on_to_the_next_interface_when_nobody_listens_at_the_first() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let gone = example(Kind::Echo, Options::default()).await;
    let dead = gone.url.clone();
    gone.shutdown().await.expect("it stops");
    let url = mirror.url.clone();
    let agent = tests::agent::Scripted::with_card(move |_| {
        let mut card = tests::agent::card("two", &dead);
        let second = json!({"url": format!("{url}/a2a"), "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
        card["supportedInterfaces"].as_array_mut().expect("a list").push(second);
        axum::response::IntoResponse::into_response(axum::Json(card))
    })
    .await;
    let _call = asked(&convoke, &mirror, &["send", &agent.url, "x"]).await;
    let refused = convoke.run(["send", &agent.url, "x", "--binding", "jsonrpc"]).await.exits(3);
    assert!(refused.stderr.contains("cannot be reached"), "{}", refused.stderr);
}

#[tokio::test]
async fn the_extended_card_is_asked_of_the_agent_with_headers() {
    let (convoke, mirror) = (Convoke::default(), Mirror::start().await);
    let args = ["card", "show", mirror.url.as_str(), "--extended", "--header", "X-Key: k"];
    let shown = convoke.run(args).await.exits(0);
    assert!(shown.stdout.contains("For those who may see it."), "{}", shown.stdout);
    let call = mirror.last();
    assert_eq!(call.operation, Operation::GetExtendedAgentCard);
    assert_eq!(call.key.as_deref(), Some("k"));
    let json = convoke.run(args.into_iter().chain(["--json"])).await.exits(0).json();
    assert_eq!(json["description"], "For those who may see it.");
    let plain = convoke.run(["card", "show", &mirror.url]).await.exits(0);
    assert!(plain.stdout.contains("Keeps what it is asked."), "{}", plain.stdout);
}

#[tokio::test]
async fn a_card_behind_a_header_is_fetched_with_it() {
    let guarded = axum::Router::new().fallback(|request: axum::extract::Request| async move {
        let has_key = request.headers().get("x-key").is_some_and(|value| value == "k");
        let url = format!("http://{}", request.headers()["host"].to_str().expect("a host"));
        match has_key {
            true => Ok(axum::Json(tests::agent::card("guarded", &url))),
            false => Err(axum::http::StatusCode::UNAUTHORIZED),
        }
    });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = tokio::spawn(async move { axum::serve(listener, guarded).await });
    let convoke = Convoke::default();
    convoke.run(["card", "show", &url]).await.exits(3);
    let shown = convoke.run(["card", "show", &url, "--header", "X-Key:k"]).await.exits(0);
    assert!(shown.stdout.starts_with("guarded 1"), "{}", shown.stdout);
    convoke.write("card.json", tests::agent::card("file", &url).to_string());
    let file = convoke.run(["card", "show", "card.json", "--header", "X-Key:k"]).await.exits(2);
    assert!(file.stderr.contains("--header goes with a URL"), "{}", file.stderr);
    server.abort();
}
