mod brittle;
mod rebinding;
mod whole;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::response::{Html, Redirect};
use axum::routing::get;
use document::{Limits, Source};
use insta::assert_snapshot;
use jiff::Timestamp;
use protocol::outbound::{Outbound, Policy};
use serde_json::{Value, json};
use store::{Batch, Expect, OpenOptions, SqliteStore, Store, Tags, Write};

use super::Registry;
use crate::record::AGENTS;
use crate::{ApplyOptions, Cards, Curation, Decision, Facet, RegistryError, Report, fetch_agent};

fn decision() -> Decision {
    let at = Timestamp::from_second(1_800_000_000).unwrap();
    Decision { who: "ada".into(), why: "it is fine".into(), at }
}

fn options(approve: bool, dry_run: bool) -> ApplyOptions {
    ApplyOptions { approve, dry_run, by: decision() }
}

fn card(name: &str) -> Value {
    json!({
        "name": name, "description": "Works.", "version": "1", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": "http://127.0.0.1:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "skills": [{"id": "work", "name": "Work", "description": "Works.", "tags": ["work"]}]
    })
}

/// Serves cards and what is none.
async fn host() -> SocketAddr {
    let json = |value: Value| get(move || async move { value.to_string() });
    let fetched = Arc::new(AtomicUsize::new(0));
    let counted = get(move || {
        let count = fetched.fetch_add(1, Ordering::SeqCst);
        async move {
            let mut card = card("Counted");
            card["version"] = json!(count.to_string());
            card.to_string()
        }
    });
    let mut bare = card("Bare");
    bare["skills"] = json!([]);
    let router = Router::new()
        .route("/good.json", json(card("Good Agent")))
        .route("/nested/.well-known/agent-card.json", json(card("Nested")))
        .route("/bare.json", json(bare))
        .route("/counted.json", counted)
        .route("/page.json", get(|| async { Html("<!doctype html><p>Hello") }))
        .route("/large.json", get(|| async { vec![b' '; 5_000_000] }))
        .route("/loop.json", get(|| async { Redirect::temporary("/loop.json") }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn outbound() -> Outbound {
    Outbound::new(Policy::loopback()).unwrap()
}

async fn open(folder: &Path) -> Registry {
    let store = SqliteStore::open(folder, OpenOptions::default()).unwrap();
    Registry::open(Arc::new(store), outbound(), "me".into()).await.unwrap()
}

fn catalog(folder: &Path, text: &str) -> Source {
    let path = folder.join("catalog.yaml");
    std::fs::write(&path, text).unwrap();
    Source::read(&path, &Limits::default()).unwrap()
}

fn shown(report: &Report, host: SocketAddr, folder: &Path) -> String {
    report
        .to_string()
        .replace(&host.to_string(), "HOST")
        .replace(&folder.display().to_string(), "FOLDER")
}

async fn refusal(registry: &Registry, url: &str, host: SocketAddr) -> String {
    let error = registry.add_url(url, None, None, &options(false, false)).await.unwrap_err();
    assert!(matches!(error, RegistryError::Card(_)));
    error.to_string().replace(&host.to_string(), "HOST")
}

#[tokio::test]
async fn an_agent_is_added_by_url_and_is_still_there_after_a_restart() {
    let (folder, host) = (tempfile::tempdir().unwrap(), host().await);
    {
        let registry = open(folder.path()).await;
        let url = format!("http://{host}/good.json");
        let report = registry.add_url(&url, None, None, &options(true, false)).await.unwrap();
        assert_snapshot!(shown(&report, host, folder.path()), @"
        added     good-agent (approved)
                  warning card::other-origin at /supportedInterfaces/0/url: the interface is on `http://127.0.0.1:9`, the card on `http://HOST`; approve it only when both belong to the same operator; credentials go there only when `origins` names it
        1 added, 0 changed, 0 unchanged, 0 removed
        ");
        let again = registry.add_url(&url, None, None, &options(true, false)).await.unwrap();
        assert_eq!(again.count("unchanged"), 1);
        assert_eq!(registry.index().with(Facet::Tag, &["work"]).len(), 1);
    }
    let registry = open(folder.path()).await;
    let agent = registry.get("good-agent").unwrap();
    assert_eq!((agent.curation, agent.card.name.as_str()), (Curation::Approved, "Good Agent"));
    let record = registry.record("good-agent").await.unwrap();
    assert_eq!(record.digest, agent.digest);
    assert_eq!(record.history.changes()[1].by, decision());
}

#[tokio::test]
async fn a_card_is_found_below_the_address_of_its_agent() {
    let (folder, host) = (tempfile::tempdir().unwrap(), host().await);
    let registry = open(folder.path()).await;
    let url = format!("http://{host}/nested");
    registry.add_url(&url, Some("inner"), None, &options(false, false)).await.unwrap();
    let agent = registry.get("inner").unwrap();
    assert_eq!(agent.url, format!("http://{host}/nested/.well-known/agent-card.json"));
    let again = registry.add_url(&url, None, None, &options(false, false)).await.unwrap();
    assert_eq!(again.agents[0].name, "inner");
    assert_eq!(again.count("unchanged"), 1);
}

#[tokio::test]
async fn what_is_no_card_is_refused_with_its_reason() {
    let (folder, host) = (tempfile::tempdir().unwrap(), host().await);
    let registry = open(folder.path()).await;
    // The words are those of the card reader; here it matters that they arrive.
    for (page, reason) in
        [("page", "HTML"), ("large", "larger than"), ("loop", "redirected"), ("none", "404")]
    {
        let told = refusal(&registry, &format!("http://{host}/{page}.json"), host).await;
        assert!(told.contains(reason) && told.contains(&format!("HOST/{page}.json")), "{told}");
    }
    assert!(registry.list().is_empty());
}

/// A catalog with every kind of entry; two of its cards cannot be had.
fn mixed_catalog(folder: &Path, host: SocketAddr) -> String {
    std::fs::write(folder.join("spa.json"), card("Spa").to_string()).unwrap();
    format!(
        "agents:\n- name: good\n  url: http://{host}/good.json\n  tags: [Air]\n- url: http://{host}/bare.json\n- url: http://{host}/page.json\n- card: spa.json\n- card: none.json\n- card:\n    name: Inline\n    supportedInterfaces: [{{url: /a2a, protocolBinding: JSONRPC, protocolVersion: '1.0'}}]\n    skills: [{{id: a, name: A, description: a, tags: []}}]\n"
    )
}

#[tokio::test]
async fn a_catalog_is_applied_as_far_as_its_cards_can_be_had() {
    let (folder, host) = (tempfile::tempdir().unwrap(), host().await);
    let registry = open(folder.path()).await;
    let text = mixed_catalog(folder.path(), host);
    let dry = registry.apply(catalog(folder.path(), &text), &options(true, true)).await.unwrap();
    assert!(dry.to_string().ends_with("(nothing was written)"), "{dry}");
    assert!(registry.list().is_empty());
    let first = registry.apply(catalog(folder.path(), &text), &options(true, false)).await.unwrap();
    let shown = shown(&first, host, folder.path());
    let (before, after) = shown.split_once("page.json: ").unwrap();
    let (reason, after) = after.split_once(" (FOLDER").unwrap();
    assert!(reason.contains("HTML"), "{reason}");
    assert_snapshot!(format!("{before}page.json: REASON (FOLDER{after}"), @"
    added     bare (approved)
              error card::no-skills at /skills: the card names no skill; without skills the agent can only be selected by its name; its author has to add them
              warning card::other-origin at /supportedInterfaces/0/url: the interface is on `http://127.0.0.1:9`, the card on `http://HOST`; approve it only when both belong to the same operator; credentials go there only when `origins` names it
    added     good (approved)
              warning card::other-origin at /supportedInterfaces/0/url: the interface is on `http://127.0.0.1:9`, the card on `http://HOST`; approve it only when both belong to the same operator; credentials go there only when `origins` names it
    failed    http://HOST/page.json: REASON (FOLDER/catalog.yaml:6:3)
    added     inline (approved)
              error card::missing-field at /description (FOLDER/catalog.yaml:9:3): the required field `description` is missing or empty; the agent's author has to add it
              error card::missing-field at /version (FOLDER/catalog.yaml:9:3): the required field `version` is missing or empty; the agent's author has to add it
              error card::missing-field at /capabilities (FOLDER/catalog.yaml:9:3): the required field `capabilities` is missing or empty; the agent's author has to add it
              error card::missing-field at /defaultInputModes (FOLDER/catalog.yaml:9:3): the required field `defaultInputModes` is missing or empty; the agent's author has to add it
              error card::missing-field at /defaultOutputModes (FOLDER/catalog.yaml:9:3): the required field `defaultOutputModes` is missing or empty; the agent's author has to add it
              error card::relative-url at /supportedInterfaces/0/url (FOLDER/catalog.yaml:11:28): the interface URL `/a2a` is relative; the agent's author has to write the whole URL, with `https://` and the host
              warning card::no-tags at /skills/0/tags (FOLDER/catalog.yaml:12:47): the skill `a` has no tags; add tags of your own in the catalog, so that steps can select the agent by them
    failed    none.json: `FOLDER/none.json` cannot be read: there is no such file (FOLDER/catalog.yaml:8:3)
    added     spa (approved)
    4 added, 0 changed, 0 unchanged, 0 removed, 2 failed
    ");
}

#[tokio::test]
async fn a_catalog_that_is_applied_again_changes_what_changed_in_it() {
    let (folder, host) = (tempfile::tempdir().unwrap(), host().await);
    let registry = open(folder.path()).await;
    let text = mixed_catalog(folder.path(), host);
    registry.apply(catalog(folder.path(), &text), &options(true, false)).await.unwrap();
    let index = registry.index();
    assert_eq!(index.with(Facet::Tag, &["air", "work"]).len(), 1);
    let second =
        registry.apply(catalog(folder.path(), &text), &options(true, false)).await.unwrap();
    assert_eq!((second.count("unchanged"), second.count("failed")), (4, 2));
    let fewer = text.replace("- card: spa.json\n", "").replace("[Air]", "[Sea]");
    let third =
        registry.apply(catalog(folder.path(), &fewer), &options(true, false)).await.unwrap();
    assert_eq!(
        (third.count("changed"), third.count("removed"), third.count("unchanged")),
        (1, 1, 2)
    );
    assert_eq!(registry.index().with(Facet::Tag, &["air"]).len(), 0);
    // Whoever planned against the former index still has it.
    assert_eq!(index.with(Facet::Tag, &["air", "work"]).len(), 1);
}

#[tokio::test]
async fn adding_a_file_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path()).await;
    let cards = Source::new("cards.json", &json!([card("One"), card("Two")]).to_string());
    let report = registry.add_file(cards, &options(false, false)).await.unwrap();
    assert_eq!(report.count("added"), 2);
    let one = Source::new("cards.json", &card("One").to_string());
    let report = registry.add_file(one, &options(false, false)).await.unwrap();
    assert_eq!((report.count("unchanged"), registry.list().len()), (1, 2));
}

#[tokio::test]
async fn a_curator_moves_agents_and_removes_them() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path()).await;
    let one = Source::new("card.json", &card("One").to_string());
    registry.add_file(one, &options(false, false)).await.unwrap();
    registry.transition("one", Curation::Approved, &decision()).await.unwrap();
    assert_eq!(registry.get("one").unwrap().curation, Curation::Approved);
    let error = registry.transition("one", Curation::Retired, &decision()).await.unwrap_err();
    assert_snapshot!(error, @"`one` stays as it is: an agent that is approved cannot become retired; it can become deprecated, proposed, rejected or suspended");
    let error = registry.transition("ome", Curation::Retired, &decision()).await.unwrap_err();
    assert_snapshot!(error, @"there is no agent `ome`; did you mean `one`?");
    let removed = registry.remove("one").await.unwrap();
    assert_eq!(removed.record.unwrap().standing(), Curation::Approved);
    assert!(registry.list().is_empty());
    assert!(matches!(registry.remove("one").await, Err(RegistryError::UnknownAgent { .. })));
    assert_snapshot!(registry.get("zzz").unwrap_err(), @"there is no agent `zzz`; `convoke agents list` shows all there are");
}

#[tokio::test]
async fn accounts_do_not_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), OpenOptions::default()).unwrap());
    let mine = Registry::open(store.clone(), outbound(), "me".into()).await.unwrap();
    let one = Source::new("card.json", &card("One").to_string());
    mine.add_file(one, &options(false, false)).await.unwrap();
    let theirs = Registry::open(store, outbound(), "them".into()).await.unwrap();
    assert!(theirs.list().is_empty());
    assert!(theirs.record("one").await.is_err());
}

#[tokio::test]
async fn a_change_of_another_process_is_respected_and_seen_after_a_reload() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), OpenOptions::default()).unwrap());
    let here = Registry::open(store.clone(), outbound(), "me".into()).await.unwrap();
    let there = Registry::open(store, outbound(), "me".into()).await.unwrap();
    let one = Source::new("card.json", &card("One").to_string());
    there.add_file(one, &options(true, false)).await.unwrap();
    assert!(here.list().is_empty());
    let moved = here.transition("one", Curation::Suspended, &decision()).await.unwrap();
    assert_eq!(moved.history.changes().len(), 3);
    there.reload().await.unwrap();
    assert_eq!(there.get("one").unwrap().curation, Curation::Suspended);
}

#[tokio::test]
async fn changes_of_two_processes_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), OpenOptions::default()).unwrap());
    let here = Registry::open(store.clone(), outbound(), "me".into()).await.unwrap();
    let there = Registry::open(store, outbound(), "me".into()).await.unwrap();
    let one = Source::new("card.json", &card("One").to_string());
    here.add_file(one, &options(true, false)).await.unwrap();
    for _ in 0..20 {
        let by = decision();
        let (reject, suspend) = tokio::join!(
            here.transition("one", Curation::Rejected, &by),
            there.transition("one", Curation::Suspended, &by),
        );
        reject.unwrap();
        suspend.unwrap();
        here.transition("one", Curation::Approved, &by).await.unwrap();
    }
    let record = here.record("one").await.unwrap();
    assert_eq!(record.history.changes().len(), 2 + 20 * 3);
}

#[tokio::test]
async fn a_record_that_cannot_be_read_hides_nothing_else_and_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), OpenOptions::default()).unwrap());
    let (key, tags) = ("broken".to_owned(), Tags::default());
    let (sort, value, expect) = (key.clone(), "{}".into(), Expect::Absent);
    let account = "me".into();
    let broken = Write::Put { account, table: AGENTS, key, sort, tags, value, expect };
    store.commit(Batch::new().write(broken)).await.unwrap();
    let registry = Registry::open(store, outbound(), "me".into()).await.unwrap();
    let one = Source::new("card.json", &card("One").to_string());
    registry.add_file(one, &options(true, false)).await.unwrap();
    assert_eq!(registry.list().len(), 1);
    assert_snapshot!(registry.record("broken").await.unwrap_err(), @"what is stored of the agent `broken` cannot be read: missing field `v` at line 1 column 2. Remove and add it again, or use the version of Convoke that wrote it");
    let removed = registry.remove("broken").await.unwrap();
    assert_eq!((removed.name.as_str(), removed.record), ("broken", None));
    assert!(matches!(registry.record("broken").await, Err(RegistryError::UnknownAgent { .. })));
}

#[tokio::test]
async fn a_card_is_remembered_while_it_is_fresh() {
    let host = host().await;
    let cards = Cards::new(outbound());
    let url = format!("http://{host}/counted.json");
    let first = cards.get(&url).await.unwrap();
    let (second, third) = tokio::join!(cards.get(&url), cards.agent(&url, "mine"));
    assert_eq!((first.card.version.as_str(), second.unwrap().card.version.as_str()), ("0", "0"));
    let agent = third.unwrap();
    assert_eq!((agent.name.as_str(), agent.card.version.as_str()), ("mine", "0"));
    assert_eq!(agent.curation, Curation::Approved);
    assert_eq!(cards.get_now(&url).await.unwrap().card.version, "1");
    assert_eq!(fetch_agent(&outbound(), &url, "mine").await.unwrap().card.version, "2");
    let stale = Cards::with_freshness(outbound(), std::time::Duration::ZERO);
    assert_eq!(stale.get(&url).await.unwrap().card.version, "3");
    assert_eq!(stale.get(&url).await.unwrap().card.version, "4");
}

#[tokio::test]
async fn a_card_in_a_catalog_is_refused_at_the_field_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(folder.path()).await;
    let text = "agents:\n- card:\n    name: Spa\n    skills:\n    - id: 3\n- name: pool\n  card: {name: Pool}\n- card: {description: x}\n";
    let report =
        registry.apply(catalog(folder.path(), text), &options(false, false)).await.unwrap();
    assert_snapshot!(shown(&report, SocketAddr::from(([127, 0, 0, 1], 1)), folder.path()), @"
    failed    Spa: its skills[0].id cannot be read: invalid type: integer `3`, expected a string (FOLDER/catalog.yaml:5:7)
    failed    a card without a name: it lacks name, supportedInterfaces, without which the agent cannot be called (FOLDER/catalog.yaml:8:3)
    failed    pool: it lacks supportedInterfaces, without which the agent cannot be called (FOLDER/catalog.yaml:6:3)
    0 added, 0 changed, 0 unchanged, 0 removed, 3 failed
    ");
}
