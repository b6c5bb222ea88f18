//! Making keys and signatures.

use super::*;

#[test]
fn what_is_signed_here_is_trusted_here_with_every_algorithm() {
    // One RSA key is enough: making them takes its time.
    let (rsa, rsa_pem) = SigningKey::generate(Algorithm::Rs256).unwrap();
    for algorithm in Algorithm::ALL {
        let (key, pem) = match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => (rsa.clone(), rsa_pem.clone()),
            _ => SigningKey::generate(algorithm).unwrap(),
        };
        let headers = Headers { algorithm: Some(algorithm), ..Headers::default() };
        let keys = key.public_keys(&headers).unwrap();
        let keys = Keys::read(keys.as_bytes(), "made").unwrap();
        // The key is the same after it was written and read.
        let key = SigningKey::read(pem.as_bytes(), "made").unwrap();
        let mut card = card();
        sign(&mut card, &key, &headers).unwrap();
        let verification = verify(&serde_json::to_vec(&card).unwrap(), &keys).unwrap();
        assert_eq!(verification.verdict(), Verdict::Trusted, "{algorithm}");
        assert_eq!(verification.signatures[0].algorithm.as_deref(), Some(algorithm.name()));
    }
}

#[test]
fn the_headers_asked_for_stand_in_the_signature() {
    let url = "https://a.example/keys.json";
    let headers = Headers { key_set_url: Some(url.to_owned()), ..headers("mine") };
    let signed = signed(&headers);
    let protected = signed["signatures"][0]["protected"].as_str().unwrap();
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let header = base64::Engine::decode(&engine, protected).unwrap();
    insta::assert_snapshot!(String::from_utf8(header).unwrap(), @r#"{"alg":"ES256","typ":"JOSE","kid":"mine","jku":"https://a.example/keys.json"}"#);
}

#[test]
fn a_key_without_a_name_is_named_by_its_thumbprint() {
    let key = private_key("EdDSA");
    let mut card = card();
    sign(&mut card, &key, &Headers::default()).unwrap();
    let set: Json = serde_json::from_str(&key.public_keys(&Headers::default()).unwrap()).unwrap();
    let id = set["keys"][0]["kid"].as_str().unwrap();
    // RFC 7638 over the members that make the key, in this order.
    let x = set["keys"][0]["x"].as_str().unwrap();
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    let digest = <sha2::Sha256 as sha2::Digest>::digest(members);
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    assert_eq!(id, base64::Engine::encode(&engine, digest));
    let verification = verify(&serde_json::to_vec(&card).unwrap(), &Keys::default()).unwrap();
    assert_eq!(verification.signatures[0].key_id.as_deref(), Some(id));
}

#[test]
fn the_public_keys_hold_nothing_private() {
    for algorithm in Algorithm::ALL {
        let set = private_key(algorithm.name()).public_keys(&headers("k")).unwrap();
        let set: Json = serde_json::from_str(&set).unwrap();
        let key = set["keys"][0].as_object().unwrap();
        for private in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert!(!key.contains_key(private), "{private} in {key:?}");
        }
        let same = data_json("keys.json")["keys"].as_array().unwrap().iter().any(|other| {
            ["x", "y", "n", "e", "crv"].iter().all(|name| key.get(*name) == other.get(*name))
        });
        assert!(same, "{algorithm}: {key:?}");
        assert!(!format!("{:?}", private_key(algorithm.name())).contains("PRIVATE"));
    }
}

#[test]
fn a_second_signature_joins_the_first_and_the_same_key_replaces_its_own() {
    let mut card = card();
    sign(&mut card, &private_key("ES256"), &headers("ES256")).unwrap();
    sign(&mut card, &private_key("EdDSA"), &headers("EdDSA")).unwrap();
    card.description = "Changed.".to_owned();
    sign(&mut card, &private_key("ES256"), &headers("ES256")).unwrap();
    let verification = verify(&serde_json::to_vec(&card).unwrap(), &keys()).unwrap();
    let standings: Vec<_> = verification
        .signatures
        .iter()
        .map(|check| (check.key_id.as_deref().unwrap(), check.standing.verdict()))
        .collect();
    assert_eq!(standings, [("EdDSA", Verdict::Invalid), ("ES256", Verdict::Trusted)]);
    assert_eq!(verification.verdict(), Verdict::Trusted);
}

#[test]
fn an_algorithm_that_the_key_is_not_for_is_refused() {
    let headers = Headers { algorithm: Some(Algorithm::Es384), ..Headers::default() };
    let error = sign(&mut card(), &private_key("RS256"), &headers).unwrap_err();
    insta::assert_snapshot!(error, @"a key for RS256 or PS256 does not sign with ES384; name an algorithm that fits, or none");
    assert!(private_key("ES256").public_keys(&headers).is_err());
    insta::assert_snapshot!("HS256".parse::<Algorithm>().unwrap_err(), @"cards are not signed with `HS256` here; the algorithms are ES256, ES384, RS256, PS256, EdDSA");
}

#[test]
fn a_file_that_holds_no_private_key_says_what_it_holds() {
    let why = |text: &[u8]| SigningKey::read(text, "k.pem").unwrap_err().to_string();
    let block = |tag: &str| pem::encode(&pem::Pem::new(tag, vec![48, 0])).into_bytes();
    insta::assert_snapshot!(why(b"secret"), @"k.pem holds no private key that cards can be signed with: it is not a PEM file");
    insta::assert_snapshot!(why(&block("EC PRIVATE KEY")), @"k.pem holds no private key that cards can be signed with: it is in the SEC 1 form; `openssl pkcs8 -topk8 -nocrypt -in FILE` makes PKCS #8 of it");
    insta::assert_snapshot!(why(&block("ENCRYPTED PRIVATE KEY")), @"k.pem holds no private key that cards can be signed with: it is encrypted; `openssl pkcs8 -in FILE` decrypts it");
    insta::assert_snapshot!(why(&block("PUBLIC KEY")), @"k.pem holds no private key that cards can be signed with: it holds no private key");
    insta::assert_snapshot!(why(&block("PRIVATE KEY")), @"k.pem holds no private key that cards can be signed with: it is neither a P-256, P-384 or Ed25519 key nor an RSA key of 2048 bits or more");
}

#[test]
fn what_a_card_does_not_know_is_left_out_and_named() {
    let mut raw = serde_json::to_value(card()).unwrap();
    raw["x-vendor"] = json!({"a": 1});
    raw["skills"][0]["color"] = json!("red");
    raw["skills"][0]["shape"] = json!("");
    raw["default_input_modes"] = raw.as_object_mut().unwrap().remove("defaultInputModes").unwrap();
    raw["security"] = raw.as_object_mut().unwrap().remove("securityRequirements").unwrap();
    raw["capabilities"]["extendedAgentCard"] = json!(false);
    let read = Unsigned::read(&text(&raw)).unwrap();
    assert_eq!(read.left_out, ["skills[0].color", "x-vendor"]);
    assert_eq!(read.card.default_input_modes, ["text/plain"]);
}

#[test]
fn a_card_that_readers_read_differently_is_not_signed() {
    assert!(Unsigned::read(br#"{"name": "a", "name": "b"}"#).is_err());
    let older = Unsigned::read(&data("older.json")).unwrap_err();
    insta::assert_snapshot!(older, @"the card cannot be signed: it is written in A2A 0.3; an A2A 1.0 card lists its addresses in supportedInterfaces");
}
