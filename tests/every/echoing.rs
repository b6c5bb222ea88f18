//! An agent that repeats the credential it was shown, wherever it can: nobody else gets to see it.

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response, sse},
    routing::{get, post},
};
use futures_util::stream;
use protocol::{
    model::metadata,
    v1::{SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig},
};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{card, completed, task},
    convoke::{Convoke, Done, finish},
};
use tokio::{net::TcpListener, task::JoinHandle};

use crate::{
    credentials::{files, holds},
    pushes::{deliveries, is_all_done, lines, listen},
    served::{SERVE, Served, said},
};

/// With what JSON may write in more than one way, and what stands in a URL in another.
const KEY: &str = "planted/echo+key=41b7";

const HIDDEN: &str = "[hidden]";

/// Where an agent can repeat what it was shown.
const PLACES: [&str; 8] =
    ["body", "page", "error", "escaped", "redirect", "status", "artifact", "direct"];

struct Echoing {
    url: String,
    server: JoinHandle<std::io::Result<()>>,
}

impl Echoing {
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(show_card))
            .route("/", post(answer))
            .with_state(url.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, server }
    }
}

impl Drop for Echoing {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn shown(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-key").and_then(|value| value.to_str().ok())
}

/// The card repeats the key to those who show it.
async fn show_card(State(url): State<String>, headers: HeaderMap) -> Response {
    let key = shown(&headers).unwrap_or("nobody");
    let mut card = card("echoing", &url);
    card["description"] = json!(format!("Knows {key}."));
    card["securitySchemes"] =
        json!({ "key": { "apiKeySecurityScheme": { "location": "header", "name": "x-key" } } });
    card["securityRequirements"] = json!([{ "schemes": { "key": { "list": [] } } }]);
    Json(card).into_response()
}

/// A Task that ends in a state with words.
fn ended(state: &str, words: &str) -> Value {
    let mut task = task("t", state);
    task["status"]["message"] =
        json!({ "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": words }] });
    task
}

async fn answer(headers: HeaderMap, Json(call): Json<Value>) -> Response {
    let Some(key) = shown(&headers) else { return StatusCode::UNAUTHORIZED.into_response() };
    let words = format!("no key {key} here");
    let said = |result: Value| {
        let reply = json!({ "jsonrpc": "2.0", "id": call["id"], "result": result });
        match call["method"].as_str() {
            Some("SendStreamingMessage" | "SubscribeToTask") => {
                let event = sse::Event::default().data(reply.to_string());
                sse::Sse::new(stream::iter([Ok::<_, std::io::Error>(event)])).into_response()
            }
            _ => Json(reply).into_response(),
        }
    };
    let error = json!({ "jsonrpc": "2.0", "id": call["id"], "error": {
        "code": -32603, "message": words,
        "data": [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INTERNAL",
                   "domain": "a2a-protocol.org", "metadata": { "key": key } }],
    } });
    match call["params"]["message"]["parts"][0]["text"].as_str() {
        Some("body") => (StatusCode::BAD_REQUEST, words).into_response(),
        Some("page") => {
            // What is shown of a page is cut within the key.
            let page = format!("<html>{}{key}", "x".repeat(110));
            (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "text/html")], page).into_response()
        }
        Some("error") => Json(error).into_response(),
        Some("escaped") => {
            let escaped = error.to_string().replace('=', "\\u003d").replace('/', "\\/");
            ([(header::CONTENT_TYPE, "application/json")], escaped).into_response()
        }
        Some("redirect") => {
            let elsewhere = format!("http://127.0.0.1:1/{key}");
            (StatusCode::FOUND, [(header::LOCATION, elsewhere)]).into_response()
        }
        Some("status") => said(json!({ "task": ended("FAILED", &words) })),
        Some("direct") => said(json!({ "message": {
            "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": words }]
        } })),
        Some("artifact") => {
            let mut task = completed("t", &words);
            task["artifacts"][0]["parts"] = json!([{ "text": words }, { "data": { key: [key] } }]);
            task["metadata"] = json!({ "key": key });
            said(json!({ "task": task }))
        }
        // GetTask and all that a probe asks.
        _ => Json(error).into_response(),
    }
}

async fn run<'a>(convoke: &Convoke, args: impl IntoIterator<Item = &'a str>) -> Done {
    let mut command = convoke.command(args);
    command.env("ECHO_KEY", KEY);
    finish(command).await
}

/// A folder whose directory has the agent, and a workflow for each place.
async fn known(agent: &Echoing) -> (Convoke, Vec<Done>) {
    let convoke = Convoke::default();
    let url = &agent.url;
    let catalog = format!(
        "agents: [{{name: it, url: \"{url}\", credentials: [{{api_key: {{env: ECHO_KEY}}}}]}}]\n"
    );
    convoke.write("catalog.yaml", catalog);
    for place in PLACES {
        let file = format!("workflows/{place}.yaml");
        let steps = "retry: {attempts: 1}";
        let workflow = format!(
            "convoke: 1\nname: {place}\nsteps: {{a: {{agent: it, message: {place}, {steps}}}}}\n"
        );
        convoke.write(&file, workflow);
    }
    let applied = run(&convoke, ["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    (convoke, vec![applied])
}

/// Looks for the key in all that was said, and in every file of the data folder.
fn is_not_told(convoke: &Convoke, said: &[Done]) {
    for form in [KEY, "planted%2Fecho%2Bkey%3D41b7", "planted"] {
        for done in said {
            for text in [&done.stdout, &done.stderr] {
                assert_eq!(text.lines().find(|line| line.contains(form)), None, "{form}");
            }
        }
        for file in files(&convoke.data()) {
            let content = std::fs::read(&file).expect("a file");
            assert!(!holds(&content, form), "{form} in {}", file.display());
        }
    }
}

#[tokio::test]
async fn a_key_that_an_agent_repeats_is_in_no_output_and_in_no_file() {
    let agent = Echoing::start().await;
    let (convoke, mut said) = known(&agent).await;
    for place in PLACES {
        let file = format!("workflows/{place}.yaml");
        let ran = run(&convoke, ["--json", "--log", "debug", "run", &file]).await;
        let sent = run(&convoke, ["--json", "send", "it", place]).await;
        let streamed = run(&convoke, ["send", "it", place, "--stream"]).await;
        let (is_told, is_sent) =
            [&ran, &sent].map(|it| format!("{}{}", it.stdout, it.stderr).contains(HIDDEN)).into();
        // A page is cut before its key is told, hidden or not.
        assert!(is_told && is_sent || place == "page", "{place}: {ran:?} {sent:?}");
        said.extend([ran, sent, streamed]);
    }
    let runs = run(&convoke, ["--json", "runs", "list"]).await.exits(0);
    let ids = runs.json();
    for run_of in ids.as_array().expect("a list") {
        let id = run_of["id"].as_str().expect("an id");
        for verb in ["show", "events"] {
            said.push(run(&convoke, ["--json", "runs", verb, id]).await);
        }
        said.push(run(&convoke, ["runs", "show", id]).await);
    }
    said.push(runs);
    for args in [
        &["agents", "probe", "it"][..],
        &["--json", "agents", "probe", "it"],
        &["--json", "agents", "show", "it"],
        &["agents", "show", "it", "--extended"],
        &["agents", "refresh", "it"],
        &["agents", "search", "knows"],
        &["card", "show", &agent.url],
        &["agents", "export"],
    ] {
        said.push(run(&convoke, args.iter().copied()).await);
    }
    is_not_told(&convoke, &said);
}

#[tokio::test]
async fn a_key_that_an_agent_repeats_reaches_no_client_and_no_webhook() {
    let agent = Echoing::start().await;
    let (convoke, mut said_by) = known(&agent).await;
    let other = Convoke::default();
    let (webhook, url) = listen(&other, "127.0.0.1:0", &[]).await;
    let mut command = convoke.command(SERVE);
    command.env("ECHO_KEY", KEY).args(["--log", "debug"]);
    let served = Served::of(tests::convoke::start(command)).await;
    let mut told = String::new();
    for place in PLACES {
        let config = TaskPushNotificationConfig { url: url.clone(), ..Default::default() };
        let configuration = SendMessageConfiguration {
            task_push_notification_config: Some(config),
            ..Default::default()
        };
        let message = said("go").with_metadata(metadata::WORKFLOW, place);
        let request = SendMessageRequest { configuration: Some(configuration), ..message.into() };
        let answer = served.client.send_message(request, PATIENCE).await.expect("an answer");
        let answer = serde_json::to_string(&answer).expect("JSON");
        assert!(answer.contains(HIDDEN) || place == "page", "{place}: {answer}");
        told += &answer;
    }
    deliveries(&convoke, is_all_done).await;
    let hooked = lines(webhook).await;
    let hooked = json!(hooked).to_string();
    assert!(hooked.contains(HIDDEN), "{hooked}");
    told += &hooked;
    assert!(!told.contains("planted"), "{told}");
    served.process.terminate();
    said_by.push(served.process.end().await.exits(0));
    is_not_told(&convoke, &said_by);
}
