use std::time::Duration;

use document::Source;
use jiff::SignedDuration;
use protocol::auth::Vault;
use protocol::outbound::Policy;
use serde_json::{Value, json};
use store::{OpenOptions, SqliteStore};
use tempfile::TempDir;

use super::rounds::{PER_HOST, SETTLING};
use super::*;
use crate::{ApplyOptions, Curation, Decision};

fn decision(at: Timestamp) -> Decision {
    Decision { who: "ada".into(), why: String::new(), at }
}

fn card(name: &str, url: &str) -> Value {
    json!({
        "name": name, "description": "Works.", "version": "1", "capabilities": {},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "skills": [{"id": "work", "name": "Work", "description": "Works.", "tags": ["work"]}]
    })
}

async fn open(store: &Arc<dyn store::Store>, account: &str) -> Registry {
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    Registry::open(Arc::clone(store), outbound, account.into()).await.unwrap()
}

/// A directory of these cards, which came from a file.
async fn directory(store: &Arc<dyn store::Store>, account: &str, cards: &[Value]) -> Registry {
    let registry = open(store, account).await;
    let source = Source::new("cards.json", &json!(cards).to_string());
    let by = decision(Timestamp::now());
    let options = ApplyOptions { approve: true, dry_run: false, by };
    assert!(registry.add_file(source, &options).await.unwrap().is_complete());
    registry
}

fn store() -> (TempDir, Arc<dyn store::Store>) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
    (folder, Arc::new(store))
}

/// Rounds over a directory of these cards.
async fn rounds(cards: &[Value], settings: EvidenceSettings) -> (TempDir, Rounds) {
    let (folder, store) = store();
    let registry = directory(&store, "me", cards).await;
    let (registry, outbound) = (Arc::new(registry), Outbound::new(Policy::loopback()).unwrap());
    let keyrings = Keyrings::new(Arc::clone(&registry), outbound.clone(), Vault::none());
    (folder, Rounds::new(Prober::new(registry, keyrings, outbound, settings)))
}

/// Five agents, each at a port that nobody listens on.
fn apart() -> Vec<Value> {
    (1..=5).map(|n| card(&format!("a{n}"), &format!("http://127.0.0.1:{n}/"))).collect()
}

fn result(at: Timestamp, tier: Option<Tier>) -> Probed {
    let fresh_until = at + SignedDuration::from_hours(1);
    let (is_silent, shortfalls, took) = (tier.is_none(), Vec::new(), Duration::ZERO);
    let (card, unmeasured) = (None, None);
    Probed { at, fresh_until, tier, is_silent, shortfalls, took, card, unmeasured }
}

/// The same of an agent of a directory, by its present card.
fn result_of(registry: &Registry, name: &str, tier: Option<Tier>) -> Probed {
    let card = Some(registry.get(name).unwrap().digest);
    Probed { card, ..result(Timestamp::now(), tier) }
}

const INTERVAL: Duration = Duration::from_secs(100);

#[tokio::test]
async fn no_more_are_probed_at_once_than_the_settings_and_their_hosts_allow() {
    let settings = EvidenceSettings { at_once: 3, ..EvidenceSettings::default() };
    let (_folder, mut rounds) = rounds(&apart(), settings).await;
    rounds.want(&rounds.prober.registry.list());
    rounds.start();
    assert_eq!((rounds.under_way(), rounds.waiting().len()), (3, 2));
    rounds.end_one().await.unwrap();
    rounds.start();
    assert_eq!((rounds.under_way(), rounds.waiting().len()), (3, 1));

    let at_one: Vec<Value> =
        (1..=5).map(|n| card(&format!("a{n}"), &format!("http://127.0.0.1:1/{n}"))).collect();
    let (_folder, mut rounds) = self::rounds(&at_one, settings).await;
    rounds.want(&rounds.prober.registry.list());
    rounds.start();
    assert_eq!((rounds.under_way(), rounds.waiting().len()), (PER_HOST, 3));
    while !rounds.are_over() {
        rounds.end_one().await.unwrap();
        rounds.start();
        assert!(rounds.under_way() <= PER_HOST);
    }
    assert!(
        rounds.prober.registry.list().iter().all(|agent| agent.seen.is_some()),
        "all had a turn"
    );
}

#[tokio::test]
async fn without_an_interval_nothing_is_probed() {
    let settings = EvidenceSettings { interval: None, ..EvidenceSettings::default() };
    let (_folder, rounds) = rounds(&apart(), settings).await;
    let run = tokio::time::timeout(
        Duration::from_secs(60),
        rounds.prober.clone().run(async || Vec::new()),
    )
    .await;
    run.expect("it has nothing to do");
    assert!(rounds.prober.registry.list().iter().all(|agent| agent.seen.is_none()));
}

#[tokio::test]
async fn an_agent_is_due_within_an_interval_and_later_while_it_is_not_reached() {
    let (_folder, rounds) = rounds(&apart(), EvidenceSettings::default()).await;
    let registry = &rounds.prober.registry;
    let (now, whole) = (Timestamp::now(), SignedDuration::from_secs(100));
    let soon = rounds.first(&rounds.prober, "a1", INTERVAL, now).duration_since(now);
    assert!(soon <= SignedDuration::try_from(SETTLING).unwrap(), "{soon}");
    registry.keep_probe("a1", result(now, Some(Tier::Conformant))).await.unwrap();
    let first = rounds.first(&rounds.prober, "a1", INTERVAL, now).duration_since(now);
    assert!(first > whole / 2 && first < whole, "{first}");
    let mut longest = SignedDuration::ZERO;
    for _ in 0..6 {
        registry.keep_probe("a1", result(now, None)).await.unwrap();
        let pause = rounds.next(&rounds.prober, "a1", INTERVAL, now).duration_since(now);
        assert!(pause > SignedDuration::ZERO && pause < whole * 4, "{pause}");
        longest = pause;
    }
    assert!(longest > whole * 3, "{longest}");
    let _never = rounds.next(&rounds.prober, "a1", Duration::MAX, Timestamp::MAX);
    registry.keep_probe("a1", result(now, Some(Tier::Valid))).await.unwrap();
    assert!(rounds.next(&rounds.prober, "a1", INTERVAL, now).duration_since(now) < whole);
}

#[tokio::test]
async fn what_is_out_of_use_is_not_probed_by_itself() {
    let (_folder, mut rounds) = rounds(&apart(), EvidenceSettings::default()).await;
    let by = decision(Timestamp::now());
    let registry = Arc::clone(&rounds.prober.registry);
    registry.transition("a1", Curation::Suspended, &by).await.unwrap();
    registry.transition("a2", Curation::Deprecated, &by).await.unwrap();
    assert_eq!(rounds.prober.watched(), ["a2", "a3", "a4", "a5"]);
    let now = Timestamp::now();
    rounds.find_due(INTERVAL, now);
    assert!(rounds.waiting().is_empty(), "a start is not a burst");
    rounds.find_due(INTERVAL, now + SignedDuration::from_secs(31));
    assert_eq!(rounds.waiting(), ["a2", "a3", "a4", "a5"]);
    registry.transition("a3", Curation::Suspended, &by).await.unwrap();
    registry.transition("a1", Curation::Proposed, &by).await.unwrap();
    registry.remove("a4").await.unwrap();
    rounds.find_due(INTERVAL, now + SignedDuration::from_secs(90));
    rounds.find_due(INTERVAL, now + SignedDuration::from_secs(121));
    assert_eq!(rounds.waiting(), ["a1", "a2", "a5"], "as the directory is now");
}

#[tokio::test]
async fn what_comes_of_a_probe_costs_the_same_in_a_directory_of_any_size() {
    let mut costs = Vec::new();
    for size in [10, 1500] {
        let cards: Vec<Value> =
            (0..size).map(|n| card(&format!("a{n}"), &format!("http://127.0.0.1:1/{n}"))).collect();
        let (_folder, mut rounds) = rounds(&cards, EvidenceSettings::default()).await;
        let registry = Arc::clone(&rounds.prober.registry);
        let now = Timestamp::now();
        assert_eq!(rounds.find_due(INTERVAL, now), size, "all are planned at the start");
        assert_eq!(rounds.find_due(INTERVAL, now), 0, "and then left alone");
        let before = registry.index();
        let probed = result_of(&registry, "a7", Some(Tier::Conformant));
        registry.keep_probe("a7", probed).await.unwrap();
        let after = registry.index();
        assert_eq!(rounds.find_due(INTERVAL, now), 1, "the one that was probed");
        let changed = after.changed_since(&before).expect("nothing else is different");
        let names: Vec<&str> = changed.iter().map(|(_, now)| now.name.as_str()).collect();
        assert_eq!(names, ["a7"]);
        costs.push(after.own_limbs(&before));
    }
    // A leaf in a small directory; in one of more than a thousand agents the two branches above it as well.
    assert_eq!(costs, [1, 3]);
}

#[tokio::test]
async fn what_was_seen_is_kept_and_goes_with_its_agent() {
    let (folder, rounds) = rounds(&apart(), EvidenceSettings::default()).await;
    let registry = &rounds.prober.registry;
    let seen = registry.seen("a1");
    assert_eq!(seen, None);
    let probed = result_of(registry, "a1", Some(Tier::Conformant));
    registry.keep_probe("a1", probed.clone()).await.unwrap();
    let other = result_of(registry, "a2", Some(Tier::Conformant));
    registry.keep_probe("a2", other).await.unwrap();
    assert_eq!(registry.get("a1").unwrap().tier, Some(Tier::Conformant));
    registry.reload().await.unwrap();
    assert_eq!(registry.get("a1").unwrap().tier, Some(Tier::Conformant), "it was stored");
    assert_eq!(registry.probes("a1"), [probed]);
    assert_eq!(registry.record("a1").await.unwrap().tier, Some(Tier::Conformant));
    registry.remove("a1").await.unwrap();
    let source = Source::new("cards.json", &json!(apart()).to_string());
    let by = decision(Timestamp::now());
    let options = ApplyOptions { approve: true, dry_run: false, by };
    registry.add_file(source, &options).await.unwrap();
    registry.reload().await.unwrap();
    assert_eq!(registry.get("a1").unwrap().seen, None, "another agent of that name");
    assert_eq!(registry.get("a2").unwrap().tier, Some(Tier::Conformant));
    drop(folder);
}

#[tokio::test]
async fn an_index_takes_away_what_is_stale_without_being_told() {
    let (_folder, rounds) = rounds(&apart(), EvidenceSettings::default()).await;
    let registry = &rounds.prober.registry;
    let fresh_until = Timestamp::now() + SignedDuration::from_millis(1500);
    let probed = Probed { fresh_until, ..result_of(registry, "a1", Some(Tier::Conformant)) };
    registry.keep_probe("a1", probed).await.unwrap();
    let before = registry.index();
    assert_eq!(before.by_name("a1").unwrap().tier, Some(Tier::Conformant));
    let deadline = Instant::now() + Duration::from_secs(60);
    while registry.get("a1").unwrap().tier.is_some() {
        assert!(Instant::now() < deadline, "it stays");
        tokio::task::yield_now().await;
    }
    let seen = registry.get("a1").unwrap().seen.clone().unwrap();
    assert_eq!((seen.last, seen.is_stale), (Some(Tier::Conformant), true));
    assert_eq!(before.by_name("a1").unwrap().tier, Some(Tier::Conformant), "a plan keeps its own");
}

#[tokio::test]
async fn an_agent_of_a_file_is_gone_when_nobody_answers() {
    let (_folder, rounds) = rounds(&apart()[..1], EvidenceSettings::default()).await;
    let seen = rounds.prober.probe_all(&["a1".to_owned()]).await.unwrap();
    let seen = seen[0].1.clone().unwrap();
    assert_eq!(seen.tier, None);
    assert!(seen.why.contains("cannot be reached"), "{seen}");
}

/// An agent whose interface is never there, and whose card is not either once that was asked, if it stops then.
async fn falling_silent(does_stop: bool) -> String {
    use axum::{http::StatusCode, response::IntoResponse as _};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (asked, of_card) = (Arc::new(AtomicBool::new(false)), card("w", &url));
    let seen = Arc::clone(&asked);
    let show = async move || match seen.load(SeqCst) && does_stop {
        true => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        false => axum::Json(of_card).into_response(),
    };
    let answer = async move || {
        asked.store(true, SeqCst);
        StatusCode::SERVICE_UNAVAILABLE
    };
    let methods = axum::routing::get(show).post(answer);
    let router = axum::Router::new().route("/", methods);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test]
async fn an_agent_that_stops_while_it_is_probed_is_gone_and_not_one_that_has_its_card() {
    for (does_stop, tier, what) in
        [(true, None, "its card"), (false, Some(Tier::Valid), "GetTask of an unknown id")]
    {
        let url = falling_silent(does_stop).await;
        let (_folder, rounds) = rounds(&[], EvidenceSettings::default()).await;
        let registry = &rounds.prober.registry;
        let by = decision(Timestamp::now());
        let options = ApplyOptions { approve: true, dry_run: false, by };
        let added = registry.add_url(&url, Some("w"), None, &options).await.unwrap();
        assert!(added.is_complete());
        rounds.prober.probe_all(&["w".to_owned()]).await.unwrap();
        let probed = registry.probes("w").pop().unwrap();
        assert_eq!(probed.tier, tier, "{:?}", probed.shortfalls);
        assert!(probed.shortfalls[0].what.starts_with(what), "{:?}", probed.shortfalls);
    }
}

#[tokio::test]
async fn what_our_own_rules_keep_us_from_asking_is_not_measured() {
    let (_folder, rounds) = rounds(&apart()[..1], EvidenceSettings::default()).await;
    let registry = Arc::clone(&rounds.prober.registry);
    registry.keep_probe("a1", result_of(&registry, "a1", Some(Tier::Conformant))).await.unwrap();
    // It may not call this machine.
    let strict = Outbound::new(Policy::default()).unwrap();
    let keyrings = Keyrings::new(Arc::clone(&registry), strict.clone(), Vault::none());
    let settings = EvidenceSettings::default();
    let prober = Prober::new(Arc::clone(&registry), keyrings, strict, settings);
    let seen = prober.probe_all(&["a1".to_owned()]).await.unwrap();
    let seen = seen[0].1.clone().unwrap();
    assert_eq!(seen.tier, Some(Tier::Conformant), "it was not asked: {seen}");
    let why = seen.unmeasured.clone().unwrap();
    assert!(why.contains("loopback address and not allowed"), "{why}");
    let kept = registry.probes("a1").pop().unwrap();
    assert!(kept.unmeasured.is_some() && kept.shortfalls.is_empty(), "{kept:?}");
    assert_eq!(registry.ledger().misses("a1"), 0, "and it is not tried less often for it");
}

#[tokio::test]
async fn a_probe_that_breaks_down_says_nothing_of_the_agent() {
    let (_folder, mut rounds) = rounds(&apart()[..1], EvidenceSettings::default()).await;
    let registry = Arc::clone(&rounds.prober.registry);
    registry.keep_probe("a1", result_of(&registry, "a1", Some(Tier::Conformant))).await.unwrap();
    rounds.break_down("a1");
    rounds.end_one().await.unwrap();
    let seen = registry.seen("a1").unwrap();
    assert_eq!(seen.tier, Some(Tier::Conformant));
    assert!(seen.unmeasured.as_ref().unwrap().contains("the probe broke down"), "{seen}");
}

#[tokio::test]
async fn an_agent_whose_secret_is_missing_is_not_measured() {
    let (_folder, store) = store();
    let registry = Arc::new(open(&store, "me").await);
    let mut card = card("a1", "http://127.0.0.1:1/");
    card["securitySchemes"] =
        json!({"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}});
    card["securityRequirements"] = json!([{"schemes": {"key": {"list": []}}}]);
    let credentials = json!([{"api_key": {"env": "CONVOKE_TEST_NO_SUCH_SECRET"}}]);
    let catalog = json!({"agents": [{"card": card, "credentials": credentials}]});
    let source = Source::new("catalog.yaml", &catalog.to_string());
    let options = ApplyOptions { approve: true, dry_run: false, by: decision(Timestamp::now()) };
    assert!(registry.add_file(source, &options).await.unwrap().is_complete());
    registry.keep_probe("a1", result_of(&registry, "a1", Some(Tier::Conformant))).await.unwrap();
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    let keyrings = Keyrings::new(Arc::clone(&registry), outbound.clone(), Vault::none());
    let prober =
        Prober::new(Arc::clone(&registry), keyrings, outbound, EvidenceSettings::default());
    let seen = prober.probe_all(&["a1".to_owned()]).await.unwrap();
    let seen = seen[0].1.clone().unwrap();
    assert_eq!(seen.tier, Some(Tier::Conformant), "{seen}");
    assert!(seen.unmeasured.as_ref().unwrap().contains("CONVOKE_TEST_NO_SUCH_SECRET"), "{seen}");
}

#[tokio::test]
async fn a_card_with_errors_is_reachable_and_no_more() {
    let mut bare = card("a1", "http://127.0.0.1:1/");
    bare["skills"] = json!([]);
    let router =
        axum::Router::new().route("/card.json", axum::routing::get(async move || bare.to_string()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/card.json", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let (_folder, rounds) = rounds(&[], EvidenceSettings::default()).await;
    let by = decision(Timestamp::now());
    let options = ApplyOptions { approve: true, dry_run: false, by };
    rounds.prober.registry.add_url(&url, None, None, &options).await.unwrap();
    let seen = rounds.prober.probe_all(&["a1".to_owned()]).await.unwrap();
    let seen = seen[0].1.clone().unwrap();
    assert_eq!(seen.tier, Some(Tier::Reachable));
    assert!(seen.why.starts_with("its card at /skills"), "{seen}");
}

#[tokio::test]
async fn agents_of_all_accounts_are_probed_within_one_budget_for_each_host() {
    let (_folder, store) = store();
    let one = card("a", "http://127.0.0.1:1/");
    let mut rounds = {
        let registry = Arc::new(directory(&store, "me", std::slice::from_ref(&one)).await);
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        let keyrings = Keyrings::new(Arc::clone(&registry), outbound.clone(), Vault::none());
        Rounds::new(Prober::new(registry, keyrings, outbound, EvidenceSettings::default()))
    };
    let other = card("b", "http://127.0.0.1:2/");
    let ada = Arc::new(directory(&store, "ada", &[one.clone(), other]).await);
    let eve = Arc::new(directory(&store, "eve", &[one]).await);
    rounds.join(vec![Arc::clone(&ada), Arc::clone(&eve)]);
    let later = Timestamp::now() + SignedDuration::from_secs(31);
    rounds.find_due(INTERVAL, Timestamp::now());
    rounds.find_due(INTERVAL, later);
    assert_eq!(rounds.waiting().len(), 4);
    rounds.start();
    assert_eq!((rounds.under_way(), rounds.waiting().len()), (PER_HOST + 1, 1));
    while rounds.are_under_way() {
        rounds.end_one().await.unwrap();
        rounds.start();
    }
    for (registry, names) in
        [(&rounds.prober.registry, &["a"][..]), (&ada, &["a", "b"]), (&eve, &["a"])]
    {
        for name in names {
            assert_eq!(registry.probes(name).len(), 1, "{name} of {}", registry.account());
        }
    }
    // What an account has no more is let go of.
    rounds.join(vec![ada]);
    rounds.find_due(INTERVAL, later + SignedDuration::from_hours(1));
    assert_eq!(rounds.waiting().len(), 3);
}

/// An agent that does to a Message what its text says, and all else as it should; and what it was sent.
async fn working_agent() -> (String, Arc<std::sync::Mutex<Vec<String>>>) {
    let sent = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = Arc::clone(&sent);
    let answer = async move |headers: axum::http::HeaderMap,
                             axum::Json(call): axum::Json<Value>| {
        let task = |state: &str| {
            json!({"id": "t", "contextId": "c", "status": {
                "state": format!("TASK_STATE_{state}"),
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "so it is"}]},
            }})
        };
        let (method, params) = (call["method"].as_str().unwrap(), &call["params"]);
        let reply = match method {
            "SendMessage" => {
                let text = params["message"]["parts"][0]["text"].as_str().unwrap().to_owned();
                heard.lock().unwrap().push(text.clone());
                match text.as_str() {
                    "direct" => json!({"result": {"message": {
                        "messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "here"}]
                    }}}),
                    "refuse" => json!({"error": {"code": -32603, "message": "not today"}}),
                    state => json!({"result": {"task": task(state)}}),
                }
            }
            "GetTask" if params["id"] == "t" => json!({"result": task("COMPLETED")}),
            "CancelTask" => {
                heard.lock().unwrap().push("canceled".to_owned());
                json!({"result": task("CANCELED")})
            }
            _ => {
                let code = if headers["a2a-version"] == "1.0" { -32001 } else { -32009 };
                json!({"error": {"code": code, "message": "no"}})
            }
        };
        let mut reply = reply;
        reply["jsonrpc"] = json!("2.0");
        reply["id"] = call["id"].clone();
        axum::Json(reply)
    };
    let router = axum::Router::new().route("/", axum::routing::post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, sent)
}

/// Probes an agent whose entry has this probe message, and says what it was sent, its tier, and why.
async fn tried(
    entry: Value,
    settings: Option<&str>,
    is_approved: bool,
) -> (String, Option<Tier>, String) {
    let (url, sent) = working_agent().await;
    let (_folder, rounds) = rounds(&[], EvidenceSettings::default()).await;
    let mut agent = json!({"name": "w", "card": card("w", &url)});
    if !entry.is_null() {
        agent["probe_message"] = entry;
    }
    let source = Source::new("c.yaml", &json!({"agents": [agent]}).to_string());
    let options =
        ApplyOptions { approve: is_approved, dry_run: false, by: decision(Timestamp::now()) };
    rounds.prober.registry.add_file(source, &options).await.unwrap();
    rounds.prober.clone().with_message(settings).probe_all(&["w".to_owned()]).await.unwrap();
    let probed = rounds.prober.registry.probes("w").pop().unwrap();
    let why: Vec<String> = probed.shortfalls.iter().map(ToString::to_string).collect();
    let sent = sent.lock().unwrap().join(" ");
    (sent, probed.tier, why.join("; "))
}

#[tokio::test]
async fn a_message_is_sent_only_where_an_operator_wrote_one_down_and_only_to_approved_agents() {
    for (entry, settings, is_approved, expected) in [
        (json!(null), None, true, ""),
        (json!("COMPLETED"), None, true, "COMPLETED"),
        (json!("COMPLETED"), None, false, ""),
        (json!(null), Some("direct"), true, "direct"),
        (json!(null), Some("direct"), false, ""),
        (json!("WORKING"), Some("direct"), true, "WORKING"),
        (json!(false), Some("direct"), true, ""),
    ] {
        let (sent, tier, why) = tried(entry.clone(), settings, is_approved).await;
        assert_eq!((sent.as_str(), tier), (expected, Some(Tier::Conformant)), "{entry}: {why}");
    }
}

#[tokio::test]
async fn an_agent_whose_work_does_not_complete_is_valid_at_most() {
    for (text, sent, said) in [
        ("FAILED", "FAILED", "is failed, not completed: so it is"),
        ("INPUT_REQUIRED", "INPUT_REQUIRED canceled", "is input required, not completed: so it is"),
        ("refuse", "refuse", "not today"),
    ] {
        let (heard, tier, why) = tried(json!(text), None, true).await;
        assert_eq!((heard.as_str(), tier), (sent, Some(Tier::Valid)), "{why}");
        assert!(why.starts_with("the probe message") && why.contains(said), "{why}");
    }
}

#[tokio::test]
async fn agents_of_other_accounts_are_sent_nothing() {
    let (url, sent) = working_agent().await;
    let (_folder, store) = store();
    let other = Arc::new(open(&store, "ada").await);
    let agents = json!({"agents": [
        {"name": "w", "card": card("w", &url), "probe_message": "COMPLETED"}
    ]});
    let options = ApplyOptions { approve: true, dry_run: false, by: decision(Timestamp::now()) };
    other.add_file(Source::new("c.yaml", &agents.to_string()), &options).await.unwrap();
    let (_other, rounds) = rounds(&[], EvidenceSettings::default()).await;
    let prober = rounds.prober.clone().with_message(Some("direct")).of(Arc::clone(&other));
    prober.probe_all(&["w".to_owned()]).await.unwrap();
    assert_eq!(other.probes("w").pop().unwrap().tier, Some(Tier::Conformant));
    assert!(sent.lock().unwrap().is_empty());
}
