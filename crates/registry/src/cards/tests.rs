use std::sync::Mutex;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse as _;
use protocol::outbound::Policy;
use serde_json::json;

use super::*;

/// A server with a card under this `Cache-Control`, which answers conditional requests.
struct Site {
    url: String,
    /// The condition of each request, empty where it had none.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn new(cache_control: &'static str) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let router = Router::new().fallback(async move |headers: HeaderMap| {
            let condition = headers.get(header::IF_NONE_MATCH);
            let condition = condition.map(|value| value.to_str().unwrap().to_owned());
            log.lock().unwrap().push(condition.clone().unwrap_or_default());
            let kept = [(header::CACHE_CONTROL, cache_control), (header::ETAG, "\"one\"")];
            let kept = kept.into_iter().filter(|(_, value)| !value.is_empty());
            let kept = axum::response::AppendHeaders(kept.collect::<Vec<_>>());
            match condition.as_deref() {
                Some("\"one\"") => (StatusCode::NOT_MODIFIED, kept).into_response(),
                _ => (kept, axum::Json(card())).into_response(),
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/card.json", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn card() -> serde_json::Value {
    json!({
        "name": "Ferries",
        "supportedInterfaces": [
            {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
    })
}

fn cards(freshness: Duration) -> Cards {
    Cards::with_freshness(Outbound::new(Policy::loopback()).unwrap(), freshness)
}

/// Asks twice for the card, and says what the server was asked.
async fn asked(cache_control: &'static str, freshness: Duration) -> Vec<String> {
    let site = Site::new(cache_control).await;
    let cards = cards(freshness);
    for _ in 0..2 {
        assert_eq!(cards.get(&site.url).await.unwrap().card.name, "Ferries");
    }
    site.asked()
}

#[tokio::test]
async fn a_card_is_used_for_as_long_as_its_server_says() {
    assert_eq!(asked("max-age=3600", Duration::ZERO).await, [""]);
    assert_eq!(asked("max-age=0", Duration::MAX).await, ["", "\"one\""]);
    assert_eq!(asked("no-cache", Duration::MAX).await, ["", "\"one\""]);
}

#[tokio::test]
async fn where_the_server_says_nothing_the_setting_counts() {
    assert_eq!(asked("", Cards::FRESHNESS).await, [""]);
    assert_eq!(asked("", Duration::ZERO).await, ["", "\"one\""]);
}

#[tokio::test]
async fn a_card_that_must_not_be_stored_is_fetched_whole_each_time() {
    assert_eq!(asked("no-store", Duration::MAX).await, ["", ""]);
}

#[tokio::test]
async fn a_card_that_is_wanted_now_is_asked_for_although_it_is_fresh() {
    let site = Site::new("max-age=3600").await;
    let cards = cards(Duration::ZERO);
    cards.get(&site.url).await.unwrap();
    assert_eq!(cards.get_now(&site.url).await.unwrap().raw, card());
    // The answer that nothing changed makes it fresh again.
    cards.get(&site.url).await.unwrap();
    assert_eq!(site.asked(), ["", "\"one\""]);
}

#[tokio::test]
async fn no_server_makes_a_card_fresh_for_longer_than_a_day() {
    let site = Site::new("max-age=99999999").await;
    let fetched = cards(Duration::ZERO).get(&site.url).await.unwrap();
    let says = AsServersSay { otherwise: Duration::ZERO };
    assert_eq!(says.lifetime(&fetched), Cards::LONGEST_FRESHNESS);
}
