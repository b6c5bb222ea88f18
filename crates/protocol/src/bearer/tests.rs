//! Tokens of an issuer that listens on loopback, good and bad.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Json, Router, extract::State, routing::get};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{TokenError, TokenRules, TokenVerifier};
use crate::{
    outbound::{Outbound, Policy},
    push::Keyring,
};

/// An issuer: what it publishes, and how often its keys were asked for.
#[derive(Clone)]
struct Issuer {
    url: String,
    state: Arc<Mutex<Issuing>>,
}

struct Issuing {
    ring: Keyring,
    metadata: Value,
    /// What its key set is, instead of the keys of the ring.
    keys: Option<Value>,
    fetches: usize,
}

impl Issuer {
    async fn start() -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has free ports");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
        let ring = Keyring::generate(Timestamp::now()).expect("a key");
        let state = Issuing { ring, metadata, keys: None, fetches: 0 };
        let issuer = Issuer { url, state: Arc::new(Mutex::new(state)) };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(metadata_of))
            .route("/keys", get(keys_of))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        issuer
    }

    fn with<T>(&self, change: impl FnOnce(&mut Issuing) -> T) -> T {
        change(&mut self.state.lock().expect("no test panics in here"))
    }

    fn rules(&self) -> TokenRules {
        TokenRules { issuer: self.url.clone(), audience: "convoke".to_owned(), jwks_url: None }
    }

    fn verifier(&self) -> TokenVerifier {
        let outbound = Outbound::new(Policy::loopback()).expect("a client");
        TokenVerifier::new(outbound, self.rules())
    }

    /// Claims that are good, with some changed; `null` takes one away.
    fn claims(&self, changes: &Value) -> Value {
        let now = Timestamp::now().as_second();
        let mut claims = json!({
            "iss": self.url, "aud": ["convoke", "other"], "sub": "ada", "exp": now + 300, "nbf": now - 1,
        });
        for (name, value) in changes.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        if let Value::Object(claims) = &mut claims {
            claims.retain(|_, value| !value.is_null());
        }
        claims
    }

    fn token(&self, changes: &Value) -> String {
        let claims = self.claims(changes);
        self.with(|it| it.ring.sign(&claims).expect("it signs"))
    }

    fn fetches(&self) -> usize {
        self.with(|it| it.fetches)
    }

    /// Signs with a new key from now on, and publishes that one alone.
    fn rotate(&self) {
        self.with(|it| it.ring = Keyring::generate(Timestamp::now()).expect("a key"));
    }
}

async fn metadata_of(State(issuer): State<Issuer>) -> Json<Value> {
    Json(issuer.with(|it| it.metadata.clone()))
}

async fn keys_of(State(issuer): State<Issuer>) -> Json<Value> {
    Json(issuer.with(|it| {
        it.fetches += 1;
        let published = serde_json::to_value(it.ring.public_keys()).expect("keys are JSON");
        it.keys.clone().unwrap_or(published)
    }))
}

#[tokio::test]
async fn a_token_of_the_issuer_counts_and_its_keys_are_fetched_once() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    for _ in 0..3 {
        let claims = verifier.check(&issuer.token(&json!({"scope": "a b"}))).await.expect("good");
        assert_eq!((&claims["sub"], &claims["scope"]), (&json!("ada"), &json!("a b")));
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn every_claim_that_has_to_hold_is_checked() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let now = Timestamp::now().as_second();
    for (changes, said) in [
        (json!({"iss": "https://else.example"}), "another issuer"),
        (json!({"iss": [issuer.url, "https://else.example"]}), "another issuer"),
        (json!({"iss": null}), "no `iss`"),
        (json!({"aud": "else"}), "another audience"),
        (json!({"aud": null}), "no `aud`"),
        (json!({"exp": now - 120}), "expired"),
        (json!({"exp": null}), "no `exp`"),
        (json!({"exp": "soon"}), "`exp`"),
        (json!({"nbf": now + 120}), "not valid yet"),
    ] {
        let error = verifier.check(&issuer.token(&changes)).await.expect_err("it is refused");
        assert!(error.to_string().contains(said), "{changes}: {error}");
    }
    assert!(
        verifier.check(&issuer.token(&json!({"nbf": null}))).await.is_ok(),
        "it may be left out"
    );
}

#[tokio::test]
async fn no_signature_counts_that_others_could_have_made() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    let good = issuer.token(&json!({}));
    let parts: Vec<&str> = good.split('.').collect();
    let header = |json: &str| {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        URL_SAFE_NO_PAD.encode(json)
    };
    let shared =
        EncodingKey::from_secret(b"the public key, as an attacker would use it").expect("a key");
    let hmac =
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &issuer.claims(&json!({})), &shared);
    let none = format!("{}.{}.", header(r#"{"alg":"none","typ":"JWT"}"#), parts[1]);
    let stripped = format!("{}.{}.", parts[0], parts[1]);
    let stranger = Keyring::generate(Timestamp::now()).expect("a key");
    let stranger = stranger.sign(&issuer.claims(&json!({}))).expect("it signs");
    let own_claims = issuer.token(&json!({"sub": "eve"}));
    let swapped =
        format!("{}.{}.{}", parts[0], own_claims.split('.').nth(1).expect("claims"), parts[2]);
    let critical =
        format!("{}.{}.{}", header(r#"{"alg":"ES256","crit":["x"],"x":1}"#), parts[1], parts[2]);
    for token in [
        &*hmac.expect("it signs"),
        &none,
        &stripped,
        &stranger,
        &swapped,
        &critical,
        "",
        "a.b",
        "a.b.c",
    ] {
        let error = verifier.check(token).await.expect_err(token);
        assert!(!matches!(error, TokenError::NoKeys(_)), "{token}: {error}");
        assert!(token.is_empty() || !error.to_string().contains(token), "{error}");
    }
    let long = format!("{good}{}", "A".repeat(20_000));
    assert!(matches!(verifier.check(&long).await, Err(TokenError::Invalid(_))));
}

#[tokio::test]
async fn a_new_key_is_found_and_the_one_before_it_counts_no_more() {
    let issuer = Issuer::start().await;
    let mut verifier = issuer.verifier();
    verifier.keys.pace.pause = Duration::ZERO;
    let before = issuer.token(&json!({}));
    verifier.check(&before).await.expect("good");
    issuer.rotate();
    verifier.check(&issuer.token(&json!({}))).await.expect("its key is fetched");
    assert_eq!(verifier.check(&before).await, Err(TokenError::UnknownKey));
}

#[tokio::test]
async fn strangers_with_made_up_keys_do_not_make_us_ask_again_and_again() {
    let issuer = Issuer::start().await;
    let verifier = issuer.verifier();
    verifier.check(&issuer.token(&json!({}))).await.expect("good");
    let stranger = Keyring::generate(Timestamp::now()).expect("a key");
    for _ in 0..10 {
        let token = stranger.sign(&issuer.claims(&json!({}))).expect("it signs");
        assert_eq!(verifier.check(&token).await, Err(TokenError::UnknownKey));
    }
    assert_eq!(issuer.fetches(), 1);
}

#[tokio::test]
async fn keys_are_used_for_a_while_when_the_issuer_cannot_be_asked() {
    let issuer = Issuer::start().await;
    let mut verifier = issuer.verifier();
    verifier.keys.pace.fresh = Duration::ZERO;
    verifier.keys.pace.pause = Duration::ZERO;
    verifier.check(&issuer.token(&json!({}))).await.expect("good");
    issuer.with(|it| it.keys = Some(json!("broken")));
    verifier.check(&issuer.token(&json!({}))).await.expect("the keys of before are used");
    verifier.keys.pace.stale = Duration::ZERO;
    let error = verifier.check(&issuer.token(&json!({}))).await.expect_err("not for ever");
    assert!(matches!(error, TokenError::NoKeys(_)), "{error}");
}

#[tokio::test]
async fn metadata_of_another_issuer_is_not_believed() {
    let issuer = Issuer::start().await;
    issuer.with(|it| it.metadata["issuer"] = json!("https://else.example"));
    let error = issuer.verifier().check(&issuer.token(&json!({}))).await.expect_err("refused");
    assert!(error.to_string().contains("another issuer, https://else.example"), "{error}");
}

#[tokio::test]
async fn keys_at_a_url_that_the_operator_names_need_no_discovery() {
    let issuer = Issuer::start().await;
    issuer.with(|it| it.metadata = json!({}));
    let jwks_url = Some(format!("{}/keys", issuer.url).parse().expect("a URL"));
    let rules = TokenRules { jwks_url, ..issuer.rules() };
    let outbound = Outbound::new(Policy::loopback()).expect("a client");
    TokenVerifier::new(outbound, rules).check(&issuer.token(&json!({}))).await.expect("good");
}

#[tokio::test]
async fn keys_are_not_fetched_from_where_we_may_not_connect() {
    let issuer = Issuer::start().await;
    let outbound = Outbound::new(Policy::default()).expect("a client");
    let error = TokenVerifier::new(outbound, issuer.rules()).check(&issuer.token(&json!({}))).await;
    let error = error.expect_err("loopback is not allowed");
    assert!(error.to_string().contains("loopback"), "{error}");
    assert_eq!(issuer.fetches(), 0);
}

#[tokio::test]
async fn a_key_for_something_else_proves_nothing_and_an_unknown_kind_spoils_no_other() {
    let issuer = Issuer::start().await;
    let mut published =
        issuer.with(|it| serde_json::to_value(it.ring.public_keys()).expect("JSON"));
    let odd = json!({"kty": "of tomorrow", "kid": "x"});
    published["keys"].as_array_mut().expect("a list").insert(0, odd);
    issuer.with(|it| it.keys = Some(published.clone()));
    issuer.verifier().check(&issuer.token(&json!({}))).await.expect("good");
    for (member, value) in [("use", "enc"), ("alg", "ES384")] {
        let mut other = published.clone();
        other["keys"][1][member] = json!(value);
        issuer.with(|it| it.keys = Some(other));
        let error = issuer.verifier().check(&issuer.token(&json!({}))).await;
        assert_eq!(error, Err(TokenError::UnknownKey), "{member}");
    }
}
