//! Where cards are fetched from for callers of other accounts: not from where only the operator may go.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Router,
    response::{IntoResponse as _, Redirect},
    routing::get,
};
use protocol::outbound::Policy;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Api, caller, card, contract::Contract};
use crate::scene::Scene;

/// Serves a card, a catalog, keys, and a way to another host, at an address of this machine. Returns its URL.
async fn host(ip: &str, elsewhere: &str) -> String {
    let listener = TcpListener::bind((ip, 0)).await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let json = |value: Value| get(async move || value.to_string());
    let entry = json!({
        "identifier": "urn:x:y", "displayName": "Inner", "type": "application/a2a-agent-card+json",
        "url": format!("{elsewhere}/card.json"),
    });
    let away = format!("{elsewhere}/card.json");
    let router = Router::new()
        .route("/card.json", json(card("inner")))
        .route("/ai-catalog.json", json(json!({ "specVersion": "1.0", "entries": [entry] })))
        .route("/away.json", get(async move || Redirect::temporary(&away)));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// What a caller is told when it has the card at a URL taken in.
async fn told(api: &Api<'_>, url: &str) -> String {
    let said = api.post("/v1/agents", json!({ "url": url })).await;
    said.body.to_string()
}

const REFUSED: &str = "loopback address and not allowed";

#[tokio::test]
async fn for_other_accounts_nothing_is_fetched_from_this_machine_or_private_networks() {
    let inner = host("127.0.0.1", "http://127.0.0.1:9").await;
    let scene = Scene::guarded_reaching(Policy::default()).await;
    let contract = Contract::of(&scene).await;
    let guarded = (scene, contract);
    let operator = caller(&guarded, "local", &["admin"]).await;
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    let card_url = format!("{inner}/card.json");
    let added = operator.post("/v1/agents", json!({ "url": card_url })).await.ok();
    assert_eq!(added["agents"][0]["outcome"], "added", "the operator may: {added}");

    for path in ["/card.json", "/ai-catalog.json", ""] {
        let said = told(&ada, &format!("{inner}{path}")).await;
        assert!(said.contains(REFUSED), "{path}: {said}");
    }
    for (url, range) in
        [("http://10.1.2.3/card.json", "private"), ("http://[fd00::1]/card.json", "unique-local")]
    {
        let said = told(&ada, url).await;
        assert!(said.contains(range) && said.contains("not allowed"), "{said}");
    }
    let catalog = json!({ "agents": [{ "name": "in", "url": card_url }] }).to_string();
    let file = json!({ "name": "c.yaml", "text": catalog });
    let listed = ada.post("/v1/agents", json!({ "file": file, "catalog": "c" })).await.ok();
    assert!(listed.to_string().contains(REFUSED), "{listed}");
    let linted = ada.post("/v1/agents:lint", json!({ "url": card_url })).await;
    assert!(linted.body.to_string().contains(REFUSED), "{}", linted.body);
    assert_eq!(ada.names("").await, [""; 0]);
}

#[tokio::test]
async fn what_accounts_may_reach_is_no_way_to_what_they_may_not() {
    // Two hosts of this machine, of which one is in a network that accounts may reach.
    let inner = host("127.0.0.1", "http://127.0.0.1:9").await;
    let outer = host("127.0.0.2", &inner).await;
    let networks = vec!["127.0.0.2/32".parse().expect("a network")];
    let policy = Policy { allow_networks: networks, ..Policy::default() };
    let scene = Scene::guarded_reaching(policy).await;
    let contract = Contract::of(&scene).await;
    let guarded = (scene, contract);
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    let added = ada.post("/v1/agents", json!({ "url": format!("{outer}/card.json") })).await.ok();
    assert_eq!(added["agents"][0]["outcome"], "added", "configured: {added}");

    let said = told(&ada, &format!("{outer}/away.json")).await;
    assert!(said.contains(REFUSED), "a redirect: {said}");
    let said = told(&ada, &format!("{outer}/ai-catalog.json")).await;
    assert!(said.contains(REFUSED), "an entry of a catalog: {said}");
    assert_eq!(ada.names("").await, ["inner"]);
}

#[tokio::test]
async fn a_card_that_was_moved_to_where_an_account_may_not_go_is_not_looked_at_again() {
    let moved = Arc::new(AtomicBool::new(false));
    let has_moved = Arc::clone(&moved);
    let inner = host("127.0.0.1", "http://127.0.0.1:9").await;
    let listener = TcpListener::bind("127.0.0.2:0").await.expect("a free port");
    let url = format!("http://{}/card.json", listener.local_addr().expect("it is bound"));
    let to = format!("{inner}/card.json");
    let answer = async move || match has_moved.load(Ordering::SeqCst) {
        true => Redirect::temporary(&to).into_response(),
        false => card("inner").to_string().into_response(),
    };
    let router = Router::new().route("/card.json", get(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let networks = vec!["127.0.0.2/32".parse().expect("a network")];
    let policy = Policy { allow_networks: networks, ..Policy::default() };
    let scene = Scene::guarded_reaching(policy).await;
    let contract = Contract::of(&scene).await;
    let guarded = (scene, contract);
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    ada.post("/v1/agents", json!({ "url": url })).await.ok();
    moved.store(true, Ordering::SeqCst);
    let again = ada.post("/v1/agents:refresh", json!({})).await.ok();
    assert!(again.to_string().contains(REFUSED), "{again}");
}
