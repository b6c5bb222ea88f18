//! The fields of a request: from its body or its query, and from its path.

use serde_json::{Map, Value};

use super::routes::Place;
use crate::{
    error::{Error, ErrorKind, without_position},
    server::{
        exchange::{Fields, decode, wrong_field},
        validation::Judged,
    },
};

/// Query parameters that are neither text nor ProtoJSON of a number, in both spellings.
const BOOLEANS: [&str; 2] = ["includeArtifacts", "include_artifacts"];
const ENUMS: [&str; 1] = ["status"];

/// Where the fields of one request are.
pub(in crate::server) struct RestFields<'a> {
    place: &'a Place,
    source: Source<'a>,
}

enum Source<'a> {
    Body(&'a [u8]),
    Query(&'a str),
}

impl RestFields<'_> {
    pub(in crate::server) fn new<'a>(
        place: &'a Place,
        query: &'a str,
        body: &'a [u8],
        has_body: bool,
    ) -> RestFields<'a> {
        // An empty body is a request of which only the path is set.
        let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
        let source = if has_body { Source::Body(body) } else { Source::Query(query) };
        RestFields { place, source }
    }
}

impl Fields for RestFields<'_> {
    /// What the path says counts over what body or query say.
    fn read<R: Judged>(&self) -> Result<R, Error> {
        let mut request: R = match self.source {
            Source::Body(body) => body_fields(body)?,
            Source::Query(query) => query_fields(query)?,
        };
        for (name, value) in &self.place.bound {
            let field = request.path_field(name).expect("the table names fields of the request");
            field.clone_from(value);
        }
        if let Some(tenant) = &self.place.tenant {
            request.tenant_mut().clone_from(tenant);
        }
        Ok(request)
    }
}

fn body_fields<R: Judged>(body: &[u8]) -> Result<R, Error> {
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(body) {
        let message = format!("the request is not JSON: {}", without_position(&error));
        return Err(Error::new(ErrorKind::Parse, message));
    }
    decode(body, "body")
}

/// Reads query parameters (A2A §11.5). One that is there without a value is as good as absent.
fn query_fields<R: Judged>(query: &str) -> Result<R, Error> {
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let fields: Map<String, Value> = pairs
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_string(), json(&key, &value)))
        .collect();
    serde_path_to_error::deserialize(Value::Object(fields))
        .map_err(|error| wrong_field(&error, "query"))
}

/// Numbers and times are texts in ProtoJSON too, or may be; booleans and enum numbers are not.
fn json(key: &str, value: &str) -> Value {
    match value {
        "true" if BOOLEANS.contains(&key) => true.into(),
        "false" if BOOLEANS.contains(&key) => false.into(),
        _ if ENUMS.contains(&key) => {
            value.parse::<i32>().map_or_else(|_| value.into(), Value::from)
        }
        _ => value.into(),
    }
}
