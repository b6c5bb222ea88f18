//! What becomes of agents that somebody else's catalog lists.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{agent::card, convoke::Convoke};

use super::{hosts::Host, standings};
use crate::steady;

pub(super) const CARD: &str = "application/a2a-agent-card+json";
pub(super) const CATALOG: &str = "application/ai-catalog+json";
const PLACE: &str = "/.well-known/ai-catalog.json";

/// A catalog of agents, in the words of the later drafts.
pub(super) fn entries(entries: &[Value]) -> Value {
    json!({ "specVersion": "1.0", "host": { "displayName": "A host" }, "entries": entries })
}

pub(super) fn entry(name: &str, url: &str) -> Value {
    let identifier = format!("urn:air:a.example:agent:{name}");
    json!({ "identifier": identifier, "displayName": name, "type": CARD, "url": url })
}

#[tokio::test]
async fn both_spellings_and_nested_catalogs_are_accepted() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let urls = ["one", "two", "three"].map(|name| host.card(&format!("/{name}.json"), name));
    let inner = entries(&[json!({
        "identifier": "urn:air:a.example:agent:four", "displayName": "four", "mediaType": CARD,
        "data": card("four", &host.at("/")),
    })]);
    let tool = json!({ "identifier": "urn:air:a.example:server:tool", "displayName": "A tool",
        "type": "application/mcp-server-card+json", "url": "https://a.example/mcp.json" });
    let bundle = json!({ "identifier": "urn:air:a.example:bundle", "displayName": "A bundle",
        "type": CATALOG, "data": inner });
    let older = json!({ "displayName": "Older", "type": CATALOG, "url": "catalogs/older.json" });
    host.put("/ai-catalog.json", entries(&[entry("one", &urls[0]), tool, bundle, older]));
    let agents = [
        json!({ "id": "two", "name": "two", "description": "Acts.", "tags": ["x"], "cardUrl": urls[1],
            "updatedAt": "2026-02-01T00:00:00Z" }),
        json!({ "id": "three", "name": "three", "description": "Acts.", "cardUrl": "/three.json" }),
    ];
    host.put(
        "/catalogs/older.json",
        json!({ "$schema": "https://a.example/schema", "specVersion": "1.0.0",
            "host": { "name": "A host" }, "agents": agents }),
    );
    let added = convoke.run(["agents", "add", &host.at("/ai-catalog.json")]).await.exits(0);
    let shown = convoke.run(["agents", "show", "two"]).await.exits(0).stdout;
    let via = format!(
        "listed by {} → {} as two",
        host.at("/ai-catalog.json"),
        host.at("/catalogs/older.json")
    );
    assert!(shown.contains(&via), "{shown}");
    assert_snapshot!(added.stdout, @r"
    ignored   A tool: application/mcp-server-card+json, no Agent Card
    added     four (proposed)
    added     one (proposed)
    added     three (proposed)
    added     two (proposed)
    4 added, 0 changed, 0 unchanged, 0 removed, 1 ignored
    ");
}

#[tokio::test]
async fn a_host_without_a_card_is_asked_for_its_catalog() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let url = host.card("/one.json", "one");
    host.put(PLACE, entries(&[entry("one", &url)]));
    for (at, outcome) in [("", "added"), ("/below/it", "unchanged"), (PLACE, "unchanged")] {
        let added = convoke.run(["--json", "agents", "add", &host.at(at)]).await.exits(0).json();
        let agent = &added["agents"][0];
        assert_eq!((&agent["name"], &agent["outcome"]), (&json!("one"), &json!(outcome)), "{at}");
    }
    // One that has a card is that agent and nothing else.
    host.card("/.well-known/agent-card.json", "host");
    let added = convoke.run(["--json", "agents", "add", &host.url]).await.exits(0).json();
    assert_eq!(added["agents"].as_array().map(Vec::len), Some(1));
    assert_eq!(added["agents"][0]["name"], "host");
}

#[tokio::test]
async fn what_others_list_is_proposed_whatever_is_typed() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let url = host.card("/one.json", "one");
    host.put(PLACE, entries(&[entry("one", &url)]));
    let added = convoke.run(["agents", "add", &host.url, "--approve"]).await.exits(0);
    assert_eq!(standings(&convoke).await, ["one proposed"]);
    assert_snapshot!(added.stderr, @"proposed agents wait for `convoke agents approve NAME`; --approve leaves what somebody else's catalog lists to you");
    // Its own address is another thing.
    let _added = convoke.run(["agents", "add", &url, "--approve"]).await.exits(0);
    assert_eq!(standings(&convoke).await, ["one approved"]);
    let record = convoke.run(["--json", "agents", "show", "one"]).await.exits(0).json();
    assert_eq!(record["source"]["asked"], host.url, "it is known where it was heard of first");
    let named = convoke.run(["agents", "add", &host.url, "--name", "mine"]).await;
    let _steady = steady();
    assert_snapshot!(named.complaint(), @r"
    exit 2
    error: http://127.0.0.1:PORT/.well-known/ai-catalog.json lists agents, and a name can be given to one alone: add that one, by the URL of its card or as `http://127.0.0.1:PORT/.well-known/ai-catalog.json#entry=IDENTIFIER`
    ");
}

#[tokio::test]
async fn listed_agents_are_refreshed_also_when_the_catalog_holds_their_card() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let url = host.card("/one.json", "one");
    let here = |version: &str| {
        let mut card = card("two", "http://127.0.0.1:1/");
        card["version"] = json!(version);
        json!({ "identifier": "urn:air:a.example:agent:two", "displayName": "two", "type": CARD, "data": card })
    };
    host.put(PLACE, entries(&[entry("one", &url), here("1")]));
    let _added = convoke.run(["agents", "add", &host.url]).await.exits(0);
    let refresh = async || {
        let report = convoke.run(["--json", "agents", "refresh"]).await;
        let agents = report.json()["agents"].as_array().expect("agents").clone();
        agents
            .iter()
            .map(|it| it["outcome"].as_str().expect("a word").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(refresh().await, ["unchanged", "unchanged"]);
    host.card("/one.json", "one, renamed");
    host.put(PLACE, entries(&[here("2")]));
    assert_eq!(refresh().await, ["changed", "changed"]);
    host.put(PLACE, entries(&[]));
    assert_eq!(refresh().await, ["unchanged", "failed"]);
    let failed = convoke.run(["agents", "refresh", "two"]).await.exits(1);
    let _steady = steady();
    assert_snapshot!(failed.stdout, @r"
    failed    two: the catalog at http://127.0.0.1:PORT/.well-known/ai-catalog.json cannot be used: it lists no agent `urn:air:a.example:agent:two`
    0 added, 0 changed, 0 unchanged, 0 removed, 1 failed
    ");
}

#[tokio::test]
async fn an_exported_entry_of_a_catalog_comes_back() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let data = card("two words", "http://127.0.0.1:1/");
    let entry =
        json!({ "identifier": "two & more", "displayName": "two", "type": CARD, "data": data });
    host.put(PLACE, entries(&[entry]));
    let _added = convoke.run(["agents", "add", &host.url]).await.exits(0);
    let exported = convoke.run(["agents", "export"]).await.exits(0).stdout;
    let other = Convoke::default();
    other.write("catalog.yaml", &exported);
    let _applied = other.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0);
    assert_eq!(standings(&other).await, ["two-words approved"]);
    // A stranger's card is no file of the operator's: it has the address of its catalog.
    let record = other.run(["--json", "agents", "show", "two-words"]).await.exits(0).json();
    assert_eq!(record["url"], format!("{}#entry=two+%26+more", host.at(PLACE)));
}

#[tokio::test]
async fn a_file_follows_a_catalog_of_others() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let urls = ["one", "two"].map(|name| host.card(&format!("/{name}.json"), name));
    let both = [entry("one", &urls[0]), entry("two", &urls[1])];
    host.put(PLACE, entries(&both));
    let own = host.card("/own.json", "own");
    let file = format!(
        "agents:\n  - {{url: \"{}\", tags: [theirs]}}\n  - {{url: \"{own}\", name: mine}}\n  - {{url: \"{}\", owner: me}}\n",
        host.at(PLACE),
        urls[0],
    );
    convoke.write("catalog.yaml", &file);
    let apply = async || {
        let report = convoke.run(["--json", "agents", "apply", "catalog.yaml", "--approve"]).await;
        let agents = report.json()["agents"].as_array().expect("agents").clone();
        let told = agents.iter().map(|it| format!("{} {}", it["name"], it["outcome"]));
        told.collect::<Vec<_>>().join(", ").replace('"', "")
    };
    // What the file names itself is named by it, and counts once.
    assert_eq!(apply().await, "mine added, one added, one ignored, two added");
    assert_eq!(standings(&convoke).await, ["mine approved", "one approved", "two proposed"]);
    let tags = |name: &'static str| {
        let shown = convoke.run(["--json", "agents", "show", name]);
        async move { shown.await.exits(0).json()["details"]["tags"].clone() }
    };
    assert_eq!((tags("two").await, tags("one").await), (json!(["theirs"]), json!([])));
    assert_eq!(apply().await, "mine unchanged, one unchanged, one ignored, two unchanged");
    // A catalog that cannot be read says nothing of its agents.
    host.put(PLACE, json!({ "oops": true }));
    let catalog = host.at(PLACE);
    assert_eq!(apply().await, format!("{catalog} failed, mine unchanged, one unchanged"));
    assert_eq!(standings(&convoke).await.len(), 3);
    host.put(PLACE, entries(&both[..1]));
    assert_eq!(apply().await, "mine unchanged, one unchanged, one ignored, two removed");
}

#[tokio::test]
async fn credentials_are_for_one_agent_and_not_for_what_a_catalog_lists() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let url = host.card("/one.json", "one");
    host.put(PLACE, entries(&[entry("one", &url)]));
    let secret = format!(
        "agents:\n  - url: \"{}\"\n    credentials: [{{bearer: {{env: SECRET}}}}]\n",
        host.at(PLACE)
    );
    convoke.write("catalog.yaml", secret);
    let applied = convoke.run(["agents", "apply", "catalog.yaml"]).await.exits(1);
    assert!(standings(&convoke).await.is_empty());
    let _steady = steady();
    assert_snapshot!(applied.stdout, @r"
    failed    http://127.0.0.1:PORT/.well-known/ai-catalog.json: http://127.0.0.1:PORT/.well-known/ai-catalog.json lists agents, and credentials can be given to one alone: add that one, by the URL of its card or as `http://127.0.0.1:PORT/.well-known/ai-catalog.json#entry=IDENTIFIER` (catalog.yaml:2:5)
    0 added, 0 changed, 0 unchanged, 0 removed, 1 failed
    ");
}

#[tokio::test]
async fn a_name_that_is_taken_is_made_longer_by_the_host() {
    let (host, other, convoke) = (Host::start().await, Host::start().await, Convoke::default());
    let _own = convoke.run(["agents", "add", &host.card("/own.json", "same"), "--approve"]).await;
    for host in [&host, &other] {
        let (first, second) = (host.card("/first.json", "same"), host.card("/second.json", "☃"));
        host.put(PLACE, entries(&[entry("first", &first), entry("second", &second)]));
        let _added = convoke.run(["agents", "add", &host.at(PLACE)]).await.exits(0);
    }
    let port = |host: &Host| host.url.rsplit(':').next().expect("a port").to_owned();
    let mut expected = vec!["same approved".to_owned(), "second proposed".to_owned()];
    expected.push(format!("second-127-0-0-1-{} proposed", port(&other)));
    expected.extend([&host, &other].map(|it| format!("same-127-0-0-1-{} proposed", port(it))));
    expected.sort();
    assert_eq!(standings(&convoke).await, expected);
}
