//! Every kind of credential over every binding.

use super::{
    schemes::{api_key, http},
    *,
};
use crate::{
    client::{Delivery, FailureClass, Peer},
    limits::ClientLimits,
};

/// A kind: its card, its credential, and what the agent looks for.
fn kinds() -> Vec<(&'static str, AgentCard, Credential, LetsIn)> {
    let key = || credential(Method::ApiKey(value("k-1")));
    let basic = Method::Basic { username: "ada".to_owned(), password: value("lovelace") };
    let header = |name: &'static str, wanted: &'static str| -> LetsIn {
        Arc::new(move |headers, _| headers.get(name).is_some_and(|value| value == wanted))
    };
    vec![
        (
            "key in a header",
            card(vec![("key", api_key("header", "X-Key"))]),
            key(),
            header("x-key", "k-1"),
        ),
        (
            "key in the query",
            card(vec![("key", api_key("query", "key"))]),
            key(),
            // gRPC has no query: there it is metadata.
            Arc::new(|headers, uri| {
                uri.query().is_some_and(|query| query.contains("key=k-1"))
                    || headers.get("key").is_some_and(|value| value == "k-1")
            }),
        ),
        (
            "key in a cookie",
            card(vec![("key", api_key("cookie", "key"))]),
            key(),
            header("cookie", "key=k-1"),
        ),
        (
            "basic",
            card(vec![("user", http("basic"))]),
            credential(basic),
            header("authorization", "Basic YWRhOmxvdmVsYWNl"),
        ),
        (
            "bearer",
            card(vec![("token", http("bearer"))]),
            Credential::bearer(value("t-1")),
            header("authorization", "Bearer t-1"),
        ),
        (
            "a header that the card does not know",
            AgentCard::default(),
            Credential::header("X-Door", Secret::new("d-1")),
            header("x-door", "d-1"),
        ),
    ]
}

#[tokio::test]
async fn every_kind_is_carried_over_every_binding() {
    for (kind, card, credential, lets_in) in kinds() {
        let agent = Guarded::start(move |headers, uri| lets_in(headers, uri)).await;
        let (with, without) =
            (agent.keyring(vec![credential], &card), agent.keyring(vec![], &card));
        for binding in Binding::ALL {
            call(&agent.client(binding, &with))
                .await
                .unwrap_or_else(|error| panic!("{kind} over {binding}: {error}"));
            let error = call(&agent.client(binding, &without)).await.expect_err("it is refused");
            assert_eq!(error.class, FailureClass::Unauthorized, "{kind} over {binding}: {error}");
            assert_eq!(error.delivery, Delivery::Answered);
            assert!(error.to_string().ends_with(&with.advice()), "{error}");
        }
    }
}

#[tokio::test]
async fn a_proof_goes_instead_of_other_headers_of_its_names_and_beside_those_of_others() {
    let agent = Guarded::start(|headers, _| {
        let tokens: Vec<_> = headers.get_all(header::AUTHORIZATION).iter().collect();
        tokens == ["Bearer t"] && headers.get("x-door").is_some_and(|value| value == "d")
    })
    .await;
    let keyring = agent.keyring(vec![Credential::bearer(value("t"))], &AgentCard::default());
    let mut typed = HeaderMap::new();
    typed.insert("x-door", HeaderValue::from_static("d"));
    typed.insert(header::AUTHORIZATION, HeaderValue::from_static("Bearer other"));
    for binding in Binding::ALL {
        let client = agent.client(binding, &keyring).with_headers(typed.clone());
        call(&client).await.unwrap_or_else(|error| panic!("{binding}: {error}"));
    }
}

#[tokio::test]
async fn credentials_that_do_not_fit_are_told_before_anything_is_sent() {
    let agent = Guarded::open().await;
    let card = card(vec![("key", api_key("header", "X-Key"))]);
    let keyring = agent.keyring(vec![Credential::bearer(value("t"))], &card);
    for binding in Binding::ALL {
        let error = call(&agent.client(binding, &keyring)).await.expect_err("it does not fit");
        assert_eq!((error.class, error.delivery), (FailureClass::Unauthorized, Delivery::NotSent));
        let said = error.to_string();
        assert!(
            said.contains("(bearer) do not fit. Its card wants an API key in the header"),
            "{said}"
        );
    }
    assert_eq!(agent.count(), 0);
}

#[tokio::test]
async fn an_agent_with_several_interfaces_is_authenticated_over_each() {
    let agent = Guarded::start(|headers, _| has(headers, header::AUTHORIZATION, "Bearer t")).await;
    let keyring = agent.keyring(vec![Credential::bearer(value("t"))], &AgentCard::default());
    for binding in Binding::ALL {
        let interfaces = vec![agent.interface(binding)];
        let peer =
            Peer::new(&outbound(), interfaces, ClientLimits::default()).expect("an interface");
        peer.clone().send_message(says("hi"), SOON).await.expect_err("not openly");
        let peer = peer.with_keyring(&keyring);
        peer.send_message(says("hi"), SOON)
            .await
            .unwrap_or_else(|error| panic!("{binding}: {error}"));
    }
}
