//! Agentic Resource Discovery: catalogs of others, and ours.

mod hostile;
mod hosts;
mod listed;

use examples::{Kind, Options, Running};
use serde_json::{Value, json};
use tests::{agent::example, convoke::Convoke};

use crate::served::Served;

const PUBLIC: [&str; 2] = ["--set", "directory.publish=public"];

/// An instance whose directory has this agent, approved and public; nobody serves it yet.
async fn instance(kind: Kind) -> (Convoke, Running) {
    let (convoke, agent) = (Convoke::default(), example(kind, Options::default()).await);
    convoke
        .write("workflows/w.yaml", "convoke: 1\nname: w\nsteps: {a: {agent: x, message: Hi.}}\n");
    let _added = convoke.run(["agents", "add", &agent.url, "--approve"]).await.exits(0);
    let name = listed(&convoke).await[0]["name"].as_str().expect("a name").to_owned();
    let _public = convoke.run(["agents", "publish", &name]).await.exits(0);
    (convoke, agent)
}

/// What `agents list` has.
async fn listed(convoke: &Convoke) -> Vec<Value> {
    let listed = convoke.run(["--json", "agents", "list"]).await.exits(0).json();
    listed.as_array().expect("a list").clone()
}

/// Each agent with how it stands: `echo approved`.
async fn standings(convoke: &Convoke) -> Vec<String> {
    let word = |value: &Value| value.as_str().expect("text").to_owned();
    let agents = listed(convoke).await;
    agents.iter().map(|it| format!("{} {}", word(&it["name"]), word(&it["standing"]))).collect()
}

/// The status and the JSON of an answer.
fn parted(answer: &str) -> (&str, Value) {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).expect("a status");
    (status, serde_json::from_str(body).unwrap_or_default())
}

async fn get(served: &Served, path: &str) -> (String, Value) {
    let answer = served.get(path, "localhost").await;
    let (status, json) = parted(&answer);
    (status.to_owned(), json)
}

async fn post(served: &Served, path: &str, body: &str) -> (String, Value) {
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close");
    let request = format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    let answer = served.raw(&request).await;
    let (status, json) = parted(&answer);
    (status.to_owned(), json)
}

/// One instance takes in what another publishes: its catalog by the address of its host alone, its
/// list, and what its search finds.
async fn takes_in(reader: &Convoke, other: &Served, name: &str, word: &str) {
    let catalog = format!("{}/.well-known/ai-catalog.json", other.url);
    let added = reader.run(["--json", "agents", "add", &catalog]).await.exits(0).json();
    let outcomes = |report: &Value| {
        let agents = report["agents"].as_array().expect("agents").iter();
        let mut told: Vec<String> = agents
            .map(|it| format!("{} {}", it["name"].as_str().expect("a name"), it["outcome"]))
            .collect();
        told.sort();
        told.join(", ").replace('"', "")
    };
    let expected = format!("Search in this directory ignored, convoke added, {name} added");
    assert_eq!(outcomes(&added), expected);
    let record = reader.run(["--json", "agents", "show", name]).await.exits(0).json();
    assert_eq!(record["source"]["asked"], catalog);
    assert_eq!(record["source"]["identifier"], format!("urn:air:127.0.0.1:agent:{name}"));
    let shown = reader.run(["agents", "show", name]).await.exits(0).stdout;
    assert!(
        shown.contains(&format!("listed by {catalog} as urn:air:127.0.0.1:agent:{name}")),
        "{shown}"
    );

    let list = format!("{}/ard/agents?pageSize=1", other.url);
    let again = reader.run(["--json", "agents", "add", &list]).await.exits(0).json();
    assert_eq!(outcomes(&again), format!("convoke unchanged, {name} unchanged"));

    let found = json!({ "query": { "text": word, "filter": { "type": "application/a2a-agent-card+json" } } });
    let (status, found) = post(other, "/ard/search", &found.to_string()).await;
    assert_eq!((status.as_str(), &found["results"][0]["score"]), ("200", &json!(100)));
    let url = found["results"][0]["url"].as_str().expect("an address");
    let again = reader.run(["--json", "agents", "add", url]).await.exits(0).json();
    assert_eq!(outcomes(&again), format!("{name} unchanged"));
}

#[tokio::test]
async fn two_instances_take_in_what_the_other_publishes() {
    let (one, _echo) = instance(Kind::Echo).await;
    let (two, _slow) = instance(Kind::Slow).await;
    let served = Served::with(&one, &PUBLIC).await;
    takes_in(&two, &served, "echo", "writing").await;
    served.process.terminate();
    let _ended = served.process.end().await.exits(0);
    assert_eq!(standings(&two).await, ["convoke proposed", "echo proposed", "slow approved"]);

    let served = Served::with(&two, &PUBLIC).await;
    takes_in(&one, &served, "slow", "waiting").await;
    let standings = standings(&one).await;
    assert_eq!(standings, ["convoke proposed", "echo approved", "slow proposed"]);
}

#[tokio::test]
async fn nothing_is_published_unless_the_operator_says_so() {
    let (convoke, _echo) = instance(Kind::Echo).await;
    let served = Served::with(&convoke, &[]).await;
    for path in ["/.well-known/ai-catalog.json", "/ard/agents"] {
        assert_eq!(get(&served, path).await.0, "404", "{path}");
    }
    assert_eq!(post(&served, "/ard/search", r#"{"query": {"text": "echo"}}"#).await.0, "404");
    served.process.kill().await;

    let served = Served::with(&convoke, &["--set", "directory.publish=own"]).await;
    let (status, catalog) = get(&served, "/.well-known/ai-catalog.json").await;
    assert_eq!((status.as_str(), catalog["entries"].as_array().map(Vec::len)), ("200", Some(2)));
    let own = &catalog["entries"][0];
    assert_eq!(own["url"], format!("{}/.well-known/agent-card.json", served.url));
    assert_eq!(
        (&own["type"], &own["mediaType"]),
        (&own["mediaType"], &json!("application/a2a-agent-card+json"))
    );
    assert_eq!(get(&served, "/ard/agents").await.1["total"], 1);
}

#[tokio::test]
async fn an_agent_is_public_until_it_is_withdrawn_and_while_it_is_approved() {
    let (convoke, _echo) = instance(Kind::Echo).await;
    let shown = convoke.run(["agents", "show", "echo"]).await.exits(0).stdout;
    assert!(shown.contains("public others may learn of it"), "{shown}");
    let exported = convoke.run(["agents", "export"]).await.exits(0).stdout;
    assert!(exported.contains("public: true"), "{exported}");
    let published = async || {
        let served = Served::with(&convoke, &PUBLIC).await;
        let total = get(&served, "/ard/agents").await.1["total"].clone();
        served.process.kill().await;
        total
    };
    assert_eq!(published().await, 2);
    let suspended = convoke.run(["agents", "suspend", "echo"]).await.exits(0);
    assert_eq!(suspended.stdout, "echo is suspended\n");
    assert_eq!(published().await, 1);
    let told = convoke.run(["agents", "publish", "echo"]).await.exits(0).stdout;
    assert_eq!(told, "echo is public once it is approved; it is suspended\n");
    let _approved = convoke.run(["agents", "approve", "echo"]).await.exits(0);
    let told = convoke.run(["agents", "publish", "echo"]).await.exits(0).stdout;
    assert_eq!(told, "echo is public\n");
    let withdrawn = convoke.run(["--json", "agents", "publish", "echo", "--withdraw"]).await;
    let withdrawn = withdrawn.exits(0).json();
    assert_eq!(withdrawn, json!({"name": "echo", "public": false, "standing": "approved"}));
    assert_eq!(published().await, 1);
    let told = convoke.run(["agents", "publish", "echo", "--withdraw"]).await.exits(0).stdout;
    assert_eq!(told, "echo is not public\n");
}

#[tokio::test]
async fn a_catalog_is_kept_by_caches_like_the_card() {
    let (convoke, _echo) = instance(Kind::Echo).await;
    let served =
        Served::with(&convoke, &["--set", "limits.card_max_age=7s", PUBLIC[0], PUBLIC[1]]).await;
    let first = served.get("/.well-known/ai-catalog.json", "localhost").await.to_lowercase();
    assert!(first.contains("cache-control: public, max-age=7\r\n"), "{first}");
    assert!(first.contains("content-type: application/ai-catalog+json\r\n"), "{first}");
    let answer = served.get("/.well-known/ai-catalog.json", "localhost").await;
    let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").trim();
    let head = "GET /.well-known/ai-catalog.json HTTP/1.1\r\nHost: localhost\r\nConnection: close";
    let again = served.raw(&format!("{head}\r\nIf-None-Match: {tag}\r\n\r\n")).await;
    assert!(again.starts_with("HTTP/1.1 304"), "{again}");
    let other = served.raw(&format!("{head}\r\nIf-None-Match: \"other\"\r\n\r\n")).await;
    assert!(other.starts_with("HTTP/1.1 200"), "{other}");
    assert_eq!(
        get(&served, "/.well-known/ai-catalog/1.json").await.1["entries"][0]["displayName"],
        "echo"
    );
    for none in ["0.json", "2.json", "x.json", "1"] {
        assert_eq!(
            get(&served, &format!("/.well-known/ai-catalog/{none}")).await.0,
            "404",
            "{none}"
        );
    }
    // Another host's page must not read it in somebody's browser.
    assert!(served.get("/ard/agents", "evil.example").await.starts_with("HTTP/1.1 4"));
}

#[tokio::test]
async fn questions_that_are_none_are_refused_in_the_form_of_the_specification() {
    let (convoke, _echo) = instance(Kind::Echo).await;
    let served = Served::with(&convoke, &PUBLIC).await;
    let large = json!({ "query": { "text": "x".repeat(1 << 20) } }).to_string();
    let refused = [
        (post(&served, "/ard/search", "no JSON").await, "400", "INVALID_ARGUMENT"),
        (
            post(&served, "/ard/search", r#"{"query": {"text": ""}}"#).await,
            "400",
            "INVALID_ARGUMENT",
        ),
        (post(&served, "/ard/search", &large).await, "413", "INVALID_ARGUMENT"),
        (post(&served, "/ard/explore", "{}").await, "501", "NOT_IMPLEMENTED"),
        (get(&served, "/ard/agents?pageSize=many").await, "400", "INVALID_ARGUMENT"),
        (get(&served, "/ard/agents?orderBy=age").await, "400", "INVALID_ARGUMENT"),
    ];
    for ((status, body), expected, code) in refused {
        assert_eq!((status.as_str(), &body["errorCode"]), (expected, &json!(code)), "{body}");
        assert!(body["message"].as_str().is_some_and(|why| !why.is_empty()), "{body}");
    }
}
