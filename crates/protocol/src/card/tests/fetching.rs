//! Cards fetched over real sockets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use tokio::net::TcpListener;

use super::*;
use crate::outbound::{Outbound, OutboundError, Policy};

/// A server that answers each path with what it was given, and every other with 404.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
}

type Page = (u16, &'static str, &'static str, String);

const JSON: &str = "application/json";

fn json_page(json: &Json) -> Page {
    (200, "content-type", JSON, json.to_string())
}

fn html_page() -> Page {
    (200, "content-type", "text/html; charset=utf-8", "<!doctype html><p>Hello".to_owned())
}

impl Site {
    async fn new(pages: Vec<(&str, Page)>) -> Self {
        let pages: BTreeMap<_, _> =
            pages.into_iter().map(|(path, page)| (path.to_owned(), page)).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = asked.clone();
        let router = Router::new().fallback(async move |request: Request| {
            log.lock().unwrap().push(request.uri().to_string());
            answer(pages.get(request.uri().path()))
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, asked }
    }

    async fn fetch(&self, path: &str) -> Result<FetchedCard, CardError> {
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        fetch(&outbound, &format!("{}{path}", self.base)).await
    }

    /// The path the card was found at.
    async fn found(&self, path: &str) -> String {
        let fetched = self.fetch(path).await.unwrap();
        assert_eq!(fetched.card.name, "Ferries");
        assert_eq!(fetched.raw, least());
        fetched.url.strip_prefix(&self.base).unwrap().to_owned()
    }

    /// The error's message, with a port that does not change.
    async fn refusal(&self, path: &str) -> String {
        self.fetch(path).await.unwrap_err().to_string().replace(&self.base, "http://agent")
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(page: Option<&Page>) -> Response {
    let not_found = (404, "content-type", "text/plain", String::new());
    let (status, header, value, body) = page.unwrap_or(&not_found).clone();
    Response::builder().status(status).header(header, value).body(Body::from(body)).unwrap()
}

#[tokio::test]
async fn the_address_itself_is_asked_first() {
    let site = Site::new(vec![("/card", json_page(&least()))]).await;
    assert_eq!(site.found("/card").await, "/card");
    assert_eq!(site.asked(), ["/card"]);
}

#[tokio::test]
async fn the_well_known_places_are_asked_below_the_path_and_then_at_the_host() {
    let site = Site::new(vec![("/.well-known/agent.json", json_page(&least()))]).await;
    assert_eq!(site.found("/agents/one/?x=1").await, "/.well-known/agent.json");
    assert_eq!(
        site.asked(),
        [
            "/agents/one/?x=1",
            "/agents/one/.well-known/agent-card.json",
            "/agents/one/.well-known/agent.json",
            "/.well-known/agent-card.json",
            "/.well-known/agent.json",
        ]
    );
}

#[tokio::test]
async fn whatever_else_is_at_the_address_does_not_hide_the_card() {
    let wrong_pages = [
        html_page(),
        (200, "content-type", JSON, "[".to_owned()),
        (200, "content-type", JSON, "[]".to_owned()),
        (200, "content-type", JSON, " ".repeat(MAX_BYTES + 1)),
        (302, "location", "/", String::new()),
        (302, "location", "gopher://agent", String::new()),
        (401, "content-type", JSON, "{}".to_owned()),
        (500, "content-type", JSON, "{}".to_owned()),
    ];
    for page in wrong_pages {
        let pages = vec![("/", page), ("/.well-known/agent-card.json", json_page(&least()))];
        assert_eq!(Site::new(pages).await.found("").await, "/.well-known/agent-card.json");
    }
}

#[tokio::test]
async fn a_redirect_to_the_card_is_followed() {
    let pages = vec![
        ("/old.json", (302, "location", "/new.json", String::new())),
        ("/new.json", json_page(&least())),
    ];
    assert_eq!(Site::new(pages).await.found("/old.json").await, "/new.json");
}

#[tokio::test]
async fn a_host_without_a_card_is_told_with_every_place() {
    let pages = vec![("/", html_page()), ("/.well-known/agent.json", json_page(&json!([])))];
    let site = Site::new(pages).await;
    insta::assert_snapshot!(site.refusal("/").await, @r"
    no Agent Card was found for http://agent/:
      http://agent/ is a web page (HTML), and a card is JSON
      http://agent/.well-known/agent-card.json answered with HTTP status 404
      http://agent/.well-known/agent.json is JSON with neither a name nor interfaces, and so no card
    If the card is elsewhere, give its own address.
    ");
}

#[tokio::test]
async fn the_address_of_a_card_is_the_only_place_asked() {
    let site = Site::new(vec![
        ("/html.json", html_page()),
        ("/label.json", (200, "content-type", "TEXT/HTML", "Hello".to_owned())),
        ("/unlabelled.json", (200, "content-type", JSON, " <html>".to_owned())),
        ("/text.json", (200, "content-type", JSON, "{\"name\": nothing}".to_owned())),
        ("/large.json", json_page(&json!({"name": "x".repeat(5 * 1024 * 1024)}))),
        ("/loop.json", (307, "location", "/loop.json", String::new())),
    ])
    .await;
    insta::assert_snapshot!(
        site.refusal("/html.json").await,
        @"no Agent Card: http://agent/html.json is a web page (HTML), and a card is JSON"
    );
    for path in ["/label.json", "/unlabelled.json"] {
        let refusal = site.refusal(path).await;
        assert!(refusal.ends_with(&format!("{path} is a web page (HTML), and a card is JSON")));
    }
    insta::assert_snapshot!(
        site.refusal("/text.json").await,
        @"no Agent Card: http://agent/text.json is not JSON: expected ident at line 1 column 11"
    );
    insta::assert_snapshot!(
        site.refusal("/large.json").await,
        @"no Agent Card: the answer of http://agent/large.json is larger than 1048576 bytes"
    );
    insta::assert_snapshot!(
        site.refusal("/loop.json").await,
        @"no Agent Card: http://agent/loop.json was redirected more than 5 times, last to http://agent/loop.json"
    );
    insta::assert_snapshot!(
        site.refusal("/none.json").await,
        @"no Agent Card: http://agent/none.json answered with HTTP status 404"
    );
    assert_eq!(site.asked().iter().filter(|path| path.contains("well-known")).count(), 0);
}

#[tokio::test]
async fn a_card_that_cannot_be_used_ends_the_search() {
    let older = json!({"name": "a", "protocolVersion": "0.3.0"});
    let pages = vec![
        ("/.well-known/agent-card.json", json_page(&json!({"name": "a"}))),
        ("/older/.well-known/agent-card.json", json_page(&older)),
    ];
    let site = Site::new(pages).await;
    insta::assert_snapshot!(
        site.refusal("/").await,
        @"the Agent Card at http://agent/.well-known/agent-card.json cannot be used: it lacks supportedInterfaces, without which the agent cannot be called"
    );
    insta::assert_snapshot!(
        site.refusal("/older").await,
        @"the Agent Card at http://agent/older/.well-known/agent-card.json cannot be used: it lacks supportedInterfaces[0].url, without which the agent cannot be called"
    );
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_asked_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site =
        Site { base: format!("http://{}", listener.local_addr().unwrap()), asked: Arc::default() };
    drop(listener);
    let refusal = site.refusal("/").await;
    assert!(refusal.starts_with("no Agent Card: http://agent/ cannot be reached: "), "{refusal}");
}

#[tokio::test]
async fn an_address_that_is_not_allowed_is_not_asked() {
    let site = Site::new(vec![("/", json_page(&least()))]).await;
    let outbound = Outbound::new(Policy::default()).unwrap();
    let error = fetch(&outbound, &site.base).await.unwrap_err();
    let CardError::Nothing(NoCard::Outbound(OutboundError::Refused { .. })) = error else {
        panic!("{error}");
    };
    assert!(site.asked().is_empty());
}
