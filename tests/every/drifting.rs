//! A card of a live agent changes in every way that matters, and each is told for what it is.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, response::IntoResponse as _};
use examples::{Kind, Options};
use insta::assert_snapshot;
use protocol::{
    signature::{Algorithm, Headers, SigningKey, sign},
    v1::TaskState,
};
use serde_json::{Value, json};
use tests::{
    PATIENCE,
    agent::{Scripted, card, example},
    convoke::Convoke,
};

use crate::{
    served::{Served, client_of, said},
    steady,
};

type Edit = fn(&mut Value);

/// An agent that is approved, and whose card is replaced while it runs.
struct Live {
    agent: Scripted,
    card: Arc<Mutex<Value>>,
    convoke: Convoke,
}

impl Live {
    /// Starts the agent with a policy and this in its card.
    async fn approved(policy: &str, made: impl FnOnce(Value) -> Value) -> Live {
        let card = Arc::new(Mutex::new(Value::Null));
        let served = Arc::clone(&card);
        let agent = Scripted::with_card(move |_| {
            Json(served.lock().expect("not poisoned").clone()).into_response()
        })
        .await;
        let live = Live { agent, card, convoke: Convoke::default() };
        live.serve(made(live.base()));
        live.convoke.write("policy.yaml", policy);
        let _set = live.convoke.run(["agents", "policy", "policy.yaml"]).await.exits(0);
        let add = ["agents", "add", &live.agent.url, "--name", "it", "--approve"];
        let _added = live.convoke.run(add).await.exits(0);
        live
    }

    fn base(&self) -> Value {
        let mut card = card("Agent", &self.agent.url);
        let rest = json!({"id": "rest", "name": "Rest", "description": "Rests.", "tags": ["rest"]});
        card["skills"].as_array_mut().expect("a list").push(rest);
        card["securitySchemes"] =
            json!({"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}});
        card["securityRequirements"] = json!([{"schemes": {"key": {"list": []}}}]);
        card
    }

    fn serve(&self, card: Value) {
        *self.card.lock().expect("not poisoned") = card;
    }

    fn edit(&self, edit: Edit) {
        edit(&mut self.card.lock().expect("not poisoned"));
    }

    /// What `agents refresh` and `agents diff` say, and how the agent stands then.
    async fn told(&self) -> String {
        let refreshed = self.convoke.run(["agents", "refresh", "it"]).await.exits(0).stdout;
        let first = refreshed.lines().next().expect("a line").to_owned();
        let diff = self.convoke.run(["agents", "diff", "it"]).await.exits(0).stdout;
        let record = self.convoke.run(["--json", "agents", "show", "it"]).await.exits(0).json();
        let last = record["history"].as_array().and_then(|it| it.last()).expect("a change").clone();
        format!("{first}\n{diff}{} by {}: {}\n\n", last["to"], last["who"], last["why"])
    }
}

const EDITS: [Edit; 5] = [
    |card| card["description"] = json!("Does it in other words."),
    |card| {
        let more = json!({"id": "more", "name": "More", "description": "More.", "tags": ["more"]});
        card["skills"].as_array_mut().expect("a list").push(more);
    },
    |card| drop(card["skills"].as_array_mut().expect("a list").pop()),
    |card| card["supportedInterfaces"][0]["url"] = json!("https://elsewhere.example/a2a"),
    |card| card["securityRequirements"] = json!([]),
];

fn signed(mut card: Value, key: &SigningKey, id: &str) -> Value {
    card.as_object_mut().expect("an object").remove("signatures");
    let mut card = protocol::card::read(&card).expect("a card");
    let headers = Headers { key_id: Some(id.to_owned()), ..Headers::default() };
    sign(&mut card, key, &headers).expect("it can be signed");
    serde_json::to_value(card).expect("a card has only text keys")
}

#[tokio::test]
async fn six_ways_in_which_a_card_changes_and_what_becomes_of_the_approval() {
    let mut told = String::new();
    for edit in EDITS {
        let live = Live::approved("", |card| card).await;
        live.edit(edit);
        told.push_str(&live.told().await);
    }
    let keys = ["acme", "other"].map(|name| {
        let (key, _) = SigningKey::generate(Algorithm::Es256).expect("a key");
        let headers = Headers { key_id: Some(name.to_owned()), ..Headers::default() };
        let public = key.public_keys(&headers).expect("it has a public half");
        (key, json!({ "text": public }))
    });
    let pinned = json!({ "keys": { "acme": keys[0].1, "other": keys[1].1 } }).to_string();
    let live = Live::approved(&pinned, |card| signed(card, &keys[0].0, "acme")).await;
    live.serve(signed(live.base(), &keys[1].0, "other"));
    told.push_str(&live.told().await);
    let _steady = steady();
    assert_snapshot!(told, @r#"
    changed   it (card: only words; approved)
    it version 1 → 2: cosmetic
      ~ /description: "Does what its test says." → "Does it in other words."
    "approved" by "tester": ""

    changed   it (card: other abilities, none gone; approved)
    it version 1 → 2: additive
      + /skills/more: {"description":"More.","id":"more","name":"More","tags":["more"]}
    "approved" by "tester": ""

    changed   it (card: skill `rest` was removed, was approved; proposed)
    it version 1 → 2: breaking
      ! skill `rest` was removed
      - /skills/rest: {"description":"Rests.","id":"rest","name":"Rest","tags":["rest"]}
    "proposed" by "tester": "the card changed: skill `rest` was removed"

    changed   it (card: an interface is now on `https://elsewhere.example`, the JSONRPC interface `http://127.0.0.1:PORT` was removed or changed, was approved; proposed)
    it version 1 → 2: breaking
      ! an interface is now on `https://elsewhere.example`
      ! the JSONRPC interface `http://127.0.0.1:PORT` was removed or changed
      - /supportedInterfaces/http:~1~1127.0.0.1:PORT: {"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"http://127.0.0.1:PORT"}
      + /supportedInterfaces/https:~1~1elsewhere.example~1a2a: {"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://elsewhere.example/a2a"}
    "proposed" by "tester": "the card changed: an interface is now on `https://elsewhere.example`, the JSONRPC interface `http://127.0.0.1:PORT` was removed or changed"

    changed   it (card: the security requirements changed, was approved; proposed)
    it version 1 → 2: breaking
      ! the security requirements changed
      ~ /securityRequirements: [{"schemes":{"key":{"list":[]}}}] → []
    "proposed" by "tester": "the card changed: the security requirements changed"

    changed   it (card: it was signed by acme (trusted) and is now signed by other (trusted), signatures, was approved; proposed)
    it version 1 → 2: breaking
      ! it was signed by acme (trusted) and is now signed by other (trusted)
      ~ /signatures
    "proposed" by "tester": "the card changed: it was signed by acme (trusted) and is now signed by other (trusted)"
    "#);
}

#[tokio::test]
async fn a_policy_says_which_changes_keep_an_approval() {
    let standing = async |live: &Live| {
        let _refreshed = live.convoke.run(["agents", "refresh"]).await.exits(0);
        let listed = live.convoke.run(["--json", "agents", "list"]).await.exits(0).json();
        listed[0]["standing"].as_str().unwrap_or_default().to_owned()
    };
    let [worded, more, ..] = EDITS;
    for (policy, after_words, after_more) in [
        ("", "approved", "approved"),
        ("keep_approval: [cosmetic]", "approved", "proposed"),
        ("keep_approval: []", "proposed", "proposed"),
    ] {
        let live = Live::approved(policy, |card| card).await;
        live.edit(worded);
        assert_eq!(standing(&live).await, after_words, "{policy}");
        live.edit(more);
        assert_eq!(standing(&live).await, after_more, "{policy}");
    }
}

#[tokio::test]
async fn a_run_keeps_the_version_of_an_agent_that_it_was_bound_to_and_the_next_is_not_bound() {
    let live = Live::approved("{}", |card| {
        let mut card = card;
        card["securityRequirements"] = json!([]);
        card
    })
    .await;
    let delay = Duration::from_secs(2);
    let slow = example(Kind::Slow, Options { delay, ..Options::default() }).await;
    let file = format!(
        "convoke: 1\nname: w\nagents: {{slow: {{url: \"{}\"}}}}\nsteps:\n  wait: {{agent: slow, message: Hello.}}\n  \
         a: {{agent: it, message: Hello., needs: [wait]}}\n",
        slow.url
    );
    live.convoke.write("workflows/w.yaml", file);
    let served = Served::start(&live.convoke).await;
    let _task = served.send(said("go"), true).await;
    let agent = client_of(&slow.url);
    let has_begun = async {
        while agent.list_tasks(Default::default(), PATIENCE).await.expect("a page").tasks.is_empty()
        {
        }
    };
    tokio::time::timeout(PATIENCE, has_begun).await.expect("the first step has begun");
    live.edit(EDITS[2]);
    let refresh = ["agents", "refresh", "it", "--server", &served.url];
    let refreshed = live.convoke.run(refresh).await.exits(0).stdout;
    assert!(refreshed.contains("was approved; proposed"), "{refreshed}");
    live.agent.until("SendStreamingMessage", 1).await;
    let next = served.send(said("go"), true).await;
    assert_eq!(next.state(), TaskState::Rejected, "{next:?}");
    assert_eq!(live.agent.received("SendStreamingMessage").len(), 1, "as it was bound, and once");
    served.process.kill().await;
}

#[tokio::test]
async fn a_locked_run_refuses_every_kind_of_change_and_names_it() {
    let live = Live::approved("{}", |card| card).await;
    let file = format!(
        "convoke: 1\nname: locked\nagents: {{it: {{url: \"{}\"}}}}\nsteps: {{a: {{agent: it, message: Hello.}}}}\n",
        live.agent.url
    );
    live.convoke.write("locked.yaml", file);
    let locked = live.convoke.run(["plan", "--lock", "locked.yaml"]).await.exits(0);
    assert_eq!(locked.stderr, "wrote locked.lock.yaml: steps 1, agents 1\n");
    let again = live.convoke.run(["plan", "--lock", "locked.yaml"]).await.exits(0);
    assert_eq!(again.stderr, "locked.lock.yaml stays as it is\n");
    let planned = live.convoke.run(["plan", "locked.yaml"]).await.exits(0);
    assert!(planned.stdout.contains("locked by locked.lock.yaml"), "{}", planned.stdout);
    let signer: Edit = |card| {
        let (key, _) = SigningKey::generate(Algorithm::Es256).expect("a key");
        *card = signed(card.clone(), &key, "theirs");
    };
    let named = [
        "~ /description",
        "+ /skills/more",
        "skill `rest` was removed",
        "an interface is now on `https://elsewhere.example`",
        "the security requirements changed",
        "it was signed by nobody, and is by theirs",
    ];
    for (edit, named) in EDITS.into_iter().chain([signer]).zip(named) {
        live.serve(live.base());
        live.edit(edit);
        let refused = live.convoke.run(["run", "locked.yaml"]).await.exits(1);
        assert!(refused.stderr.contains("plan::locked-card"), "{}", refused.stderr);
        assert!(refused.stderr.contains(named), "{named}: {}", refused.stderr);
    }
    assert_eq!(live.agent.received("SendMessage").len(), 0, "nothing is sent");
    let _relocked = live.convoke.run(["plan", "--lock", "locked.yaml"]).await.exits(0);
    let _planned = live.convoke.run(["plan", "locked.yaml"]).await.exits(0);
    let folder = live.convoke.run(["validate", "."]).await.exits(1);
    assert_eq!(
        folder.stdout, "./locked.yaml: ok\n",
        "the policy is no workflow, and the lock not taken for one"
    );
    assert!(!folder.stderr.contains("lock.yaml"), "{}", folder.stderr);
    let _named = live.convoke.run(["validate", "locked.lock.yaml"]).await.exits(0);
    live.convoke.write("locked.lock.yaml", "<<<<<<< ours\n");
    let broken = live.convoke.run(["validate", "locked.lock.yaml"]).await.exits(1);
    assert!(broken.stderr.contains("locked.lock.yaml:1:1"), "{}", broken.stderr);
    let _refused = live.convoke.run(["run", "locked.yaml"]).await.exits(2);
}
