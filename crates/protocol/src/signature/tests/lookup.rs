//! Keys from the network.

use std::sync::{Arc, Mutex};

use axum::{Router, extract::Request, http::StatusCode, response::IntoResponse as _};
use tokio::net::TcpListener;

use super::*;
use crate::outbound::{Outbound, Policy};

/// A server with key sets at some addresses, which notes what it was asked for.
struct Site {
    base: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// `/keys.json` are the keys of the data; `/away` leads to an address.
    async fn new(away: &str) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, away) = (asked.clone(), away.to_owned());
        let router = Router::new().fallback(async move |request: Request| {
            let path = request.uri().path().to_owned();
            log.lock().unwrap().push(path.clone());
            match path.as_str() {
                "/keys.json" => data("keys.json").into_response(),
                "/page" => "<html>".into_response(),
                "/away" => (StatusCode::FOUND, [("location", away)]).into_response(),
                _ => StatusCode::NOT_FOUND.into_response(),
            }
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn outbound() -> Outbound {
    Outbound::new(Policy::loopback()).unwrap()
}

/// Checks a card of the site that says its keys are at an address.
async fn checked(site: &Site, url: &str, keys: &Keys) -> Standing {
    let raw = signed(&Headers { key_set_url: Some(url.to_owned()), ..headers("ES256") });
    let card_url = format!("{}/.well-known/agent-card.json", site.base);
    only(check(&outbound(), &text(&raw), &card_url, keys).await.unwrap())
}

async fn refusal(site: &Site, url: &str) -> String {
    match checked(site, url, &Keys::default()).await {
        Standing::Invalid(flaw) => flaw.to_string().replace(&site.base, "http://site"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_key_of_the_cards_own_server_makes_a_signature_valid_and_not_trusted() {
    let site = Site::new("").await;
    let url = format!("{}/keys.json", site.base);
    let found = checked(&site, &url, &Keys::default()).await;
    let wanted = Standing::ValidUntrusted { key_from: url.clone(), form: Form::AsReceived };
    assert_eq!((found.verdict(), found), (Verdict::ValidUntrusted, wanted));
    assert_eq!(site.asked(), ["/keys.json"]);
}

#[tokio::test]
async fn a_key_that_is_known_is_not_looked_up() {
    let site = Site::new("").await;
    let found = checked(&site, &format!("{}/keys.json", site.base), &keys()).await;
    assert_eq!(found, trusted(Form::AsReceived));
    assert!(site.asked().is_empty());
}

#[tokio::test]
async fn a_card_sends_nobody_to_another_server() {
    let other = Site::new("").await;
    let site = Site::new(&format!("{}/keys.json", other.base)).await;
    let url = format!("{}/keys.json", other.base);
    let elsewhere = refusal(&site, &url).await.replace(&other.base, "http://other");
    insta::assert_snapshot!(elsewhere, @"it cannot be checked: no key `ES256` is known. The card points to http://other/keys.json, which gives none: it is not on the server that the card came from, and no other is asked. If you trust that address, name it with --keys");
    assert!(other.asked().is_empty());
    assert!(refusal(&site, "keys.json").await.contains("it is not a URL"));
    // A redirect gives the keys of nobody, either.
    let led_away = refusal(&site, &format!("{}/away", site.base)).await;
    assert!(led_away.contains("not on the server that the card came from"), "{led_away}");
}

#[tokio::test]
async fn keys_that_cannot_be_had_are_the_flaw_of_their_signature() {
    let site = Site::new("").await;
    let said = [
        refusal(&site, &format!("{}/none", site.base)).await,
        refusal(&site, &format!("{}/page", site.base)).await,
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    it cannot be checked: no key `ES256` is known. The card points to http://site/none, which gives none: the keys cannot be fetched: http://site/none answered with HTTP status 404. If you trust that address, name it with --keys
    it cannot be checked: no key `ES256` is known. The card points to http://site/page, which gives none: http://site/page holds no public key that signatures can be checked with: it is neither PEM nor JSON. If you trust that address, name it with --keys
    ");
}

#[tokio::test]
async fn one_card_causes_few_lookups() {
    let site = Site::new("").await;
    let mut raw = signed(&headers("ES256"));
    let signatures = (0..6).map(|at| {
        let url = format!("{}/{}", site.base, at % 3);
        let signed = signed(&Headers { key_set_url: Some(url), ..headers("ES256") });
        signed["signatures"][0].clone()
    });
    raw["signatures"] = signatures.collect();
    let verification = check(&outbound(), &text(&raw), &site.base, &Keys::default()).await.unwrap();
    assert_eq!(verification.verdict(), Verdict::Invalid);
    assert_eq!(site.asked(), ["/0", "/1"]);
    let last = &verification.signatures[5].standing;
    let Standing::Invalid(flaw) = last else { panic!("{last:?}") };
    assert!(flaw.to_string().contains("only 2 addresses are looked up"), "{flaw}");
}

#[tokio::test]
async fn keys_at_an_address_that_the_operator_named_are_trusted() {
    let site = Site::new("").await;
    let url = format!("{}/keys.json", site.base);
    let keys = fetch_keys(&outbound(), &url).await.unwrap();
    let found = only(verify(&data("ES384.json"), &keys).unwrap());
    assert_eq!(found, Standing::Trusted { key_from: url, form: Form::AsReceived });
    let missing = fetch_keys(&outbound(), &format!("{}/none", site.base)).await.unwrap_err();
    let missing = missing.to_string().replace(&site.base, "http://site");
    insta::assert_snapshot!(missing, @"the keys cannot be fetched: http://site/none answered with HTTP status 404");
}
