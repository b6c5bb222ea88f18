//! What belongs together is written together, or not at all.

use super::brittle::Brittle;
use super::*;
use crate::evidence::{EVIDENCE, OUTCOMES};
use crate::versions::CARDS;
use crate::{AGENTS, Keyrings, Policy as Rules, Prober, read_policy};
use jiff::SignedDuration;
use store::{PageQuery, Table};

/// A directory with one agent that was looked at, over a store that fails when it is told to.
async fn scene(folder: &Path) -> (Registry, Arc<Brittle>) {
    let inner = Arc::new(SqliteStore::open(folder, OpenOptions::default()).unwrap());
    let allowed = AtomicUsize::new(usize::MAX);
    let store = Arc::new(Brittle { inner, allowed });
    let registry = Registry::open(Arc::clone(&store) as Arc<dyn Store>, outbound(), "me".into())
        .await
        .unwrap();
    let one = Source::new("card.json", &card("One").to_string());
    registry.add_file(one, &options(false, false)).await.unwrap();
    (registry, store)
}

/// Lets so many more commits succeed.
fn allow(store: &Brittle, commits: usize) {
    store.allowed.store(commits, Ordering::SeqCst);
}

async fn rows(store: &Brittle, table: Table) -> usize {
    store.page(&PageQuery::new(Some("me".into()), table)).await.unwrap().rows.len()
}

#[tokio::test]
async fn an_approval_and_its_day_are_one_decision() {
    let folder = tempfile::tempdir().unwrap();
    let (registry, store) = scene(folder.path()).await;
    let due = Some(decision().at + SignedDuration::from_hours(24));
    allow(&store, 1);
    registry.decide("one", Curation::Approved, &decision(), due).await.unwrap();
    assert_eq!(registry.last_news().await.unwrap(), 2, "it was added, it was approved");
    registry.reload().await.unwrap();
    let record = registry.record("one").await.unwrap();
    assert_eq!((record.decided(), record.review_by), (Curation::Approved, due));
    allow(&store, 1);
    let later = due.map(|due| due + SignedDuration::from_hours(24));
    let record = registry.decide("one", Curation::Approved, &decision(), later).await.unwrap();
    assert_eq!(record.review_by, later, "another day for the same standing");
    allow(&store, 0);
    registry.decide("one", Curation::Approved, &decision(), later).await.expect("nothing to write");
    allow(&store, 1);
    let record = registry.decide("one", Curation::Suspended, &decision(), due).await.unwrap();
    assert_eq!((record.decided(), record.review_by), (Curation::Suspended, None));
}

#[tokio::test]
async fn an_agent_goes_with_all_that_is_kept_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (registry, store) = scene(folder.path()).await;
    let registry = Arc::new(registry);
    let keyrings = Keyrings::new(Arc::clone(&registry), outbound(), protocol::auth::Vault::none());
    let settings = crate::EvidenceSettings::default();
    let prober = Prober::new(Arc::clone(&registry), keyrings, outbound(), settings);
    prober.probe_all(&["one".to_owned()]).await.unwrap();
    let outcomes = crate::Outcomes::new(Arc::clone(&registry), settings);
    let agent = registry.get("one").unwrap();
    let interface = protocol::client::Interface::of(&agent.card.supported_interfaces[0]).unwrap();
    let ended = crate::Ended {
        agent: "one".into(),
        interface,
        card: agent.digest,
        run: "r".into(),
        step: "s".into(),
        skill: None,
        at: Timestamp::now(),
        took: std::time::Duration::ZERO,
        error: Some("no secret".into()),
        is_ours: true,
    };
    let theirs = crate::Ended { is_ours: false, ..ended.clone() };
    for ended in [ended, theirs] {
        let (write, noted) = outcomes.note(ended).unwrap();
        store.commit(Batch::new().write(write)).await.unwrap();
        outcomes.count([noted]);
    }
    let kept = [AGENTS, CARDS, EVIDENCE, OUTCOMES];
    let mut counts = Vec::new();
    for table in kept {
        counts.push(rows(&store, table).await);
    }
    assert_eq!(counts, [1, 1, 1, 2]);
    allow(&store, 1);
    registry.remove("one").await.unwrap();
    for table in kept {
        assert_eq!(rows(&store, table).await, 0, "{table:?}");
    }
    assert_eq!((registry.seen("one"), registry.services("one")), (None, Vec::new()));
}

#[tokio::test]
async fn a_policy_and_what_it_decides_are_one_change() {
    let folder = tempfile::tempdir().unwrap();
    let (registry, store) = scene(folder.path()).await;
    let rules = || read_policy(Source::new("p", "approve: [{origin: file}]")).unwrap();
    allow(&store, 0);
    registry.set_policy(rules(), decision().at).await.unwrap_err();
    registry.reload().await.unwrap();
    assert_eq!(*registry.policy(), Rules::default(), "as if nobody had asked");
    allow(&store, 1);
    assert_eq!(registry.set_policy(rules(), decision().at).await.unwrap(), ["one"]);
    registry.reload().await.unwrap();
    assert_eq!(registry.policy().approve.len(), 1);
    assert_eq!(registry.get("one").unwrap().curation, Curation::Approved);
}
