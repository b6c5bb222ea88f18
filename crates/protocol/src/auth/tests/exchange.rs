//! Tokens in exchange for those of callers: only what was made for the agent reaches it.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{issuer::Issuer, tokens::client, *};
use crate::{
    auth::{Caller, CallerToken, TokenExchange},
    client::{Delivery, FailureClass},
};

const SUBJECT: &str = "planted-token-of-the-caller";

fn exchange(issuer: &Issuer) -> TokenExchange {
    TokenExchange {
        client: client(Some(issuer)),
        token_endpoint: None,
        audience: vec!["flights".to_owned()],
        resource: vec!["https://flights.example/".to_owned()],
    }
}

fn credentials(exchange: TokenExchange) -> Vec<Credential> {
    vec![credential(Method::TokenExchange(exchange))]
}

fn token(text: &str, seconds: i64) -> CallerToken {
    let until = Timestamp::now() + SignedDuration::from_secs(seconds);
    CallerToken { token: Secret::new(text), until: Some(until) }
}

fn ada() -> Caller {
    Caller::with_token(Some(token(SUBJECT, 600)))
}

/// An agent that takes what the issuer issues, and says what it wants as bearer token of a scope.
async fn agent() -> Guarded {
    Guarded::start(|headers, _| {
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        token.is_some_and(|token| token.starts_with("Bearer access-"))
    })
    .await
}

fn bearer_card() -> AgentCard {
    let http =
        crate::v1::HttpAuthSecurityScheme { scheme: "bearer".to_owned(), ..Default::default() };
    let mut card = card(vec![("b", Scheme::HttpAuthSecurityScheme(http))]);
    card.security_requirements = vec![requirement(&[("b", &["fly"])])];
    card
}

#[tokio::test]
async fn a_callers_token_is_exchanged_once_and_the_agent_sees_only_what_it_was_exchanged_for() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let mut exchange = exchange(&issuer);
    exchange.client.scopes = vec!["see".to_owned()];
    let keyring = agent.keyring(credentials(exchange), &bearer_card());
    let caller = ada();
    for binding in Binding::ALL {
        let of_ada = keyring.clone().on_behalf_of(&caller);
        call(&agent.client(binding, &of_ada)).await.expect("it is let in");
    }
    let [asked] = &issuer.asked()[..] else { panic!("one exchange is enough") };
    let said = |name: &str| asked.get(name).map_or("", String::as_str);
    assert_eq!(said("grant_type"), "urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!(said("subject_token"), SUBJECT);
    assert_eq!(said("subject_token_type"), "urn:ietf:params:oauth:token-type:access_token");
    assert_eq!(said("audience"), "flights");
    assert_eq!(said("resource"), "https://flights.example/");
    assert_eq!(said("scope"), "fly see");
    assert!(said("authorization").starts_with("Basic "), "the client says who it is");
    let seen = agent.seen.lock().expect("no test panics in here").clone();
    assert!(!seen.is_empty());
    for (headers, uri) in seen {
        assert!(!format!("{headers:?} {uri}").contains("planted"), "{headers:?}");
        assert_eq!(headers[header::AUTHORIZATION], "Bearer access-1");
    }
}

#[tokio::test]
async fn each_caller_has_tokens_of_its_own_and_the_same_caller_the_same_in_another_run() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(credentials(exchange(&issuer)), &bearer_card());
    let eve = Caller::with_token(Some(token("token-of-eve", 600)));
    for caller in [ada(), eve, ada()] {
        let of = keyring.clone().on_behalf_of(&caller);
        call(&agent.client(Binding::JsonRpc, &of)).await.expect("it is let in");
    }
    let subjects: Vec<String> =
        issuer.asked().iter().map(|asked| asked["subject_token"].clone()).collect();
    assert_eq!(subjects, [SUBJECT, "token-of-eve"]);
}

#[tokio::test]
async fn a_token_is_exchanged_anew_when_it_ends_and_when_the_agent_refuses_it() {
    let issuer = Issuer::start().await;
    let good = Arc::new(Mutex::new("Bearer access-1".to_owned()));
    let taken = good.clone();
    let agent = Guarded::start(move |headers, _| {
        has(headers, header::AUTHORIZATION, &taken.lock().expect("no test panics in here"))
    })
    .await;
    let keyring = agent.keyring(credentials(exchange(&issuer)), &bearer_card());
    let client = agent.client(Binding::HttpJson, &keyring.on_behalf_of(&ada()));
    call(&client).await.expect("by the first token");
    *good.lock().expect("no test panics in here") = "Bearer access-2".to_owned();
    call(&client).await.expect("by another one");
    issuer.set(|it| it.expires_in = json!(0));
    *good.lock().expect("no test panics in here") = "Bearer access-3".to_owned();
    call(&client).await.expect_err("the stream that follows has a token of its own");
    assert!(
        issuer.grants().len() >= 4,
        "one that ends at once serves one call: {:?}",
        issuer.grants()
    );
}

#[tokio::test]
async fn without_a_caller_nothing_is_sent_and_the_error_says_what_to_do() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(credentials(exchange(&issuer)), &bearer_card());
    assert!(!keyring.awaits_caller(), "nobody will come");
    let error = call(&agent.client(Binding::JsonRpc, &keyring)).await.unwrap_err();
    assert_eq!((error.class, error.delivery), (FailureClass::Unauthorized, Delivery::NotSent));
    for said in ["`auth.jwt.exchange: true`", "convoke serve", "bearer token"] {
        assert!(error.message.contains(said), "{error}");
    }
    assert_eq!((agent.count(), issuer.asked().len()), (0, 0));
}

#[tokio::test]
async fn a_caller_whose_token_has_ended_is_waited_for_and_what_was_exchanged_still_serves() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(credentials(exchange(&issuer)), &bearer_card());
    let caller = Caller::with_token(None);
    let of_ada = keyring.on_behalf_of(&caller);
    let client = agent.client(Binding::JsonRpc, &of_ada);
    assert!(of_ada.awaits_caller());
    let error = call(&client).await.unwrap_err();
    assert!(error.message.contains("has ended or was not kept"), "{error}");
    let back = tokio::spawn({
        let caller = caller.clone();
        async move { caller.back().await }
    });
    caller.bring(token("too-old", -5));
    assert!(of_ada.awaits_caller() && issuer.asked().is_empty());
    caller.bring(token(SUBJECT, 600));
    tokio::time::timeout(SOON, back).await.expect("it is back").expect("nothing panics");
    call(&client).await.expect("it is let in");
    // The same token, ended: what it was exchanged for has not.
    caller.bring(token(SUBJECT, -5));
    assert!(!of_ada.awaits_caller());
    call(&client).await.expect("it is let in");
    assert_eq!(issuer.asked().len(), 1);
}

#[tokio::test]
async fn a_refusal_is_told_without_the_tokens_that_it_repeats() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(credentials(exchange(&issuer)), &bearer_card());
    let body =
        json!({"error": "invalid_target", "error_description": format!("not for {SUBJECT}")});
    issuer.set(|it| it.refusal = Some((StatusCode::BAD_REQUEST, body)));
    let client = agent.client(Binding::JsonRpc, &keyring.on_behalf_of(&ada()));
    let error = call(&client).await.unwrap_err();
    assert!(error.message.contains("invalid_target: not for [hidden]"), "{error}");
    assert!(!format!("{error:?}").contains("planted"), "{error:?}");
    assert_eq!((error.class, agent.count()), (FailureClass::Unauthorized, 0));
}

#[tokio::test]
async fn tokens_go_to_the_endpoint_that_was_written_and_to_no_other_that_a_card_names() {
    let (agent, issuer, other) = (agent().await, Issuer::start().await, Issuer::start().await);
    let written = Some(issuer.at("/token").parse().expect("a URL"));
    let exchange =
        TokenExchange { client: client(None), token_endpoint: written, ..exchange(&issuer) };
    let flow = crate::v1::ClientCredentialsOAuthFlow {
        token_url: other.at("/token"),
        ..Default::default()
    };
    let flow = crate::v1::o_auth_flows::Flow::ClientCredentials(flow);
    let card = card(vec![("sso", tokens::flows(flow))]);
    let keyring = agent.keyring(credentials(exchange), &card).on_behalf_of(&ada());
    call(&agent.client(Binding::JsonRpc, &keyring)).await.expect("it is let in");
    assert_eq!((issuer.asked().len(), other.asked().len()), (1, 0));

    // Another origin than the agent's gets nothing at all.
    let elsewhere = Guarded::open().await;
    let error = call(&elsewhere.client(Binding::JsonRpc, &keyring)).await.unwrap_err();
    assert!(error.message.contains("which was not approved"), "{error}");
    assert_eq!((elsewhere.count(), issuer.asked().len()), (0, 1));
}

#[tokio::test]
async fn a_server_that_hands_back_the_callers_own_token_is_not_followed() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(credentials(exchange(&issuer)), &bearer_card());
    let body = json!({"access_token": SUBJECT, "token_type": "Bearer"});
    issuer.set(|it| it.refusal = Some((StatusCode::OK, body)));
    let client = agent.client(Binding::JsonRpc, &keyring.on_behalf_of(&ada()));
    let error = call(&client).await.unwrap_err();
    assert!(error.message.contains("answered with the token of the caller itself"), "{error}");
    assert_eq!(agent.count(), 0);
}
