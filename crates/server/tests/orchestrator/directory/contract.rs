//! `/v1/openapi.json`, and whether answers are as it says.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::{Value, json};

use super::{Api, caller, guarded};
use crate::scene::{Scene, outbound};

const OPERATIONS: [&str; 4] = ["get", "post", "put", "delete"];

/// The contract of a server.
pub(super) struct Contract(Value);

impl Contract {
    pub(super) async fn of(scene: &Scene) -> Self {
        let url = format!("{}/v1/openapi.json", scene.url);
        let fetched = outbound().fetch(&url, Default::default()).await.expect("the contract");
        Self(serde_json::from_slice(&fetched.body).expect("JSON"))
    }

    /// Every operation: its path and its method.
    fn operations(&self) -> Vec<(String, String, &Value)> {
        let paths = self.0["paths"].as_object().expect("paths").iter();
        let all = paths.flat_map(|(path, item)| {
            let of = move |method: &&str| {
                Some((path.clone(), method.to_uppercase(), item.get(*method)?))
            };
            OPERATIONS.iter().filter_map(of)
        });
        all.collect()
    }

    /// Which template a path is of; those with words in place of a parameter first.
    fn template(&self, path: &str) -> Option<&str> {
        let fits = |template: &&String| match template.split_once("{name}") {
            None => **template == path,
            Some((before, after)) => path
                .strip_prefix(before)
                .and_then(|rest| rest.strip_suffix(after))
                .is_some_and(|name| !name.is_empty() && !name.contains(['/', ':'])),
        };
        let mut paths = self.0["paths"].as_object().expect("paths").keys();
        paths.find(fits).map(String::as_str)
    }

    /// Fails unless an answer is one that the contract has for its request.
    pub(super) fn check(
        &self,
        method: &Method,
        path: &str,
        (status, kind): (u16, &str),
        body: &Value,
    ) {
        let Some(template) = self.template(path) else {
            assert_eq!(status, 404, "{method} {path} is answered and in no contract");
            return;
        };
        let method = method.as_str().to_lowercase();
        let pointer = template.replace('~', "~0").replace('/', "~1");
        let responses = self.0.pointer(&format!("/paths/{pointer}/{method}/responses"));
        let Some(responses) = responses else {
            assert_eq!(status, 405, "{method} {path} is answered and in no contract");
            return;
        };
        let response = if status == 200 { &responses["200"] } else { &responses["default"] };
        let schema = &response["content"][kind]["schema"];
        assert!(schema.is_object(), "{method} {path}: {status} {kind} is in no contract");
        let wrong = self.wrong(schema, body);
        assert!(wrong.is_empty(), "{method} {path}: {wrong:#?}\n{body:#}");
    }

    /// What a schema has against a value.
    fn wrong(&self, schema: &Value, body: &Value) -> Vec<String> {
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [schema],
            "components": self.0["components"],
        });
        let validator = jsonschema::validator_for(&whole).expect("a schema");
        let wrong = validator.iter_errors(body);
        wrong.map(|error| format!("{} at {}", error, error.instance_path())).collect()
    }

    /// The names of an operation's parameters of the query.
    pub(super) fn parameters(&self, path: &str) -> BTreeSet<&str> {
        let parameters = self.0["paths"][path]["get"]["parameters"].as_array();
        let parameters = parameters.into_iter().flatten().filter(|it| it["in"] == "query");
        parameters.filter_map(|it| it["name"].as_str()).collect()
    }
}

#[tokio::test]
async fn every_operation_of_the_contract_is_there_and_asks_for_credentials_and_its_scope() {
    let guarded = guarded().await;
    let (scene, contract) = &guarded;
    let stranger = Api { scene, contract, key: None };
    let other = caller(&guarded, "ada", &["runs:read", "runs:start:*"]).await;
    let reader = caller(&guarded, "ada", &["agents:read"]).await;
    let operations = contract.operations();
    assert_eq!(operations.len(), 24);
    let mut scoped = 0;
    for (path, method, operation) in &operations {
        if path == "/v1/openapi.json" || path == "/v1/agents:watch" {
            continue;
        }
        let called = path.replace("{name}", "nobody");
        let method: Method = method.parse().expect("a method");
        let body = operation.get("requestBody").map(|_| json!({}));
        let call = async |api: &Api<'_>| api.call(method.clone(), &called, body.clone()).await;
        assert_eq!(call(&stranger).await.problem(), (401, "unauthenticated"), "{method} {called}");
        let refused = call(&other).await;
        assert_eq!(refused.problem(), (403, "scope"), "{method} {called}");
        assert_eq!(refused.body["scope"], "agents:read");
        let said = operation["description"].as_str().expect("it says which scope");
        let answered = call(&reader).await;
        if said.contains("agents:curate") {
            assert_eq!(answered.problem(), (403, "scope"), "{method} {called}");
            assert_eq!(answered.body["scope"], "agents:curate");
            scoped += 1;
        } else {
            assert!(said.contains("agents:read"), "{said}");
            assert!(
                [200, 404].contains(&answered.status),
                "{method} {called}: {}",
                answered.status
            );
        }
    }
    assert_eq!(scoped, 15);
}

#[tokio::test]
async fn an_answer_with_a_field_more_or_less_is_not_of_the_contract() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    admin.add("a", json!({})).await;
    let schema = json!({ "$ref": "#/components/schemas/Record" });
    let wrong = |body: &Value| guarded.1.wrong(&schema, body);
    let record = admin.get("/v1/agents/a").await.ok();
    assert_eq!(wrong(&record), [""; 0]);
    for field in ["details", "history", "trust", "versions", "evidence"] {
        let mut less = record.clone();
        less.as_object_mut().expect("an object").remove(field);
        assert_eq!(wrong(&less).len(), 1, "{field}");
    }
    let mut more = record;
    more["details"]["color"] = json!("red");
    assert_eq!(wrong(&more).len(), 1);
}

#[tokio::test]
async fn parameters_are_those_of_the_contract() {
    let guarded = guarded().await;
    let reader = caller(&guarded, "ada", &["agents:read"]).await;
    let known = [
        "any_tag",
        "binding",
        "capability",
        "category",
        "facets",
        "input_mode",
        "min_evidence",
        "output_mode",
        "page_size",
        "page_token",
        "provider",
        "q",
        "signed",
        "skill",
        "state",
        "tag",
        "version",
    ];
    assert_eq!(guarded.1.parameters("/v1/agents"), BTreeSet::from(known));
    let wrong = known.map(|name| format!("{name}=%00")).join("&");
    let wrong = reader.get(&format!("/v1/agents?{wrong}")).await;
    let said = wrong.body["problems"].to_string();
    assert!(!said.contains("not known"), "{said}");
    for (path, parameters) in [
        ("/v1/agents/{name}/diff", vec!["from", "to"]),
        ("/v1/agents:export", vec!["name"]),
        ("/v1/agents:watch", vec!["after"]),
        ("/v1/policy", vec![]),
    ] {
        assert_eq!(guarded.1.parameters(path), BTreeSet::from_iter(parameters), "{path}");
    }
    for (path, status) in
        [("/v1/agents/x/diff?color=red", 400), ("/v1/agents:export?color=red", 400)]
    {
        let refused = reader.get(path).await;
        assert_eq!(refused.problem(), (status, "bad-request"), "{path}");
        assert_eq!(refused.body["problems"][0]["parameter"], "color");
    }
}

#[tokio::test]
async fn what_is_not_there_is_a_problem_too() {
    let guarded = guarded().await;
    let admin = caller(&guarded, "local", &["admin"]).await;
    assert_eq!(admin.get("/v1/nothing").await.problem(), (404, "no-route"));
    let refused = admin.call(Method::DELETE, "/v1/policy", None).await;
    assert_eq!(refused.problem(), (405, "no-method"));
    let refused = admin.post("/v1/agents/x", json!({})).await;
    assert_eq!(refused.problem(), (405, "no-method"));
    admin.add("x", json!({})).await;
    let refused = admin.post("/v1/agents/x:explode", json!({})).await;
    assert_eq!(refused.problem(), (404, "no-route"));
}
