//! `convoke agents`: policies, standings, versions, tags, lint and export.

use std::sync::{Arc, Mutex};

use axum::{Json, response::IntoResponse as _};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card},
    convoke::Convoke,
};

use crate::steady;

/// An agent whose card can be changed, in a directory of its own.
struct Scene {
    agent: Scripted,
    change: Arc<Mutex<Value>>,
    convoke: Convoke,
}

impl Scene {
    async fn new() -> Self {
        let change = Arc::new(Mutex::new(json!({})));
        let changed = Arc::clone(&change);
        let agent = Scripted::with_card(move |url| {
            let mut card = card("Agent", url);
            let members = changed.lock().expect("not poisoned").clone();
            card.as_object_mut()
                .expect("an object")
                .extend(members.as_object().expect("an object").clone());
            Json(card).into_response()
        })
        .await;
        Self { agent, change, convoke: Convoke::default() }
    }

    async fn added(flags: &[&str]) -> Self {
        let scene = Self::new().await;
        let args = ["agents", "add", &scene.agent.url, "--name", "it"];
        let _added = scene.convoke.run(args.iter().chain(flags)).await.exits(0);
        scene
    }

    fn serve(&self, change: Value) {
        *self.change.lock().expect("not poisoned") = change;
    }

    async fn said(&self, args: &[&str]) -> String {
        self.convoke.run(args).await.exits(0).stdout
    }

    async fn record(&self) -> Value {
        self.convoke.run(["--json", "agents", "show", "it"]).await.exits(0).json()
    }

    async fn standing(&self) -> Value {
        let listed = self.convoke.run(["--json", "agents", "list"]).await.exits(0).json();
        listed[0]["standing"].clone()
    }
}

#[tokio::test]
async fn a_card_that_changed_is_looked_at_again_compared_and_judged() {
    let scene = Scene::added(&["--approve"]).await;
    let same = scene.said(&["agents", "refresh"]).await;
    scene.serve(json!({ "description": "Says it another way." }));
    let tried = scene.said(&["agents", "refresh", "it", "--dry-run"]).await;
    assert_eq!(scene.record().await["version"], 1);
    let worded = scene.said(&["agents", "refresh", "it"]).await;
    let words = scene.said(&["agents", "diff", "it"]).await;
    scene.serve(json!({ "skills": [] }));
    let lost = scene.said(&["agents", "refresh"]).await;
    let skills = scene.said(&["agents", "diff", "it", "--from", "1"]).await;
    assert_eq!(scene.standing().await, "proposed");
    let pair = ["--json", "agents", "diff", "it", "--from", "1", "--to", "2"];
    let difference = scene.convoke.run(pair).await.exits(0).json();
    assert_eq!((&difference["from"], &difference["to"]), (&json!(1), &json!(2)));
    assert_eq!(difference["drift"], "cosmetic");
    let unknown = scene.convoke.run(["agents", "diff", "it", "--to", "9"]).await;
    let _steady = steady();
    assert_snapshot!(format!("{same}{tried}{worded}{words}{lost}{skills}{}", unknown.complaint()), @r#"
    unchanged it (approved)
    0 added, 0 changed, 1 unchanged, 0 removed
    changed   it (card: only words; approved)
    0 added, 1 changed, 0 unchanged, 0 removed (nothing was written)
    changed   it (card: only words; approved)
    0 added, 1 changed, 0 unchanged, 0 removed
    it version 1 → 2: cosmetic
      ~ /description: "Does what its test says." → "Says it another way."
    changed   it (card: skill `act` was removed, was approved; proposed)
              error card::no-skills at /skills: the card names no skill; without skills the agent can only be selected by its name; its author has to add them
    0 added, 1 changed, 0 unchanged, 0 removed
    it version 1 → 3: breaking
      ! skill `act` was removed
      - /skills/act: {"description":"Acts.","id":"act","name":"Act","tags":["acting"]}
    exit 2
    error: version 9 of the card of `it` is not kept; there are versions 1 to 3
    "#);
}

#[tokio::test]
async fn every_decision_is_made_and_told() {
    let scene = Scene::added(&[]).await;
    let steps = [
        (["approve", "approved"], "it is approved\n"),
        (["deprecate", "deprecated"], "it is deprecated\n"),
        (["retire", "retired"], "it is retired\n"),
        (["propose", "proposed"], "it is proposed\n"),
        (["suspend", "suspended"], "it is suspended\n"),
        (["reject", "rejected"], "it is rejected\n"),
    ];
    for ([verb, standing], told) in steps {
        let why = format!("because of {verb}");
        assert_eq!(scene.said(&["agents", verb, "it", "--why", &why]).await, told);
        assert_eq!(scene.standing().await, standing);
        let record = scene.record().await;
        let last = record["history"].as_array().expect("a list").last().expect("changes").clone();
        assert_eq!((&last["to"], &last["why"]), (&json!(standing), &json!(why)));
    }
    let refused = scene.convoke.run(["agents", "retire", "it"]).await;
    assert_snapshot!(refused.complaint(), @r"
    exit 1
    error: `it` stays as it is: an agent that is rejected cannot become retired; it can become proposed, approved or suspended
    ");
}

#[tokio::test]
async fn an_approval_has_its_day_of_review() {
    let scene = Scene::added(&[]).await;
    let told = scene.said(&["agents", "approve", "it", "--review-by", "2999-12-31"]).await;
    assert_eq!(told, "it is approved\n");
    let due = scene.record().await["review_by"].as_str().expect("a time").to_owned();
    assert!(due.starts_with("2999-12-31T") || due.starts_with("3000-01-01T"), "{due}");
    assert!(scene.said(&["agents", "show", "it"]).await.contains("to be reviewed by"));
    let over = scene.convoke.run(["agents", "approve", "it", "--review-by", "2001-01-01"]).await;
    assert_snapshot!(over.complaint(), @r"
    exit 2
    error: --review-by 2001-01-01 is over; name a day to come
    ");
}

#[tokio::test]
async fn a_policy_decides_without_asking_and_can_be_shown_and_applied_again() {
    let scene = Scene::new().await;
    let origin = scene.agent.url.trim_end_matches('/');
    let policy = format!(
        "approve:\n- origin: {origin}\nreview_after_days: 30\nsynonyms:\n- [talk, acting]\n"
    );
    scene.convoke.write("policy.yaml", &policy);
    let set = scene.said(&["agents", "policy", "policy.yaml"]).await;
    assert_eq!(set, "the policy is in force\n");
    let added = scene.said(&["agents", "add", &scene.agent.url, "--name", "it"]).await;
    assert!(added.contains("it (approved)"), "{added}");
    let record = scene.record().await;
    assert_eq!(record["history"][1]["who"], "policy");
    assert!(record["review_by"].is_string());
    let shown = scene.said(&["agents", "policy"]).await;
    scene.convoke.write("again.yaml", &shown);
    let again = scene.convoke.run(["--json", "agents", "policy", "again.yaml"]).await.exits(0);
    assert_eq!(again.json(), json!({ "changed": [] }));
    scene.convoke.write("policy.yaml", "approve: [{origin: nowhere}]\nkey: 1\n");
    let wrong = scene.convoke.run(["agents", "policy", "policy.yaml"]).await;
    let _steady = steady();
    assert_snapshot!(format!("{shown}{}", wrong.complaint()), @r"
    keys: {}
    approve:
    - origin: http://127.0.0.1:PORT
    keep_approval:
    - cosmetic
    - additive
    review_after_days: 30
    synonyms:
    - - talk
      - acting
    exit 2
    policy::origin

      × `nowhere` names no origin; write scheme, host and port, as in `https://api.example.com:8443`
       ╭─[policy.yaml:1:20]
     1 │ approve: [{origin: nowhere}]
       ·                    ───────
     2 │ key: 1
       ╰────

    policy::unknown-key

      × a policy has no key `key`
       ╭─[policy.yaml:2:1]
     1 │ approve: [{origin: nowhere}]
     2 │ key: 1
       · ─┬─
       ·  ╰── unknown key
       ╰────
      help: did you mean `keys`?
    ");
}

#[tokio::test]
async fn tags_of_the_curator_are_given_found_and_taken() {
    let scene = Scene::added(&["--approve"]).await;
    assert_eq!(scene.said(&["agents", "tag", "it", "fast", "cheap"]).await, "it: fast, cheap\n");
    let found = scene.convoke.run(["--json", "agents", "list", "--tag", "FAST"]).await.exits(0);
    assert_eq!(found.json().as_array().map(Vec::len), Some(1));
    let taken = ["--json", "agents", "tag", "it", "--remove", "fast"];
    let taken = scene.convoke.run(taken).await.exits(0).json();
    assert_eq!(taken, json!({ "name": "it", "tags": ["cheap"] }));
    let nothing = scene.convoke.run(["agents", "tag", "it"]).await;
    assert_snapshot!(nothing.complaint(), @r"
    exit 2
    error: name a tag to give, or one to take away with --remove
    ");
}

#[tokio::test]
async fn a_category_is_found_and_notes_are_until_they_are_out_of_date() {
    let convoke = Convoke::default();
    let count = async |args: &[&str]| {
        let args = ["--json", "agents"].iter().chain(args);
        convoke.run(args).await.exits(0).json().as_array().map(Vec::len)
    };
    let apply = async |day: &str| {
        convoke.write("card.json", card("it", "http://127.0.0.1:1/").to_string());
        let entry = format!(
            "{{card: card.json, name: it, category: Wellness, notes: Has a sauna., notes_review_by: {day}}}"
        );
        convoke.write("catalog.yaml", format!("agents: [{entry}]\n"));
        convoke.run(["agents", "apply", "catalog.yaml", "--approve"]).await.exits(0).stdout
    };
    let _applied = apply("2999-12-31").await;
    assert_eq!(count(&["list", "--category", "wellness"]).await, Some(1));
    assert_eq!(count(&["list", "--category", "other"]).await, Some(0));
    assert_eq!(count(&["search", "wellness"]).await, Some(1), "its words are searched");
    assert_eq!(count(&["search", "sauna"]).await, Some(1));
    let show = async || convoke.run(["agents", "show", "it"]).await.exits(0).stdout;
    let shown = show().await;
    assert!(shown.contains("  category Wellness\n  notes Has a sauna.\n"), "{shown}");
    let again = apply("2020-12-31").await;
    assert!(again.contains("changed   it (notes_review_by; approved)"), "{again}");
    assert_eq!(count(&["search", "sauna"]).await, Some(0));
    let shown = show().await;
    assert!(shown.contains("  notes (out of date, to be reviewed) Has a sauna.\n"), "{shown}");
    let exported = convoke.run(["agents", "export"]).await.exits(0).stdout;
    for line in ["category: Wellness", "notes_review_by: 2020-12-31"] {
        assert!(exported.contains(line), "{exported}");
    }
}

#[tokio::test]
async fn a_card_is_linted_by_url_name_and_file() {
    let scene = Scene::added(&[]).await;
    let clean = scene.said(&["agents", "lint", "it"]).await;
    scene.serve(json!({ "skills": [] }));
    let by_url = scene.convoke.run(["agents", "lint", &scene.agent.url]).await;
    assert_eq!(by_url.code, 1);
    let mut idle = card("x", &scene.agent.url);
    idle["skills"] = json!([]);
    scene.convoke.write("card.json", json!([idle, { "name": "y" }]).to_string());
    let by_file =
        scene.convoke.run(["--json", "agents", "lint", "card.json"]).await.exits(1).json();
    assert_eq!(by_file[0]["findings"][0]["code"], "card::no-skills");
    assert_eq!(by_file[1]["findings"][0]["code"], "card::unreadable");
    let listed = scene.convoke.run(["--json", "agents", "list"]).await.exits(0).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "lint takes nothing in");
    let _steady = steady();
    assert_snapshot!(format!("{clean}{}", by_url.stdout), @r"
    it nothing to be better at
    Agent
      error card::no-skills at /skills: the card names no skill; without skills the agent can only be selected by its name; its author has to add them
    ");
}

#[tokio::test]
async fn what_is_exported_can_be_applied_elsewhere() {
    let scene = Scene::added(&["--approve"]).await;
    let _tagged = scene.said(&["agents", "tag", "it", "fast"]).await;
    let catalog = scene.said(&["agents", "export"]).await;
    let other = Convoke::default();
    other.write("catalog.yaml", &catalog);
    let _applied = other.run(["agents", "apply", "catalog.yaml"]).await.exits(0);
    let there = other.run(["--json", "agents", "show", "it"]).await.exits(0).json();
    let here = scene.record().await;
    assert_eq!((&there["card"], &there["details"]), (&here["card"], &here["details"]));
    let one = scene.convoke.run(["--json", "agents", "export", "it"]).await.exits(0).json();
    assert_eq!(one["agents"].as_array().map(Vec::len), Some(1));
    let _none = scene.convoke.run(["agents", "export", "nobody"]).await.exits(2);
    let _steady = steady();
    assert_snapshot!(catalog, @r"
    agents:
    - name: it
      tags:
      - fast
      url: http://127.0.0.1:PORT
    ");
}

#[tokio::test]
async fn agents_are_found_by_every_condition_and_counted() {
    let scene = Scene::new().await;
    scene.serve(json!({
        "provider": { "organization": "Acme", "url": "https://acme.example" },
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/csv"],
        "defaultOutputModes": ["image/png"],
    }));
    let args = ["agents", "add", &scene.agent.url, "--name", "it", "--approve"];
    let _added = scene.convoke.run(args).await.exits(0);
    let fits = [
        ["--any-tag", "acting"],
        ["--provider", "acme"],
        ["--input-mode", "text/csv"],
        ["--output-mode", "image/png"],
        ["--binding", "jsonrpc"],
        ["--a2a", "1.0"],
        ["--capability", "streaming"],
        ["--state", "approved"],
        ["--signed", "unsigned"],
        ["--limit", "1"],
    ];
    let fails = [
        ["--any-tag", "other"],
        ["--provider", "other"],
        ["--input-mode", "text/plain"],
        ["--output-mode", "text/plain"],
        ["--binding", "grpc"],
        ["--a2a", "0.3"],
        ["--capability", "push_notifications"],
        ["--state", "rejected"],
        ["--signed", "trusted"],
        ["--min-evidence", "proven"],
    ];
    let count = async |flags: &[&str]| {
        let args = ["--json", "agents", "list"].iter().chain(flags);
        let listed = scene.convoke.run(args).await.exits(0).json();
        listed.as_array().map(Vec::len)
    };
    for flags in fits {
        assert_eq!(count(&flags).await, Some(1), "{flags:?}");
    }
    for flags in fails {
        assert_eq!(count(&flags).await, Some(0), "{flags:?}");
    }
    let counted = scene.convoke.run(["--json", "agents", "list", "--facets"]).await.exits(0).json();
    assert_eq!(counted["facets"]["provider"], json!({ "acme": 1 }));
    assert_eq!(counted["total"], 1);
    let odd = scene.convoke.run(["agents", "list", "--state", "fine"]).await;
    assert_snapshot!(odd.complaint(), @r"
    exit 2
    error: invalid value 'fine' for '--state <STANDING>': it is one of proposed, approved, deprecated, retired, rejected, suspended

    For more information, try '--help'.
    ");
}
