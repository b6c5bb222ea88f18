//! Signatures that prove nothing, and why.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::*;
use crate::signature::signing::signing_input;

/// A card whose signature has this protected header and is made by HMAC with a secret.
fn hmac(header: &Json, secret: &[u8]) -> Json {
    let mut raw = serde_json::to_value(card()).unwrap();
    let protected = URL_SAFE_NO_PAD.encode(header.to_string());
    let input = signing_input(&protected, &canonical(&card()).unwrap());
    let key = jsonwebtoken::EncodingKey::from_secret(secret).unwrap();
    let signature =
        jsonwebtoken::crypto::sign(&input, &key, jsonwebtoken::Algorithm::HS256).unwrap();
    raw["signatures"] = json!([{"protected": protected, "signature": signature}]);
    raw
}

/// A card with one signature of this protected header.
fn with_header(header: &str) -> Json {
    let mut raw = signed(&headers("ES256"));
    raw["signatures"][0]["protected"] = json!(URL_SAFE_NO_PAD.encode(header));
    raw
}

#[test]
fn a_card_without_signatures_is_unsigned() {
    for signatures in [json!(null), json!([])] {
        let mut raw = serde_json::to_value(card()).unwrap();
        raw["signatures"] = signatures;
        let verification = verified(&raw);
        assert_eq!(verification.verdict(), Verdict::Unsigned);
        assert!(verification.signatures.is_empty());
    }
    assert!(verify(b"[]", &keys()).is_err());
    assert!(verify(b"{", &keys()).is_err());
}

#[test]
fn one_changed_byte_anywhere_makes_a_signature_invalid() {
    let raw = signed(&headers("ES256"));
    assert_eq!(standing(&raw), trusted(Form::AsReceived));
    for at in [
        "/name",
        "/version",
        "/supportedInterfaces/0/url",
        "/securitySchemes/key/apiKeySecurityScheme/name",
        "/skills/0/tags/0",
    ] {
        let mut changed = raw.clone();
        let value = changed.pointer_mut(at).unwrap();
        *value = json!(format!("{}x", value.as_str().unwrap()));
        assert_eq!(flaw(&changed).code(), "altered", "{at}");
    }
    let mut changed = raw.clone();
    changed["capabilities"]["pushNotifications"] = json!(true);
    assert_eq!(flaw(&changed).code(), "altered");
    let mut changed = raw.clone();
    changed["skills"].as_array_mut().unwrap().push(json!({"id": "more"}));
    assert_eq!(flaw(&changed).code(), "altered");
    let mut changed = raw;
    let signature = changed["signatures"][0]["signature"].as_str().unwrap();
    let first = if signature.starts_with('A') { "B" } else { "A" };
    changed["signatures"][0]["signature"] = json!(format!("{first}{}", &signature[1..]));
    insta::assert_snapshot!(flaw(&changed), @"the card is not the one that was signed with the key `ES256`: it was changed, or signed with another key of that name");
}

#[test]
fn fields_that_nobody_knows_do_not_make_a_signature_over_the_rest_invalid() {
    let mut raw = signed(&headers("ES256"));
    raw["x-added"] = json!(1);
    assert_eq!(standing(&raw), trusted(Form::Canonical));
    // What is read under another name counts, too.
    raw["security"] = raw["securityRequirements"].take();
    raw.as_object_mut().unwrap().remove("securityRequirements");
    assert_eq!(standing(&raw), trusted(Form::Canonical));
    raw["security"] = json!([{}]);
    assert_eq!(flaw(&raw).code(), "altered");
}

#[test]
fn none_and_shared_secrets_are_refused() {
    insta::assert_snapshot!(flaw(&with_header(r#"{"alg": "none", "kid": "ES256"}"#)), @"its algorithm, `none`, is refused; the ones accepted are ES256, ES384, RS256, PS256, EdDSA");
    let mut unsigned = with_header(r#"{"alg": "none"}"#);
    unsigned["signatures"][0]["signature"] = json!("");
    assert_eq!(flaw(&unsigned).code(), "algorithm-refused");
    // Whoever knows the public key could make this one.
    let public = data_json("keys.json")["keys"][2].clone();
    for secret in [public.to_string().into_bytes(), data("keys.json")] {
        let raw = hmac(&json!({"alg": "HS256", "kid": "RS256", "typ": "JOSE"}), &secret);
        assert_eq!(flaw(&raw), Flaw::Algorithm("HS256".to_owned()));
    }
    for header in [r#"{"alg": "es256"}"#, r#"{"alg": "RS512"}"#, r#"{"alg": "ES256K"}"#] {
        assert_eq!(flaw(&with_header(header)).code(), "algorithm-refused", "{header}");
    }
}

#[test]
fn a_header_that_must_be_understood_is_refused() {
    let raw =
        with_header(r#"{"alg": "ES256", "kid": "ES256", "b64": false, "crit": ["b64", "x"]}"#);
    insta::assert_snapshot!(flaw(&raw), @"its header demands that `b64`, `x` be understood, which is not the case here");
    assert_eq!(flaw(&with_header(r#"{"alg": "ES256", "crit": 7}"#)).code(), "critical-header");
    let mut open = signed(&headers("ES256"));
    open["signatures"][0]["header"] = json!({"note": "fine"});
    assert_eq!(standing(&open), trusted(Form::AsReceived));
    open["signatures"][0]["header"] = json!({"crit": ["x"]});
    assert_eq!(flaw(&open).code(), "critical-header");
}

#[test]
fn what_is_no_jws_is_malformed() {
    let with = |name: &str, value: Json| {
        let mut raw = signed(&headers("ES256"));
        raw["signatures"][0][name] = value;
        raw
    };
    let encoded = |text: &str| json!(URL_SAFE_NO_PAD.encode(text));
    let mut no_list = signed(&headers("ES256"));
    no_list["signatures"] = json!({});
    let cases = [
        with("protected", json!(7)),
        with("protected", json!("***")),
        with("protected", json!("e30=")),
        with("protected", encoded("[]")),
        with("protected", encoded(r#"{"alg": "ES256", "alg": "none"}"#)),
        with("protected", encoded("{}")),
        with("signature", json!(null)),
        with("header", json!("x")),
        with("header", json!({"alg": "none"})),
        no_list,
    ];
    let flaws: Vec<String> = cases.iter().map(|case| flaw(case).to_string()).collect();
    insta::assert_snapshot!(flaws.join("\n"), @r"
    it is malformed: it lacks `protected`
    it is malformed: its `protected` is not base64url: Invalid symbol 42, offset 0.
    it is malformed: its `protected` is not base64url: Invalid padding
    it is malformed: its `protected` holds no JSON object
    it is malformed: its `protected` holds no JSON that all readers read alike
    it is malformed: its protected header lacks `alg`
    it is malformed: it lacks `signature`
    it is malformed: its `header` is not an object
    it is malformed: `alg` stands in both of its headers
    it is malformed: `signatures` is not a list
    ");
    assert!(cases.iter().all(|case| flaw(case).code() == "malformed"));
    assert_eq!(flaw(&with("signature", json!("***"))).code(), "altered");
}

#[test]
fn a_card_that_readers_read_differently_has_no_valid_signature() {
    let raw = signed(&headers("ES256")).to_string();
    let twice = raw.replacen('{', r#"{"name": "Other", "#, 1);
    let flaw = match only(verify(twice.as_bytes(), &keys()).unwrap()) {
        Standing::Invalid(flaw) => flaw,
        other => panic!("{other:?}"),
    };
    assert_eq!(flaw.code(), "ambiguous-card");
    assert!(flaw.to_string().contains("`name` stands twice"), "{flaw}");
}

#[test]
fn a_key_that_is_not_known_is_named() {
    insta::assert_snapshot!(flaw(&signed(&headers("other"))), @"it cannot be checked: no key `other` is known; name the file or address that holds it with --keys");
    let nameless = with_header(r#"{"alg": "ES256"}"#);
    // All keys are tried for it.
    assert_eq!(flaw(&nameless).code(), "altered");
    let none = only(verify(&text(&nameless), &Keys::default()).unwrap());
    let Standing::Invalid(flaw) = none else { panic!("{none:?}") };
    insta::assert_snapshot!(flaw, @"it cannot be checked: no key for it is known; name the file or address that holds it with --keys");
}

#[test]
fn the_address_in_a_signature_is_no_reason_to_trust_it() {
    let url = "https://a.example/keys.json".to_owned();
    let raw = signed(&Headers { key_set_url: Some(url.clone()), ..headers("other") });
    let verification = verified(&raw);
    assert_eq!(verification.signatures[0].key_set_url, Some(url));
    assert_eq!(flaw(&raw).code(), "unknown-key");
}

#[test]
fn a_key_is_not_used_for_what_it_is_not_for() {
    let key = || data_json("keys.json")["keys"][0].clone();
    let raw = text(&signed(&headers("ES256")));
    let with = |name: &str, value: Json| {
        let mut key = key();
        key[name] = value;
        Keys::read(key.to_string().as_bytes(), "k")
    };
    assert_eq!(
        verify(&raw, &with("use", json!("sig")).unwrap()).unwrap().verdict(),
        Verdict::Trusted
    );
    assert!(with("use", json!("enc")).is_err());
    assert!(with("key_ops", json!(["sign"])).is_err());
    assert!(with("key_ops", json!(["verify"])).is_ok());
    assert!(with("alg", json!("ES384")).is_err());
    assert!(with("crv", json!("P-521")).is_err());
    // A key of another kind under the same id.
    let mut other = data_json("keys.json")["keys"][2].clone();
    other["kid"] = json!("ES256");
    let keys = Keys::read(other.to_string().as_bytes(), "k").unwrap();
    let Standing::Invalid(flaw) = only(verify(&raw, &keys).unwrap()) else { panic!("trusted") };
    insta::assert_snapshot!(flaw, @"the key `ES256` is not for the algorithm ES256");
    // RSA keys fit two algorithms unless they name one.
    let signed = data("PS256.json");
    let mut rsa = data_json("keys.json")["keys"][3].clone();
    rsa["alg"] = json!("RS256");
    let keys = Keys::read(rsa.to_string().as_bytes(), "k").unwrap();
    let Standing::Invalid(flaw) = only(verify(&signed, &keys).unwrap()) else { panic!("trusted") };
    assert_eq!(flaw.code(), "wrong-algorithm");
    rsa.as_object_mut().unwrap().remove("alg");
    let keys = Keys::read(rsa.to_string().as_bytes(), "k").unwrap();
    assert_eq!(verify(&signed, &keys).unwrap().verdict(), Verdict::Trusted);
}

#[test]
fn of_keys_with_one_id_any_may_be_the_one() {
    let mut old = data_json("keys.json")["keys"][0].clone();
    old["x"] = json!(URL_SAFE_NO_PAD.encode([1; 32]));
    let set = json!({"keys": [old, data_json("keys.json")["keys"][0], {"kty": "future"}]});
    let keys = Keys::read(set.to_string().as_bytes(), "set").unwrap();
    let raw = text(&signed(&headers("ES256")));
    assert_eq!(verify(&raw, &keys).unwrap().verdict(), Verdict::Trusted);
}

#[test]
fn the_seventeenth_signature_is_not_checked() {
    let mut raw = signed(&headers("ES256"));
    let good = raw["signatures"][0].clone();
    let mut bad = good.clone();
    bad["signature"] = json!("AAAA");
    let mut all = vec![bad; MAX_SIGNATURES];
    all.push(good);
    raw["signatures"] = json!(all);
    let verification = verified(&raw);
    assert_eq!(verification.verdict(), Verdict::Invalid);
    assert_eq!(verification.signatures[16].standing, Standing::Invalid(Flaw::TooMany));
}

#[test]
fn public_keys_are_read_from_pem_too_and_fit_every_id() {
    let pem = "-----BEGIN PUBLIC KEY-----";
    let mut all = String::new();
    for algorithm in Algorithm::ALL {
        all.push_str(&String::from_utf8(data(&format!("{algorithm}.pub"))).unwrap());
    }
    assert_eq!(all.matches(pem).count(), 5);
    let keys = Keys::read(all.as_bytes(), "all.pem").unwrap();
    for algorithm in Algorithm::ALL {
        let verification = verify(&data(&format!("{algorithm}.json")), &keys).unwrap();
        assert_eq!(verification.verdict(), Verdict::Trusted, "{algorithm}");
    }
}

#[test]
fn a_file_that_holds_no_public_key_says_what_it_holds() {
    let why = |text: &[u8]| Keys::read(text, "k").unwrap_err().to_string();
    let block = |tag: &str| pem::encode(&pem::Pem::new(tag, vec![48, 0])).into_bytes();
    let short = json!({"kty": "RSA", "n": "a".repeat(171), "e": "AQAB"}).to_string();
    let secret = json!({"kty": "oct", "k": "c2VjcmV0"}).to_string();
    let said = [
        why(b""),
        why(b"{"),
        why(br#"{"keys": 1}"#),
        why(br#"{"keys": []}"#),
        why(secret.as_bytes()),
        why(short.as_bytes()),
        why(&data("ES256.pem")),
        why(&block("CERTIFICATE")),
        why(&block("PUBLIC KEY")),
        why(&block("DH PARAMETERS")),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    k holds no public key that signatures can be checked with: it is neither PEM nor JSON
    k holds no public key that signatures can be checked with: it is neither PEM nor JSON (EOF while parsing an object at line 1 column 1)
    k holds no public key that signatures can be checked with: its `keys` is not a list
    k holds no public key that signatures can be checked with: the set is empty
    k holds no public key that signatures can be checked with: key 1: a shared secret (`oct`) can sign whatever it can check, so it proves nothing
    k holds no public key that signatures can be checked with: key 1: an RSA key needs 2048 bits at least
    k holds no public key that signatures can be checked with: it is a private key; `convoke card keys public FILE` prints the public one, which is all that has to be known here
    k holds no public key that signatures can be checked with: it is a certificate; take the key out of it with `openssl x509 -pubkey -noout`
    k holds no public key that signatures can be checked with: it is neither an EC, an RSA nor an Ed25519 key
    k holds no public key that signatures can be checked with: a PEM block `DH PARAMETERS` holds no public key
    ");
    assert!(Keys::default().is_empty() && !keys().is_empty());
}
