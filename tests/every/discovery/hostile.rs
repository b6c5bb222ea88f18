//! Catalogs that mean harm.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::convoke::Convoke;

use super::{
    hosts::Host,
    listed::{CARD, CATALOG, entries, entry},
    standings,
};
use crate::steady;

fn nested(name: &str, url: &str) -> Value {
    json!({ "displayName": name, "type": CATALOG, "url": url })
}

#[tokio::test]
async fn catalogs_that_list_each_other_are_read_once() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let one = host.card("/one.json", "one");
    host.put("/ai-catalog.json", entries(&[nested("B", "/b"), nested("Self", "ai-catalog.json")]));
    host.put("/b", entries(&[nested("A", "/ai-catalog.json"), entry("one", &one)]));
    let added = convoke.run(["agents", "add", &host.at("/ai-catalog.json")]).await.exits(0);
    let _steady = steady();
    assert_snapshot!(added.stdout, @r"
    ignored   A: http://127.0.0.1:PORT/ai-catalog.json was read already
    ignored   Self: http://127.0.0.1:PORT/ai-catalog.json was read already
    added     one (proposed)
    1 added, 0 changed, 0 unchanged, 0 removed, 2 ignored
    ");
}

#[tokio::test]
async fn a_catalog_that_goes_ever_deeper_is_left_at_its_fourth_level() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    for level in 1..=6 {
        let card = host.card(&format!("/{level}.json"), &format!("agent {level}"));
        let deeper = nested(&format!("level {}", level + 1), &format!("/level-{}", level + 1));
        host.put(&format!("/level-{level}"), entries(&[entry("agent", &card), deeper]));
    }
    let deep = (0..200).fold(
        json!({ "entries": [] }),
        |inner, _| json!({ "entries": [{ "displayName": "in", "type": CATALOG, "data": inner }] }),
    );
    host.put("/deep", deep);
    let top = entries(&[nested("level 1", "/level-1"), nested("deep", "/deep")]);
    host.put("/ai-catalog.json", top);
    let added = convoke.run(["agents", "add", &host.at("/ai-catalog.json")]).await.exits(1);
    assert_eq!(standings(&convoke).await.len(), 3);
    let _steady = steady();
    assert_snapshot!(added.stdout, @r"
    added     agent-1 (proposed)
    added     agent-2 (proposed)
    added     agent-3 (proposed)
    failed    deep: the catalog at http://127.0.0.1:PORT/deep cannot be used: it is not JSON: recursion limit exceeded at line 1 column 852
    failed    level 4: it is nested more than 4 deep
    3 added, 0 changed, 0 unchanged, 0 removed, 2 failed
    ");
}

#[tokio::test]
async fn addresses_that_may_not_be_called_are_not() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let one = host.card("/one.json", "one");
    host.put(
        "/ai-catalog.json",
        entries(&[
            entry("private", "http://10.0.0.1/card.json"),
            entry("metadata", "http://169.254.169.254/latest/"),
            entry("file", "file:///etc/passwd"),
            entry("user", "http://user:secret@a.example/"),
            nested("nested", "http://192.168.1.1/ai-catalog.json"),
            entry("one", &one),
        ]),
    );
    let added = convoke.run(["agents", "add", &host.at("/ai-catalog.json")]).await.exits(1);
    assert_eq!(standings(&convoke).await, ["one proposed"]);
    assert!(!added.stdout.contains("secret"), "{}", added.stdout);
    let _steady = steady();
    assert_snapshot!(added.stdout, @r"
    failed    file: no Agent Card: file:///etc/passwd is not a URL that can be called: its scheme is file, not http or https
    failed    metadata: no Agent Card: http://169.254.169.254/latest/ leads to 169.254.169.254, which is a cloud metadata address and not allowed; if it is meant, allow its network in the configuration
    failed    nested: the catalog at http://192.168.1.1/ai-catalog.json cannot be used: http://192.168.1.1/ai-catalog.json leads to 192.168.1.1, which is a private address and not allowed; if it is meant, allow its network in the configuration
    added     one (proposed)
    failed    private: no Agent Card: http://10.0.0.1/card.json leads to 10.0.0.1, which is a private address and not allowed; if it is meant, allow its network in the configuration
    failed    user: no Agent Card: http://a.example/ is not a URL that can be called: it holds credentials
    1 added, 0 changed, 0 unchanged, 0 removed, 5 failed
    ");
}

#[tokio::test]
async fn texts_without_end_are_neither_kept_nor_shown() {
    let (host, convoke) = (Host::start().await, Convoke::default());
    let long = "x".repeat(1 << 20);
    let mut large = tests::agent::card("large", "http://127.0.0.1:1/");
    large["description"] = json!("x".repeat((1 << 20) + 1));
    let one = host.card("/one.json", "one");
    let mut described = entry("one", &one);
    described["description"] = json!(long);
    host.put(
        "/ai-catalog.json",
        entries(&[
            json!({ "identifier": long, "type": CARD, "url": one }),
            json!({ "displayName": "\u{1b}[31mred", "type": CARD, "url": 7 }),
            json!({ "displayName": "large", "type": CARD, "data": large }),
            json!({ "displayName": "no card", "type": CARD, "data": { "name": "x" } }),
            described,
            json!(null),
        ]),
    );
    let added = convoke.run(["agents", "add", &host.at("/ai-catalog.json")]).await.exits(1);
    assert_eq!(standings(&convoke).await, ["one proposed"]);
    let record = convoke.run(["--json", "agents", "show", "one"]).await.exits(0).stdout;
    assert!(record.len() < 10_000, "{}", record.len());
    assert!(!added.stdout.contains('\u{1b}'), "{}", added.stdout);
    host.put("/ai-catalog.json", entries(&[json!({ "displayName": long.repeat(5) })]));
    let refused = convoke.run(["agents", "add", &host.at("/ai-catalog.json")]).await;
    let _steady = steady();
    assert_snapshot!(added.stdout, @r"
    failed    ?[31mred: it has neither a `url` nor `data`
    failed    entry 6: an entry is an object
    failed    large: the catalog at http://127.0.0.1:PORT/ai-catalog.json#entry=large cannot be used: the card of `large` is larger than 1048576 bytes
    failed    no card: it lacks supportedInterfaces, without which the agent cannot be called
    added     one (proposed)
    failed    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: its identifier is longer than 512 bytes
    1 added, 0 changed, 0 unchanged, 0 removed, 5 failed
    ");
    assert_snapshot!(refused.complaint(), @r"
    exit 3
    error: the catalog at http://127.0.0.1:PORT/ai-catalog.json cannot be used: the answer of http://127.0.0.1:PORT/ai-catalog.json is larger than 4194304 bytes
    ");
}
