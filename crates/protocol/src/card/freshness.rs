//! How long a card stays as it is, and how to ask whether it still is (A2A §8.6, RFC 9111).

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    },
};
use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};

/// What a server said of how long its answer stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freshness {
    /// Names this content.
    pub etag: Option<HeaderValue>,
    /// When it changed last.
    pub last_modified: Option<HeaderValue>,
    /// How long from now on the content may be used without asking. Zero when the server wants to be
    /// asked each time, none when it says nothing.
    pub max_age: Option<Duration>,
}

impl Freshness {
    /// Reads the headers of an answer. One that must not be stored gets no validators.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let directives = directives(headers);
        let has = |name: &str| directives.iter().any(|(known, _)| known == name);
        if has("no-store") {
            return Self { max_age: Some(Duration::ZERO), ..Self::default() };
        }
        let granted = directives.iter().filter(|(name, _)| name == "max-age");
        let granted = granted.map(|(_, seconds)| seconds_of(seconds)).min();
        let max_age = match granted {
            _ if has("no-cache") => Some(Duration::ZERO),
            Some(granted) => Some(granted.saturating_sub(age(headers))),
            None => until_expiry(headers),
        };
        let value = |name: HeaderName| headers.get(name).cloned();
        Self { etag: value(ETAG), last_modified: value(LAST_MODIFIED), max_age }
    }

    /// Whether its server can be asked for the content only if it changed.
    #[must_use]
    pub fn has_validators(&self) -> bool {
        self.etag.is_some() || self.last_modified.is_some()
    }

    /// The headers that ask for the content only if it changed; empty when it has no validator.
    pub(super) fn conditions(&self) -> HeaderMap {
        let mut conditions = HeaderMap::new();
        for (name, value) in [(IF_NONE_MATCH, &self.etag), (IF_MODIFIED_SINCE, &self.last_modified)]
        {
            conditions.extend(value.clone().map(|value| (name, value)));
        }
        conditions
    }

    /// Itself after the server said that nothing changed (RFC 9111 §4.3.4).
    pub(super) fn renewed(&self, answer: Self) -> Self {
        Self {
            etag: answer.etag.or_else(|| self.etag.clone()),
            last_modified: answer.last_modified.or_else(|| self.last_modified.clone()),
            max_age: answer.max_age.or(self.max_age),
        }
    }
}

/// The directives of `Cache-Control`, names in lower case.
fn directives(headers: &HeaderMap) -> Vec<(String, String)> {
    let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let directives = lines.flat_map(|line| line.split(',')).map(|directive| {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned())
    });
    directives.collect()
}

/// A number of seconds; what is none counts as no time at all (RFC 9111 §4.2.1), what is too large
/// as very long (§1.2.2).
fn seconds_of(text: &str) -> Duration {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = if is_number { text.parse().unwrap_or(u32::MAX) } else { 0 };
    Duration::from_secs(seconds.into())
}

/// How old the answer was already when it came, out of another cache.
fn age(headers: &HeaderMap) -> Duration {
    let age = headers.get(AGE).and_then(|age| age.to_str().ok());
    age.map_or(Duration::ZERO, seconds_of)
}

/// `Expires` after `Date`. A date that cannot be read has passed.
fn until_expiry(headers: &HeaderMap) -> Option<Duration> {
    let expires = headers.get(EXPIRES)?;
    let date = headers.get(DATE).and_then(time).unwrap_or_else(Timestamp::now);
    let left = time(expires).map_or(Duration::ZERO, |expires| {
        Duration::try_from(expires.duration_since(date)).unwrap_or_default()
    });
    Some(left)
}

fn time(value: &HeaderValue) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(value.to_str().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn freshness(lines: &[(HeaderName, &str)]) -> Freshness {
        let lines = lines.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        Freshness::of(&lines.collect())
    }

    #[test]
    fn how_long_a_card_is_fresh_is_what_its_server_says() {
        let cache = |text| freshness(&[(CACHE_CONTROL, text)]).max_age.map(|age| age.as_secs());
        assert_eq!(cache("max-age=300"), Some(300));
        assert_eq!(cache("public, Max-Age=\"60\" , must-revalidate"), Some(60));
        assert_eq!(cache("max-age=60, max-age=30"), Some(30));
        assert_eq!(cache("max-age=99999999999999999999"), Some(u64::from(u32::MAX)));
        assert_eq!(cache("max-age=soon"), Some(0));
        assert_eq!(cache("max-age=-1"), Some(0));
        assert_eq!(cache("max-age=300, no-cache"), Some(0));
        assert_eq!(cache("no-store"), Some(0));
        assert_eq!(cache("s-maxage=300"), None);
        assert_eq!(freshness(&[]).max_age, None);
    }

    #[test]
    fn time_spent_in_other_caches_counts() {
        let aged = |age| freshness(&[(CACHE_CONTROL, "max-age=300"), (AGE, age)]).max_age;
        assert_eq!(aged("100"), Some(Duration::from_secs(200)));
        assert_eq!(aged("400"), Some(Duration::ZERO));
    }

    #[test]
    fn an_expiry_date_counts_where_no_age_is_given() {
        let date = (DATE, "Sun, 29 Nov 2026 10:00:00 GMT");
        let expires = |text| freshness(&[date.clone(), (EXPIRES, text)]).max_age;
        assert_eq!(expires("Sun, 29 Nov 2026 10:01:00 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(expires("Sun, 29 Nov 2026 09:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(expires("0"), Some(Duration::ZERO));
        let both = [date, (EXPIRES, "0"), (CACHE_CONTROL, "max-age=5")];
        assert_eq!(freshness(&both).max_age, Some(Duration::from_secs(5)));
    }

    #[test]
    fn what_must_not_be_stored_has_no_validators() {
        let lines = [(ETAG, "\"a\""), (LAST_MODIFIED, "x"), (CACHE_CONTROL, "no-store")];
        assert!(freshness(&lines).conditions().is_empty());
        let conditions = freshness(&lines[..2]).conditions();
        assert_eq!(conditions[IF_NONE_MATCH], "\"a\"");
        assert_eq!(conditions[IF_MODIFIED_SINCE], "x");
    }

    #[test]
    fn an_answer_that_nothing_changed_renews_what_it_names() {
        let known = freshness(&[(ETAG, "\"a\""), (CACHE_CONTROL, "max-age=5")]);
        assert_eq!(known.renewed(Freshness::default()), known);
        let renewed = known.renewed(freshness(&[(ETAG, "\"b\""), (CACHE_CONTROL, "max-age=9")]));
        assert_eq!(renewed.etag.unwrap(), "\"b\"");
        assert_eq!(renewed.max_age, Some(Duration::from_secs(9)));
    }
}
