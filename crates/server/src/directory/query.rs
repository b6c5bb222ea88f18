//! Reading the parameters of a request: all that is wrong with them at once.

use std::str::FromStr;

use document::nearest;
use registry::{Curation, Facet, Filter, Query, Signed, Tier};
use serde_json::{Value, json};
use url::form_urlencoded;

use super::problem::Problem;

/// How many hits a page has when nobody says, and at most.
const PAGE: usize = 50;
const LONGEST_PAGE: usize = 500;

/// The longest text that is looked for, in bytes.
const LONGEST_TEXT: usize = 1000;

/// How many conditions there may be.
const MOST_VALUES: usize = 100;

/// The parameters of a request, as they are taken out.
pub(crate) struct Parameters {
    pairs: Vec<(String, String)>,
    /// The names that were asked for.
    known: Vec<String>,
    wrong: Vec<Wrong>,
}

/// One thing that is wrong with a parameter.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) name: String,
    pub(crate) message: String,
}

/// What is asked of `GET /v1/agents`.
pub(crate) struct Find {
    pub(crate) query: Query,
    pub(crate) token: Option<String>,
}

impl Wrong {
    pub(crate) fn new(name: &str, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), message: message.into() }
    }
}

impl From<Wrong> for Value {
    fn from(wrong: Wrong) -> Self {
        json!({ "parameter": wrong.name, "message": wrong.message })
    }
}

impl Parameters {
    pub(crate) fn read(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self::of(pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
    }

    /// Takes names and values that came in another form.
    pub(crate) fn of(pairs: Vec<(String, String)>) -> Self {
        Self { pairs, known: Vec::new(), wrong: Vec::new() }
    }

    /// Every value of a name.
    pub(super) fn all(&mut self, name: &str) -> Vec<String> {
        self.known.push(name.to_owned());
        let taken = self.pairs.extract_if(.., |pair| pair.0 == name).map(|(_, value)| value);
        taken.collect()
    }

    /// The one value of a name.
    pub(super) fn one(&mut self, name: &str) -> Option<String> {
        let mut all = self.all(name);
        if all.len() > 1 {
            self.is_wrong(name, "is given more than once");
        }
        all.pop()
    }

    /// The one value of a name, as something else.
    pub(super) fn parsed<T: FromStr>(&mut self, name: &str, what: &str) -> Option<T> {
        let text = self.one(name)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            self.is_wrong(name, &format!("has to be {what}"));
        }
        parsed
    }

    /// One of some words, or several of them.
    fn words(&mut self, name: &str, known: &[&str]) -> Vec<String> {
        let words = self.all(name);
        if words.iter().any(|word| !known.contains(&word.as_str())) {
            self.is_wrong(name, &format!("is one of {}", known.join(", ")));
        }
        words
    }

    fn is_wrong(&mut self, name: &str, why: &str) {
        self.wrong.push(Wrong::new(name, why));
    }

    /// Says what is wrong: with those that were taken, and that others were given.
    pub(super) fn end(self) -> Result<(), Problem> {
        self.all_wrong().map_err(refused)
    }

    fn all_wrong(mut self) -> Result<(), Vec<Wrong>> {
        for (name, _) in std::mem::take(&mut self.pairs) {
            let near = nearest(&name, self.known.iter().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            self.is_wrong(&name, &format!("is not known here{hint}"));
        }
        if self.wrong.is_empty() { Ok(()) } else { Err(self.wrong) }
    }
}

impl Find {
    /// Reads the parameters of a request.
    pub(super) fn read(query: Option<&str>) -> Result<Self, Problem> {
        Self::of(Parameters::read(query)).map_err(refused)
    }

    /// Reads the parameters of a search.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub(crate) fn of(mut given: Parameters) -> Result<Self, Vec<Wrong>> {
        let mut filters: Vec<Filter> =
            given.all("tag").iter().map(|tag| Filter::one(Facet::Tag, tag)).collect();
        let several = [
            (Facet::Tag, given.all("any_tag")),
            (Facet::State, given.words("state", &Curation::ALL.map(Curation::as_str))),
            (Facet::Signed, given.words("signed", &Signed::ALL.map(Signed::as_str))),
            (Facet::Evidence, given.words("min_evidence", &Tier::ALL.map(Tier::as_str))),
        ];
        let several = several.into_iter().filter(|(_, any)| !any.is_empty());
        filters.extend(several.map(|(facet, any)| Filter { facet, any }));
        let single = [
            Facet::Category,
            Facet::Skill,
            Facet::Provider,
            Facet::InputMode,
            Facet::OutputMode,
            Facet::Binding,
            Facet::Version,
            Facet::Capability,
        ];
        for facet in single {
            filters.extend(given.one(facet.as_str()).map(|value| Filter::one(facet, &value)));
        }
        if filters.iter().map(|filter| filter.any.len()).sum::<usize>() > MOST_VALUES {
            given.is_wrong("tag", &format!("there are {MOST_VALUES} conditions at most"));
        }
        let text = given.one("q").unwrap_or_default();
        if text.len() > LONGEST_TEXT {
            given.is_wrong("q", &format!("has {LONGEST_TEXT} bytes at most"));
        }
        let size = given.parsed::<usize>("page_size", "a number").unwrap_or(PAGE);
        if !(1..=LONGEST_PAGE).contains(&size) {
            given.is_wrong("page_size", &format!("is from 1 to {LONGEST_PAGE}"));
        }
        let count = given.parsed("facets", "`true` or `false`").unwrap_or_default();
        let token = given.one("page_token");
        given.all_wrong()?;
        let query = Query { text, filters, limit: Some(size), after: None, count };
        Ok(Self { query, token })
    }
}

fn refused(wrong: Vec<Wrong>) -> Problem {
    Problem::all_bad("the parameters of this request are wrong", wrong)
}

#[cfg(test)]
mod tests {
    use axum::{body::to_bytes, response::IntoResponse as _};

    use super::*;

    async fn wrong(query: &str) -> Vec<String> {
        let Err(problem) = Find::read(Some(query)) else { return Vec::new() };
        let body = to_bytes(problem.into_response().into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let problems = body["problems"].as_array().unwrap().iter();
        let said = problems.map(|it| {
            format!("{} {}", it["parameter"].as_str().unwrap(), it["message"].as_str().unwrap())
        });
        said.collect()
    }

    #[tokio::test]
    async fn everything_that_is_wrong_with_parameters_is_said_at_once() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let all = format!(
            "state=good&signed=x&min_evidence=much&page_size=0&facets=maybe&skill=a&skill=b&color=red&tagg=a&q={long}"
        );
        assert_eq!(
            wrong(&all).await,
            [
                "state is one of proposed, approved, deprecated, retired, rejected, suspended",
                "signed is one of unsigned, invalid, valid-untrusted, trusted",
                "min_evidence is one of reachable, valid, conformant, proven",
                "skill is given more than once",
                "q has 1000 bytes at most",
                "page_size is from 1 to 500",
                "facets has to be `true` or `false`",
                "color is not known here",
                "tagg is not known here; did you mean `tag`?",
            ]
        );
        assert_eq!(wrong("page_size=501").await, ["page_size is from 1 to 500"]);
        assert_eq!(wrong("page_size=x").await, ["page_size has to be a number"]);
        let many: Vec<&str> = vec!["tag=x"; MOST_VALUES + 1];
        assert_eq!(wrong(&many.join("&")).await, ["tag there are 100 conditions at most"]);
    }

    #[test]
    fn a_search_says_what_its_parameters_say() {
        let read = |query| {
            let Ok(Find { query, token }) = Find::read(Some(query)) else { panic!("{query}") };
            (query, token)
        };
        let (query, token) = read("q=two+words&tag=a&tag=b%26c&any_tag=x&any_tag=y&page_token=t");
        let filter = |facet, any: &[&str]| Filter {
            facet,
            any: any.iter().map(ToString::to_string).collect(),
        };
        assert_eq!((query.text.as_str(), query.limit, query.count), ("two words", Some(50), false));
        assert_eq!(token.as_deref(), Some("t"));
        assert_eq!(
            query.filters,
            [
                filter(Facet::Tag, &["a"]),
                filter(Facet::Tag, &["b&c"]),
                filter(Facet::Tag, &["x", "y"])
            ]
        );
        let (query, _) = read(
            "category=K&skill=S&provider=P&input_mode=I&output_mode=O&binding=B&version=V&capability=C&\
             state=approved&state=deprecated&signed=trusted&min_evidence=valid&facets=true&page_size=7",
        );
        assert_eq!((query.limit, query.count), (Some(7), true));
        assert_eq!(
            query.filters,
            [
                filter(Facet::State, &["approved", "deprecated"]),
                filter(Facet::Signed, &["trusted"]),
                filter(Facet::Evidence, &["valid"]),
                filter(Facet::Category, &["K"]),
                filter(Facet::Skill, &["S"]),
                filter(Facet::Provider, &["P"]),
                filter(Facet::InputMode, &["I"]),
                filter(Facet::OutputMode, &["O"]),
                filter(Facet::Binding, &["B"]),
                filter(Facet::Version, &["V"]),
                filter(Facet::Capability, &["C"]),
            ]
        );
    }
}
