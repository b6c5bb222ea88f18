//! What of a card is satisfied by which credential.

use insta::assert_snapshot;

use super::*;
use crate::v1::{
    ApiKeySecurityScheme, HttpAuthSecurityScheme, MutualTlsSecurityScheme,
    OpenIdConnectSecurityScheme,
};

pub(super) fn api_key(location: &str, name: &str) -> Scheme {
    Scheme::ApiKeySecurityScheme(ApiKeySecurityScheme {
        location: location.to_owned(),
        name: name.to_owned(),
        ..Default::default()
    })
}

pub(super) fn http(scheme: &str) -> Scheme {
    let scheme = scheme.to_owned();
    Scheme::HttpAuthSecurityScheme(HttpAuthSecurityScheme { scheme, ..Default::default() })
}

fn basic() -> Credential {
    let (username, password) = ("ada".to_owned(), value("lovelace"));
    credential(Method::Basic { username, password })
}

/// The header and query of the proof for a card.
async fn shown(credentials: Vec<Credential>, card: &AgentCard) -> String {
    let url = "https://agent.example/".parse().expect("a URL");
    let given = (credentials, vec!["https://agent.example".parse().expect("an origin")]);
    let keyring = Keyring::new(&outbound(), "it", given, Some(card), Vault::none());
    let proof = match keyring.proof(&url).await {
        Ok(proof) => proof,
        Err(error) => return error.to_string(),
    };
    let request = outbound().request(reqwest::Method::GET, &url).expect("it may be called");
    let mut headers = HeaderMap::new();
    proof.apply_headers(&mut headers);
    let request = proof.apply_query(request).headers(headers).build().expect("it can be built");
    let mut headers: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_str().expect("text")))
        .collect();
    headers.sort();
    headers.extend(request.url().query().map(str::to_owned));
    headers.join(" ")
}

#[tokio::test]
async fn the_first_alternative_that_can_be_satisfied_whole_is_taken() {
    let mut card = card(vec![
        ("key", api_key("header", "X-Key")),
        ("page", api_key("query", "page")),
        ("user", http("Basic")),
        ("token", http("bearer")),
    ]);
    card.security_requirements = vec![
        requirement(&[("key", &[]), ("token", &[])]),
        requirement(&[("user", &[])]),
        requirement(&[("page", &[])]),
    ];
    let bearer = || Credential::bearer(value("t"));
    let key = || credential(Method::ApiKey(value("k")));
    assert_eq!(
        shown(vec![key(), bearer(), basic()], &card).await,
        "authorization=Bearer t x-key=k"
    );
    assert_eq!(shown(vec![basic(), bearer()], &card).await, "authorization=Basic YWRhOmxvdmVsYWNl");
    assert_eq!(shown(vec![key()], &card).await, "page=k");
    let named = Credential { scheme: Some("page".to_owned()), ..key() };
    assert_eq!(shown(vec![named, bearer()], &card).await, "page=k");
    let other = Credential { scheme: Some("another".to_owned()), ..key() };
    assert_snapshot!(shown(vec![other, bearer()], &card).await, @"
    the credentials for the agent `it` (api_key, bearer) do not fit. Its card wants an API key in the header `X-Key` (its scheme `key`: `api_key: {env: NAME}`) and a bearer token (its scheme `token`: `bearer: {env: NAME}`), or a user and a password (HTTP Basic) (its scheme `user`: `basic: {username: NAME, password: {env: NAME}}`), or an API key in the query `page` (its scheme `page`: `api_key: {env: NAME}`); give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    ");
}

#[tokio::test]
async fn a_card_that_lists_schemes_alone_or_allows_anybody_is_called_all_the_same() {
    let mut open = card(vec![("key", api_key("header", "X-Key"))]);
    open.security_requirements.push(requirement(&[]));
    assert_eq!(shown(vec![basic()], &open).await, "");
    assert_eq!(shown(vec![credential(Method::ApiKey(value("k")))], &open).await, "x-key=k");
    open.security_requirements.clear();
    assert_eq!(shown(vec![basic()], &open).await, "");
    assert_eq!(shown(vec![credential(Method::ApiKey(value("k")))], &open).await, "x-key=k");
}

#[tokio::test]
async fn what_knows_its_place_needs_no_scheme() {
    let silent = AgentCard::default();
    assert_eq!(shown(vec![basic()], &silent).await, "authorization=Basic YWRhOmxvdmVsYWNl");
    assert_eq!(shown(vec![credential(Method::ApiKey(value("k")))], &silent).await, "");
    let header = || Credential::header("X-Door", Secret::new("7"));
    assert_eq!(shown(vec![header()], &silent).await, "x-door=7");
    let strange = card(vec![("odd", http("Hawk"))]);
    assert_eq!(shown(vec![header()], &strange).await, "x-door=7");
    let named = Credential { scheme: Some("odd".to_owned()), ..header() };
    assert_eq!(shown(vec![named, basic()], &strange).await, "x-door=7");
}

#[tokio::test]
async fn cookies_share_a_header_and_unknown_places_are_refused() {
    let mut two = card(vec![("a", api_key("cookie", "a")), ("b", api_key("Cookie", "b"))]);
    two.security_requirements = vec![requirement(&[("a", &[]), ("b", &[])])];
    let key = |scheme: &str, text: &str| Credential {
        scheme: Some(scheme.to_owned()),
        method: Method::ApiKey(value(text)),
    };
    assert_eq!(shown(vec![key("b", "2"), key("a", "1")], &two).await, "cookie=a=1; b=2");
    let body = card(vec![("a", api_key("body", "a"))]);
    assert_snapshot!(shown(vec![key("a", "1")], &body).await, @"
    the agent `it` cannot be authenticated with: its card wants an API key in `body`, which is none of header, query and cookie
    ");
    let line = card(vec![("a", api_key("header", "a b"))]);
    assert_snapshot!(shown(vec![key("a", "1")], &line).await, @"
    the agent `it` cannot be authenticated with: what there is for `a b` cannot stand in a request
    ");
}

#[test]
fn a_card_s_wishes_are_explained() {
    let oidc = OpenIdConnectSecurityScheme::default();
    let mut all = card(vec![
        ("cert", Scheme::MtlsSecurityScheme(MutualTlsSecurityScheme::default())),
        ("hawk", http("Hawk")),
        ("key", api_key("cookie", "session")),
        ("sso", Scheme::OpenIdConnectSecurityScheme(oidc)),
        ("token", http("bearer")),
        ("user", http("basic")),
    ]);
    all.security_requirements = vec![
        requirement(&[("cert", &[]), ("sso", &["book", "pay"])]),
        requirement(&[("user", &[])]),
        requirement(&[("token", &[])]),
        requirement(&[("key", &[])]),
        requirement(&[("hawk", &[])]),
        requirement(&[("gone", &[])]),
        requirement(&[]),
    ];
    let keyring =
        |card| Keyring::new(&outbound(), "it", (vec![], vec![]), Some(card), Vault::none());
    assert_snapshot!(keyring(&all).advice(), @"
    Its card wants a client certificate (its scheme `cert`: `certificate: {certificate: {file: PATH}, key: {file: PATH}}`) and an OpenID Connect token with the scopes book, pay (its scheme `sso`: `oauth2: {client_id: ID, client_secret: {env: NAME}}`), or a user and a password (HTTP Basic) (its scheme `user`: `basic: {username: NAME, password: {env: NAME}}`), or a bearer token (its scheme `token`: `bearer: {env: NAME}`), or an API key in the cookie `session` (its scheme `key`: `api_key: {env: NAME}`), or HTTP authentication by Hawk (its scheme `hawk`: `header: {name: Authorization, value: {env: NAME}}`), or `gone`, which the card requires and does not describe; give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    ");
    assert_snapshot!(keyring(&AgentCard::default()).advice(), @"
    Its card does not say what it wants; once you know (`bearer`, `basic`, `header`), give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    ");
    let unknown = Keyring::new(&outbound(), "it", (vec![], vec![]), None, Vault::none());
    assert_snapshot!(unknown.advice(), @"
    It is not in the directory, which has the credentials: take it in, look with `convoke agents show` at what its card wants, and give it under `credentials` of the agent in a catalog and apply that with `convoke agents apply`
    ");
}
