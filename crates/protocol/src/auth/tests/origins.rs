//! Where credentials do not go.

use axum::{response::Redirect, routing};

use super::*;
use crate::{
    card,
    client::{Delivery, FailureClass},
};

const PLANTED: &str = "planted-secret";

fn everywhere() -> Vec<Credential> {
    vec![
        Credential::bearer(value(PLANTED)),
        Credential::header("X-Door", Secret::new(PLANTED)),
        credential(Method::ApiKey(value(PLANTED))),
    ]
}

fn has_secret(agent: &Guarded) -> bool {
    format!("{:?}", agent.seen.lock().expect("no test panics in here")).contains(PLANTED)
        || agent.seen.lock().expect("no test panics in here").iter().any(|(headers, _)| {
            headers.values().any(|value| value.to_str().is_ok_and(|it| it.contains(PLANTED)))
        })
}

#[tokio::test]
async fn an_interface_at_another_origin_gets_nothing_at_all() {
    let (own, other) = (Guarded::open().await, Guarded::open().await);
    let keyring = own.keyring(everywhere(), &AgentCard::default());
    for binding in Binding::ALL {
        let error = call(&other.client(binding, &keyring)).await.expect_err("it is not approved");
        assert_eq!((error.class, error.delivery), (FailureClass::Unauthorized, Delivery::NotSent));
        let said = error.to_string();
        assert!(said.contains("add it to `origins`") && !said.contains(PLANTED), "{said}");
        call(&own.client(binding, &keyring)).await.expect("the approved one is called");
    }
    assert_eq!(other.count(), 0);
    assert!(has_secret(&own));
}

#[tokio::test]
async fn a_redirect_elsewhere_takes_no_credentials_along() {
    let other = Guarded::open().await;
    let target = format!("{}.well-known/agent-card.json", other.url);
    let to = target.clone();
    let router =
        Router::new().route("/card.json", routing::get(async move || Redirect::temporary(&to)));
    let own = Guarded::serve(router, |headers, _| headers.contains_key("authorization")).await;
    let keyring = own.keyring(everywhere(), &AgentCard::default());
    let address = format!("{}card.json", own.url);
    // The card is refused openly, then redirects whoever has credentials.
    let error =
        card::fetch_with_keyring(&keyring, &address).await.expect_err("it ends at the redirect");
    assert!(error.to_string().contains("307"), "{error}");
    assert!(has_secret(&own));
    assert!(!has_secret(&other));
    let open = Guarded::serve(
        Router::new().route("/card.json", routing::get(async move || Redirect::temporary(&target))),
        |_, _| true,
    )
    .await;
    let keyring = open.keyring(everywhere(), &AgentCard::default());
    card::fetch_with_keyring(&keyring, &format!("{}card.json", open.url))
        .await
        .expect("the card is open");
    assert!(other.count() > 0 && !has_secret(&other) && !has_secret(&open));
}

#[tokio::test]
async fn a_card_behind_authentication_is_fetched() {
    let agent = Guarded::start(|headers, _| has(headers, header::AUTHORIZATION, "Bearer t")).await;
    let bearer = Credential::bearer(value("t"));
    let keyring =
        Keyring::new(&outbound(), "it", (vec![bearer], vec![agent.origin()]), None, Vault::none());
    let fetched = card::fetch_with_keyring(&keyring, &agent.url).await.expect("a card");
    assert_eq!(fetched.card.name, "echo");
    let error = card::fetch(&outbound(), &agent.url).await.expect_err("not openly");
    assert!(error.to_string().contains("HTTP status 401; it wants credentials"), "{error}");
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    let table = [
        ("https://a.example", "https://a.example:443/x", true),
        ("https://a.example/path?q", "https://A.example/", true),
        ("https://a.example", "http://a.example/", false),
        ("https://a.example", "https://a.example:444/", false),
        ("https://a.example", "https://b.a.example/", false),
        ("http://127.0.0.1:1", "http://localhost:1/", false),
    ];
    for (origin, url, holds) in table {
        let origin: Origin = origin.parse().expect("an origin");
        assert_eq!(origin.holds(&url.parse().expect("a URL")), holds, "{origin} {url}");
    }
    for text in ["a.example", "file:///etc", "mailto:a@b.example", ""] {
        text.parse::<Origin>().expect_err("it names no origin");
    }
}
