//! A live agent that changes its card, and what becomes of its approval.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::middleware::Next;
use axum::routing::get;
use document::Source;
use jiff::{SignedDuration, Timestamp};
use protocol::outbound::Outbound;
use protocol::signature::{Algorithm, Headers, SigningKey, sign};
use protocol::v1::AgentCard;
use serde_json::{Value, json};
use store::{OpenOptions, SqliteStore};
use tokio::sync::{Notify, Semaphore};

use crate::{
    Agent, ApplyOptions, Curation, Decision, Details, Difference, Drift, Facet, Filter, Index,
    Policy, Probed, Query, Record, Registry, RegistryError, Signed, Tier, read_policy,
};

/// How many answers may be on their way at once.
const OPEN: usize = 1000;

/// An agent's server, whose card and key set may be replaced.
#[derive(Clone)]
struct Host {
    address: SocketAddr,
    card: Arc<Mutex<Value>>,
    keys: Arc<Mutex<String>>,
    /// Answers wait for this, once they were asked for.
    gate: Arc<Semaphore>,
    asked: Arc<Notify>,
}

impl Host {
    async fn start() -> Self {
        let (card, keys) = (Arc::new(Mutex::new(json!(null))), Arc::new(Mutex::new(String::new())));
        let (served, key_set) = (Arc::clone(&card), Arc::clone(&keys));
        let (gate, asked) = (Arc::new(Semaphore::new(OPEN)), Arc::new(Notify::new()));
        let (closed, told) = (Arc::clone(&gate), Arc::clone(&asked));
        let pass = axum::middleware::from_fn(move |request: Request, next: Next| {
            let (closed, told) = (Arc::clone(&closed), Arc::clone(&told));
            async move {
                if closed.available_permits() == 0 {
                    told.notify_one();
                }
                drop(closed.acquire().await);
                next.run(request).await
            }
        });
        let router = Router::new()
            .route("/card.json", get(async move || served.lock().unwrap().to_string()))
            .route("/keys.json", get(async move || key_set.lock().unwrap().clone()))
            .layer(pass);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let host = Self { address, card, keys, gate, asked };
        host.serve(card_at(address));
        host
    }

    fn serve(&self, card: Value) {
        *self.card.lock().unwrap() = card;
    }

    fn url(&self) -> String {
        format!("http://{}/card.json", self.address)
    }

    /// Answers nothing until it is told to go on.
    fn hold(&self) {
        self.gate.forget_permits(OPEN);
    }

    fn go_on(&self) {
        self.gate.add_permits(OPEN);
    }

    /// Waits until something is asked for.
    async fn asked(&self) {
        tokio::time::timeout(std::time::Duration::from_secs(60), self.asked.notified())
            .await
            .expect("it is asked");
    }

    fn edit(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.card.lock().unwrap());
    }
}

fn card_at(address: SocketAddr) -> Value {
    json!({
        "name": "Agent", "description": "Works.", "version": "1", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [
            {"url": format!("http://{address}/"), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "skills": [
            {"id": "work", "name": "Work", "description": "Works.", "tags": ["work"]},
            {"id": "rest", "name": "Rest", "description": "Rests.", "tags": ["rest"]}
        ]
    })
}

/// The card, signed by a key under an id, which may say where its key set is.
fn signed(card: &Value, key: &SigningKey, id: &str, jku: Option<String>) -> Value {
    let mut card: AgentCard = serde_json::from_value(card.clone()).unwrap();
    let key_id = Some(id.to_owned());
    sign(&mut card, key, &Headers { key_id, key_set_url: jku, ..Headers::default() }).unwrap();
    serde_json::to_value(card).unwrap()
}

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).unwrap().0
}

fn public(key: &SigningKey, id: &str) -> String {
    key.public_keys(&Headers { key_id: Some(id.to_owned()), ..Headers::default() }).unwrap()
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn by(who: &str) -> Decision {
    Decision { who: who.into(), why: "so".into(), at: now() }
}

fn options(approve: bool) -> ApplyOptions {
    ApplyOptions { approve, dry_run: false, by: by("ada") }
}

struct Scene {
    host: Host,
    registry: Registry,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        let outbound = Outbound::new(protocol::outbound::Policy::loopback()).unwrap();
        let registry = Registry::open(Arc::new(store), outbound, "me".into()).await.unwrap();
        Self { host: Host::start().await, registry, _folder: folder }
    }

    async fn added(approve: bool) -> Self {
        let scene = Self::new().await;
        scene.add(approve).await;
        scene
    }

    async fn add(&self, approve: bool) -> Record {
        let url = self.host.url();
        self.registry.add_url(&url, Some("it"), None, &options(approve)).await.unwrap();
        self.record().await
    }

    async fn refreshed(&self) -> Record {
        let report = self.registry.refresh(&[], &options(false)).await.unwrap();
        assert!(report.is_complete(), "{report}");
        self.record().await
    }

    async fn record(&self) -> Record {
        self.registry.record("it").await.unwrap()
    }

    async fn pin(&self, keys: Value) -> Vec<String> {
        let policy = Policy { keys: serde_json::from_value(keys).unwrap(), ..Policy::default() };
        self.registry.set_policy(policy, now()).await.unwrap()
    }
}

#[tokio::test]
async fn what_breaks_nothing_leaves_the_approval() {
    let scene = Scene::added(true).await;
    scene.host.edit(|card| card["description"] = json!("Works well."));
    let record = scene.refreshed().await;
    assert_eq!(
        (record.standing(), record.version, record.drift),
        (Curation::Approved, 2, Some(Drift::Cosmetic))
    );
    scene.host.edit(|card| {
        let more = json!({"id": "more", "name": "More", "description": "More.", "tags": ["more"]});
        card["skills"].as_array_mut().unwrap().push(more);
    });
    let record = scene.refreshed().await;
    assert_eq!(
        (record.standing(), record.version, record.drift),
        (Curation::Approved, 3, Some(Drift::Additive))
    );
    assert_eq!(scene.registry.index().with(Facet::Skill, &["more"]).len(), 1);
}

#[tokio::test]
async fn what_breaks_something_takes_the_approval_back_with_the_reason() {
    type Edit = fn(&mut Value);
    let edits: [(Edit, &str); 3] = [
        (|card| drop(card["skills"].as_array_mut().unwrap().pop()), "skill `rest` was removed"),
        (
            |card| card["supportedInterfaces"][0]["url"] = json!("https://elsewhere.example/"),
            "an interface is now on `https://elsewhere.example`",
        ),
        (|card| card["securityRequirements"] = json!([]), "the security requirements changed"),
    ];
    for (edit, why) in edits {
        let scene = Scene::added(true).await;
        scene.host.edit(edit);
        let record = scene.refreshed().await;
        assert_eq!((record.standing(), record.version), (Curation::Proposed, 2), "{why}");
        let last = record.history.changes().last().unwrap();
        assert!(last.by.why.contains(why), "{}", last.by.why);
        assert!(scene.registry.get("it").unwrap().curation == Curation::Proposed);
    }
}

#[tokio::test]
async fn another_signer_takes_the_approval_back_and_a_rotated_key_does_not() {
    let scene = Scene::new().await;
    let (old, new, other) = (key(), key(), key());
    let keys = scene.host.url().replace("card", "keys");
    *scene.host.keys.lock().unwrap() = public(&old, "old");
    scene.pin(json!({ "acme": { "url": keys } })).await;
    let card = card_at(scene.host.address);
    scene.host.serve(signed(&card, &old, "old", None));
    let record = scene.add(true).await;
    assert_eq!(
        (record.trust.signed, record.trust.signer.as_deref()),
        (Signed::Trusted, Some("acme"))
    );
    *scene.host.keys.lock().unwrap() = public(&new, "new");
    scene.host.serve(signed(&card, &new, "new", None));
    let record = scene.refreshed().await;
    assert_eq!((record.trust.signed, record.standing()), (Signed::Trusted, Curation::Approved));
    scene.host.serve(signed(&card, &other, "other", None));
    let record = scene.refreshed().await;
    assert_eq!((record.trust.signed, record.standing()), (Signed::Invalid, Curation::Proposed));
    let why = &record.history.changes().last().unwrap().by.why;
    assert!(why.contains("it was signed by acme (trusted) and is now invalid"), "{why}");
}

#[tokio::test]
async fn a_signature_is_worth_what_its_key_is() {
    let scene = Scene::new().await;
    let (pinned, own) = (key(), key());
    scene.pin(json!({ "acme": { "text": public(&pinned, "k") } })).await;
    let card = card_at(scene.host.address);
    let at = |host: &str| Some(format!("http://{host}/keys.json"));
    *scene.host.keys.lock().unwrap() = public(&own, "own");
    let mut altered = signed(&card, &pinned, "k", None);
    altered["description"] = json!("Works!");
    let here = scene.host.address.to_string();
    let cases = [
        (signed(&card, &pinned, "k", None), Signed::Trusted),
        (signed(&card, &own, "own", at(&here)), Signed::ValidUntrusted),
        (signed(&card, &own, "own", at("attacker.example")), Signed::Invalid),
        (signed(&card, &own, "own", None), Signed::Invalid),
        (altered, Signed::Invalid),
        (card, Signed::Unsigned),
    ];
    for (at, (card, worth)) in cases.into_iter().enumerate() {
        scene.host.serve(card);
        let record = scene.add(false).await;
        assert_eq!(record.trust.signed, worth, "case {at}: {:?}", record.trust);
        assert_eq!(record.trust.flaws.is_empty(), worth != Signed::Invalid, "case {at}");
        let is_found =
            Query { filters: vec![Filter::one(Facet::Signed, worth.as_str())], ..Query::default() };
        assert_eq!(scene.registry.index().find(&is_found).total, 1, "case {at}");
    }
}

#[tokio::test]
async fn pinning_and_unpinning_a_key_looks_at_the_cards_that_are_there() {
    let scene = Scene::new().await;
    let pinned = key();
    scene.host.serve(signed(&card_at(scene.host.address), &pinned, "k", None));
    assert_eq!(scene.add(true).await.trust.signed, Signed::Invalid);
    let keys = json!({ "acme": { "text": public(&pinned, "k") } });
    assert_eq!(scene.pin(keys).await, ["it"]);
    assert_eq!(scene.record().await.trust.signed, Signed::Trusted);
    assert_eq!(scene.pin(json!({})).await, ["it"]);
    let record = scene.record().await;
    assert_eq!((record.trust.signed, record.standing()), (Signed::Invalid, Curation::Proposed));
}

#[tokio::test]
async fn the_rules_decide_when_an_agent_comes_and_when_they_change() {
    let scene = Scene::added(false).await;
    assert_eq!(scene.record().await.standing(), Curation::Proposed);
    let text =
        format!("approve: [{{origin: 'http://{}'}}]\nreview_after_days: 10", scene.host.address);
    let policy = read_policy(Source::new("policy.yaml", &text)).unwrap();
    assert_eq!(scene.registry.set_policy(policy, now()).await.unwrap(), ["it"]);
    let record = scene.record().await;
    assert_eq!(
        (record.standing(), record.history.changes()[1].by.who.as_str()),
        (Curation::Approved, "policy")
    );
    scene.registry.remove("it").await.unwrap();
    assert_eq!(scene.add(false).await.standing(), Curation::Approved);
}

#[tokio::test]
async fn a_policy_and_its_synonyms_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for is_first in [true, false] {
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        let outbound = Outbound::new(protocol::outbound::Policy::loopback()).unwrap();
        let registry = Registry::open(Arc::new(store), outbound, "me".into()).await.unwrap();
        if is_first {
            let policy = read_policy(Source::new("p", "synonyms: [[a, b]]")).unwrap();
            registry.set_policy(policy, now()).await.unwrap();
        }
        assert_eq!(registry.policy().synonyms, [["a", "b"]]);
        assert_eq!(registry.index().synonyms().groups().count(), 1);
    }
}

#[tokio::test]
async fn an_approval_expires_on_its_day_and_only_a_person_renews_it() {
    let scene = Scene::added(true).await;
    let due = now() + SignedDuration::from_hours(48);
    scene.registry.decide("it", Curation::Approved, &by("ada"), Some(due)).await.unwrap();
    let before = due - SignedDuration::from_secs(1);
    assert!(scene.registry.review(before).await.unwrap().is_empty());
    assert_eq!(scene.registry.review(due).await.unwrap(), ["it"]);
    let record = scene.record().await;
    assert_eq!(record.standing(), Curation::Proposed);
    assert!(record.history.changes().last().unwrap().by.why.contains("2027-01-17"), "{record:?}");
    assert!(scene.registry.review(due).await.unwrap().is_empty());
    let record = scene.registry.transition("it", Curation::Approved, &by("ada")).await.unwrap();
    assert_eq!((record.review_by, record.is_held), (None, false));
}

#[tokio::test]
async fn an_approval_is_over_by_the_clock_and_not_when_somebody_looks() {
    let scene = Scene::added(true).await;
    let (registry, due) = (&scene.registry, Timestamp::now() + SignedDuration::from_millis(700));
    registry.decide("it", Curation::Approved, &by("ada"), Some(due)).await.unwrap();
    let before = registry.index();
    assert_eq!(before.by_name("it").unwrap().curation, Curation::Approved);
    let approved =
        Query { filters: vec![Filter::one(Facet::State, "approved")], ..Query::default() };
    assert_eq!(before.find(&approved).total, 1);
    while Timestamp::now() < due {
        tokio::task::yield_now().await;
    }
    let now = registry.index();
    assert_eq!(now.by_name("it").unwrap().curation, Curation::Proposed);
    assert_eq!(now.find(&approved).total, 0);
    assert_eq!(before.by_name("it").unwrap().curation, Curation::Approved, "a plan keeps its own");
    let record = scene.record().await;
    assert_eq!((record.standing(), record.decided()), (Curation::Proposed, Curation::Approved));
    // Whoever decides something else meanwhile does not build on it.
    let record = registry.tag("it", &["x".to_owned()], &[]).await.unwrap();
    assert_eq!((record.decided(), record.is_held), (Curation::Proposed, true));
    let record = registry.transition("it", Curation::Approved, &by("ada")).await.unwrap();
    assert_eq!((record.standing(), record.review_by), (Curation::Approved, None));
    assert_eq!(registry.get("it").unwrap().curation, Curation::Approved, "a person renewed it");
    let at = Some(Timestamp::now());
    registry.decide("it", Curation::Approved, &by("ada"), at).await.unwrap();
    let news = registry.last_news().await.unwrap();
    assert_eq!(registry.review(Timestamp::now()).await.unwrap(), ["it"]);
    let told = registry.news(news).await.unwrap().news;
    assert_eq!(
        (told[0].was, told[0].standing),
        (Some(Curation::Approved), Some(Curation::Proposed)),
        "what was decided, and what is now"
    );
}

#[tokio::test]
async fn notes_are_out_of_date_by_the_clock_and_not_when_somebody_looks() {
    let scene = Scene::added(true).await;
    let (registry, due) = (&scene.registry, Timestamp::now() + SignedDuration::from_millis(700));
    let noted = |agent: &Agent| Agent {
        notes: Some("sauna".into()),
        notes_until: Some(due),
        ..agent.clone()
    };
    registry.reindex(|index, seeing| Index::new(index.iter().map(|agent| seeing(noted(agent)))));
    assert_eq!(registry.index().search("sauna").len(), 1);
    while Timestamp::now() < due {
        tokio::task::yield_now().await;
    }
    let now = registry.index();
    assert!(now.search("sauna").is_empty());
    assert_eq!(now.by_name("it").unwrap().notes, None);
    assert_eq!(now.search("agent").len(), 1, "it is found by everything else");
}

#[test]
fn notes_hold_to_the_end_of_their_day() {
    let day =
        |day: &str| Details { notes_review_by: Some(day.parse().unwrap()), ..Details::default() };
    let until = day("2027-06-30").notes_until().unwrap();
    assert_eq!(until.to_string(), "2027-07-01T00:00:00Z");
    assert_eq!(day("9999-12-31").notes_until(), Some(Timestamp::MAX));
    assert_eq!(Details::default().notes_until(), None);
}

/// Keeps that an agent was seen to be so much, by the card it has now.
async fn seen(scene: &Scene, tier: Tier) {
    let at = now() + SignedDuration::from_secs(1);
    let probed = Probed {
        at,
        fresh_until: at + SignedDuration::from_hours(1),
        tier: Some(tier),
        is_silent: false,
        shortfalls: Vec::new(),
        took: std::time::Duration::ZERO,
        card: Some(scene.record().await.digest),
        unmeasured: None,
    };
    scene.registry.keep_probe("it", probed).await.unwrap();
}

#[tokio::test]
async fn evidence_is_of_the_card_it_was_gathered_from() {
    type Edit = fn(&mut Value);
    let elsewhere: Edit =
        |card| card["supportedInterfaces"][0]["url"] = json!("https://elsewhere.example/");
    let edits: [(Edit, Option<Tier>); 3] = [
        (|card| card["description"] = json!("Works well."), Some(Tier::Conformant)),
        (elsewhere, None),
        (|card| drop(card["skills"].as_array_mut().unwrap().pop()), None),
    ];
    for (edit, left) in edits {
        let scene = Scene::added(false).await;
        seen(&scene, Tier::Conformant).await;
        scene.host.edit(edit);
        let record = scene.refreshed().await;
        assert_eq!(record.tier, left);
        let agent = scene.registry.get("it").unwrap();
        assert_eq!((agent.tier, agent.seen.as_ref().unwrap().tier), (left, left), "at once");
        assert_eq!(scene.registry.seen("it").unwrap().tier, left);
        let conformant =
            Query { filters: vec![Filter::one(Facet::Evidence, "conformant")], ..Query::default() };
        let found = scene.registry.index().find(&conformant).total;
        assert_eq!(found, usize::from(left.is_some()));
        let policy = read_policy(Source::new("p", "approve: [{evidence: conformant}]")).unwrap();
        let approved = scene.registry.set_policy(policy, now()).await.unwrap();
        assert_eq!(approved.is_empty(), left.is_none(), "no rule is founded on it");
        scene.registry.reload().await.unwrap();
        assert_eq!(scene.registry.get("it").unwrap().tier, left, "nor after a restart");
    }
}

#[tokio::test]
async fn a_rule_does_not_approve_by_evidence_of_another_card_in_the_same_breath() {
    let scene = Scene::new().await;
    let text = "approve: [{evidence: conformant, origin: file}, {evidence: proven}]";
    let policy = read_policy(Source::new("p", text)).unwrap();
    scene.registry.set_policy(policy, now()).await.unwrap();
    let card = |url: &str| {
        let mut card = card_at(scene.host.address);
        card["supportedInterfaces"][0]["url"] = json!(url);
        Source::new("card.json", &json!({"agents": [{"name": "it", "card": card}]}).to_string())
    };
    let here = "http://127.0.0.1:9/";
    scene.registry.add_file(card(here), &options(false)).await.unwrap();
    scene.registry.transition("it", Curation::Rejected, &by("ada")).await.unwrap();
    seen(&scene, Tier::Conformant).await;
    scene.registry.transition("it", Curation::Proposed, &by("ada")).await.unwrap();
    let report =
        scene.registry.add_file(card("http://127.0.0.1:8/"), &options(false)).await.unwrap();
    assert_eq!(report.agents[0].standing, Some(Curation::Proposed), "{report}");
    assert_eq!(scene.record().await.decided(), Curation::Proposed);
}

#[tokio::test]
async fn evidence_does_not_move_to_another_origin_with_the_same_card() {
    let scene = Scene::added(true).await;
    seen(&scene, Tier::Conformant).await;
    let other = Host::start().await;
    other.serve(card_at(scene.host.address));
    let catalog = |host: &Host| {
        let text = json!({"agents": [{"name": "it", "url": host.url()}]}).to_string();
        Source::new(&format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR")), &text)
    };
    scene.registry.apply(catalog(&scene.host), &options(false)).await.unwrap();
    assert_eq!(scene.registry.get("it").unwrap().tier, Some(Tier::Conformant));
    let mut later = options(false);
    later.by.at = now() + SignedDuration::from_secs(10);
    scene.registry.apply(catalog(&other), &later).await.unwrap();
    let record = scene.record().await;
    assert_eq!((record.url.as_str(), record.version), (other.url().as_str(), 1));
    assert_eq!(scene.registry.get("it").unwrap().tier, None);
}

#[tokio::test]
async fn a_rule_that_was_withdrawn_while_a_card_was_fetched_approves_nothing() {
    let scene = Scene::new().await;
    let rules = |text: &str| read_policy(Source::new("p", text)).unwrap();
    let text = format!("approve: [{{origin: 'http://{}'}}]", scene.host.address);
    scene.registry.set_policy(rules(&text), now()).await.unwrap();
    let url = scene.host.url();
    let options = options(false);
    let added = async { scene.registry.add_url(&url, Some("it"), None, &options).await.unwrap() };
    let withdrawn = async {
        scene.host.asked().await;
        scene.registry.set_policy(rules("review_after_days: 5"), now()).await.unwrap();
        scene.host.go_on();
    };
    scene.host.hold();
    let (report, ()) = tokio::join!(added, withdrawn);
    assert_eq!(report.agents[0].standing, Some(Curation::Proposed), "{report}");
}

#[tokio::test]
async fn a_key_that_is_unpinned_while_a_card_is_fetched_vouches_for_nothing() {
    let scene = Scene::new().await;
    let pinned = key();
    scene.host.serve(signed(&card_at(scene.host.address), &pinned, "k", None));
    scene.pin(json!({ "acme": { "text": public(&pinned, "k") } })).await;
    let options = options(false);
    let url = scene.host.url();
    let added = async { scene.registry.add_url(&url, Some("it"), None, &options).await.unwrap() };
    let unpinned = async {
        scene.host.asked().await;
        scene.pin(json!({})).await;
        scene.host.go_on();
    };
    scene.host.hold();
    let _ = tokio::join!(added, unpinned);
    assert_eq!(scene.record().await.trust.signed, Signed::Invalid);
}

#[tokio::test]
async fn nobody_waits_for_the_key_sets_of_a_policy_that_is_being_set() {
    let scene = Scene::added(true).await;
    scene.host.serve(signed(&card_at(scene.host.address), &key(), "k", None));
    scene.refreshed().await;
    let keys = json!({ "acme": { "url": scene.host.url().replace("card", "keys") } });
    scene.host.hold();
    let set = scene.pin(keys);
    let decided = async {
        scene.host.asked().await;
        // It comes to its end while the keys are waited for.
        scene.registry.tag("it", &["x".to_owned()], &[]).await.unwrap();
        scene.host.go_on();
    };
    let _ = tokio::join!(set, decided);
    assert_eq!(scene.record().await.details.tags, ["x"], "and is not overwritten");
}

#[tokio::test]
async fn versions_are_kept_compared_and_forgotten_with_their_agent() {
    let scene = Scene::added(true).await;
    for number in 2..=25 {
        scene.host.edit(|card| card["version"] = json!(number.to_string()));
        scene.refreshed().await;
    }
    let versions = scene.registry.versions("it").await.unwrap();
    let numbers: Vec<u32> = versions.iter().map(|it| it.number).collect();
    assert_eq!(numbers, (6..=25).collect::<Vec<_>>());
    let difference = scene.registry.diff("it", None, None).await.unwrap();
    assert_eq!((difference.from, difference.to, &difference.drift), (24, 25, &Drift::Cosmetic));
    assert_eq!(difference.changes[0].to_string(), r#"~ /version: "24" → "25""#);
    let difference = scene.registry.diff("it", Some(10), Some(20)).await.unwrap();
    assert_eq!(difference.changes[0].to_string(), r#"~ /version: "10" → "20""#);
    let error = scene.registry.diff("it", Some(5), None).await.unwrap_err();
    assert!(matches!(&error, RegistryError::NoVersion { number: 5, .. }));
    assert_eq!(
        error.to_string(),
        "version 5 of the card of `it` is not kept; there are versions 6 to 25"
    );
    scene.registry.remove("it").await.unwrap();
    scene.add(false).await;
    assert_eq!(scene.registry.versions("it").await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_agent_that_cannot_be_looked_at_again_is_told_and_stays() {
    let scene = Scene::added(true).await;
    scene.host.serve(json!("no card"));
    let report = scene.registry.refresh(&["it".to_owned()], &options(false)).await.unwrap();
    assert_eq!(report.count("failed"), 1);
    assert_eq!(scene.record().await.standing(), Curation::Approved);
    let file = Source::new("cards.json", &card_at(scene.host.address).to_string());
    scene.registry.add_file(file, &options(false)).await.unwrap();
    let report = scene.registry.refresh(&["agent".to_owned()], &options(false)).await.unwrap();
    assert!(report.to_string().contains("its card came from a file"), "{report}");
    let error = scene.registry.refresh(&["nobody".to_owned()], &options(false)).await.unwrap_err();
    assert!(matches!(error, RegistryError::UnknownAgent { .. }));
}

#[tokio::test]
async fn curators_tags_are_given_and_taken_without_case() {
    let scene = Scene::added(true).await;
    let tags = |text: &str| -> Vec<String> {
        text.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    let record = scene.registry.tag("it", &tags("Fast fast cheap"), &[]).await.unwrap();
    assert_eq!(record.details.tags, ["Fast", "cheap"]);
    assert_eq!(scene.registry.index().with(Facet::Tag, &["fast"]).len(), 1);
    let record = scene.registry.tag("it", &tags("new"), &tags("FAST")).await.unwrap();
    assert_eq!(record.details.tags, ["cheap", "new"]);
    assert!(scene.registry.index().with(Facet::Tag, &["fast"]).is_empty());
    assert_eq!(scene.registry.records().await.unwrap(), [record]);
}

#[tokio::test]
async fn others_see_the_cards_that_an_agent_has_had_since_it_is_public() {
    let scene = Scene::added(true).await;
    let edit = async |number: u32| {
        scene.host.edit(|card| card["version"] = json!(number.to_string()));
        scene.refreshed().await
    };
    let numbers = async || -> Vec<u32> {
        let versions = scene.registry.public_versions("it").await.unwrap();
        assert!(versions.first().is_none_or(|first| first.drift.is_none()), "{versions:?}");
        versions.iter().map(|version| version.number).collect()
    };
    let _second = edit(2).await;
    assert_eq!(numbers().await, [0; 0]);
    scene.registry.publish("it", true).await.unwrap();
    assert_eq!(numbers().await, [2]);
    assert_eq!(scene.record().await.for_others().drift, None, "what was before is not for them");
    let third = edit(3).await;
    assert_eq!((numbers().await, third.public_since()), (vec![2, 3], Some(2)));
    assert_eq!(third.for_others().drift, Some(Drift::Cosmetic));
    let versions = scene.registry.public_versions("it").await.unwrap();
    let between = |from| Difference::between("it", &versions, from, None);
    assert_eq!(between(None).unwrap().from, 2);
    assert!(matches!(between(Some(1)), Err(RegistryError::NoVersion { number: 1, .. })));
    scene.registry.publish("it", false).await.unwrap();
    assert_eq!(numbers().await, [0; 0]);
    scene.registry.publish("it", true).await.unwrap();
    assert_eq!(numbers().await, [3], "that it was public before is over");
    assert_eq!(scene.registry.versions("it").await.unwrap().len(), 3, "its curators see all");
}

#[tokio::test]
async fn a_review_looks_at_agents_that_changed_and_at_all_when_the_rules_did() {
    let scene = Scene::added(false).await;
    let rules = async |origin: &str| {
        let text = format!("approve: [{{origin: '{origin}'}}]");
        let policy = read_policy(Source::new("policy.yaml", &text)).unwrap();
        scene.registry.set_policy(policy, now()).await.unwrap()
    };
    let due = async || -> Vec<String> {
        let policy = scene.registry.policy_now().await.unwrap();
        scene.registry.due(&policy, &scene.registry.index(), now()).into_iter().collect()
    };
    let review = async || scene.registry.review(now()).await.unwrap();
    assert_eq!(due().await, [""; 0], "no rule approves anything");
    assert_eq!(rules("https://elsewhere.example").await, [""; 0]);
    assert_eq!(due().await, ["it"]);
    assert_eq!(review().await, [""; 0]);
    assert_eq!(due().await, [""; 0], "it was looked at");
    scene.host.edit(|card| card["version"] = json!("2"));
    let _second = scene.refreshed().await;
    assert_eq!(due().await, ["it"]);
    assert_eq!(review().await, [""; 0]);
    assert_eq!(due().await, [""; 0]);
    assert_eq!(rules("https://other.example").await, [""; 0]);
    assert_eq!(due().await, ["it"]);
}
