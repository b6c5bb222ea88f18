//! Signatures of cards through the directory: what each is worth, and what that decides.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Json, response::IntoResponse as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use protocol::signature::{Algorithm, Headers, SigningKey, sign};
use serde_json::{Value, json};
use tests::{
    agent::{Scripted, card},
    convoke::Convoke,
};

/// An agent's server that hands out whatever it is told to, and counts how often it is asked.
struct Host {
    server: Scripted,
    document: Arc<Mutex<Value>>,
    asked: Arc<AtomicUsize>,
}

impl Host {
    async fn start() -> Host {
        let (document, asked) = (Arc::new(Mutex::new(json!({}))), Arc::new(AtomicUsize::new(0)));
        let (served, count) = (Arc::clone(&document), Arc::clone(&asked));
        let server = Scripted::with_card(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Json(served.lock().expect("not poisoned").clone()).into_response()
        })
        .await;
        Host { server, document, asked }
    }

    /// The address of its key set.
    fn keys_url(&self) -> String {
        format!("{}/keys.json", self.server.url)
    }

    fn card(&self) -> Value {
        card("Signed", &self.server.url)
    }

    /// Hands out a card and a key set in one document: what a card does not know of is not signed.
    fn serve(&self, mut card: Value, keys: &Value) {
        if let Some(keys) = keys.get("keys") {
            card["keys"] = keys.clone();
        }
        *self.document.lock().expect("not poisoned") = card;
    }
}

/// A key and its id.
struct Signer {
    key: SigningKey,
    id: &'static str,
}

impl Signer {
    fn new(id: &'static str) -> Signer {
        Signer { key: SigningKey::generate(Algorithm::Es256).expect("a key").0, id }
    }

    /// Its public key, as a set.
    fn set(&self) -> Value {
        let headers = Headers { key_id: Some(self.id.to_owned()), ..Headers::default() };
        let text = self.key.public_keys(&headers).expect("it has a public half");
        serde_json::from_str(&text).expect("a key set is JSON")
    }

    fn signs(&self, card: &Value, key_set_url: Option<String>) -> Value {
        let mut card = protocol::card::read(card).expect("a card");
        let key_id = Some(self.id.to_owned());
        let headers = Headers { key_id, key_set_url, ..Headers::default() };
        sign(&mut card, &self.key, &headers).expect("it can be signed");
        serde_json::to_value(card).expect("a card has only text keys")
    }
}

/// A card with a signature of these headers, made without any key.
fn forged(mut card: Value, protected: &Value, signature: &str) -> Value {
    let protected = BASE64_URL_SAFE_NO_PAD.encode(protected.to_string());
    card["signatures"] = json!([{"protected": protected, "signature": signature}]);
    card
}

/// A directory that trusts what `pinned` holds, by the name of acme, and approves what acme signed.
async fn directory(pinned: Value) -> Convoke {
    let convoke = Convoke::default();
    let policy = json!({ "keys": { "acme": pinned }, "approve": [{ "signed_by": "acme" }] });
    convoke.write("policy.yaml", policy.to_string());
    let _set = convoke.run(["agents", "policy", "policy.yaml"]).await.exits(0);
    convoke
}

async fn record(convoke: &Convoke) -> Value {
    convoke.run(["--json", "agents", "show", "it"]).await.exits(0).json()
}

/// What the directory makes of the card that the host has: in its record, in its lists and for a
/// person; how the agent stands; and what is wrong with the signature.
async fn worth(convoke: &Convoke, host: &Host) -> (String, String, String) {
    let add = ["--json", "agents", "add", &host.server.url, "--name", "it"];
    let added = convoke.run(add).await.exits(0).json();
    let record = record(convoke).await;
    let signed = record["trust"]["signed"].as_str().expect("a word").to_owned();
    let list = ["--json", "agents", "list", "--signed", &signed];
    let listed = convoke.run(list).await.exits(0).json();
    assert_eq!(listed[0]["signed"], signed, "{listed}");
    let shown = convoke.run(["agents", "show", "it"]).await.exits(0).stdout;
    assert!(shown.contains(&format!("\n  signatures {signed}")), "{shown}");
    let flaws = record["trust"]["flaws"].as_array().cloned().unwrap_or_default();
    let flaws: Vec<&str> = flaws.iter().filter_map(Value::as_str).collect();
    let standing = added["agents"][0]["standing"].as_str().expect("a word").to_owned();
    (signed, standing, flaws.join("; "))
}

#[tokio::test]
async fn only_a_pinned_key_makes_an_agent_trusted_and_approved() {
    let (host, attacker) = (Host::start().await, Host::start().await);
    let (acme, own, evil) = (Signer::new("acme-1"), Signer::new("own"), Signer::new("evil"));
    let (thief, text) = (Signer::new("acme-1"), acme.set().to_string());
    attacker.serve(json!({}), &json!({"keys": [evil.set()["keys"][0], thief.set()["keys"][0]]}));
    let (card, here, there) = (host.card(), host.keys_url(), attacker.keys_url());
    let good = acme.signs(&card, None);
    let mut changed = good.clone();
    changed["description"] = json!("Does what its test says!");
    let mut bent = good.clone();
    let signature = good["signatures"][0]["signature"].as_str().expect("a text");
    let other = if signature.starts_with('A') { "B" } else { "A" };
    bent["signatures"][0]["signature"] = json!(format!("{other}{}", &signature[1..]));
    let none = json!({"alg": "none", "kid": "acme-1"});
    let hmac = json!({"alg": "HS256", "kid": "acme-1"});
    let cases = [
        ("as it should be", good, "trusted", ""),
        ("its own key", own.signs(&card, Some(here.clone())), "valid-untrusted", ""),
        ("one byte of the card", changed, "invalid", "not the one that was signed"),
        ("one byte of the signature", bent, "invalid", "not the one that was signed"),
        ("no signature", card.clone(), "unsigned", ""),
        ("none", forged(card.clone(), &none, ""), "invalid", "`none`, is refused"),
        ("HMAC", forged(card.clone(), &hmac, "AAAA"), "invalid", "`HS256`, is refused"),
        ("a key nobody knows", evil.signs(&card, None), "invalid", "no key `evil` is known"),
        ("keys of another server", evil.signs(&card, Some(there.clone())), "invalid", "`evil`"),
        (
            "a pinned name",
            thief.signs(&card, Some(there)),
            "invalid",
            "with another key of that name",
        ),
        (
            "a pinned name here",
            thief.signs(&card, Some(here)),
            "invalid",
            "another key of that name",
        ),
    ];
    for (what, card, signed, flaw) in cases {
        let keys = json!({"keys": [own.set()["keys"][0], thief.set()["keys"][0]]});
        host.serve(card, &keys);
        let convoke = directory(json!({ "text": text })).await;
        let (is, standing, flaws) = worth(&convoke, &host).await;
        assert_eq!(is, signed, "{what}: {flaws}");
        assert!(flaws.contains(flaw) && flaws.is_empty() == flaw.is_empty(), "{what}: {flaws}");
        let approved = if signed == "trusted" { "approved" } else { "proposed" };
        assert_eq!(standing, approved, "{what}");
    }
    assert_eq!(attacker.asked.load(Ordering::SeqCst), 0, "nobody asks whom the card points to");
}

#[tokio::test]
async fn a_key_that_is_rotated_keeps_an_approval_and_a_withdrawn_one_loses_it() {
    let (host, holder) = (Host::start().await, Host::start().await);
    let (old, new) = (Signer::new("2026"), Signer::new("2027"));
    holder.serve(json!({}), &old.set());
    host.serve(old.signs(&host.card(), None), &json!({}));
    let convoke = directory(json!({ "url": holder.keys_url() })).await;
    let (signed, standing, _) = worth(&convoke, &host).await;
    assert_eq!((signed.as_str(), standing.as_str()), ("trusted", "approved"));

    // Both keys are in the set, and the card has a signature by each.
    let both = json!({"keys": [old.set()["keys"][0], new.set()["keys"][0]]});
    holder.serve(json!({}), &both);
    let twice = new.signs(&old.signs(&host.card(), None), None);
    assert_eq!(twice["signatures"].as_array().map(Vec::len), Some(2));
    host.serve(twice, &json!({}));
    let (signed, standing, _) = worth(&convoke, &host).await;
    assert_eq!((signed.as_str(), standing.as_str()), ("trusted", "approved"));

    holder.serve(json!({}), &new.set());
    host.serve(new.signs(&host.card(), None), &json!({}));
    let (signed, standing, _) = worth(&convoke, &host).await;
    assert_eq!((signed.as_str(), standing.as_str()), ("trusted", "approved"));
    assert_eq!(record(&convoke).await["trust"]["signer"], "acme");

    // Who still signs with the old key is not acme any more.
    host.serve(old.signs(&host.card(), None), &json!({}));
    let (signed, standing, flaws) = worth(&convoke, &host).await;
    assert_eq!((signed.as_str(), standing.as_str()), ("invalid", "proposed"));
    assert!(flaws.contains("no key `2026` is known"), "{flaws}");
    let why = record(&convoke).await["history"].to_string();
    assert!(why.contains("it was signed by acme (trusted) and is now invalid"), "{why}");
}
