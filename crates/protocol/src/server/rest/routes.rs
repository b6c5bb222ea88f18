//! Verb and path to operation, by the one table.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::operation::{Operation, Route, Verb};

/// Which operation a request is for, and what its path says.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) struct Place {
    pub(in crate::server) operation: Operation,
    /// The tenant in front of the path.
    pub(in crate::server) tenant: Option<String>,
    /// The values of the path's fields, by the names of the table.
    pub(super) bound: Vec<(&'static str, String)>,
}

/// Why there is no operation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) enum Miss {
    /// Nothing is at this path.
    Path,
    /// Something is at this path, for these verbs.
    Verb(Vec<&'static str>),
}

/// Finds the operation of a path below the interface's URL, percent-encoded as it came.
pub(in crate::server) fn find(method: &Method, path: &str) -> Result<Place, Miss> {
    let segments: Vec<&str> = path.strip_prefix('/').ok_or(Miss::Path)?.split('/').collect();
    let mut verbs = Vec::new();
    for (operation, route) in routes() {
        let Some((tenant, bound)) = matched(route, &segments) else { continue };
        if method.as_str() == route.verb.name() {
            return Ok(Place { operation, tenant, bound });
        }
        if !verbs.contains(&route.verb.name()) {
            verbs.push(route.verb.name());
        }
    }
    Err(if verbs.is_empty() { Miss::Path } else { Miss::Verb(verbs) })
}

/// All routes; those that end in a verb of their own (`{id}:cancel`) first, because `{id}` alone
/// takes anything.
fn routes() -> impl Iterator<Item = (Operation, &'static Route)> {
    let all = || {
        Operation::table()
            .iter()
            .flat_map(|row| row.routes.iter().map(|route| (row.operation, route)))
    };
    let is_own = |route: &Route| route.path.contains("}:");
    all().filter(move |(_, route)| is_own(route)).chain(all().filter(move |(_, one)| !is_own(one)))
}

type Bound = Vec<(&'static str, String)>;

fn matched(route: &'static Route, segments: &[&str]) -> Option<(Option<String>, Bound)> {
    if let Some(bound) = bind(route, segments) {
        return Some((None, bound));
    }
    let (tenant, rest) = segments.split_first()?;
    Some((Some(decoded(tenant)?), bind(route, rest)?))
}

fn bind(route: &'static Route, segments: &[&str]) -> Option<Bound> {
    let template = route.path.trim_start_matches('/').split('/');
    if template.clone().count() != segments.len() {
        return None;
    }
    let mut bound = Bound::new();
    for (pattern, segment) in template.zip(segments) {
        match pattern.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((name, suffix)) => bound.push((name, decoded(segment.strip_suffix(suffix)?)?)),
            None if pattern == *segment => {}
            None => return None,
        }
    }
    Some(bound)
}

/// Decodes a segment; an empty one is none.
fn decoded(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    (!text.is_empty()).then(|| text.into_owned())
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Delete => "DELETE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(method: &Method, path: &str) -> String {
        match find(method, path) {
            Ok(Place { operation, tenant, bound }) => {
                format!("{operation} {} {bound:?}", tenant.as_deref().unwrap_or("-"))
            }
            Err(miss) => format!("{miss:?}"),
        }
    }

    #[test]
    fn every_route_of_the_table_is_found_with_and_without_a_tenant() {
        for row in Operation::table() {
            for route in row.routes {
                let method = Method::from_bytes(route.verb.name().as_bytes()).expect("a verb");
                let path = route.path.replace("{id}", "a%2Fb:c").replace("{task_id}", "t");
                for (prefix, tenant) in [("", None), ("/acme%20inc", Some("acme inc".to_owned()))] {
                    let place = find(&method, &format!("{prefix}{path}")).expect("a place");
                    assert_eq!((place.operation, place.tenant), (row.operation, tenant), "{path}");
                    for (name, value) in place.bound {
                        assert_eq!(value, if name == "id" { "a/b:c" } else { "t" }, "{path}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_in_the_table_is_missed() {
        let lines = [
            shown(&Method::GET, "/tasks/x:cancel"),
            shown(&Method::POST, "/tasks/x"),
            shown(&Method::POST, "/tasks/x:cancel:cancel"),
            shown(&Method::PUT, "/tasks/x:subscribe"),
            shown(&Method::GET, "/tasks/"),
            shown(&Method::GET, "/tasks/tasks"),
            shown(&Method::POST, "/tasks/:cancel"),
            shown(&Method::GET, "/a/b/tasks"),
            shown(&Method::GET, "/tasks/%ff"),
            shown(&Method::GET, ""),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r#"
        GetTask - [("id", "x:cancel")]
        Verb(["GET"])
        CancelTask - [("id", "x:cancel")]
        Verb(["POST", "GET"])
        Path
        GetTask - [("id", "tasks")]
        Verb(["GET"])
        Path
        Path
        Path
        "#);
    }
}
