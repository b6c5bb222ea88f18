//! Callers with tokens of an issuer.

use axum::{Json, Router, routing::get};
use jiff::Timestamp;
use protocol::{push::Keyring, v1::security_scheme::Scheme};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{cards::public, *};

/// An issuer that publishes one key, with the URL that names it.
async fn issuer() -> (String, Keyring) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let ring = Keyring::generate(Timestamp::now()).expect("a key");
    let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")});
    let keys = serde_json::to_value(ring.public_keys()).expect("JSON");
    let answer = |value: Value| get(async move || Json(value));
    let router = Router::new()
        .route("/.well-known/openid-configuration", answer(metadata))
        .route("/keys", answer(keys));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, ring)
}

#[tokio::test]
async fn a_token_of_the_issuer_is_its_own_account_and_may_do_what_its_scopes_say() {
    let agent = example(Kind::Asks, Options { turns: 1, ..Options::default() }).await;
    let steps = "steps:\n  a: {agent: x, message: hi}\n";
    let (url, ring) = issuer().await;
    let scene = Scene::trusting(&[workflow("w", &[("x", &agent)], steps)], url.clone()).await;
    let token = |sub: &str, scope: &str, lasts: i64| {
        let exp = Timestamp::now().as_second() + lasts;
        let claims = json!({"iss": url, "aud": "convoke", "sub": sub, "scope": scope, "exp": exp});
        ring.sign(&claims).expect("it signs")
    };
    let with = |binding: Binding, token: &str| {
        let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("ASCII");
        over(&scene, binding, "", None).with_authorization(value)
    };
    let ada = token("ada", "openid runs:start:w runs:read", 300);
    let task = send(&with(Binding::JsonRpc, &ada), said("go").into()).await.expect("a Task");
    let same_name = scene.key("ada", &["admin"]).await;
    for binding in Binding::ALL {
        let shown = call(&with(binding, &ada), "get", &task.id).await.expect("it is hers");
        assert_eq!(shown, [&*task.id]);
        let asked = async |token: &str| kind(call(&with(binding, token), "get", &task.id).await);
        assert_eq!(asked(&token("eve", "runs:read", 300)).await, ErrorKind::TaskNotFound);
        assert_eq!(asked(&token("ada", "runs:start:w", 300)).await, ErrorKind::PermissionDenied);
        assert_eq!(asked(&token("ada", "runs:read", -300)).await, ErrorKind::Unauthenticated);
        assert_eq!(asked("x").await, ErrorKind::Unauthenticated);
        let of_key = call(&over(&scene, binding, "", Some(&same_name)), "get", &task.id).await;
        assert_eq!(
            kind(of_key),
            ErrorKind::TaskNotFound,
            "a key's account of that name is another"
        );
    }
    let card = public(&scene).await;
    let scheme = card.security_schemes["openId"].scheme.clone();
    let Some(Scheme::OpenIdConnectSecurityScheme(scheme)) = scheme else { panic!("{scheme:?}") };
    let discovery = format!("{url}/.well-known/openid-configuration");
    assert_eq!(scheme.open_id_connect_url, discovery);
}

#[tokio::test]
async fn tokens_that_nobody_can_check_now_are_told_apart_from_bad_ones() {
    let agent = example(Kind::Echo, Options::default()).await;
    let file = workflow("w", &[("x", &agent)], "steps:\n  a: {agent: x, message: hi}\n");
    let (_, ring) = issuer().await;
    let gone = "http://127.0.0.1:1".to_owned();
    let scene = Scene::trusting(&[file], gone.clone()).await;
    let exp = Timestamp::now().as_second() + 300;
    let token = ring.sign(&json!({"iss": gone, "aud": "convoke", "sub": "ada", "exp": exp}));
    let value = format!("Bearer {}", token.expect("it signs"));
    let value = HeaderValue::from_str(&value).expect("ASCII");
    for binding in Binding::ALL {
        let client = over(&scene, binding, "", None).with_authorization(value.clone());
        let refused = call(&client, "list", "").await.expect_err("nobody can tell");
        assert_eq!(refused.kind, Some(ErrorKind::Unavailable), "{binding}");
        let said = refused.remote.map(|error| error.message).unwrap_or_default();
        assert!(!said.is_empty() && !said.contains("127.0.0.1"), "{said}");
    }
}
