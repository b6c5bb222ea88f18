//! Cards fetched a second time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;

use super::*;
use crate::outbound::{Outbound, Policy};

type Answer = fn(path: &str, headers: &HeaderMap, round: usize) -> Response;

/// A server that knows how often it was asked, and notes where, and under which conditions.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    async fn new(answer: Answer) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let router = Router::new().fallback(async move |request: Request| {
            let (path, headers) = (request.uri().path(), request.headers());
            let value = |name| headers.get(name).and_then(|value| value.to_str().ok());
            let round = {
                let mut log = log.lock().unwrap();
                let conditions = [value("if-none-match"), value("if-modified-since")];
                let conditions: Vec<&str> = conditions.into_iter().flatten().collect();
                log.push(format!("{path} {}", conditions.join(" ")).trim_end().to_owned());
                log.len()
            };
            answer(path, headers, round)
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, asked }
    }

    /// Fetches twice, and hands back both with what was asked the second time.
    async fn twice(&self) -> (FetchedCard, FetchedCard, Vec<String>) {
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        let first = fetch(&outbound, &self.base).await.unwrap();
        self.asked.lock().unwrap().clear();
        let second = fetch_again(&outbound, &self.base, &first).await.unwrap();
        (first, second, self.asked.lock().unwrap().clone())
    }
}

fn named(name: &str) -> String {
    let mut card = least();
    card["name"] = json!(name);
    card.to_string()
}

const TAG: &str = "\"one\"";

#[tokio::test]
async fn a_card_that_did_not_change_is_not_sent_again() {
    let site = Site::new(|path, headers, _| match path {
        "/.well-known/agent.json" if headers.contains_key("if-none-match") => {
            (StatusCode::NOT_MODIFIED, [("cache-control", "max-age=9")]).into_response()
        }
        "/.well-known/agent.json" => {
            let headers =
                [("etag", TAG), ("last-modified", "then"), ("cache-control", "max-age=5")];
            (headers, named("Ferries")).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    })
    .await;
    let (first, second, asked) = site.twice().await;
    // Where it was found is asked at once.
    assert_eq!(asked, ["/.well-known/agent.json \"one\" then"]);
    assert_eq!(first.text, named("Ferries"));
    assert_eq!((&second.card, &second.text, &second.url), (&first.card, &first.text, &first.url));
    assert_eq!(first.freshness.max_age, Some(Duration::from_secs(5)));
    assert_eq!(second.freshness.max_age, Some(Duration::from_secs(9)));
    assert_eq!(second.freshness.etag.unwrap(), TAG);
}

#[tokio::test]
async fn a_card_that_changed_is_read_anew() {
    let site = Site::new(|_, headers, _| {
        let name = if headers.contains_key("if-none-match") { "New" } else { "Old" };
        ([("etag", TAG)], named(name)).into_response()
    })
    .await;
    let (first, second, asked) = site.twice().await;
    assert_eq!((first.card.name.as_str(), second.card.name.as_str()), ("Old", "New"));
    assert_eq!(asked, ["/ \"one\""]);
}

#[tokio::test]
async fn a_card_that_moved_is_looked_for_again() {
    let site = Site::new(|path, _, round| match (path, round) {
        ("/", 1) => ([("etag", TAG)], named("Old")).into_response(),
        ("/.well-known/agent-card.json", _) => named("New").into_response(),
        _ => StatusCode::NOT_FOUND.into_response(),
    })
    .await;
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    let first = fetch(&outbound, &site.base).await.unwrap();
    let second = fetch_again(&outbound, &site.base, &first).await.unwrap();
    assert_eq!((first.card.name.as_str(), second.card.name.as_str()), ("Old", "New"));
    assert!(second.url.ends_with("/.well-known/agent-card.json"));
}

#[tokio::test]
async fn a_redirect_that_leads_elsewhere_leaves_nothing_unchanged() {
    let site = Site::new(|path, headers, round| match (path, round) {
        ("/", 1) => (StatusCode::FOUND, [("location", "/a")]).into_response(),
        ("/", _) => (StatusCode::FOUND, [("location", "/b")]).into_response(),
        ("/a", _) => ([("etag", TAG)], named("A")).into_response(),
        _ if headers.contains_key("if-none-match") => StatusCode::NOT_MODIFIED.into_response(),
        _ => ([("etag", TAG)], named("B")).into_response(),
    })
    .await;
    let outbound = Outbound::new(Policy::loopback()).unwrap();
    let first = fetch(&outbound, &site.base).await.unwrap();
    let second = fetch_again(&outbound, &site.base, &first).await.unwrap();
    assert_eq!((first.card.name.as_str(), second.card.name.as_str()), ("A", "B"));
}
