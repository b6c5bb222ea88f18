//! Logging in by a browser and by a code, and what is kept of it.

use serde_json::json;
use url::Url;

use super::{
    issuer::Issuer,
    tokens::{client, flows, oauth2},
    *,
};
use crate::{
    auth::{Flow, Login, OAuthClient},
    v1::{
        AuthorizationCodeOAuthFlow, DeviceCodeOAuthFlow, OpenIdConnectSecurityScheme,
        o_auth_flows::Flow as CardFlow,
    },
};

fn by_device(issuer: &Issuer) -> AgentCard {
    let flow = DeviceCodeOAuthFlow {
        device_authorization_url: issuer.at("/device"),
        token_url: issuer.at("/token"),
        ..Default::default()
    };
    card(vec![("sso", flows(CardFlow::DeviceCode(flow)))])
}

fn by_browser(issuer: &Issuer) -> AgentCard {
    let flow = AuthorizationCodeOAuthFlow {
        authorization_url: issuer.at("/authorize?tenant=1"),
        token_url: issuer.at("/token"),
        ..Default::default()
    };
    card(vec![("sso", flows(CardFlow::AuthorizationCode(flow)))])
}

async fn agent() -> Guarded {
    Guarded::start(|headers, _| headers.contains_key(header::AUTHORIZATION)).await
}

/// A keyring whose tokens are kept in a folder.
fn kept(agent: &Guarded, issuer: &Issuer, card: &AgentCard, vault: Vault) -> Keyring {
    let given = (oauth2(client(Some(issuer))), vec![agent.origin()]);
    Keyring::new(&outbound(), "guarded", given, Some(card), vault)
}

/// What a browser does: it goes where it is sent, and to wherever that leads.
async fn browse(url: &Url) -> String {
    let page = outbound().fetch(url.as_str(), Default::default()).await.expect("a page");
    String::from_utf8(page.body.to_vec()).expect("text")
}

#[tokio::test]
async fn a_login_by_code_waits_and_its_tokens_outlive_the_process() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    issuer.set(|it| (it.pending, it.refreshes) = (3, true));
    let folder = tempfile::tempdir().expect("a folder");
    let vault = Vault::in_folder(folder.path().join("tokens"));
    let card = by_device(&issuer);
    let keyring = kept(&agent, &issuer, &card, vault.clone());
    let error = call(&agent.client(Binding::JsonRpc, &keyring)).await.expect_err("nobody is in");
    assert!(error.to_string().contains("run `convoke agents login guarded`"), "{error}");
    let login = keyring.login().await.expect("a login");
    let Login::Device(device) = &login else { panic!("by code: {login:?}") };
    assert_eq!((&*device.code, &device.url), ("ABCD-EFGH", &issuer.at("/activate")));
    login.finish().await.expect("the code was typed");
    assert_eq!(issuer.grants(), ["device_code"; 4]);
    call(&agent.client(Binding::JsonRpc, &keyring)).await.expect("it is let in");

    let later = kept(&agent, &issuer, &card, vault.clone());
    call(&agent.client(Binding::Grpc, &later)).await.expect("it is let in after a restart");
    assert_eq!(issuer.asked().len(), 4, "nothing had to be asked");
    // Another agent, and the same one elsewhere, find nothing.
    for (name, origins) in [("other", vec![agent.origin()]), ("guarded", vec![])] {
        let origins =
            [origins, vec!["https://elsewhere.example".parse().expect("an origin")]].concat();
        let given = (oauth2(client(Some(&issuer))), origins);
        let stranger = Keyring::new(&outbound(), name, given, Some(&card), vault.clone());
        let url = "https://elsewhere.example/".parse().expect("a URL");
        let error = stranger.proof(&url).await.expect_err("nobody is logged in");
        assert!(matches!(error, AuthError::LoginNeeded { .. }), "{error}");
    }
}

#[tokio::test]
async fn kept_tokens_are_renewed_replaced_and_for_their_owner_alone() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    issuer.set(|it| (it.refreshes, it.expires_in) = (true, json!(0)));
    let folder = tempfile::tempdir().expect("a folder");
    let tokens = folder.path().join("tokens");
    let card = by_device(&issuer);
    let restarted = || kept(&agent, &issuer, &card, Vault::in_folder(tokens.clone()));
    restarted().login().await.expect("a login").finish().await.expect("the code was typed");
    for _ in 0..2 {
        let url = agent.url.parse().expect("a URL");
        restarted().proof(&url).await.expect("the token is renewed");
    }
    assert_eq!(issuer.grants(), ["device_code", "refresh_token", "refresh_token"]);
    let files: Vec<_> = std::fs::read_dir(&tokens).expect("a folder").collect();
    assert_eq!(files.len(), 1);
    #[cfg(unix)]
    for path in [tokens.clone(), files[0].as_ref().expect("a file").path()] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
    // The server forgot the login.
    issuer
        .set(|it| it.refusal = Some((StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"}))));
    let url = agent.url.parse().expect("a URL");
    let error = restarted().proof(&url).await.expect_err("the login is over");
    assert!(matches!(error, AuthError::LoginNeeded { .. }), "{error}");
}

#[tokio::test]
async fn a_login_by_browser_proves_that_it_began_the_flow() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let keyring = kept(&agent, &issuer, &by_browser(&issuer), Vault::none());
    let login = keyring.login().await.expect("a login");
    let Login::Browser(browser) = &login else { panic!("by browser: {login:?}") };
    let asked: std::collections::HashMap<_, _> = browser.url.query_pairs().into_owned().collect();
    assert_eq!((&*asked["tenant"], &*asked["client_id"]), ("1", "convoke"));
    // Somebody else's answer comes first.
    let forged = format!("{}?code=code-9&state=guessed", asked["redirect_uri"]);
    let page = browse(&forged.parse().expect("a URL")).await;
    assert!(page.contains("not the answer"), "{page}");
    let page = browse(&browser.url).await;
    assert!(page.contains("has your answer"), "{page}");
    login.finish().await.expect("it is authorized");
    let [exchanged] = &issuer.asked()[..] else { panic!("one exchange") };
    assert_eq!(exchanged["redirect_uri"], asked["redirect_uri"]);
    call(&agent.client(Binding::HttpJson, &keyring)).await.expect("it is let in");
}

#[tokio::test]
async fn a_login_that_is_declined_says_so() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let client = OAuthClient { scopes: vec!["deny".to_owned()], ..client(Some(&issuer)) };
    let keyring = agent.keyring(oauth2(client), &by_browser(&issuer));
    let login = keyring.login().await.expect("a login");
    if let Login::Browser(browser) = &login {
        browse(&browser.url).await;
    }
    let error = login.finish().await.expect_err("it was declined").to_string();
    assert!(error.ends_with("the authorization server says access_denied: not today"), "{error}");
    assert_eq!(issuer.asked().len(), 0);
}

#[tokio::test]
async fn the_flow_is_chosen_where_the_card_leaves_it_open() {
    let (agent, issuer) = (agent().await, Issuer::start().await);
    let open_id_connect_url = issuer.at("/.well-known/openid-configuration");
    let scheme = OpenIdConnectSecurityScheme { open_id_connect_url, ..Default::default() };
    let card = card(vec![("sso", Scheme::OpenIdConnectSecurityScheme(scheme))]);
    let login = async |flow| {
        let client = OAuthClient { flow, ..client(Some(&issuer)) };
        agent.keyring(oauth2(client), &card).login().await
    };
    assert!(matches!(login(Some(Flow::DeviceCode)).await, Ok(Login::Device(_))));
    assert!(matches!(login(Some(Flow::AuthorizationCode)).await, Ok(Login::Browser(_))));
    for flow in [None, Some(Flow::ClientCredentials)] {
        let error = login(flow).await.expect_err("nobody has to log in").to_string();
        assert!(error.contains("without anybody logging in"), "{error}");
    }
    let keyring = agent.keyring(vec![Credential::bearer(value("t"))], &AgentCard::default());
    let error = keyring.login().await.expect_err("there is nothing").to_string();
    assert!(error.contains("hold no `oauth2`"), "{error}");
}
