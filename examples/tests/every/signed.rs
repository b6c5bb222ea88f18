//! The agent that signs its card.

use examples::{Kind, Options};
use protocol::{
    card,
    signature::{self, Algorithm, Keys, SigningKey, Verdict},
};

use crate::asking::{artifact_text, start, text};

#[tokio::test]
async fn the_card_is_signed_by_the_key_that_is_served() {
    let signs = start(Kind::SignsItsCard, Options::default()).await;
    let fetched = card::fetch(&signs.outbound, &signs.agent.url).await.expect("a card");
    let unknown = Keys::default();
    let own = signature::check(&signs.outbound, &fetched.text, &fetched.url, &unknown).await;
    assert_eq!(own.expect("a card").verdict(), Verdict::ValidUntrusted);
    let url = format!("{}/keys.json", signs.agent.url);
    let keys = signature::fetch_keys(&signs.outbound, &url).await.expect("keys");
    let verification = signature::verify(&fetched.text, &keys).expect("a card");
    assert_eq!(verification.verdict(), Verdict::Trusted);
    let task = signs.task(text("hello")).await;
    assert_eq!(artifact_text(&task, "echo"), "hello");
}

#[tokio::test]
async fn a_key_that_is_given_is_the_one_that_signs() {
    let (key, pem) = SigningKey::generate(Algorithm::EdDsa).expect("a key");
    let options = Options { signing_key: Some(pem), ..Options::default() };
    let signs = start(Kind::SignsItsCard, options).await;
    let fetched = card::fetch(&signs.outbound, &signs.agent.url).await.expect("a card");
    let public = key.public_keys(&signature::Headers::default()).expect("a public key");
    let keys = Keys::read(public.as_bytes(), "given").expect("keys");
    let verification = signature::verify(&fetched.text, &keys).expect("a card");
    assert_eq!(verification.verdict(), Verdict::Trusted);
    let bad = Options { signing_key: Some("secret".to_owned()), ..Options::default() };
    let address = ([127, 0, 0, 1], 0).into();
    let error = examples::spawn(Kind::SignsItsCard, address, bad).await.expect_err("no key");
    assert!(error.to_string().contains("it is not a PEM file"), "{error}");
}
