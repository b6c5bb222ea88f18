//! Changing the directory.

use axum::http::Method;
use serde_json::{Value, json};

use super::{Api, caller, card, contract::Contract, guarded};
use crate::scene::{Scene, example};

#[tokio::test]
async fn an_agent_goes_through_its_life_and_every_step_is_kept() {
    let agent = example(examples::Kind::Echo, examples::Options::default()).await;
    let guarded = guarded().await;
    let curator = caller(&guarded, "local", &["agents:curate"]).await;
    let asked = json!({ "url": agent.url, "name": "echo", "dry_run": true });
    assert_eq!(curator.post("/v1/agents", asked.clone()).await.ok()["dry_run"], true);
    assert_eq!(curator.get("/v1/agents/echo").await.problem(), (404, "unknown-agent"));
    let card = json!({ "card": {}, "name": "echo", "catalog": "all" });
    assert_eq!(curator.post("/v1/agents", card).await.problem(), (400, "bad-request"));
    let added = curator.post("/v1/agents", json!({ "url": agent.url, "name": "echo" })).await.ok();
    assert_eq!(added["agents"][0]["standing"], "proposed");
    for (verb, standing) in [
        ("approve", "approved"),
        ("deprecate", "deprecated"),
        ("retire", "retired"),
        ("propose", "proposed"),
        ("suspend", "suspended"),
        ("reject", "rejected"),
    ] {
        let why = json!({ "why": format!("because of {verb}") });
        let moved = curator.post(&format!("/v1/agents/echo:{verb}"), why).await.ok();
        assert_eq!(moved, json!({ "name": "echo", "standing": standing }));
    }
    let record = curator.get("/v1/agents/echo").await.ok();
    let last = record["history"].as_array().expect("a list").last().expect("changes");
    assert_eq!(last["why"], "because of reject");
    let who = last["who"].as_str().expect("text");
    assert!(who.starts_with("local (key "), "{who}");
    assert_eq!(record["versions"][0]["number"], 1);
    let refused = curator.post("/v1/agents/echo:retire", json!({})).await;
    assert_eq!(refused.problem(), (409, "transition"));
    let due = json!({ "review_by": "2999-12-31T00:00:00Z" });
    curator.post("/v1/agents/echo:approve", due.clone()).await.ok();
    assert_eq!(curator.get("/v1/agents/echo").await.ok()["review_by"], "2999-12-31T00:00:00Z");
    odd_requests_are_refused(&curator, due).await;
    let tagged = curator.post("/v1/agents/echo:tag", json!({ "add": ["a", "b"], "remove": ["c"] }));
    assert_eq!(tagged.await.ok()["tags"], json!(["a", "b"]));
    for public in [true, false] {
        let said = curator.post("/v1/agents/echo:publish", json!({ "public": public })).await.ok();
        assert_eq!(said, json!({ "name": "echo", "public": public, "standing": "approved" }));
        assert_eq!(curator.get("/v1/agents/echo").await.ok()["details"]["public"], public);
    }
    let same = curator.post("/v1/agents:refresh", json!({ "names": ["echo"] })).await.ok();
    assert_eq!(same["agents"][0]["outcome"], "unchanged");
    let lint = curator.get("/v1/agents/echo/lint").await.ok();
    let again = curator.post("/v1/agents:lint", json!({ "url": agent.url })).await.ok();
    assert_eq!(lint["agents"][0]["findings"], again["agents"][0]["findings"]);
    let one = curator.get("/v1/agents/echo/diff?to=9").await;
    assert_eq!(one.problem(), (404, "no-version"));
    let gone = curator.call(Method::DELETE, "/v1/agents/echo", None).await.ok();
    assert_eq!(gone, json!({ "name": "echo" }));
    let gone = curator.call(Method::DELETE, "/v1/agents/echo", None).await;
    assert_eq!(gone.problem(), (404, "unknown-agent"));
}

#[tokio::test]
async fn a_catalog_is_applied_compared_and_exported() {
    let guarded = guarded().await;
    let curator = caller(&guarded, "local", &["agents:curate"]).await;
    let apply = async |text: Value| {
        let file = json!({ "name": "theirs.yaml", "text": text.to_string() });
        let files = json!({ "b.json": card("b").to_string() });
        let asked = json!({ "file": file, "files": files, "catalog": "team", "approve": true });
        curator.post("/v1/agents", asked).await
    };
    let both = json!({ "agents": [{ "card": card("a"), "tags": ["x"] }, { "card": "b.json" }] });
    let report = apply(both).await.ok();
    assert_eq!(report["agents"].as_array().map(Vec::len), Some(2));
    let mut lesser = card("a");
    lesser["skills"] = json!([]);
    let report = apply(json!({ "agents": [{ "card": lesser }] })).await.ok();
    let outcomes = report["agents"].as_array().expect("a list").iter();
    let outcomes: Vec<_> = outcomes.map(|it| (&it["name"], &it["outcome"])).collect();
    assert_eq!(outcomes, [(&json!("a"), &json!("changed")), (&json!("b"), &json!("removed"))]);
    let versions = curator.get("/v1/agents/a/versions").await.ok();
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(2));
    assert_eq!(versions["versions"][0]["card"], card("a"));
    let diff = curator.get("/v1/agents/a/diff").await.ok();
    assert!(diff["drift"]["breaking"].is_array(), "{diff}");
    assert_eq!(diff, curator.get("/v1/agents/a/diff?from=1&to=2").await.ok());
    let exported = curator.get("/v1/agents:export").await.ok();
    assert_eq!(exported["agents"][0]["card"], lesser);
    assert_eq!(exported, curator.get("/v1/agents:export?name=a").await.ok());
    let wrong = json!({ "agents": [{ "crd": 1 }, { "url": "ftp://x" }], "extra": true });
    let refused = apply(wrong).await;
    assert_eq!(refused.problem(), (422, "bad-file"));
    let problems = refused.body["problems"].as_array().expect("a list");
    assert_eq!(problems.len(), 4, "{problems:#?}");
    let secrets = json!({ "agents": [
        { "card": card("a"), "credentials": [{ "bearer": { "command": ["id"] } }] }
    ]});
    let refused = apply(secrets).await;
    assert_eq!(refused.body["problems"][0]["code"], "catalog::credentials-from-elsewhere");
    let local = apply(json!({ "agents": [{ "card": "/etc/passwd" }] })).await.ok();
    assert!(local["agents"][0]["what"].as_str().expect("why").contains("did not come along"));
}

#[tokio::test]
async fn a_policy_is_replaced_judges_and_comes_back_as_it_was_given() {
    let guarded = guarded().await;
    let curator = caller(&guarded, "local", &["agents:curate"]).await;
    let asked = json!({ "card": card("a") });
    curator.post("/v1/agents", asked).await.ok();
    let text = "approve: [{origin: file}]\nreview_after_days: 30\nsynonyms: [[doing, acting]]\n";
    let set = async |body: Value| curator.call(Method::PUT, "/v1/policy", Some(body)).await;
    let changed = set(json!({ "file": { "name": "policy.yaml", "text": text } })).await.ok();
    assert_eq!(
        changed["changed"],
        json!([{ "name": "a", "standing": "approved", "signed": "unsigned" }])
    );
    let policy = curator.get("/v1/policy").await.ok();
    assert_eq!(policy["review_after_days"], 30);
    assert_eq!(set(json!({ "policy": policy })).await.ok(), json!({ "changed": [] }));
    assert_eq!(curator.get("/v1/policy").await.ok(), policy);
    assert_eq!(curator.names("tag=acting").await, ["a"]);
    let wrong = "aprove: []\nkeys: {a: {file: /etc/passwd}}\nreview_after_days: -1\n";
    let refused = set(json!({ "file": { "name": "policy.yaml", "text": wrong } })).await;
    assert_eq!(refused.problem(), (422, "bad-file"));
    assert_eq!(refused.body["problems"].as_array().map(Vec::len), Some(3), "{}", refused.body);
    assert_eq!(set(json!({})).await.problem(), (400, "bad-request"));
}

#[tokio::test]
async fn bodies_that_are_no_json_too_large_or_say_two_things_are_refused() {
    let mut settings = server::Settings::default();
    settings.limits.max_body_bytes = 2000;
    let scene = Scene::guarded(&[], settings).await;
    let contract = Contract::of(&scene).await;
    let key = Some(scene.key("local", &["admin"]).await);
    let api = Api { scene: &scene, contract: &contract, key };
    let refused = api.post("/v1/agents", json!({ "url": "x".repeat(3000) })).await;
    assert_eq!(refused.problem(), (413, "too-large"));
    assert!(refused.detail().contains("2000 bytes"), "{}", refused.detail());
    for body in [
        json!({}),
        json!({ "url": "http://x", "card": {} }),
        json!({ "url": "http://x", "catalog": "c" }),
        json!({ "file": { "name": "a", "text": "" }, "name": "x" }),
        json!({ "link": "http://x" }),
        json!([]),
    ] {
        let refused = api.post("/v1/agents", body.clone()).await;
        assert_eq!(refused.problem(), (400, "bad-request"), "{body}");
    }
    let refused = api.post("/v1/agents", json!({ "url": "http://127.0.0.1:9/" })).await;
    assert_eq!(refused.problem(), (422, "bad-card"));
    let refused = api.call(Method::POST, "/v1/agents/x:approve", None).await;
    assert_eq!(refused.problem().0, 415);
    let key = api.key.as_ref().expect("a key").expose();
    let form = format!(
        "POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-API-Key: {key}\r\n\
         Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    let answer = scene.raw(&form).await;
    assert!(answer.starts_with("HTTP/1.1 415"), "a page in a browser can send that: {answer}");
}

#[tokio::test]
async fn what_strangers_wrote_comes_out_as_plain_json() {
    let scene = Scene::new(&[]).await;
    let contract = Contract::of(&scene).await;
    let api = Api { scene: &scene, contract: &contract, key: None };
    let hostile = "</script><b>\u{1b}[31m\u{202e}{{7*7}}\u{0}\r\nX: y";
    api.add("hostile", json!({ "description": hostile })).await;
    let listed = api.get("/v1/agents?q=hostile").await.ok();
    assert_eq!(listed["agents"][0]["agent"]["description"], hostile);
    assert_eq!(api.get("/v1/agents/hostile").await.ok()["card"]["description"], hostile);
    let unknown = api.get("/v1/agents/%3Cb%3E%1B%0D%0AX").await;
    assert_eq!(unknown.problem(), (404, "unknown-agent"));
    assert!(unknown.detail().contains("<b>\u{1b}\r\nX"), "{}", unknown.detail());
}

#[tokio::test]
async fn a_megabyte_in_a_card_is_not_repeated_by_lists() {
    let scene = Scene::new(&[]).await;
    let contract = Contract::of(&scene).await;
    let api = Api { scene: &scene, contract: &contract, key: None };
    let (large, long) = ("l".repeat(1_000_000), "m".repeat(20_000));
    let many: Vec<Value> = (0..300)
        .map(|n| json!({ "id": format!("s{n}"), "name": "s", "description": "s", "tags": [format!("t{n}")] }))
        .collect();
    let skill = json!([{ "id": long, "name": long, "description": "s", "tags": [long] }]);
    api.add("wordy", json!({ "description": large, "skills": skill })).await;
    api.add("able", json!({ "skills": many })).await;
    for query in ["q=mmmm&facets=true", "facets=true"] {
        let listed = api.get(&format!("/v1/agents?{query}")).await.ok();
        let bytes = listed.to_string().len();
        assert!(bytes < 40_000, "{query}: {bytes} bytes");
    }
    let listed = api.get("/v1/agents?tag=t7").await.ok();
    assert_eq!(listed["agents"][0]["agent"]["skills"].as_array().map(Vec::len), Some(200));
    assert_eq!(api.get("/v1/agents/wordy").await.ok()["card"]["description"], large);
}

async fn odd_requests_are_refused(curator: &Api<'_>, due: Value) {
    for (verb, body) in [
        ("suspend", due),
        ("approve", json!({ "review_by": "2001-01-01T00:00:00Z" })),
        ("approve", json!({ "reason": "x" })),
        ("tag", json!({})),
        ("tag", json!({ "add": vec!["x"; 101] })),
        ("tag", json!({ "add": ["x".repeat(101)] })),
        ("tag", json!({ "add": [" "] })),
        ("tag", json!({ "add": ["a\u{1b}[31m"] })),
        ("reject", json!({ "why": "x".repeat(4097) })),
        ("publish", json!({})),
    ] {
        let refused = curator.post(&format!("/v1/agents/echo:{verb}"), body).await;
        assert_eq!(refused.problem(), (400, "bad-request"), "{verb}");
    }
}

#[tokio::test]
async fn a_list_of_values_is_no_object() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    admin.add("a", json!({})).await;
    for (path, body) in [
        ("/v1/agents", json!([null, card("x"), null, {}, null, null, true, false])),
        ("/v1/agents", json!({ "file": ["cards.json", "[]"] })),
        ("/v1/agents:refresh", json!([["a"], true])),
        ("/v1/agents:lint", json!([null, card("x"), null, {}])),
        ("/v1/agents/a:suspend", json!(["why", null])),
        ("/v1/agents/a:tag", json!([["x"], []])),
        ("/v1/agents/a:publish", json!([true])),
        ("/v1/agents", json!({ "file": { "name": "x", "text": "[]", "more": 1 } })),
    ] {
        let said = admin.post(path, body.clone()).await;
        assert_eq!(said.problem(), (400, "bad-request"), "{path} {body}");
    }
    let policy = admin.call(Method::PUT, "/v1/policy", Some(json!([{}, null, {}]))).await;
    assert_eq!(policy.problem(), (400, "bad-request"));
    assert_eq!(admin.get("/v1/agents/a").await.ok()["standing"], "approved");
    assert_eq!(admin.names("").await, ["a"]);
}

#[tokio::test]
async fn a_name_that_is_no_text_is_a_problem_like_any_other() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    for path in ["", "/versions", "/diff", "/lint"] {
        let said = admin.get(&format!("/v1/agents/%ff{path}")).await;
        assert_eq!(said.problem(), (400, "bad-request"), "{path}");
        assert!(said.detail().contains("names no agent"), "{}", said.detail());
    }
    assert_eq!(admin.post("/v1/agents/%ff:approve", json!({})).await.status, 400);
    assert_eq!(admin.call(Method::DELETE, "/v1/agents/%ff", None).await.status, 400);
}

#[tokio::test]
async fn of_two_who_remove_an_agent_one_is_told_that_it_is_gone() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    for _ in 0..10 {
        admin.add("race", json!({})).await;
        let remove = || admin.call(Method::DELETE, "/v1/agents/race", None);
        let (one, other) = tokio::join!(remove(), remove());
        let late = if one.status == 200 { other } else { one };
        assert_eq!(late.problem(), (404, "unknown-agent"));
        assert!(!late.detail().contains("did you mean"), "{}", late.detail());
    }
}
