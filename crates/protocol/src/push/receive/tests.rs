use std::sync::{Arc, RwLock};

use http::{HeaderMap, HeaderValue, header};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::json;

use super::*;
use crate::{
    push::{Keyring, Signer, challenge_answer, headers},
    v1::{AuthenticationInfo, Task, TaskPushNotificationConfig, TaskState, TaskStatus},
};

fn event(task: &str) -> Vec<u8> {
    let status = TaskStatus::new(TaskState::Working, Timestamp::UNIX_EPOCH);
    let event: StreamResponse = Task::new(task, "context-1", status).into();
    serde_json::to_vec(&event).unwrap()
}

fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        task_id: "task-1".to_owned(),
        url: "https://client.example/hook".to_owned(),
        token: "word".to_owned(),
        ..TaskPushNotificationConfig::default()
    }
}

/// A sender and the public keys that it publishes.
fn sender() -> (Signer, PublicKeys) {
    let ring = Keyring::generate(Timestamp::now()).unwrap();
    let published = serde_json::to_vec(&ring.public_keys()).unwrap();
    let signer = Signer::new("https://agent.example".to_owned(), Arc::new(RwLock::new(ring)));
    (signer, PublicKeys::read(&published).unwrap())
}

fn signed(signer: &Signer, body: &[u8]) -> HeaderMap {
    let jwt = signer.sign(&config(), body).unwrap();
    headers::of(&config(), Some(&jwt)).unwrap()
}

#[test]
fn a_notification_passes_with_all_that_is_expected_of_it() {
    let (signer, keys) = sender();
    let body = event("task-1");
    let mut verifier = Verifier::default().with_keys(keys).with_token("word".to_owned());
    let checked = verifier.check(&signed(&signer, &body), &body, Timestamp::now());
    let (event, proofs) = checked.unwrap();
    assert_eq!(event.task_id(), "task-1");
    let issuer = "https://agent.example".to_owned();
    assert_eq!(proofs, [Proof::Token, Proof::Jwt { issuer }]);
    let anybody = Verifier::default().check(&HeaderMap::new(), &body, Timestamp::now());
    assert_eq!(anybody.unwrap().1, []);
}

#[test]
fn what_is_signed_cannot_be_changed_or_be_for_something_else() {
    let (signer, keys) = sender();
    let (stranger, _) = sender();
    let body = event("task-1");
    let check = |headers: &HeaderMap, body: &[u8]| {
        let mut verifier = Verifier::default().with_keys(keys.clone());
        verifier.check(headers, body, Timestamp::now()).map(drop).unwrap_err()
    };
    let headers = signed(&signer, &body);
    let changed = String::from_utf8(body.clone()).unwrap().replace("context-1", "context-2");
    assert_eq!(check(&headers, changed.as_bytes()), Rejection::OtherBody);
    let other = event("task-2");
    let of_other = check(&signed(&signer, &other), &other);
    assert_eq!(of_other, Rejection::OtherTask("task-1".to_owned()));
    let by_stranger = check(&signed(&stranger, &body), &body);
    assert!(matches!(by_stranger, Rejection::UnknownKey(_)), "{by_stranger}");
    assert_eq!(check(&HeaderMap::new(), &body), Rejection::Unsigned);
    let mut cut = headers.clone();
    let jwt = headers[SIGNATURE_HEADER].to_str().unwrap();
    cut.insert(SIGNATURE_HEADER, HeaderValue::from_str(&jwt[..jwt.len() - 4]).unwrap());
    assert!(matches!(check(&cut, &body), Rejection::Jwt(_)));
    assert!(matches!(check(&headers, b"[]"), Rejection::Body(_)));
}

#[test]
fn a_shared_secret_is_no_signature() {
    let (_, keys) = sender();
    let body = event("task-1");
    let claims = json!({ "iat": Timestamp::now().as_second(), "request_body_sha256": hash(&body) });
    let mut head = Header::new(Algorithm::HS256);
    head.kid = keys.0.keys[0].common.key_id.clone();
    let secret = EncodingKey::from_secret(&[7; 64]).unwrap();
    let jwt = jsonwebtoken::encode(&head, &claims, &secret).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(SIGNATURE_HEADER, HeaderValue::from_str(&jwt).unwrap());
    let refused = Verifier::default().with_keys(keys).check(&headers, &body, Timestamp::now());
    let why = refused.map(drop).unwrap_err().to_string();
    assert_eq!(why, "the JWT is not valid: its algorithm needs a shared secret");
}

#[test]
fn a_signature_counts_once_and_for_a_few_minutes() {
    let (signer, keys) = sender();
    let body = event("task-1");
    let headers = signed(&signer, &body);
    let mut verifier = Verifier::default().with_keys(keys);
    let now = Timestamp::now();
    let mut at = |seconds: i64| {
        let at = Timestamp::from_second(now.as_second() + seconds).unwrap();
        verifier.check(&headers, &body, at).map(drop)
    };
    assert!(matches!(at(WINDOW + 9), Err(Rejection::Stale(_))));
    assert!(matches!(at(-WINDOW - 9), Err(Rejection::Stale(_))));
    assert_eq!(at(0), Ok(()));
    assert_eq!(at(1), Err(Rejection::Replayed));
    let again = signed(&signer, &body);
    assert!(verifier.check(&again, &body, now).is_ok(), "another attempt is signed anew");
}

#[test]
fn a_jwt_says_whom_it_is_for_and_ends() {
    let ring = Keyring::generate(Timestamp::now()).unwrap();
    let keys = PublicKeys(ring.public_keys());
    let signer =
        Signer::new("https://agent.example".to_owned(), Arc::new(RwLock::new(ring.clone())));
    let [first, second] =
        [(); 2].map(|()| claims(&keys, &signer.sign(&config(), b"x").unwrap()).unwrap());
    assert_eq!(first.aud, Some(json!("https://client.example/hook")));
    assert_eq!(first.exp, Some(first.iat + 300));
    assert_ne!(first.jti, second.jti);
    let ended = Claims { exp: Some(first.iat - 3600), ..first };
    let refused = claims(&keys, &ring.sign(&ended).unwrap()).unwrap_err();
    assert!(matches!(refused, Rejection::Jwt(_)), "{refused}");
}

#[test]
fn a_token_and_an_hmac_are_right_or_nothing() {
    let body = event("task-1");
    let name = HMAC_HEADER;
    let check = |verifier: Verifier, name: &'static str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        let mut verifier = verifier;
        verifier.check(&headers, &body, Timestamp::now()).map(|(_, proofs)| proofs)
    };
    let token = || Verifier::default().with_token("word".to_owned());
    assert_eq!(check(token(), "x-a2a-notification-token", "word"), Ok(vec![Proof::Token]));
    for (name, wrong) in [("x-a2a-notification-token", "Word"), ("x-other", "word")] {
        assert_eq!(check(token(), name, wrong), Err(Rejection::Token), "{wrong}");
    }
    let secret = || Verifier::default().with_secret(b"secret");
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"secret"), &body);
    let digits: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(check(secret(), name, &format!("sha256={digits}")), Ok(vec![Proof::Hmac]));
    let other = format!("sha256={}", hash(b"secret"));
    for wrong in [digits.as_str(), "sha256=", "sha256=0", "sha256=zz", &other] {
        assert_eq!(check(secret(), name, wrong), Err(Rejection::Hmac), "{wrong}");
    }
}

#[test]
fn the_jwt_is_the_bearer_token_unless_the_client_has_credentials_for_that() {
    let authorization = |scheme: &str, credentials: &str| {
        let (scheme, credentials) = (scheme.to_owned(), credentials.to_owned());
        let authentication = Some(AuthenticationInfo { scheme, credentials });
        let config = TaskPushNotificationConfig { authentication, ..config() };
        let headers = headers::of(&config, Some("j.w.t")).unwrap();
        assert_eq!(headers[SIGNATURE_HEADER], "j.w.t");
        headers[header::AUTHORIZATION].to_str().unwrap().to_owned()
    };
    assert_eq!(authorization("Bearer", "mine"), "Bearer mine");
    assert_eq!(authorization("Basic", ""), "Basic");
    assert_eq!(authorization("bearer", ""), "Bearer j.w.t");
    let plain = headers::of(&config(), Some("j.w.t")).unwrap();
    assert_eq!(plain[header::AUTHORIZATION], "Bearer j.w.t");
    assert!(headers::of(&config(), None).unwrap().get(header::AUTHORIZATION).is_none());
}

#[test]
fn a_bearer_token_is_looked_at_when_the_sender_has_no_header_of_ours() {
    let (signer, keys) = sender();
    let body = event("task-1");
    let mut headers = signed(&signer, &body);
    headers.remove(SIGNATURE_HEADER);
    assert!(Verifier::default().with_keys(keys).check(&headers, &body, Timestamp::now()).is_ok());
}

#[test]
fn a_challenge_is_answered_with_its_word_and_with_nothing_that_a_browser_would_run() {
    assert_eq!(challenge_answer("a=b&validationToken=x%2Dy").as_deref(), Some("x-y"));
    for query in ["", "validationToken=", "validationToken=%3Cscript%3E", "validationToken=a%20b"] {
        assert_eq!(challenge_answer(query), None, "{query}");
    }
    assert_eq!(challenge_answer(&format!("validationToken={}", "x".repeat(513))), None);
}

#[test]
fn where_a_jwt_is_optional_one_that_comes_counts_and_the_event_may_be_of_any_kind() {
    let (signer, keys) = sender();
    let mut verifier = Verifier::default().with_keys_for_signed(keys);
    let (body, now) = (b"{}".as_slice(), Timestamp::now());
    assert_eq!(verifier.prove(&HeaderMap::new(), body, None, now).unwrap(), []);
    let headers = signed(&signer, body);
    assert_eq!(verifier.prove(&headers, b"[]", None, now), Err(Rejection::OtherBody));
    let other = verifier.prove(&headers, body, Some("task-2"), now);
    assert_eq!(other, Err(Rejection::OtherTask("task-1".to_owned())));
    let issuer = "https://agent.example".to_owned();
    assert_eq!(
        verifier.prove(&headers, body, Some("task-1"), now).unwrap(),
        [Proof::Jwt { issuer }]
    );
    assert_eq!(verifier.prove(&headers, body, None, now), Err(Rejection::Replayed));
}

#[test]
fn a_token_is_compared_whole() {
    let headers =
        |token: &str| HeaderMap::from_iter([(TOKEN_HEADER, HeaderValue::from_str(token).unwrap())]);
    assert_eq!(check_token(&headers("word"), "word"), Ok(()));
    for given in ["", "wor", "word2", "Word"] {
        assert_eq!(check_token(&headers(given), "word"), Err(Rejection::Token), "{given}");
    }
    assert_eq!(check_token(&HeaderMap::new(), "word"), Err(Rejection::Token));
}
