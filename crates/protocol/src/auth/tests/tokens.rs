//! Tokens: gotten once, kept, renewed, and asked for at approved servers alone.

use futures_util::{FutureExt as _, future};
use serde_json::json;

use super::{issuer::Issuer, *};
use crate::{
    auth::{Issuer as Known, OAuthClient},
    client::{Delivery, FailureClass},
    v1::{
        ClientCredentialsOAuthFlow, OAuth2SecurityScheme, OAuthFlows, OpenIdConnectSecurityScheme,
        o_auth_flows::Flow as CardFlow,
    },
};

pub(super) fn client(issuer: Option<&Issuer>) -> OAuthClient {
    OAuthClient {
        client_id: "convoke".to_owned(),
        client_secret: Some(value("s:1")),
        scopes: Vec::new(),
        issuer: issuer.map(|it| it.url.parse::<Known>().expect("a URL")),
        flow: None,
    }
}

pub(super) fn oauth2(client: OAuthClient) -> Vec<Credential> {
    vec![credential(Method::Oauth2(client))]
}

pub(super) fn flows(flow: CardFlow) -> Scheme {
    let flows = Some(OAuthFlows { flow: Some(flow) });
    Scheme::Oauth2SecurityScheme(OAuth2SecurityScheme { flows, ..Default::default() })
}

fn by_credentials(issuer: &Issuer) -> AgentCard {
    let flow = ClientCredentialsOAuthFlow { token_url: issuer.at("/token"), ..Default::default() };
    card(vec![("sso", flows(CardFlow::ClientCredentials(flow)))])
}

fn by_discovery(issuer: &Issuer) -> AgentCard {
    let open_id_connect_url = issuer.at("/.well-known/openid-configuration");
    let scheme = OpenIdConnectSecurityScheme { open_id_connect_url, ..Default::default() };
    card(vec![("sso", Scheme::OpenIdConnectSecurityScheme(scheme))])
}

async fn agent() -> Guarded {
    Guarded::start(|headers, _| {
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        token.is_some_and(|token| token.starts_with("Bearer access-"))
    })
    .await
}

#[tokio::test]
async fn one_token_serves_all_calls_over_all_bindings_and_many_at_once() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let mut card = by_credentials(&issuer);
    card.security_requirements = vec![requirement(&[("sso", &["book", "pay"])])];
    let client =
        OAuthClient { scopes: vec!["pay".to_owned(), "see".to_owned()], ..client(Some(&issuer)) };
    let keyring = agent.keyring(oauth2(client), &card);
    let clients: Vec<_> = Binding::ALL.into_iter().map(|it| agent.client(it, &keyring)).collect();
    for outcome in future::join_all(clients.iter().chain(&clients).map(call)).await {
        outcome.expect("it is let in");
    }
    let [asked] = &issuer.asked()[..] else { panic!("one token is enough") };
    assert_eq!(asked["grant_type"], "client_credentials");
    assert_eq!(asked["scope"], "book pay see");
    // RFC 6749 §2.3.1: encoded, then `convoke:s%3A1` as base64.
    assert_eq!(asked["authorization"], "Basic Y29udm9rZTpzJTNBMQ==");
    assert!(!asked.contains_key("client_secret"));
}

#[tokio::test]
async fn a_token_is_renewed_when_it_ends_and_when_it_is_refused() {
    let issuer = Issuer::start().await;
    let wanted = Arc::new(Mutex::new("Bearer access-1".to_owned()));
    let good = wanted.clone();
    let agent = Guarded::start(move |headers, _| {
        has(headers, header::AUTHORIZATION, &good.lock().expect("no test panics in here"))
    })
    .await;
    let keyring = agent.keyring(oauth2(client(Some(&issuer))), &by_credentials(&issuer));
    for (number, binding) in (1..).zip(Binding::ALL) {
        // The agent forgets the token of the binding before.
        *wanted.lock().expect("no test panics in here") = format!("Bearer access-{number}");
        call(&agent.client(binding, &keyring)).await.expect("it is let in with another token");
        assert_eq!(issuer.asked().len(), number, "{binding}");
    }
    let client = agent.client(Binding::JsonRpc, &keyring);
    *wanted.lock().expect("no test panics in here") = "Bearer none".to_owned();
    let before = agent.count();
    let error = client.send_message(says("hi"), SOON).await.expect_err("it is not let in");
    assert_eq!(error.class, FailureClass::Unauthorized);
    assert_eq!(agent.count() - before, 2, "once more, and no more than that");

    let brief = Issuer::start().await;
    brief.set(|it| it.expires_in = json!("0"));
    let agent = self::agent().await;
    let keyring = agent.keyring(oauth2(self::client(Some(&brief))), &by_credentials(&brief));
    let client = agent.client(Binding::JsonRpc, &keyring);
    call(&client).await.expect("it is let in");
    assert_eq!(brief.asked().len(), 2, "each call needs its own");
    brief.set(|it| it.expires_in = json!(null));
    call(&client).await.expect("it is let in");
    assert_eq!(brief.asked().len(), 3, "one without an end is kept");
}

#[tokio::test]
async fn a_refresh_token_is_used_once_and_replaced() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    issuer.set(|it| (it.refreshes, it.expires_in) = (true, json!(0)));
    let keyring = agent.keyring(oauth2(client(Some(&issuer))), &by_credentials(&issuer));
    let client = agent.client(Binding::HttpJson, &keyring);
    for _ in 0..3 {
        client.send_message(says("hi"), SOON).await.expect("it is let in");
    }
    assert_eq!(issuer.grants(), ["client_credentials", "refresh_token", "refresh_token"]);
    assert_eq!(issuer.asked()[2]["refresh_token"], "refresh-2");
}

#[tokio::test]
async fn a_caller_that_goes_away_loses_no_token() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(oauth2(client(Some(&issuer))), &by_credentials(&issuer));
    let url = agent.url.parse().expect("a URL");
    let first = keyring.proof(&url);
    assert!(first.now_or_never().is_none(), "the server has to be asked");
    keyring.proof(&url).await.expect("a proof");
    assert_eq!(issuer.asked().len(), 1);
}

#[tokio::test]
async fn only_servers_the_operator_approved_get_a_client_s_secret() {
    let (agent, issuer, other) = (agent().await, Issuer::start().await, Issuer::start().await);
    let said = async |card: AgentCard, client: OAuthClient| {
        let keyring = agent.keyring(oauth2(client), &card);
        let outcome = call(&agent.client(Binding::JsonRpc, &keyring)).await;
        outcome.expect_err("it is not approved").to_string()
    };
    for card in [by_credentials(&other), by_discovery(&other)] {
        for client in [client(None), client(Some(&issuer))] {
            let said = said(card.clone(), client).await;
            let advice = format!("write `issuer: {}` beside its `client_id`", other.url);
            assert!(said.contains(&advice), "{said}");
        }
    }
    // One that says it is another is not believed.
    issuer.set(|it| it.metadata = json!({"issuer": other.url}));
    let said = said(by_discovery(&issuer), client(Some(&issuer))).await;
    assert!(said.contains("is about another authorization server"), "{said}");
    assert_eq!((other.asked().len(), issuer.asked().len()), (0, 0));
    // What the issuer itself vouches for is approved with it.
    issuer.set(|it| it.metadata = json!({"token_endpoint": other.at("/token")}));
    let keyring = agent.keyring(oauth2(client(Some(&issuer))), &by_discovery(&issuer));
    call(&agent.client(Binding::JsonRpc, &keyring)).await.expect("it is let in");
    assert_eq!((other.asked().len(), issuer.asked().len()), (1, 0));
}

#[tokio::test]
async fn a_server_s_endpoints_are_discovered() {
    let agent = agent().await;
    let (silent, described) = (AgentCard::default(), Issuer::start().await);
    let oauth2_metadata_url = described.at("/.well-known/openid-configuration");
    let pointing = OAuth2SecurityScheme { oauth2_metadata_url, ..Default::default() };
    let pointing = card(vec![("sso", Scheme::Oauth2SecurityScheme(pointing))]);
    for card in [silent, by_discovery(&described), pointing] {
        let keyring = agent.keyring(oauth2(client(Some(&described))), &card);
        call(&agent.client(Binding::Grpc, &keyring)).await.expect("it is let in");
    }
    assert_eq!(described.grants(), ["client_credentials"; 3]);
    let methods = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    described.set(|it| it.metadata = methods);
    let keyring = agent.keyring(oauth2(client(Some(&described))), &by_discovery(&described));
    call(&agent.client(Binding::Grpc, &keyring)).await.expect("it is let in");
    let asked = described.asked().pop().expect("it was asked");
    assert_eq!((&*asked["client_id"], &*asked["client_secret"]), ("convoke", "s:1"));
    assert!(!asked.contains_key("authorization"));
    // A public client says who it is, and nothing more.
    let public = OAuthClient { client_secret: None, ..client(Some(&described)) };
    let keyring = agent.keyring(oauth2(public), &by_discovery(&described));
    call(&agent.client(Binding::Grpc, &keyring)).await.expect("it is let in");
    let asked = described.asked().pop().expect("it was asked");
    assert_eq!(asked.get("client_id").map(String::as_str), Some("convoke"));
    assert!(!asked.contains_key("client_secret"));
}

#[tokio::test]
async fn a_server_that_refuses_is_quoted_and_one_that_is_gone_may_come_back() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = agent.keyring(oauth2(client(Some(&issuer))), &by_credentials(&issuer));
    let client = agent.client(Binding::JsonRpc, &keyring);
    let refusals = [
        (
            400,
            json!({"error": "invalid_client", "error_description": "who?"}),
            "invalid_client: who?",
        ),
        (503, json!("down"), "HTTP 503"),
        (200, json!({"access_token": "a", "token_type": "mac"}), "only Bearer is spoken here"),
        (200, json!({"token": "planted"}), "what cannot be read"),
    ];
    for (status, body, wanted) in refusals {
        let status = StatusCode::from_u16(status).expect("a status");
        issuer.set(|it| it.refusal = Some((status, body)));
        let error = call(&client).await.expect_err("there is no token");
        let class = if status.is_server_error() {
            FailureClass::Unavailable
        } else {
            FailureClass::Unauthorized
        };
        assert_eq!((error.class, error.delivery), (class, Delivery::NotSent), "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
        assert!(!error.to_string().contains("s:1") && !error.to_string().contains("planted"));
    }
    assert_eq!(agent.count(), 0);
    let mut gone = by_credentials(&issuer);
    let flow = ClientCredentialsOAuthFlow {
        token_url: "http://127.0.0.1:1/token".to_owned(),
        ..Default::default()
    };
    gone.security_schemes.insert(
        "sso".to_owned(),
        SecurityScheme { scheme: Some(flows(CardFlow::ClientCredentials(flow))) },
    );
    let there = OAuthClient { issuer: "http://127.0.0.1:1".parse().ok(), ..self::client(None) };
    let keyring = agent.keyring(oauth2(there), &gone);
    let error = call(&agent.client(Binding::JsonRpc, &keyring)).await.expect_err("nobody is there");
    assert_eq!((error.class, error.delivery), (FailureClass::Unavailable, Delivery::NotSent));
}
