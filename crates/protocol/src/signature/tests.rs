mod canonical;
mod lookup;
mod refused;
mod signing;
mod vectors;

use serde_json::{Value as Json, json};

use super::*;
use crate::v1::AgentCard;

/// A file of `tests/data/signatures`, made by `tests/interop/sign.py`.
fn data(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/signatures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn data_json(name: &str) -> Json {
    serde_json::from_slice(&data(name)).unwrap()
}

/// The public keys of the data.
fn keys() -> Keys {
    Keys::read(&data("keys.json"), "keys.json").unwrap()
}

/// The private key of the data for an algorithm.
fn private_key(algorithm: &str) -> SigningKey {
    SigningKey::read(&data(&format!("{algorithm}.pem")), "test").unwrap()
}

fn text(json: &Json) -> Vec<u8> {
    serde_json::to_vec(json).unwrap()
}

/// A card without signatures.
fn card() -> AgentCard {
    let mut card = Unsigned::read(&data("ES256.json")).unwrap().card;
    card.signatures.clear();
    card
}

/// The same, signed by a key of the data.
fn signed(headers: &Headers) -> Json {
    let mut card = card();
    sign(&mut card, &private_key("ES256"), headers).unwrap();
    serde_json::to_value(card).unwrap()
}

fn headers(key_id: &str) -> Headers {
    Headers { key_id: Some(key_id.to_owned()), ..Headers::default() }
}

/// Checks a card against the keys of the data.
fn verified(card: &Json) -> Verification {
    verify(&text(card), &keys()).unwrap()
}

/// What came of the only signature.
fn standing(card: &Json) -> Standing {
    only(verified(card))
}

fn only(verification: Verification) -> Standing {
    let [check] = <[_; 1]>::try_from(verification.signatures).expect("one signature");
    check.standing
}

fn flaw(card: &Json) -> Flaw {
    match standing(card) {
        Standing::Invalid(flaw) => flaw,
        other => panic!("it should be invalid: {other:?}"),
    }
}

fn trusted(form: Form) -> Standing {
    Standing::Trusted { key_from: "keys.json".to_owned(), form }
}
