//! Cards that the Python SDK signed.

use super::*;
use crate::signature::signing::signing_input;

#[test]
fn every_algorithm_of_the_other_implementation_is_checked() {
    for algorithm in Algorithm::ALL {
        let verification = verify(&data(&format!("{algorithm}.json")), &keys()).unwrap();
        assert_eq!(verification.verdict(), Verdict::Trusted);
        let [check] = verification.signatures.as_slice() else { panic!("one signature") };
        assert_eq!(check.algorithm.as_deref(), Some(algorithm.name()));
        assert_eq!(check.key_id.as_deref(), Some(algorithm.name()));
    }
}

#[test]
fn signatures_that_hold_no_chance_are_the_same_to_the_byte() {
    for algorithm in ["RS256", "EdDSA"] {
        let theirs = data_json(&format!("{algorithm}.json"))["signatures"][0].clone();
        let mut card = card();
        sign(&mut card, &private_key(algorithm), &headers(algorithm)).unwrap();
        let ours = serde_json::to_value(&card.signatures[0]).unwrap();
        let header = |jws: &Json| {
            let bytes = base64::Engine::decode(
                &base64::engine::general_purpose::URL_SAFE_NO_PAD,
                jws["protected"].as_str().unwrap(),
            );
            serde_json::from_slice::<Json>(&bytes.unwrap()).unwrap()
        };
        assert_eq!(header(&ours), header(&theirs));
        // The headers differ in the order of their members, and so do the signatures, unless ours is
        // made over their header.
        let input =
            signing_input(theirs["protected"].as_str().unwrap(), &canonical(&card).unwrap());
        let key = jsonwebtoken_key(algorithm);
        let algorithm = algorithm.parse::<Algorithm>().unwrap().of_library();
        let again = jsonwebtoken::crypto::sign(&input, &key, algorithm).unwrap();
        assert_eq!(theirs["signature"], again);
    }
}

fn jsonwebtoken_key(algorithm: &str) -> jsonwebtoken::EncodingKey {
    let pem = data(&format!("{algorithm}.pem"));
    match algorithm {
        "RS256" => jsonwebtoken::EncodingKey::from_rsa_pem(&pem).unwrap(),
        _ => jsonwebtoken::EncodingKey::from_ed_pem(&pem).unwrap(),
    }
}

#[test]
fn a_card_of_an_older_version_is_checked_as_it_came() {
    let card = crate::card::read(&data_json("older.json")).unwrap();
    assert_eq!(card.supported_interfaces[0].protocol_version, "0.3");
    assert_eq!(standing(&data_json("older.json")), trusted(Form::AsReceived));
}

#[test]
fn fields_that_nobody_knows_are_covered_as_they_came() {
    let mut card = data_json("unknown.json");
    assert_eq!(standing(&card), trusted(Form::AsReceived));
    card["x-vendor"]["level"] = json!("platinum");
    assert_eq!(flaw(&card).code(), "altered");
}

#[test]
fn empty_values_that_mean_nothing_may_be_missing_from_what_was_signed() {
    assert_eq!(standing(&data_json("sparse.json")), trusted(Form::WithoutEmpty));
}

#[test]
fn a_signature_that_leaves_out_who_may_call_proves_nothing() {
    let flaw = flaw(&data_json("guarded.json"));
    assert_eq!(flaw.code(), "partial");
    insta::assert_snapshot!(flaw, @"it was made over the card without its empty values, as some SDKs do, and so does not cover securityRequirements[0].schemes.bearer; its signer has to sign the canonical form of A2A §8.4.1");
}
