//! What others ask the directory: the search and the list of Agentic Resource Discovery.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Published, document::clipped};
use crate::{Facet, Filter, Position, Query, of_page_token, to_page_token};

/// The most entries of one page.
const MOST: usize = 100;

/// The longest text that is searched for, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 10;

/// How many values one condition may name.
const MAX_VALUES: usize = 100;

/// The conditions of a search that are understood.
const CONDITIONS: &str = "type, publisher, tags, capabilities";

/// Says why a question has no answer, in words for whoever asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct QueryError(String);

/// What `POST /search` asks.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchRequest {
    /// What is looked for.
    pub query: SearchQuery,
    /// `auto`, `referrals` or `none`: whether other directories are asked. None are known.
    #[serde(default)]
    pub federation: Option<Federation>,
    /// How many results are wanted, from 1 to 100; 10 without.
    #[serde(default)]
    pub page_size: Option<usize>,
    /// The token of the page before.
    #[serde(default)]
    pub page_token: Option<String>,
}

/// Text and conditions.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct SearchQuery {
    /// The need in words.
    pub text: String,
    /// Values by the member of an entry; one of several is enough, and every member has to fit.
    pub filter: Map<String, Value>,
}

impl TryFrom<Map<String, Value>> for SearchQuery {
    type Error = &'static str;

    fn try_from(mut members: Map<String, Value>) -> Result<Self, Self::Error> {
        let Some(Value::String(text)) = members.remove("text") else {
            return Err("`query.text` has to be a text");
        };
        let filter = match members.remove("filter") {
            None => Map::new(),
            Some(Value::Object(filter)) => filter,
            Some(_) => return Err("`query.filter` has to be an object"),
        };
        Ok(Self { text, filter })
    }
}

/// Whether other directories are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Federation {
    /// Their results too.
    Auto,
    /// Where they are.
    Referrals,
    /// No.
    None,
}

/// What `GET /agents` asks.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// Conditions such as `displayName = 'Echo' AND type = 'application/a2a-agent-card+json'`.
    #[serde(default)]
    pub filter: Option<String>,
    /// `displayName`, perhaps with `ASC` or `DESC`.
    #[serde(default)]
    pub order_by: Option<String>,
    /// How many entries are wanted, from 1 to 100; 20 without.
    #[serde(default)]
    pub page_size: Option<usize>,
    /// The token of the page before.
    #[serde(default)]
    pub page_token: Option<String>,
}

/// Where a search goes on.
#[derive(Serialize, Deserialize)]
struct Token {
    /// The best score of all, of which all others are shares.
    best: f32,
    score: f32,
    name: String,
}

impl Published {
    /// Answers a search: entries with a `score` from 0 to 100, the best one first.
    ///
    /// # Errors
    /// What cannot be understood of the question.
    pub fn search(&self, request: &SearchRequest) -> Result<Value, QueryError> {
        let text = request.query.text.trim();
        if text.is_empty() {
            return Err(wrong("`query.text` is empty: say in words what is looked for"));
        }
        if text.len() > MAX_TEXT_BYTES {
            return Err(wrong(format!("`query.text` is longer than {MAX_TEXT_BYTES} bytes")));
        }
        let token: Option<Token> = request.page_token.as_deref().map(read_token).transpose()?;
        let mut query = Query {
            text: text.to_owned(),
            limit: Some(page_size(request.page_size, 10)?),
            ..Query::default()
        };
        for (member, values) in &request.query.filter {
            query.filters.push(self.condition(member, values)?);
        }
        let best = token.as_ref().map(|token| token.best);
        query.after = token.map(|token| Position { score: token.score, name: token.name });
        let found = self.index.find(&query);
        let best = best.or(found.hits.first().map(|hit| hit.score)).unwrap_or_default();
        let results = found.hits.iter().map(|hit| {
            let mut entry = self.entry(&hit.agent);
            entry["score"] = json!(percent(hit.score, best));
            entry["source"] = json!(self.source());
            entry
        });
        let mut answer = json!({ "results": results.collect::<Vec<_>>() });
        if request.federation == Some(Federation::Referrals) {
            answer["referrals"] = json!([]);
        }
        if let Some(Position { score, name }) = found.next {
            answer["pageToken"] = json!(to_page_token(&Token { best, score, name }));
        }
        Ok(answer)
    }

    /// One condition, as the index filters.
    fn condition(&self, member: &str, values: &Value) -> Result<Filter, QueryError> {
        let list = values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice);
        let texts: Option<Vec<String>> =
            list.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        let any = texts.filter(|texts| texts.len() <= MAX_VALUES).ok_or_else(|| {
            wrong(format!("`{}` has to be a text, or at most {MAX_VALUES}", clipped(member)))
        })?;
        match member {
            "tags" => Ok(Filter { facet: Facet::Tag, any }),
            "capabilities" => Ok(Filter { facet: Facet::Skill, any }),
            // All entries have the same, so that it fits all or none.
            "type" | "mediaType" => Ok(all_or_none(any.iter().any(|it| it == Self::media_type()))),
            "publisher" => {
                Ok(all_or_none(any.iter().any(|it| it.eq_ignore_ascii_case(self.host()))))
            }
            other => Err(wrong(format!(
                "`{}` is no condition here; those that are: {CONDITIONS}",
                clipped(other)
            ))),
        }
    }

    /// Answers a list: entries in the order of their names.
    ///
    /// # Errors
    /// What cannot be understood of the question.
    pub fn list(&self, request: &ListRequest) -> Result<Value, QueryError> {
        let size = page_size(request.page_size, 20)?;
        let from: usize = request.page_token.as_deref().map(read_token).transpose()?.unwrap_or(0);
        let conditions = request.filter.as_deref().map(conditions).transpose()?.unwrap_or_default();
        let mut agents: Vec<_> = self
            .index
            .iter()
            .filter(|agent| conditions.iter().all(|it| self.fits(it, &agent.card.name)))
            .collect();
        agents.sort_by_key(|agent| (agent.card.name.to_lowercase(), &agent.name));
        if is_reversed(request.order_by.as_deref())? {
            agents.reverse();
        }
        let page = agents.iter().skip(from).take(size).map(|agent| self.entry(agent));
        let mut answer = json!({ "items": page.collect::<Vec<_>>(), "total": agents.len() });
        if from.saturating_add(size) < agents.len() {
            answer["pageToken"] = json!(to_page_token(&(from + size)));
        }
        Ok(answer)
    }

    fn fits(&self, condition: &Condition, name: &str) -> bool {
        let is = |value: &str| condition.any.iter().any(|it| it.eq_ignore_ascii_case(value));
        match condition.field {
            ListField::DisplayName => {
                condition.any.iter().any(|it| it.to_lowercase() == name.to_lowercase())
            }
            ListField::Type => is(Self::media_type()),
            ListField::Publisher => is(self.host()),
        }
    }
}

/// A condition of a list.
#[derive(Debug)]
struct Condition {
    field: ListField,
    any: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
enum ListField {
    DisplayName,
    Type,
    Publisher,
}

/// Reads `FIELD = 'VALUE' AND …`; a value may be several with commas between.
fn conditions(filter: &str) -> Result<Vec<Condition>, QueryError> {
    if filter.len() > MAX_TEXT_BYTES {
        return Err(wrong(format!("`filter` is longer than {MAX_TEXT_BYTES} bytes")));
    }
    if filter.trim().is_empty() {
        return Ok(Vec::new());
    }
    filter.split(" AND ").map(|text| condition(text.trim())).collect()
}

fn condition(text: &str) -> Result<Condition, QueryError> {
    let form = || {
        let form = "`displayName`, `type` or `publisherId`, `=`, and a value in quotes";
        wrong(format!("`{}` is no condition here; write {form}", clipped(text)))
    };
    let (field, value) = text.split_once('=').ok_or_else(form)?;
    let field = match field.trim() {
        "displayName" => ListField::DisplayName,
        "type" | "mediaType" => ListField::Type,
        "publisherId" => ListField::Publisher,
        _ => return Err(form()),
    };
    let value = value.trim();
    let quoted = ['\'', '"'].iter().find_map(|it| value.strip_prefix(*it)?.strip_suffix(*it));
    let value = quoted.ok_or_else(form)?;
    let any = match field {
        // A name may hold a comma.
        ListField::DisplayName => vec![value.to_owned()],
        _ => value.split(',').map(|it| it.trim().to_owned()).collect(),
    };
    Ok(Condition { field, any })
}

fn is_reversed(order_by: Option<&str>) -> Result<bool, QueryError> {
    let words: Vec<&str> = order_by.unwrap_or_default().split_whitespace().collect();
    match words.as_slice() {
        [] | ["displayName"] | ["displayName", "ASC"] => Ok(false),
        ["displayName", "DESC"] => Ok(true),
        _ => Err(wrong("`orderBy` can be `displayName` or `displayName DESC` here")),
    }
}

/// A filter that lets everything or nothing through.
fn all_or_none(is_all: bool) -> Filter {
    let any = if is_all { vec![crate::Curation::Approved.as_str().to_owned()] } else { Vec::new() };
    Filter { facet: Facet::State, any }
}

fn page_size(asked: Option<usize>, otherwise: usize) -> Result<usize, QueryError> {
    match asked.unwrap_or(otherwise) {
        0 => Err(wrong("`pageSize` is at least 1")),
        size => Ok(size.min(MOST)),
    }
}

fn percent(score: f32, best: f32) -> u8 {
    let share = if best > 0.0 { score / best * 100.0 } else { 0.0 };
    // A share of 100 has a place in a byte, whatever a token claims.
    share.clamp(0.0, 100.0).round() as u8
}

fn read_token<T: DeserializeOwned>(token: &str) -> Result<T, QueryError> {
    of_page_token(token)
        .ok_or_else(|| wrong("`pageToken` is none that was given here; begin anew without it"))
}

fn wrong(why: impl Into<String>) -> QueryError {
    QueryError(why.into())
}

#[cfg(test)]
mod tests;
