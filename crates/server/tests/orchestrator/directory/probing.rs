//! Looking at agents over the API, and by itself in the directories of all accounts.

use examples::{Kind, Options, Running};
use serde_json::{Value, json};
use server::Settings;

use super::{Api, caller, contract::Contract, guarded};
use crate::scene::{Scene, example, soon};

async fn conformance() -> Running {
    example(Kind::Conformance, Options::default()).await
}

/// Takes in an agent, approved and, where it is wanted, for all to see.
async fn take_in(api: &Api<'_>, agent: &Running, name: &str, is_public: bool) {
    let asked = json!({ "url": agent.url, "name": name, "approve": true });
    api.post("/v1/agents", asked).await.ok();
    if is_public {
        api.post(&format!("/v1/agents/{name}:publish"), json!({ "public": true })).await.ok();
    }
}

#[tokio::test]
async fn a_curator_has_its_agents_probed_and_nobody_elses() {
    let (agent, guarded) = (conformance().await, guarded().await);
    let operator = caller(&guarded, "local", &["admin"]).await;
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    take_in(&operator, &agent, "open", true).await;
    take_in(&operator, &agent, "closed", false).await;
    for api in [&operator, &ada] {
        take_in(api, &agent, "own", false).await;
        let probed = api.post("/v1/agents:probe", json!({ "names": ["own"] })).await.ok();
        assert_eq!(probed["agents"].as_array().map(Vec::len), Some(1), "{probed}");
        let it = &probed["agents"][0];
        assert_eq!((&it["name"], &it["probe"]["tier"]), (&json!("own"), &json!("conformant")));
        let shown = api.get("/v1/agents/own").await.ok();
        assert_eq!(shown["evidence"]["seen"], it["evidence"]);
    }
    let all = ada.post("/v1/agents:probe", json!({})).await.ok();
    assert_eq!(all["agents"].as_array().map(Vec::len), Some(1), "her own: {all}");
    let open = ada.post("/v1/agents:probe", json!({ "names": ["open"] })).await;
    assert_eq!(open.problem(), (403, "not-yours"));
    for hidden in ["closed", "nowhere"] {
        let said = ada.post("/v1/agents:probe", json!({ "names": [hidden] })).await;
        assert_eq!(said.problem(), (404, "unknown-agent"), "{hidden}");
    }
    assert_eq!(operator.get("/v1/agents/closed").await.ok()["evidence"]["seen"], Value::Null);
    assert_eq!(agent.calls.count(), 0, "no Message was sent");
}

#[tokio::test]
async fn an_extended_card_is_for_the_curators_of_its_entry() {
    let (agent, guarded) = (conformance().await, guarded().await);
    let operator = caller(&guarded, "local", &["agents:curate"]).await;
    take_in(&operator, &agent, "open", true).await;
    let extended = operator.get("/v1/agents/open/extended").await.ok();
    let skills = extended["skills"].as_array().expect("a list");
    assert!(skills.iter().any(|skill| skill["id"] == "extended"), "{extended}");
    let shown = operator.get("/v1/agents/open").await.ok();
    assert!(!shown.to_string().contains("\"extended\""), "it is kept nowhere: {shown}");
    let reader = caller(&guarded, "local", &["agents:read"]).await;
    assert_eq!(reader.get("/v1/agents/open/extended").await.problem(), (403, "scope"));
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    assert_eq!(ada.get("/v1/agents/open/extended").await.problem(), (403, "not-yours"));
    assert_eq!(ada.get("/v1/agents/nowhere/extended").await.problem(), (404, "unknown-agent"));
    let echo = example(Kind::Echo, Options::default()).await;
    take_in(&ada, &echo, "echo", false).await;
    assert_eq!(ada.get("/v1/agents/echo/extended").await.problem(), (502, "unanswered"));
}

#[tokio::test]
async fn agents_of_every_account_are_probed_by_themselves_also_after_a_restart() {
    let agent = conformance().await;
    let scene = Scene::probing(Settings::default()).await;
    let contract = Contract::of(&scene).await;
    let both = (scene, contract);
    let seen = async |api: &Api<'_>| api.get("/v1/agents/own").await.ok()["evidence"].clone();
    for account in ["local", "ada"] {
        let api = caller(&both, account, &["agents:curate"]).await;
        take_in(&api, &agent, "own", false).await;
        soon("a probe", async { while seen(&api).await["seen"]["tier"] != "conformant" {} }).await;
    }
    let (scene, contract) = both;
    let both = (scene.restarted().await, contract);
    // Nobody of the account has called the server since.
    let before = jiff::Timestamp::now().to_string();
    let api = caller(&both, "ada", &["agents:read"]).await;
    soon("a probe", async {
        loop {
            let seen = seen(&api).await;
            let last = seen["probes"].as_array().and_then(|all| all.last()).cloned();
            if last.is_some_and(|it| it["at"].as_str() > Some(before.as_str())) {
                return;
            }
        }
    })
    .await;
    assert_eq!(agent.calls.count(), 0, "no Message was sent");
}
