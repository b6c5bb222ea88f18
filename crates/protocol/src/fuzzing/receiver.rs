//! Push notifications as they come in.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::push::{Proof, PublicKeys, Rejection, SIGNATURE_HEADER, TOKEN_HEADER, Verifier};

/// When all notifications of this target come.
const NOW: i64 = 1_900_000_000;

/// How old a JWT may be, in seconds.
const WINDOW: u64 = 300;

const TOKEN: &str = "word";

/// A key pair that is for tests alone.
static KEYS: LazyLock<(EncodingKey, PublicKeys)> = LazyLock::new(|| {
    let private = include_bytes!("../../tests/data/signatures/ES256.pem");
    let private = EncodingKey::from_ec_pem(private).expect("the file holds a key");
    let public = PublicKeys::read(include_bytes!("../../tests/data/signatures/keys.json"));
    (private, public.expect("the file holds keys"))
});

/// Checks a notification. The first line is its claims, to be signed with a key that is known, or, when it
/// begins with `-`, its headers, one after the other; the rest is its body. One that passes has brought
/// all that is expected, is of now, over this body and Task, and does not pass again.
pub fn receiver(data: &[u8]) -> bool {
    let Some(at) = data.iter().position(|&byte| byte == b'\n') else { return false };
    let (line, body) = (&data[..at], &data[at + 1..]);
    let given = match line.strip_prefix(b"-") {
        Some(headers) => Some((listed(headers), None)),
        None => signed(line).map(|(headers, claims)| (headers, Some(claims))),
    };
    let Some((headers, claims)) = given else { return false };
    let mut verifier = Verifier::default().with_token(TOKEN.to_owned()).with_keys(KEYS.1.clone());
    let now = Timestamp::from_second(NOW).expect("a time");
    let Ok((event, proofs)) = verifier.check(&headers, body, now) else { return false };
    assert!(matches!(proofs[..], [Proof::Token, Proof::Jwt { .. }]), "{proofs:?}");
    assert_eq!(headers.get(TOKEN_HEADER).map(HeaderValue::as_bytes), Some(TOKEN.as_bytes()));
    if let Some(claims) = claims {
        check_claims(&claims, body, event.task_id());
    }
    assert_eq!(verifier.check(&headers, body, now), Err(Rejection::Replayed));
    true
}

fn check_claims(claims: &Value, body: &[u8], task: &str) {
    let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    let claimed = claims["request_body_sha256"].as_str().unwrap_or_default();
    assert!(claimed.eq_ignore_ascii_case(&digest), "over another body");
    let issued = claims["iat"].as_i64().expect("a JWT without its time does not pass");
    assert!(issued.abs_diff(NOW) <= WINDOW, "from another time");
    assert!(claims.get("taskId").is_none_or(|id| id.is_null() || id == task), "of another Task");
}

/// The headers of a notification that says these claims.
fn signed(claims: &[u8]) -> Option<(HeaderMap, Value)> {
    let claims: Value = serde_json::from_slice(claims).ok()?;
    let mut head = Header::new(Algorithm::ES256);
    head.kid = Some("ES256".to_owned());
    let jwt = jsonwebtoken::encode(&head, &claims, &KEYS.0).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(TOKEN_HEADER, HeaderValue::from_static(TOKEN));
    headers.insert(SIGNATURE_HEADER, HeaderValue::from_str(&jwt).expect("a JWT is of letters"));
    Some((headers, claims))
}

/// `token|jwt|authorization`, any of which may be empty.
fn listed(line: &[u8]) -> HeaderMap {
    let names: [HeaderName; 3] = [TOKEN_HEADER, SIGNATURE_HEADER, header::AUTHORIZATION];
    let values = line.split(|&byte| byte == b'|').map(HeaderValue::from_bytes);
    let pairs = names.into_iter().zip(values);
    pairs
        .filter_map(|(name, value)| Some((name, value.ok().filter(|it| !it.is_empty())?)))
        .collect()
}
