//! Cards are signed and checked by commands.

use std::os::unix::fs::PermissionsExt as _;

use axum::{Json, response::IntoResponse as _};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card},
    convoke::{Convoke, Done},
};

use crate::steady;

/// A folder with a key pair, `key.pem` and `keys.json`, and a card that is signed by it.
async fn signed() -> Convoke {
    let convoke = Convoke::default();
    let made = convoke.run(["card", "keys", "generate", "key.pem", "--kid", "mine"]).await.exits(0);
    convoke.write("keys.json", &made.stdout);
    convoke.write("card.json", card("signed", "http://127.0.0.1:1").to_string());
    sign(&convoke, &["--kid", "mine", "-o", "signed.json"]).await.exits(0);
    convoke
}

async fn sign(convoke: &Convoke, options: &[&str]) -> Done {
    let command = ["card", "sign", "card.json", "--key", "key.pem"];
    convoke.run([&command, options].concat()).await
}

/// What a person reads.
fn said(done: &Done) -> String {
    format!("exit {}\n{}{}", done.code, done.stdout, done.stderr)
}

#[tokio::test]
async fn a_card_that_is_signed_is_trusted_by_whoever_has_the_key() {
    let convoke = signed().await;
    let trusted = convoke.run(["card", "verify", "signed.json", "--keys", "keys.json"]).await;
    assert_snapshot!(said(&trusted), @r"
    exit 0
    signature trusted ES256, key mine
      by a key of keys.json
    ");
    let unknown = convoke.run(["card", "verify", "signed.json"]).await;
    assert_snapshot!(said(&unknown), @r"
    exit 1
    signature invalid ES256, key mine
      it cannot be checked: no key `mine` is known; name the file or address that holds it with --keys
    error: the card signed.json is not trusted: none of its signatures proves anything
    ");
    let unsigned = convoke.run(["card", "verify", "card.json", "--keys", "keys.json"]).await;
    assert_snapshot!(said(&unsigned), @r"
    exit 1
    signature unsigned
    error: the card card.json is not trusted: it has no signature
    ");
    let text = std::fs::read_to_string(convoke.folder().join("signed.json")).unwrap();
    convoke.write("changed.json", text.replace("signed", "altered"));
    let changed = convoke.run(["card", "verify", "changed.json", "--keys", "keys.json"]).await;
    assert_snapshot!(said(&changed), @r"
    exit 1
    signature invalid ES256, key mine
      the card is not the one that was signed with the key `mine`: it was changed, or signed with another key of that name
    error: the card changed.json is not trusted: none of its signatures proves anything
    ");
}

#[tokio::test]
async fn a_program_reads_what_each_signature_is_worth() {
    let convoke = signed().await;
    let verify = ["--json", "card", "verify", "signed.json", "--keys", "keys.json"];
    let trusted = convoke.run(verify).await.exits(0).json();
    let wanted = json!({
        "card": "signed.json",
        "verdict": "trusted",
        "signatures": [{
            "verdict": "trusted", "alg": "ES256", "kid": "mine",
            "keyFrom": "keys.json", "form": "as-received",
        }],
    });
    assert_eq!(trusted, wanted);
    let unknown = convoke.run(["--json", "card", "verify", "signed.json"]).await.exits(1).json();
    assert_eq!(unknown["verdict"], "invalid");
    assert_eq!(unknown["signatures"][0]["reason"], "unknown-key");
    assert!(unknown["signatures"][0]["message"].as_str().unwrap().contains("`mine`"));
}

#[tokio::test]
async fn the_private_key_is_for_its_owner_alone_and_is_never_replaced() {
    let convoke = signed().await;
    let file = std::fs::metadata(convoke.folder().join("key.pem")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let again = convoke.run(["card", "keys", "generate", "key.pem"]).await;
    assert_snapshot!(said(&again), @r"
    exit 2
    error: key.pem is there already and is not replaced; name another file, or move that one away
    ");
    let public = convoke.run(["card", "keys", "public", "key.pem", "--kid", "mine"]).await.exits(0);
    let made = std::fs::read_to_string(convoke.folder().join("keys.json")).unwrap();
    assert_eq!(public.stdout, made);
}

#[tokio::test]
async fn every_option_of_signing_shows_in_the_signature() {
    let convoke = signed().await;
    convoke.run(["card", "keys", "generate", "rsa.pem", "--alg", "rs256"]).await.exits(0);
    let options = ["--jku", "https://a.example/keys.json", "--kid", "k", "--alg", "PS256"];
    let command = ["card", "sign", "signed.json", "--key", "rsa.pem"];
    let printed = convoke.run([&command[..], &options].concat()).await.exits(0);
    convoke.write("both.json", &printed.stdout);
    let report =
        convoke.run(["--json", "card", "verify", "both.json", "--keys", "keys.json"]).await;
    let report = report.exits(0).json();
    let [first, second] = report["signatures"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!((&first["kid"], &first["verdict"]), (&json!("mine"), &json!("trusted")));
    assert_eq!(
        [&second["alg"], &second["kid"], &second["jku"], &second["verdict"]],
        ["PS256", "k", "https://a.example/keys.json", "invalid"]
    );
    let misfit = sign(&convoke, &["--alg", "RS256"]).await;
    assert_snapshot!(said(&misfit), @r"
    exit 2
    error: card.json: a key for ES256 does not sign with RS256; name an algorithm that fits, or none
    ");
    let unknown = sign(&convoke, &["--alg", "HS256"]).await.exits(2);
    assert!(unknown.stderr.contains("cards are not signed with `HS256` here"), "{unknown:?}");
}

#[tokio::test]
async fn what_a_signature_cannot_cover_is_named_when_it_is_left_out() {
    let convoke = signed().await;
    let mut card = card("vendor", "http://127.0.0.1:1");
    card["x-vendor"] = json!({"level": "gold"});
    convoke.write("card.json", card.to_string());
    let done = sign(&convoke, &[]).await.exits(0);
    assert!(!done.stdout.contains("x-vendor"), "{}", done.stdout);
    assert_snapshot!(done.stderr, @"left out x-vendor: A2A 1.0 does not know it, so others could not check a signature over it");
    convoke.write("card.json", r#"{"name": "a", "name": "b"}"#);
    assert_snapshot!(said(&sign(&convoke, &[]).await), @r"
    exit 2
    error: card.json: the card cannot be signed or checked: `name` stands twice in one object, and readers differ in which they take at line 1 column 26
    ");
}

#[tokio::test]
async fn the_key_set_of_the_cards_own_server_makes_a_signature_valid_and_no_more() {
    let convoke = Convoke::default();
    let keys = convoke.run(["card", "keys", "generate", "key.pem", "--kid", "mine"]).await.exits(0);
    convoke.write("keys.json", &keys.stdout);
    // The agent hands out its key set as a member of its card, at the same address.
    let file = convoke.folder().join("served.json");
    let served = file.clone();
    let agent = Scripted::with_card(move |_| {
        let text = std::fs::read(&served).unwrap_or_default();
        let json: Value = serde_json::from_slice(&text).unwrap_or_default();
        Json(json).into_response()
    })
    .await;
    convoke.write("card.json", card("own", &agent.url).to_string());
    let jku = format!("{}/keys.json", agent.url);
    let printed = sign(&convoke, &["--kid", "mine", "--jku", &jku]).await.exits(0);
    let mut both: Value = serde_json::from_str(&printed.stdout).unwrap();
    both["keys"] = keys.json()["keys"].clone();
    convoke.write("served.json", both.to_string());

    let valid = convoke.run(["card", "verify", &agent.url]).await;
    let trusted = convoke.run(["card", "verify", &agent.url, "--keys", &jku]).await.exits(0);
    let shown = convoke.run(["card", "show", &agent.url]).await.exits(0);
    let _steady = steady();
    assert_snapshot!(said(&valid), @r"
    exit 1
    signature valid-untrusted ES256, key mine
      by a key of http://127.0.0.1:PORT/keys.json, which nobody vouches for
    error: the card http://127.0.0.1:PORT/ is not trusted: it is signed with a key of its own server, which nobody vouches for; if you trust that key, name it with --keys
    ");
    assert_snapshot!(trusted.stdout, @r"
    signature trusted ES256, key mine
      by a key of http://127.0.0.1:PORT/keys.json
    ");
    assert!(shown.stdout.contains("valid-untrusted ES256, key mine"), "{}", shown.stdout);
    let file = convoke.run(["card", "show", "card.json", "--keys", "keys.json"]).await.exits(0);
    assert!(file.stdout.ends_with("signature unsigned\n"), "{}", file.stdout);
}

#[tokio::test]
async fn keys_that_cannot_be_had_are_named() {
    let convoke = signed().await;
    let with = |keys: &'static str| {
        let convoke = &convoke;
        async move { said(&convoke.run(["card", "verify", "signed.json", "--keys", keys]).await) }
    };
    let missing = [
        with("nothing.json").await,
        with("key.pem").await,
        with("card.json").await,
        with("http://127.0.0.1:1/keys.json").await,
    ];
    assert_snapshot!(missing.join(""), @r"
    exit 2
    error: cannot read nothing.json: No such file or directory (os error 2)
    exit 2
    error: key.pem holds no public key that signatures can be checked with: it is a private key; `convoke card keys public FILE` prints the public one, which is all that has to be known here
    exit 2
    error: card.json holds no public key that signatures can be checked with: key 1: keys of this kind are not used for cards here
    exit 3
    error: the keys cannot be fetched: http://127.0.0.1:1/keys.json cannot be reached: Connection refused (os error 111); is it running, and is the address right?
    ");
}
