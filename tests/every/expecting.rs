//! Steps that expect data of their agents: what comes of answers that are something else.

use examples::{Kind, Options};
use serde_json::{Value, json};
use tests::{
    agent::{Answer, Scripted, example, one_step},
    convoke::Convoke,
};

const PRICE: &str =
    ", expect: {type: object, required: [price], properties: {price: {type: number}}}";

/// A direct Message in the agent's own context.
fn says(part: &Value) -> Value {
    json!({"message": {
        "messageId": "m", "role": "ROLE_AGENT", "contextId": "theirs", "parts": [part],
    }})
}

async fn only_run(convoke: &Convoke) -> String {
    let runs = convoke.run(["--json", "runs", "list"]).await.exits(0).json();
    runs[0]["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn the_data_of_an_example_agent_is_held_against_the_schema() {
    let agent = example(Kind::Flights, Options::default()).await;
    let convoke = Convoke::default();
    let expecting = |required: &str| {
        format!(", expect: {{type: object, required: [arrival_date, {required}]}}")
    };
    convoke.write("w.yaml", one_step(&agent.url, &expecting("flight_number")));
    convoke.run(["run", "w.yaml"]).await.exits(0);
    convoke.write("w.yaml", one_step(&agent.url, &expecting("price")));
    let refused = convoke.run(["run", "w.yaml"]).await.exits(1);
    let why = "failed (attempt 1): the answer of agent `it` is not what the step expects: the whole lacks \"price\"";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let plan = convoke.run(["plan", "w.yaml"]).await.exits(0);
    assert!(
        plan.stdout.contains("  expects    {\"required\":[\"arrival_date\""),
        "{}",
        plan.stdout
    );
}

#[tokio::test]
async fn a_question_in_a_direct_message_is_answered_once_though_the_reply_is_killed() {
    let agent = Scripted::polled(|request| match (request.method.as_str(), request.before) {
        ("SendMessage", 0) => request.result(&says(&json!({"text": "Which day?"}))),
        ("SendMessage", 1) => Answer::Never,
        ("SendMessage", _) => request.result(&says(&json!({"data": {"price": 7}}))),
        _ => request.error(-32601, "not here"),
    })
    .await;
    let convoke = Convoke::default();
    convoke.write("w.yaml", one_step(&agent.url, PRICE));
    let paused = convoke.run(["run", "w.yaml"]).await.exits(4);
    let run = only_run(&convoke).await;
    let asked = "ask asks: Which day? (not what is expected: it has no data Part)";
    assert!(paused.stderr.contains(asked), "{}", paused.stderr);
    let process = convoke.start(["runs", "reply", &run, "Monday"]);
    agent.until("SendMessage", 2).await;
    process.kill().await;
    let done = convoke.run(["--json", "run", "--resume", &run]).await.exits(0).json();
    let sent = agent.received("SendMessage");
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[2].params, sent[1].params, "the same bytes, and with them the same messageId");
    let [first, answer] = [0, 1].map(|at| sent[at].params["message"].clone());
    assert_eq!(
        (&answer["parts"][0]["text"], &answer["contextId"]),
        (&json!("Monday"), &json!("theirs"))
    );
    assert_ne!(answer["messageId"], first["messageId"]);
    assert_eq!(sent[1].params["configuration"]["acceptedOutputModes"], json!(["application/json"]));
    assert_eq!(first["parts"][0]["metadata"]["schema"]["required"], json!(["price"]));
    assert_eq!(done["outputs"][0]["parts"][0]["data"], json!({"price": 7}));
    assert_eq!(done["steps"][0]["attempts"], 1);
}
