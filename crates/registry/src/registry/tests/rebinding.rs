//! Names that lead elsewhere the second time: every connection is judged anew, whoever wants it.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Mutex;

use axum::http::header;
use axum::response::IntoResponse as _;
use protocol::auth::Vault;
use protocol::outbound::Lookup;
use tempfile::TempDir;

use super::*;
use crate::{EvidenceSettings, Keyrings, Prober, Tier};

const METADATA: &str = "169.254.169.254";

/// A directory whose one name leads where it is told, and an agent of that name.
struct Scene {
    registry: Arc<Registry>,
    outbound: Outbound,
    /// Where the name leads next, the last one for ever.
    leads: Arc<Mutex<VecDeque<IpAddr>>>,
    /// How many requests the agent got.
    asked: Arc<AtomicUsize>,
    url: String,
    _folder: TempDir,
}

impl Scene {
    async fn new() -> Self {
        let leads = Arc::new(Mutex::new(VecDeque::new()));
        let next = Arc::clone(&leads);
        let lookup: Lookup = Arc::new(move |_| {
            let mut leads: std::sync::MutexGuard<'_, VecDeque<IpAddr>> = next.lock().unwrap();
            let first = if leads.len() > 1 { leads.pop_front() } else { leads.front().copied() };
            Box::pin(async move { Ok(first.into_iter().collect()) })
        });
        let outbound = Outbound::with_lookup(Policy::loopback(), lookup).unwrap();
        let (asked, url) = agent().await;
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        let registry = Registry::open(Arc::new(store), outbound.clone(), "me".into()).await;
        let registry = Arc::new(registry.unwrap());
        Self { registry, outbound, leads, asked, url, _folder: folder }
    }

    fn lead(&self, addresses: &[&str]) {
        *self.leads.lock().unwrap() = addresses.iter().map(|it| it.parse().unwrap()).collect();
    }

    async fn add(&self) -> Result<Report, RegistryError> {
        self.registry.add_url(&self.url, Some("it"), None, &options()).await
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Probes the agent, and returns the tier and why it is not more.
    /// What a probe finds, and why it is not more, or nothing.
    async fn probe(&self) -> (Option<Tier>, String) {
        let keyrings =
            Keyrings::new(Arc::clone(&self.registry), self.outbound.clone(), Vault::none());
        let settings = EvidenceSettings::default();
        let prober =
            Prober::new(Arc::clone(&self.registry), keyrings, self.outbound.clone(), settings);
        prober.probe_all(&["it".to_owned()]).await.unwrap();
        let probes = self.registry.probes("it");
        let last = probes.last().unwrap();
        let why = last.shortfalls.iter().map(ToString::to_string).chain(last.unmeasured.clone());
        (last.tier, why.collect::<Vec<_>>().join("; "))
    }
}

/// Decided now: what is seen of an agent before it was taken in counts for nothing.
fn options() -> ApplyOptions {
    let by = Decision { at: Timestamp::now(), ..decision() };
    ApplyOptions { by, ..super::options(true, false) }
}

/// An agent that ends each connection, so that each request is a look-up; it answers every call that its Task is not
/// there.
async fn agent() -> (Arc<AtomicUsize>, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://agent.example:{}", listener.local_addr().unwrap().port());
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, own) = (Arc::clone(&asked), url.clone());
    let router = Router::new().fallback(async move |request: axum::extract::Request| {
        count.fetch_add(1, Ordering::SeqCst);
        let answer = if request.uri().path() == "/.well-known/agent-card.json" {
            let mut card = card("It");
            card["supportedInterfaces"][0]["url"] = json!(own);
            card
        } else {
            let version = request.headers().get("a2a-version").cloned();
            let code = if version.is_some_and(|it| it == "1.0") { -32001 } else { -32009 };
            let body = axum::body::to_bytes(request.into_body(), 10_000).await.unwrap();
            let id =
                serde_json::from_slice(&body).map_or(Value::Null, |it: Value| it["id"].clone());
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } })
        };
        ([(header::CONNECTION, "close")], axum::Json(answer)).into_response()
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (asked, url)
}

#[tokio::test]
async fn an_agent_is_not_added_from_where_its_name_leads_the_second_time() {
    let scene = Scene::new().await;
    // What is at the URL itself is no card; the place of the card is asked next.
    scene.lead(&["127.0.0.1", METADATA]);
    let error = scene.add().await.unwrap_err().to_string();
    assert!(error.contains(METADATA) && error.contains("cloud metadata"), "{error}");
    assert_eq!((scene.asked(), scene.registry.list().len()), (1, 0));
    scene.lead(&["127.0.0.1"]);
    assert!(scene.add().await.unwrap().is_complete());
}

#[tokio::test]
async fn a_card_is_not_fetched_again_from_where_its_name_leads_now() {
    let scene = Scene::new().await;
    scene.lead(&["127.0.0.1"]);
    scene.add().await.unwrap();
    let (asked, known) = (scene.asked(), scene.registry.record("it").await.unwrap());
    scene.lead(&["10.0.0.1"]);
    let refreshed = scene.registry.refresh(&["it".to_owned()], &super::options(false, false)).await;
    let told = serde_json::to_string(&refreshed.unwrap()).unwrap();
    assert!(told.contains("10.0.0.1") && told.contains("private"), "{told}");
    let (tier, why) = scene.probe().await;
    assert_eq!(tier, None);
    assert!(why.contains("10.0.0.1") && why.contains("private"), "{why}");
    assert_eq!(scene.asked(), asked, "nobody was asked");
    assert_eq!(scene.registry.record("it").await.unwrap().card, known.card);
}

#[tokio::test]
async fn an_interface_is_not_probed_where_its_name_leads_after_its_card_was_fetched() {
    let scene = Scene::new().await;
    scene.lead(&["127.0.0.1"]);
    scene.add().await.unwrap();
    assert_eq!(scene.probe().await, (Some(Tier::Conformant), String::new()));
    let asked = scene.asked();
    // The URL itself and the place of the card below it; the interface is called next.
    scene.lead(&["127.0.0.1", "127.0.0.1", METADATA]);
    let (tier, why) = scene.probe().await;
    assert_eq!(tier, None, "{why}");
    let seen = scene.registry.seen("it").unwrap();
    assert_eq!(seen.tier, Some(Tier::Conformant), "nothing was measured: {seen}");
    assert!(why.contains(METADATA) && why.contains("cloud metadata"), "{why}");
    assert_eq!(scene.asked(), asked + 2, "for its card alone");
}
