//! What callers see of the entries of others: nothing but what is public.

use axum::http::Method;
use serde_json::json;

use super::{Api, caller, card, guarded};

/// Takes in one public agent and one that is not, under the operator's hand.
pub(super) async fn open_and_closed(operator: &Api<'_>) {
    let text = json!({ "agents": [
        { "name": "open", "card": card("open"), "public": true, "owner": "Mira", "notes": "sauna",
          "tags": ["shared"], "origins": ["https://secret.example"] },
        { "name": "closed", "card": card("closed"), "tags": ["secret"] },
    ]});
    let file = json!({ "name": "c.yaml", "text": text.to_string() });
    let asked = json!({ "file": file, "catalog": "the-catalog", "approve": true });
    operator.post("/v1/agents", asked).await.ok();
    operator.post("/v1/agents/open:deprecate", json!({ "why": "a reason" })).await.ok();
}

#[tokio::test]
async fn another_account_sees_public_entries_and_nothing_of_all_others() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    open_and_closed(&operator).await;
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    let eve = caller(&guarded, "eve", &["admin"]).await;
    ada.add("hers", json!({})).await;

    assert_eq!(operator.names("").await, ["closed", "open"]);
    assert_eq!(ada.names("").await, ["hers", "open"]);
    assert_eq!(eve.names("").await, ["open"]);
    for query in ["tag=secret", "skill=do-closed", "q=closed", "q=sauna", "q=Mira", "q=hers"] {
        assert_eq!(eve.names(query).await, [""; 0], "{query}");
    }
    let counted = eve.get("/v1/agents?facets=true").await.ok();
    let shown = counted.to_string();
    for hidden in ["closed", "secret", "hers"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    let record = eve.get("/v1/agents/open").await.ok();
    let shown = record.to_string();
    for hidden in ["Mira", "sauna", "secret", "a reason", "(key", "the-catalog"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    assert_eq!(record["standing"], "deprecated");
    assert_eq!(record["details"]["tags"], json!(["shared"]));
}

#[tokio::test]
async fn an_entry_of_another_is_what_one_that_is_nowhere_is() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    open_and_closed(&operator).await;
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    let eve = caller(&guarded, "eve", &["admin"]).await;
    ada.add("hers", json!({})).await;
    for path in ["", "/versions", "/diff", "/lint"] {
        for hidden in ["closed", "hers"] {
            let said = eve.get(&format!("/v1/agents/{hidden}{path}")).await;
            let nowhere = eve.get(&format!("/v1/agents/nowhere{path}")).await;
            assert_eq!(said.problem(), (404, "unknown-agent"), "{path}");
            assert_eq!(said.detail().replace(hidden, "nowhere"), nowhere.detail(), "{path}");
        }
    }
    let near = eve.get("/v1/agents/close").await;
    assert!(!near.detail().contains("closed"), "{}", near.detail());
    for verb in ["approve", "tag"] {
        let body = if verb == "tag" { json!({ "add": ["x"] }) } else { json!({}) };
        let hidden = eve.post(&format!("/v1/agents/closed:{verb}"), body.clone()).await;
        assert_eq!(hidden.problem(), (404, "unknown-agent"));
        let public = eve.post(&format!("/v1/agents/open:{verb}"), body).await;
        assert_eq!(public.problem(), (403, "not-yours"));
    }
    for (name, problem) in [("closed", (404, "unknown-agent")), ("open", (403, "not-yours"))] {
        let path = format!("/v1/agents/{name}");
        assert_eq!(eve.call(Method::DELETE, &path, None).await.problem(), problem);
        let refreshed = eve.post("/v1/agents:refresh", json!({ "names": [name] })).await;
        assert_eq!(refreshed.problem(), problem);
    }
    assert_eq!(eve.get("/v1/agents:export").await.ok(), json!({ "agents": [] }));

    // A name is free in every account, and one's own counts before a public one.
    eve.add("closed", json!({ "description": "Eve's." })).await;
    eve.add("open", json!({ "description": "Eve's." })).await;
    assert_eq!(eve.get("/v1/agents/open").await.ok()["card"]["description"], "Eve's.");
    assert_eq!(operator.get("/v1/agents/open").await.ok()["card"]["description"], "Does open.");
    assert_eq!(operator.names("").await, ["closed", "open"]);
    assert_eq!(ada.names("q=hers").await, ["hers"]);
}

#[tokio::test]
async fn readers_see_no_places_of_credentials_and_policies_are_of_their_account() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    let text = json!({ "agents": [{ "card": card("a"), "origins": ["https://other.example"] }] });
    let file = json!({ "name": "c.yaml", "text": text.to_string() });
    operator.post("/v1/agents", json!({ "file": file })).await.ok();
    let shown = operator.get("/v1/agents/a").await.ok();
    assert_eq!(shown["details"]["origins"], json!(["https://other.example"]));
    let reader = caller(&guarded, "local", &["agents:read"]).await;
    assert_eq!(reader.get("/v1/agents/a").await.ok()["details"]["origins"], json!([]));
    assert!(!reader.get("/v1/agents:export").await.ok().to_string().contains("other.example"));
    let ada = caller(&guarded, "ada", &["agents:curate"]).await;
    let policy = json!({ "policy": { "approve": [{ "origin": "file" }] } });
    ada.call(Method::PUT, "/v1/policy", Some(policy)).await.ok();
    assert_eq!(operator.get("/v1/policy").await.ok()["approve"], json!([]));
    assert_eq!(operator.get("/v1/agents/a").await.ok()["standing"], "proposed");
}

#[tokio::test]
async fn other_names_of_an_entry_are_its_account_s_affair() {
    let guarded = guarded().await;
    let operator = caller(&guarded, "local", &["admin"]).await;
    let text = json!({ "agents": [
        { "name": "open", "card": card("open"), "public": true, "aliases": ["nickname"] },
        { "name": "closed", "card": card("closed"), "aliases": ["alias"] },
    ]});
    let file = json!({ "name": "c.yaml", "text": text.to_string() });
    operator.post("/v1/agents", json!({ "file": file, "approve": true })).await.ok();
    let eve = caller(&guarded, "eve", &["admin"]).await;
    let nowhere = eve.get("/v1/agents/nowhere").await.detail().to_owned();
    for hidden in ["alias", "nickname", "closed"] {
        let said = eve.get(&format!("/v1/agents/{hidden}")).await;
        assert_eq!(said.problem(), (404, "unknown-agent"), "{hidden}");
        assert_eq!(said.detail().replace(hidden, "nowhere"), nowhere, "{hidden}");
        let decided = eve.post(&format!("/v1/agents/{hidden}:approve"), json!({})).await;
        assert_eq!(decided.problem(), (404, "unknown-agent"), "{hidden}");
    }
    let near = eve.get("/v1/agents/nicknam").await;
    assert!(!near.detail().contains("nickname"), "{}", near.detail());
    let shown = eve.get("/v1/agents/open").await.ok();
    assert_eq!(shown["details"]["aliases"], json!([]));
    assert_eq!(eve.names("q=nickname").await, [""; 0]);
    assert_eq!(operator.get("/v1/agents/nickname").await.ok()["name"], "open");

    // What an account calls its own is its own, whatever others have by that name.
    let text = json!({ "agents": [
        { "name": "mine", "card": card("mine"), "aliases": ["open", "alias", "closed"] },
    ]});
    let file = json!({ "name": "c.yaml", "text": text.to_string() });
    let added = eve.post("/v1/agents", json!({ "file": file })).await.ok();
    assert_eq!(added["agents"][0]["outcome"], "added", "{added}");
    for own in ["open", "alias", "closed"] {
        assert_eq!(eve.get(&format!("/v1/agents/{own}")).await.ok()["name"], "mine", "{own}");
    }
    assert_eq!(eve.names("").await, ["mine", "open"]);
    operator.post("/v1/agents/open:publish", json!({ "public": false })).await.ok();
    assert_eq!(eve.names("").await, ["mine"], "what was made of an earlier index is not kept");
}
