//! The directory of a server, over its API.

use std::time::Duration;

use document::Source;
use http::{Method, StatusCode};
use jiff::Timestamp;
use protocol::{outbound::Outbound, v1::AgentCard};
use registry::{ApplyOptions, Curation, Difference, Facet, Policy, Query, Record, Report};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use server::directory::wire::{
    AddIn, DecisionIn, EvidenceOut, LintIn, LintOut, LintedOut, Listed, PolicyIn, PolicySetOut,
    ProbeIn, ProbedOut, ProbesOut, ProblemOut, PublishIn, PublishedOut, RecordOut, RefreshIn,
    RemovedOut, StandingOut, TagsIn, TagsOut,
};
use url::Url;

use super::{Taken, file::Sent};
use crate::{args::ServerArgs, failure::Failure, place};

/// How long an answer may take: a catalog names many cards to be fetched.
const PATIENCE: Duration = Duration::from_secs(600);

/// How many hits are asked for at once.
const PAGE: usize = 500;

/// A server.
pub(crate) struct Remote {
    url: Url,
    /// An API key or a bearer token.
    key: Option<String>,
    outbound: Outbound,
}

/// Why there is no answer, from the server itself.
struct Refused(Box<ProblemOut>);

impl Remote {
    /// The server that is meant, if one is.
    pub(super) fn of(args: &ServerArgs) -> Result<Option<Self>, Failure> {
        let Some(url) = &args.server else { return Ok(None) };
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(Failure::usage(format!("--server {url} is not the URL of a server")));
        }
        let key = match (&args.bearer_env, std::env::var(args.variable())) {
            (_, Ok(key)) if !key.trim_end().is_empty() => {
                let key = key.trim_end().to_owned();
                if key.chars().any(|char| char.is_control() || char.is_whitespace()) {
                    return Err(Failure::usage(format!(
                        "the environment variable {} holds no key: there is a space, a line break or a control \
                         character within; set it to the key alone",
                        args.variable()
                    )));
                }
                Some(key)
            }
            (Some(variable), _) => {
                let problem =
                    format!("--bearer-env {variable}: there is no such variable, or nothing in it");
                return Err(Failure::usage(problem));
            }
            (None, _) => None,
        };
        Ok(Some(Self { url: url.clone(), key, outbound: place::outbound()? }))
    }

    /// All that a query finds, or as many as it wants, page by page.
    pub(super) async fn find(&self, query: &Query) -> Result<Listed, Failure> {
        let wanted = query.limit.unwrap_or(usize::MAX);
        let mut found: Option<Listed> = None;
        loop {
            let had = found.as_ref().map_or(0, |found| found.agents.len());
            let size = wanted.saturating_sub(had).clamp(1, PAGE);
            let mut url = self.at(&["agents"])?;
            ask(&mut url, query, size);
            if let Some(token) = found.as_ref().and_then(|it| it.next_page_token.as_ref()) {
                url.query_pairs_mut().append_pair("page_token", token);
            } else if query.count {
                url.query_pairs_mut().append_pair("facets", "true");
            }
            let page: Listed = self.get(url).await?;
            let all = match found.take() {
                None => page,
                Some(mut all) => {
                    all.agents.extend(page.agents);
                    all.next_page_token = page.next_page_token;
                    all
                }
            };
            if all.next_page_token.is_none() || all.agents.len() >= wanted {
                return Ok(all);
            }
            found = Some(all);
        }
    }

    pub(super) async fn record(&self, name: &str) -> Result<(Record, EvidenceOut), Failure> {
        let known: RecordOut = self.get(self.at(&["agents", name])?).await?;
        Ok((known.record, known.evidence))
    }

    pub(super) async fn take(
        &self,
        taken: Taken<'_>,
        options: &ApplyOptions,
    ) -> Result<Report, Failure> {
        let ApplyOptions { approve, dry_run, .. } = *options;
        let asked = AddIn { approve, dry_run, ..AddIn::default() };
        let asked = match taken {
            Taken::Url(url, name) => {
                AddIn { url: Some(url.to_owned()), name: name.map(str::to_owned), ..asked }
            }
            Taken::File(source) => {
                let Sent { file, files, .. } = Sent::of(source)?;
                AddIn { file: Some(file), files, ..asked }
            }
            Taken::Catalog(source) => {
                let Sent { file, files, catalog } = Sent::of(source)?;
                AddIn { file: Some(file), files, catalog, ..asked }
            }
        };
        self.post(self.at(&["agents"])?, &asked).await
    }

    pub(super) async fn refresh(&self, names: &[String], dry_run: bool) -> Result<Report, Failure> {
        let asked = RefreshIn { names: names.to_vec(), dry_run };
        self.post(self.at(&["agents:refresh"])?, &asked).await
    }

    pub(super) async fn probe(&self, names: &[String]) -> Result<Vec<ProbedOut>, Failure> {
        let asked = ProbeIn { names: names.to_vec() };
        let probed: ProbesOut = self.post(self.at(&["agents:probe"])?, &asked).await?;
        Ok(probed.agents)
    }

    pub(super) async fn extended_card(&self, name: &str) -> Result<AgentCard, Failure> {
        self.get(self.at(&["agents", name, "extended"])?).await
    }

    pub(super) async fn decide(
        &self,
        name: &str,
        to: Curation,
        why: &str,
        review_by: Option<Timestamp>,
    ) -> Result<StandingOut, Failure> {
        let asked = DecisionIn { why: why.to_owned(), review_by };
        self.post(self.at(&["agents", &format!("{name}:{}", to.verb())])?, &asked).await
    }

    pub(super) async fn tag(
        &self,
        name: &str,
        added: &[String],
        removed: &[String],
    ) -> Result<TagsOut, Failure> {
        let asked = TagsIn { add: added.to_vec(), remove: removed.to_vec() };
        self.post(self.at(&["agents", &format!("{name}:tag")])?, &asked).await
    }

    pub(super) async fn publish(
        &self,
        name: &str,
        is_public: bool,
    ) -> Result<PublishedOut, Failure> {
        let asked = PublishIn { public: is_public };
        self.post(self.at(&["agents", &format!("{name}:publish")])?, &asked).await
    }

    pub(super) async fn remove(&self, name: &str) -> Result<RemovedOut, Failure> {
        self.call(Method::DELETE, self.at(&["agents", name])?, None::<&()>).await
    }

    pub(super) async fn diff(
        &self,
        name: &str,
        from: Option<u32>,
        to: Option<u32>,
    ) -> Result<Difference, Failure> {
        let mut url = self.at(&["agents", name, "diff"])?;
        for (key, number) in [("from", from), ("to", to)] {
            if let Some(number) = number {
                url.query_pairs_mut().append_pair(key, &number.to_string());
            }
        }
        self.get(url).await
    }

    pub(super) async fn export(&self, names: &[String]) -> Result<Value, Failure> {
        let mut url = self.at(&["agents:export"])?;
        if !names.is_empty() {
            url.query_pairs_mut().extend_pairs(names.iter().map(|name| ("name", name)));
        }
        self.get(url).await
    }

    pub(super) async fn policy(&self) -> Result<Policy, Failure> {
        self.get(self.at(&["policy"])?).await
    }

    pub(super) async fn set_policy(&self, policy: &Policy) -> Result<PolicySetOut, Failure> {
        let asked = PolicyIn { policy: Some(json!(policy)), ..PolicyIn::default() };
        self.call(Method::PUT, self.at(&["policy"])?, Some(&asked)).await
    }

    pub(super) async fn lint_known(&self, name: &str) -> Result<Option<LintedOut>, Failure> {
        let url = self.at(&["agents", name, "lint"])?;
        match self.answer::<LintOut>(Method::GET, url, None::<&()>).await? {
            Ok(lint) => Ok(lint.agents.into_iter().next()),
            Err(Refused(problem)) if problem.status == 404 => Ok(None),
            Err(refused) => Err(refused.into()),
        }
    }

    pub(super) async fn lint_url(&self, url: &str) -> Result<Vec<LintedOut>, Failure> {
        self.lint(LintIn { url: Some(url.to_owned()), ..LintIn::default() }).await
    }

    pub(super) async fn lint_file(&self, source: Source) -> Result<Vec<LintedOut>, Failure> {
        let Sent { file, files, .. } = Sent::of(source)?;
        self.lint(LintIn { file: Some(file), files, ..LintIn::default() }).await
    }

    async fn lint(&self, asked: LintIn) -> Result<Vec<LintedOut>, Failure> {
        let lint: LintOut = self.post(self.at(&["agents:lint"])?, &asked).await?;
        Ok(lint.agents)
    }

    /// The URL of a route; what is typed is never more than one segment of it.
    fn at(&self, segments: &[&str]) -> Result<Url, Failure> {
        if segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
            return Err(Failure::usage("that is no name of an agent"));
        }
        let mut url = self.url.clone();
        url.set_query(None);
        url.path_segments_mut()
            .expect("it was looked at when it was typed")
            .pop_if_empty()
            .push("v1")
            .extend(segments);
        Ok(url)
    }

    async fn get<T: DeserializeOwned>(&self, url: Url) -> Result<T, Failure> {
        self.call(Method::GET, url, None::<&()>).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        url: Url,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.call(Method::POST, url, Some(body)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: Option<&impl Serialize>,
    ) -> Result<T, Failure> {
        Ok(self.answer(method, url, body).await??)
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: Option<&impl Serialize>,
    ) -> Result<Result<T, Refused>, Failure> {
        let mut request = self.outbound.request(method, &url).map_err(Failure::unavailable)?;
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = self.outbound.send(&url, request.timeout(PATIENCE)).await;
        let answer = answer.map_err(Failure::unavailable)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(Failure::unavailable)?;
        let strange = |why: String| {
            Failure::unavailable(format!("{url} answered what Convoke does not ({status}): {why}"))
        };
        if status == StatusCode::OK {
            let read = serde_json::from_slice(&body);
            return read.map(Ok).map_err(|error| strange(error.to_string()));
        }
        let read = serde_json::from_slice(&body).map(|problem| Err(Refused(problem)));
        read.map_err(|_| strange("no problem in JSON".to_owned()))
    }
}

/// Writes a query as parameters.
fn ask(url: &mut Url, query: &Query, size: usize) {
    let mut pairs = url.query_pairs_mut();
    if !query.text.is_empty() {
        pairs.append_pair("q", &query.text);
    }
    for filter in &query.filters {
        let several = filter.any.len() > 1;
        let key = match filter.facet {
            Facet::Tag if several => "any_tag",
            Facet::Evidence => "min_evidence",
            facet => facet.as_str(),
        };
        pairs.extend_pairs(filter.any.iter().map(|value| (key, value)));
    }
    pairs.append_pair("page_size", &size.to_string());
}

impl From<Refused> for Failure {
    fn from(Refused(problem): Refused) -> Self {
        let word = problem.kind.rsplit(':').next().unwrap_or_default();
        let mut said = problem.detail.clone();
        for problem in &problem.problems {
            said.push_str(&format!("\n  {}", line(problem)));
        }
        match word {
            "unauthenticated" => Self::work(format!(
                "{said}. `--bearer-env VARIABLE` names the environment variable that holds an API key or a token"
            )),
            "unknown-agent" | "no-version" | "bad-name" | "bad-request" | "bad-file" => {
                Self::usage(said)
            }
            "transition" | "withheld" | "not-yours" | "scope" => Self::work(said),
            _ => Self::unavailable(said),
        }
    }
}

/// A problem on one line.
fn line(problem: &Value) -> String {
    let text = |key: &str| problem[key].as_str().unwrap_or_default();
    if problem["parameter"].is_string() {
        return format!("{} {}", text("parameter"), text("message"));
    }
    let place = match (problem["line"].as_u64(), problem["column"].as_u64()) {
        (Some(line), Some(column)) => format!("{}:{line}:{column}: ", text("file")),
        _ => String::new(),
    };
    let help = if text("help").is_empty() { "" } else { "; " };
    format!("{place}{}{help}{}", text("message"), text("help"))
}

#[cfg(test)]
mod tests {
    use registry::Filter;

    use super::*;

    fn remote(url: &str) -> Remote {
        let outbound = place::outbound().expect("the client");
        Remote { url: Url::parse(url).expect("a URL"), key: None, outbound }
    }

    #[test]
    fn a_name_is_one_segment_of_a_url_below_that_of_the_server() {
        for (server, url) in [
            ("http://h", "http://h/v1/agents/a%2F..%2Fb%3Fc"),
            ("http://h/base/?q", "http://h/base/v1/agents/a%2F..%2Fb%3Fc"),
        ] {
            let at = remote(server).at(&["agents", "a/../b?c"]).map(|url| url.to_string());
            assert_eq!(at.map_err(|error| error.to_string()), Ok(url.to_owned()));
        }
        for wrong in ["", ".", ".."] {
            assert!(remote("http://h").at(&["agents", wrong]).is_err());
        }
    }

    #[test]
    fn a_query_is_written_as_the_server_reads_it() {
        let any = |facet, any: &[&str]| Filter {
            facet,
            any: any.iter().map(ToString::to_string).collect(),
        };
        let filters = vec![
            Filter::one(Facet::Tag, "a"),
            any(Facet::Tag, &["b", "c"]),
            any(Facet::State, &["approved"]),
            any(Facet::Evidence, &["valid"]),
            Filter::one(Facet::InputMode, "text/csv"),
        ];
        let query = Query { text: "two words".to_owned(), filters, ..Query::default() };
        let mut url = Url::parse("http://h/").expect("a URL");
        ask(&mut url, &query, 7);
        assert_eq!(
            url.query(),
            Some(
                "q=two+words&tag=a&any_tag=b&any_tag=c&state=approved&min_evidence=valid&input_mode=text%2Fcsv&page_size=7"
            )
        );
    }
}
