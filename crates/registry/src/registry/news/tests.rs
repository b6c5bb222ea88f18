use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use document::Source;
use jiff::Timestamp;
use protocol::outbound::{Outbound, Policy};
use serde_json::json;
use store::{Batch, OpenOptions, SqliteStore, Store};

use super::{MOST_ROWS, TOGETHER};
use crate::news::{self, NEWS, News};
use crate::{
    ApplyOptions, Brought, Curation, Decision, Event, Outcome, Registry, RegistryError,
    read_brought_policy,
};

fn options() -> ApplyOptions {
    let by = Decision { who: "ada".into(), why: String::new(), at: Timestamp::UNIX_EPOCH };
    ApplyOptions { approve: false, dry_run: false, by }
}

async fn open(store: &Arc<dyn Store>) -> Registry {
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    Registry::open(Arc::clone(store), outbound, "me".into()).await.unwrap()
}

fn store(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(folder, OpenOptions::default()).unwrap())
}

fn card(name: &str) -> serde_json::Value {
    let interface = json!({ "url": "http://a.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" });
    json!({ "name": name, "supportedInterfaces": [interface], "skills": [{ "id": "work" }] })
}

fn brought(catalog: Option<&str>, text: &str) -> Brought {
    let (source, files) = (Source::new("theirs.yaml", text), BTreeMap::new());
    Brought { source, files, catalog: catalog.map(str::to_owned) }
}

fn told(news: &[News]) -> Vec<(u64, &str, &str, Option<Curation>)> {
    news.iter().map(|it| (it.seq, it.event.as_str(), it.name.as_str(), it.standing)).collect()
}

#[tokio::test]
async fn every_change_is_told_once_in_its_order_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let registry = open(&store).await;
    assert_eq!(registry.news(0).await.unwrap(), crate::NewsAt::default());
    let mut waiting = registry.told();
    waiting.mark_unchanged();
    let text = json!({ "agents": [
        { "card": card("a"), "public": true },
        { "card": card("b") },
    ]});
    registry.take_brought(brought(Some("it"), &text.to_string()), &options()).await.unwrap();
    assert!(waiting.has_changed().unwrap(), "whoever waits is woken");
    registry.transition("a", Curation::Approved, &options().by).await.unwrap();
    registry.transition("a", Curation::Approved, &options().by).await.unwrap();
    let text = json!({ "agents": [{ "card": card("a") }] }).to_string();
    registry.take_brought(brought(Some("it"), &text), &options()).await.unwrap();
    let all = registry.news(0).await.unwrap();
    assert!(!all.is_broken);
    assert_eq!(
        told(&all.news),
        [
            (1, "added", "a", Some(Curation::Proposed)),
            (2, "added", "b", Some(Curation::Proposed)),
            (3, "changed", "a", Some(Curation::Approved)),
            (4, "changed", "a", Some(Curation::Approved)),
            (5, "removed", "b", None),
        ]
    );
    assert_eq!(all.news[2].was, Some(Curation::Proposed));
    assert_eq!(all.news[4].was, Some(Curation::Proposed));
    let others: Vec<_> = all.news.iter().cloned().map(News::for_others).collect();
    let others: Vec<_> = others.iter().flatten().map(|it| (it.seq, it.event)).collect();
    assert_eq!(others, [(1, Event::Added), (3, Event::Changed), (4, Event::Removed)]);
    drop(registry);
    let again = open(&store).await;
    assert_eq!(again.news(3).await.unwrap().news, all.news[3..]);
    assert_eq!(again.last_news().await.unwrap(), 5);
    again.remove("a").await.unwrap();
    assert_eq!(told(&again.news(5).await.unwrap().news), [(6, "removed", "a", None)]);
}

#[tokio::test]
async fn who_was_away_too_long_or_comes_from_elsewhere_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let registry = open(&store).await;
    assert!(registry.news(1).await.unwrap().is_broken, "a number of another directory");
    let one = |seq: u64| {
        News::of(
            &[crate::apply::Change::Delete("x".into(), store::Expect::Any)],
            &registry.index(),
            seq - 1,
            Timestamp::UNIX_EPOCH,
        )
    };
    let many: Vec<News> = (1..=TOGETHER as u64).flat_map(one).collect();
    let mut batch = Batch::default();
    news::add(&mut batch, NEWS, &many, &"me".into());
    for seq in 1..=MOST_ROWS {
        news::add(&mut batch, NEWS, &one(TOGETHER as u64 + seq), &"me".into());
    }
    store.commit(batch).await.unwrap();
    assert!(!registry.news(7).await.unwrap().is_broken, "it begins within a row");
    registry.take_brought(brought(None, &card("a").to_string()), &options()).await.unwrap();
    let broken = registry.news(7).await.unwrap();
    assert!(broken.is_broken && broken.news[0].seq == TOGETHER as u64 + 1);
    let last = registry.last_news().await.unwrap();
    assert_eq!(last, TOGETHER as u64 + MOST_ROWS + 1);
    assert_eq!(registry.news(last - 1).await.unwrap().news.len(), 1);
    assert_eq!(registry.last_public_news().await.unwrap(), 0, "others were told of none of it");
}

#[tokio::test]
async fn what_comes_from_elsewhere_reads_nothing_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("card.json");
    std::fs::write(&secret, card("secret").to_string()).unwrap();
    let registry = open(&store(&folder.path().join("data"))).await;
    let path = secret.display().to_string();
    let text = json!({ "agents": [
        { "name": "theirs", "card": path },
        { "name": "given", "card": "cards/given.json" },
    ]});
    let files = BTreeMap::from([("cards/given.json".to_owned(), card("Given").to_string())]);
    let both = Brought { files, ..brought(None, &text.to_string()) };
    let report = registry.take_brought(both, &options()).await.unwrap();
    assert_eq!((&report.agents[0].name[..], &report.agents[0].outcome), ("given", &Outcome::Added));
    let Outcome::Failed(why) = &report.agents[1].outcome else { panic!("{report}") };
    assert!(why.contains("did not come along"), "{why}");
    let text = "agents:\n  - card: {name: a}\n    credentials: [{bearer: {env: HOME}}]\n  - card: {name: b}\n    credentials: [{bearer: {command: [id]}}]\n";
    let refused = registry.take_brought(brought(None, text), &options()).await.unwrap_err();
    let RegistryError::File(problems) = refused else { panic!("{refused}") };
    assert_eq!(problems.diagnostics.len(), 2);
    assert!(problems.diagnostics.iter().all(|it| it.code == "catalog::credentials-from-elsewhere"));
    let policy =
        brought(None, &format!("keys: {{a: {{file: '{path}'}}, b: {{file: /etc/passwd}}}}"));
    let refused = read_brought_policy(&policy).unwrap_err();
    assert_eq!(refused.diagnostics.len(), 2);
    assert!(refused.diagnostics.iter().all(|it| it.message.contains("did not come along")));
}

#[tokio::test]
async fn others_see_public_agents_without_what_is_the_accounts_own() {
    let folder = tempfile::tempdir().unwrap();
    let registry = open(&store(folder.path())).await;
    let text = json!({ "agents": [
        { "card": card("a"), "public": true, "owner": "Mira", "notes": "sauna", "tags": ["x"] },
        { "card": card("b") },
    ]});
    registry.take_brought(brought(Some("it"), &text.to_string()), &options()).await.unwrap();
    let reason = Decision { why: "because".into(), ..options().by };
    registry.transition("a", Curation::Approved, &reason).await.unwrap();
    let public = registry.index().public();
    assert_eq!(public.names().collect::<Vec<_>>(), ["a"]);
    assert!(public.search("sauna").is_empty() && public.search("mira").is_empty());
    assert_eq!(registry.index().search("sauna").len(), 1);
    let record = registry.record("a").await.unwrap().for_others();
    let shown = serde_json::to_string(&record).unwrap();
    for hidden in ["Mira", "sauna", "because", "ada", "\"it\""] {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
    assert_eq!(
        (record.standing(), &record.details.tags[..]),
        (Curation::Approved, &["x".to_owned()][..])
    );
}
