//! Agents and clients of A2A before 1.0, with the real binary.

use axum::{Json, response::IntoResponse as _};
use examples::{Kind, OlderCard, Options, Running};
use protocol::{
    card::Binding,
    client::{Client, Interface},
    outbound::{Outbound, Policy},
    v1::{GetTaskRequest, Message, Part, TaskState, send_message_response::Payload},
};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{Scripted, example, one_step},
    convoke::Convoke,
};

/// An example agent that speaks older versions as well.
async fn speaking_older(kind: Kind) -> Running {
    example(kind, Options { older_versions: true, turns: 1, ..Options::default() }).await
}

/// A host whose card says of an agent elsewhere what only an older one would say of itself.
async fn host(card: Value) -> Scripted {
    Scripted::with_card(move |_| Json(card.clone()).into_response()).await
}

/// The card of an agent in each older version and binding.
fn cards(agent: &Running) -> [(&'static str, Value); 4] {
    let common = |fields: Value| {
        let mut card = json!({
            "name": "elder", "description": "Has been there for long.", "version": "1",
            "capabilities": {"streaming": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "act", "name": "Act", "description": "Acts.", "tags": ["acting"]}],
        });
        let fields = fields.as_object().expect("an object").clone();
        card.as_object_mut().expect("an object").extend(fields);
        card
    };
    let rest = format!("{}/a2a", agent.url);
    [
        ("0.3", common(json!({"protocolVersion": "0.3.0", "url": agent.url}))),
        (
            "0.3",
            common(json!({
                "protocolVersion": "0.3.0", "url": rest, "preferredTransport": "HTTP+JSON",
            })),
        ),
        ("0.2", common(json!({"url": agent.url}))),
        ("0.1", common(json!({"url": agent.url, "defaultInputModes": ["text"]}))),
    ]
}

#[tokio::test]
async fn an_older_agent_is_added_by_its_bare_url_and_runs_a_step() {
    let echo = speaking_older(Kind::Echo).await;
    for (count, (version, card)) in (1..).zip(cards(&echo)) {
        let (host, convoke) = (host(card).await, Convoke::default());
        let _added = convoke.run(["agents", "add", &host.url, "--approve"]).await.exits(0);
        let workflow = "convoke: 1\nname: w\nsteps: {a: {agent: elder, message: Hello.}}\n\
                        outputs: {said: {value: \"${{ steps.a.text }}\"}}\n";
        convoke.write("w.yaml", workflow);
        let plan = convoke.run(["plan", "w.yaml"]).await.exits(0).stdout;
        assert!(plan.contains(&format!(" {version} at {}", echo.url)), "{plan}");
        let ran = convoke.run(["run", "w.yaml", "--json"]).await.exits(0).json();
        assert_eq!(ran["outputs"][0]["parts"][0]["text"], "Hello.", "{version}: {ran}");
        assert_eq!(echo.calls.count(), count);
    }
}

#[tokio::test]
async fn an_agent_of_an_older_version_is_found_at_its_host_alone_and_runs_a_step() {
    for (card_of, version, place) in [
        (Some(OlderCard::V0_1), "0.1", "/.well-known/agent.json"),
        (Some(OlderCard::V0_2), "0.2", "/.well-known/agent.json"),
        (Some(OlderCard::V0_3), "0.3", "/.well-known/agent-card.json"),
        (None, "1.0", "/.well-known/agent-card.json"),
    ] {
        let echo = example(Kind::Echo, Options { card_of, ..Options::default() }).await;
        let convoke = Convoke::default();
        let add = ["--json", "agents", "add", &echo.url, "--approve", "--name", "elder"];
        let added = convoke.run(add).await.exits(0).json();
        assert_eq!(added["agents"][0]["outcome"], "added", "{version}: {added}");
        let shown = convoke.run(["--json", "agents", "show", "elder"]).await.exits(0).json();
        assert_eq!(shown["url"], format!("{}{place}", echo.url), "{version}");
        assert_eq!(shown["card"].get("supportedInterfaces").is_some(), version == "1.0");
        convoke
            .write("w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: elder, message: Hello.}}\n");
        let plan = convoke.run(["plan", "w.yaml"]).await.exits(0).stdout;
        assert!(plan.contains(&format!(" {version} at {}", echo.url)), "{plan}");
        let ran = convoke.run(["run", "w.yaml", "--json"]).await.exits(0).json();
        assert_eq!(ran["steps"][0]["artifacts"][0]["parts"][0]["text"], "Hello.", "{version}");
        assert_eq!(echo.calls.count(), 1, "{version}");
    }
}

/// Runs `w.yaml` up to the question of its agent, and answers it.
async fn is_asked_and_answers(convoke: &Convoke, version: &str) {
    let _paused = convoke.run(["run", "w.yaml"]).await.exits(4);
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    let run = runs[0]["id"].as_str().expect("a run");
    let ended = convoke.run(["--json", "runs", "reply", run, "Blue."]).await.exits(0).json();
    assert_eq!(ended["steps"][0]["state"], "completed", "{version}: {ended}");
    let artifacts = ended["steps"][0]["artifacts"].to_string();
    assert!(artifacts.contains("Blue."), "{version}: {artifacts}");
}

#[tokio::test]
async fn an_older_agent_asks_and_is_answered() {
    let asks = speaking_older(Kind::Asks).await;
    for (version, card) in cards(&asks) {
        let (host, convoke) = (host(card).await, Convoke::default());
        convoke.write("w.yaml", one_step(&host.url, ""));
        is_asked_and_answers(&convoke, version).await;
    }
}

#[tokio::test]
async fn an_agent_whose_card_is_wrong_about_its_version_runs_a_step_and_is_answered() {
    let asks = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    for (version, card) in cards(&asks) {
        let (host, convoke) = (host(card).await, Convoke::default());
        convoke.write("w.yaml", one_step(&host.url, ""));
        let plan = convoke.run(["plan", "w.yaml"]).await.exits(0).stdout;
        assert!(plan.contains(&format!(" {version} at {}", asks.url)), "{plan}");
        is_asked_and_answers(&convoke, version).await;
    }
}

#[tokio::test]
async fn an_older_agent_is_sent_to_and_its_stream_is_shown() {
    let chunks = speaking_older(Kind::Chunks).await;
    for (version, card) in cards(&chunks) {
        let (host, convoke) = (host(card).await, Convoke::default());
        let sent = convoke.run(["--json", "send", &host.url, "3"]).await.exits(0).json();
        assert_eq!(sent["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{version}");
        let streamed = convoke.run(["--json", "send", "--stream", &host.url, "3"]).await.exits(0);
        let last = streamed.stdout.lines().last().unwrap_or_default();
        assert!(last.contains("TASK_STATE_COMPLETED"), "{version}: {}", streamed.stdout);
        assert!(streamed.stdout.contains("artifactUpdate"), "{version}: {}", streamed.stdout);
    }
}

#[tokio::test]
async fn a_server_that_is_asked_to_speaks_older_versions() {
    let (asks, convoke) = (speaking_older(Kind::Asks).await, Convoke::default());
    convoke.write("workflows/w.yaml", one_step(&asks.url, ""));
    let serve = ["serve", "--listen", "127.0.0.1:0", "--older-versions"];
    let mut process = convoke.start(serve);
    let line = process.until("its card: ").await;
    let (_, card) = line.split_once("its card: ").expect("the line that was waited for");
    let base = card.strip_suffix("/.well-known/agent-card.json").expect("the card's address");
    for (version, binding, path) in [
        ("0.3", Binding::JsonRpc, ""),
        ("0.3", Binding::HttpJson, "/a2a"),
        ("0.1", Binding::JsonRpc, ""),
    ] {
        let interface = Interface {
            url: format!("{base}{path}"),
            binding,
            tenant: String::new(),
            version: version.to_owned(),
        };
        let outbound = Outbound::new(Policy::loopback()).expect("a client");
        let client = Client::new(outbound, interface).expect("a client");
        let send = async |message: Message| {
            let answered = client.send_message(message.into(), PATIENCE).await.expect("an answer");
            match answered.payload {
                Some(Payload::Task(task)) => task,
                other => panic!("no Task: {other:?}"),
            }
        };
        let paused = send(Message::user(vec![Part::text("Hello.")])).await;
        assert_eq!(paused.state(), TaskState::InputRequired, "{version} {binding}");
        let answer = Message::user(vec![Part::text("Blue.")]).with_task(&paused.id);
        let ended = send(answer).await;
        assert_eq!((ended.state(), &ended.id), (TaskState::Completed, &paused.id), "{version}");
        let request = GetTaskRequest { id: paused.id, ..GetTaskRequest::default() };
        let got = client.get_task(request, PATIENCE).await.expect("the Task");
        assert_eq!(got.state(), TaskState::Completed, "{version} {binding}");
    }
    process.terminate();
}
