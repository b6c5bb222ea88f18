use super::*;

#[test]
fn names_of_accounts_are_short_and_plain() {
    for name in ["local", "team-a", "oidc:auth0|123", "ada@example.org"] {
        assert_eq!(account(name).unwrap().as_str(), name);
    }
    for name in ["", "a b", "a\nb", "\u{7}", &"x".repeat(257)] {
        assert!(account(name).is_err(), "{name:?}");
    }
}

#[test]
fn bearer_tokens_are_found_whatever_the_case_of_their_scheme() {
    let found = |value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        bearer(&headers).map(str::to_owned)
    };
    for value in ["Bearer T", "bearer T", "BEARER  T"] {
        assert_eq!(found(value).as_deref(), Some("T"), "{value}");
    }
    assert_eq!(found("Basic T"), None);
    assert_eq!(found("T"), None);
}
