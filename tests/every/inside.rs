//! Cards and addresses that lead into our own network are followed nowhere.

use axum::{
    Json,
    http::{StatusCode, header},
    response::IntoResponse as _,
};
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card},
    convoke::Convoke,
};

/// Addresses that nobody else may send us to, and what each is called. Loopback is for agents on
/// this machine, and allowed as long as we serve nobody else.
const INSIDE: [(&str, &str); 12] = [
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("192.168.0.1", "private"),
    ("169.254.1.1", "link-local"),
    ("169.254.169.254", "cloud metadata"),
    ("[fd00:ec2::254]", "cloud metadata"),
    ("[fe80::1]", "link-local"),
    ("[fc00::1]", "unique-local"),
    ("[::ffff:10.0.0.1]", "private"),
    ("[::ffff:169.254.169.254]", "cloud metadata"),
    ("[64:ff9b::a9fe:a9fe]", "cloud metadata"),
    ("0.0.0.0", "this network"),
];

async fn nothing_is_known(convoke: &Convoke) {
    let listed = convoke.run(["--json", "agents", "list"]).await.exits(0).json();
    assert_eq!(listed, json!([]));
}

/// A host that redirects whoever asks it for a card.
async fn leading_to(target: String) -> Scripted {
    Scripted::with_card(move |_| {
        (StatusCode::FOUND, [(header::LOCATION, target.clone())]).into_response()
    })
    .await
}

#[tokio::test]
async fn a_card_is_not_fetched_from_inside_nor_by_way_of_a_redirect() {
    let convoke = Convoke::default();
    for (host, range) in INSIDE {
        let inside = format!("http://{host}:9/latest/meta-data/card.json");
        let redirecting = leading_to(inside.clone()).await;
        for url in [&inside, &redirecting.url] {
            let verbs: [&[&str]; 4] = [
                &["agents", "add", url, "--name", "it", "--approve"],
                &["agents", "lint", url],
                &["card", "show", url],
                &["card", "verify", url],
            ];
            for args in verbs {
                let refused = convoke.run(args).await.exits(3);
                let why = format!("is a {range} address and not allowed");
                assert!(refused.stderr.contains(&why), "{args:?}: {}", refused.stderr);
            }
        }
        convoke.write("catalog.yaml", format!("agents: [{{url: \"{inside}\"}}]\n"));
        let applied = convoke.run(["agents", "apply", "catalog.yaml"]).await.exits(1);
        assert!(applied.stdout.contains(range), "{host}: {}", applied.stdout);
    }
    nothing_is_known(&convoke).await;
}

#[tokio::test]
async fn an_agent_that_was_taken_in_cannot_move_its_card_or_its_interface_inside() {
    for (host, range) in INSIDE {
        let convoke = Convoke::default();
        let moved = convoke.folder().join("moved");
        let target = format!("http://{host}:9/card.json");
        let agent = Scripted::with_card(move |url| {
            if moved.exists() {
                return (StatusCode::FOUND, [(header::LOCATION, target.clone())]).into_response();
            }
            Json(card("it", url)).into_response()
        })
        .await;
        let _added = convoke.run(["agents", "add", &agent.url, "--approve"]).await.exits(0);
        convoke.write("moved", "");
        let refreshed = convoke.run(["agents", "refresh", "it"]).await.exits(1);
        assert!(refreshed.stdout.contains(range), "{host}: {}", refreshed.stdout);

        let interface = format!("http://{host}:9/");
        convoke.write("card.json", card("inner", &interface).to_string());
        let _added = convoke.run(["agents", "add", "card.json", "--approve"]).await.exits(0);
        let steps = "convoke: 1\nname: w\nsteps: {a: {agent: inner, message: Hello.}}\n";
        convoke.write("w.yaml", steps);
        let ran = convoke.run(["run", "w.yaml"]).await.exits(1);
        let why = format!("is a {range} address and not allowed");
        assert!(ran.stderr.contains(&why), "{host}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn keys_are_not_fetched_from_inside() {
    for (host, range) in INSIDE {
        let convoke = Convoke::default();
        let keys = format!("http://{host}:9/keys.json");
        let redirecting = leading_to(keys.clone()).await;
        convoke.write("card.json", card("it", "http://127.0.0.1:9/").to_string());
        for from in [&keys, &redirecting.url] {
            let verified = convoke.run(["card", "verify", "card.json", "--keys", from]).await;
            assert_eq!(verified.code, 3, "{}", verified.stderr);
            let why = format!("is a {range} address and not allowed");
            assert!(verified.stderr.contains(&why), "{host}: {}", verified.stderr);
        }
        let policy: Value = json!({ "keys": { "acme": { "url": redirecting.url } } });
        convoke.write("policy.yaml", policy.to_string());
        let _set = convoke.run(["agents", "policy", "policy.yaml"]).await.exits(0);
        let signed = signature_by(&redirecting.url);
        let agent = Scripted::with_card(move |url| {
            let mut card = card("it", url);
            card["signatures"] = signed.clone();
            Json(card).into_response()
        })
        .await;
        let args = ["--log", "warn", "agents", "add", &agent.url];
        let added = convoke.run(args).await.exits(0);
        assert!(added.stderr.contains(range), "{host}: {}", added.stderr);
        let record = convoke.run(["--json", "agents", "show", "it"]).await.exits(0).json();
        assert_eq!(record["trust"]["signed"], "invalid");
    }
}

/// A signature that says where its key is.
fn signature_by(key_set_url: &str) -> Value {
    use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
    let protected = json!({"alg": "ES256", "kid": "k", "jku": key_set_url});
    let protected = BASE64_URL_SAFE_NO_PAD.encode(protected.to_string());
    json!([{"protected": protected, "signature": "AAAA"}])
}
