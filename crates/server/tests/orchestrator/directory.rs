//! The agent directory over HTTP: every route by every kind of caller, checked against the contract.

mod asking;
mod changing;
mod contract;
mod finding;
mod hiding;
mod probing;
mod reaching;
mod watching;

use axum::http::Method;
use protocol::auth::Secret;
use serde_json::{Value, json};
use server::Settings;
use url::Url;

use self::contract::Contract;
use crate::scene::{PATIENCE, Scene, outbound};

/// A caller, whose answers are all as the contract says.
struct Api<'s> {
    scene: &'s Scene,
    contract: &'s Contract,
    key: Option<Secret>,
}

/// What was answered.
struct Said {
    status: u16,
    body: Value,
}

impl Said {
    /// The body of an answer that is good.
    fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// What kind of problem it is.
    fn problem(&self) -> (u16, &str) {
        let kind = self.body["type"].as_str().expect("a problem");
        (self.status, kind.strip_prefix("urn:convoke:problem:").expect("one of ours"))
    }

    fn detail(&self) -> &str {
        self.body["detail"].as_str().expect("a detail")
    }
}

impl Api<'_> {
    async fn get(&self, path: &str) -> Said {
        self.call(Method::GET, path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Said {
        self.call(Method::POST, path, Some(body)).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Said {
        let url = Url::parse(&format!("{}{path}", self.scene.url)).expect("a URL");
        let outbound = outbound();
        let mut request = outbound.request(method.clone(), &url).expect("it may be called");
        if let Some(key) = &self.key {
            request = request.header("x-api-key", key.expose());
        }
        if let Some(body) = &body {
            request = request.json(body);
        }
        let answer = outbound.send(&url, request.timeout(PATIENCE)).await.expect("an answer");
        let status = answer.status().as_u16();
        let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
        let said = answer.bytes().await.expect("a body");
        let said =
            serde_json::from_slice(&said).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        self.contract.check(&method, url.path(), (status, &kind), &said);
        Said { status, body: said }
    }

    /// Takes in a card, and approves it.
    async fn add(&self, name: &str, more: Value) {
        let mut card = card(name);
        card.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        let asked = json!({ "card": card, "name": name, "approve": true });
        let report = self.post("/v1/agents", asked).await.ok();
        assert_eq!(report["agents"][0]["outcome"], "added", "{report}");
    }

    /// The names of all agents that a query finds.
    async fn names(&self, query: &str) -> Vec<String> {
        let listed = self.get(&format!("/v1/agents?{query}")).await.ok();
        assert_eq!(listed["total"], listed["agents"].as_array().expect("a list").len());
        names(&listed)
    }
}

/// The names of a page.
fn names(listed: &Value) -> Vec<String> {
    let hits = listed["agents"].as_array().expect("a list").iter();
    hits.map(|hit| hit["agent"]["name"].as_str().expect("a name").to_owned()).collect()
}

fn card(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name}."),
        "version": "1",
        "supportedInterfaces": [
            { "url": "http://127.0.0.1:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
        ],
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": format!("do-{name}"), "name": "Do", "description": "Does.", "tags": ["doing"] }]
    })
}

/// A server that asks for keys, and the contract it gives.
async fn guarded() -> (Scene, Contract) {
    let scene = Scene::guarded(&[], Settings::default()).await;
    let contract = Contract::of(&scene).await;
    (scene, contract)
}

/// A caller with a key of an account.
async fn caller<'s>(
    (scene, contract): &'s (Scene, Contract),
    account: &str,
    scopes: &[&str],
) -> Api<'s> {
    Api { scene, contract, key: Some(scene.key(account, scopes).await) }
}
