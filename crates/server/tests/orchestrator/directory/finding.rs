//! Finding agents, page by page.

use serde_json::json;

use super::{Api, caller, contract::Contract, guarded, names};
use crate::scene::Scene;

#[tokio::test]
async fn agents_are_found_by_every_condition_with_reasons_and_counts() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    admin.add("plain", json!({ "supportedInterfaces": [
        { "url": "https://plain.example/", "protocolBinding": "GRPC", "protocolVersion": "0.3" }
    ]})).await;
    admin
        .add(
            "rich",
            json!({
                "provider": { "organization": "Acme", "url": "https://acme.example" },
                "capabilities": { "streaming": true },
                "defaultInputModes": ["text/csv"],
                "defaultOutputModes": ["image/png"],
            }),
        )
        .await;
    admin.post("/v1/agents/rich:tag", json!({ "add": ["fast"] })).await.ok();
    admin.post("/v1/agents/plain:deprecate", json!({})).await.ok();
    for query in [
        "tag=fast",
        "tag=FAST&tag=doing",
        "any_tag=fast&any_tag=nothing",
        "skill=do-rich",
        "provider=acme",
        "input_mode=text/csv",
        "output_mode=image/png",
        "binding=jsonrpc",
        "version=1.0",
        "capability=streaming",
        "state=approved",
        "q=rich",
    ] {
        assert_eq!(admin.names(query).await, ["rich"], "{query}");
    }
    for query in ["", "signed=unsigned", "state=approved&state=deprecated", "q=does"] {
        assert_eq!(admin.names(query).await.len(), 2, "{query}");
    }
    for query in ["min_evidence=proven", "signed=trusted", "tag=fast&tag=slow"] {
        assert_eq!(admin.names(query).await.len(), 0, "{query}");
    }
    let found = admin.get("/v1/agents?q=ric&facets=true").await.ok();
    let hit = &found["agents"][0];
    assert_eq!(hit["matches"][0]["kind"], "prefix");
    assert!(hit["why"][0].as_str().expect("text").contains("begins with `ric`"), "{hit}");
    assert!(found["facets"].as_array().expect("a list").contains(&json!({
        "facet": "provider", "values": [{ "value": "acme", "count": 1 }]
    })));
}

#[tokio::test]
async fn pages_hold_every_agent_once_while_others_change() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    for name in ["b", "d", "f", "h"] {
        admin.add(name, json!({})).await;
    }
    for query in ["page_size=2", "page_size=2&q=does"] {
        let first = admin.get(&format!("/v1/agents?{query}")).await.ok();
        assert_eq!((first["total"].as_u64(), names(&first).len()), (Some(4), 2));
        let token = first["next_page_token"].as_str().expect("there is more");
        let next = format!("/v1/agents?{query}&page_token={token}");
        admin.add("a", json!({ "description": "does does does does" })).await;
        admin.add("g", json!({ "description": "does does does" })).await;
        admin.post("/v1/agents/h:suspend", json!({})).await.ok();
        let second = admin.get(&next).await.ok();
        let all: Vec<String> = names(&first).into_iter().chain(names(&second)).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["b", "d", "f", "h"], "{query}: {all:?}");
        assert!(second.get("next_page_token").is_none());
        let shown = second["agents"].as_array().expect("a list");
        let suspended = shown.iter().find(|hit| hit["agent"]["name"] == "h");
        assert!(
            suspended.is_none_or(|hit| hit["agent"]["standing"] == "suspended"),
            "as it is now"
        );
        let elsewhere =
            admin.get(&format!("/v1/agents?page_size=2&q=other&page_token={token}")).await;
        assert_eq!(elsewhere.problem(), (400, "bad-request"));
        admin.post("/v1/agents/h:approve", json!({})).await.ok();
        for gone in ["a", "g"] {
            admin.call(axum::http::Method::DELETE, &format!("/v1/agents/{gone}"), None).await.ok();
        }
    }
    let approved = "/v1/agents?page_size=1&state=approved";
    let token = admin.get(approved).await.ok()["next_page_token"].clone();
    for gone in ["d", "f"] {
        admin.post(&format!("/v1/agents/{gone}:suspend"), json!({})).await.ok();
    }
    let token = token.as_str().expect("there is more");
    let second =
        admin.get(&format!("{approved}&page_size=2").replace("page_size=1&", "")).await.ok();
    assert_eq!(names(&second), ["b", "h"]);
    let second = admin.get(&format!("{approved}&page_token={token}")).await.ok();
    assert_eq!(names(&second), [""; 0], "what does not fit any more is not shown");
}

#[tokio::test]
async fn a_list_goes_on_after_a_restart() {
    let scene = Scene::new(&[]).await;
    let contract = Contract::of(&scene).await;
    let api = Api { scene: &scene, contract: &contract, key: None };
    for name in ["a", "b", "c"] {
        api.add(name, json!({})).await;
    }
    let first = api.get("/v1/agents?page_size=1").await.ok();
    let token = first["next_page_token"].as_str().expect("there is more").to_owned();
    let scene = scene.restarted().await;
    let api = Api { scene: &scene, contract: &contract, key: None };
    let rest = api.get(&format!("/v1/agents?page_size=5&page_token={token}")).await.ok();
    assert_eq!(names(&rest), ["b", "c"]);
}
