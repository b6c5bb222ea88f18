use serde_json::{Value, json};

use super::{ListRequest, SearchRequest};
use crate::Agent;
use crate::ard::publish::tests::{agent, published};

fn search(asked: Value) -> Result<Value, String> {
    let published = published(["flights", "hotels", "trains"].map(tagged));
    let request: SearchRequest =
        serde_json::from_value(asked).map_err(|error| error.to_string())?;
    published.search(&request).map_err(|error| error.to_string())
}

fn tagged(name: &str) -> Agent {
    Agent { tags: vec![format!("on-{name}"), "travel".into()], ..agent(name) }
}

fn text(filter: &Value) -> Value {
    json!({ "query": { "text": "booking", "filter": filter } })
}

fn names(answer: &Value) -> Vec<&str> {
    let list = answer.get("results").or(answer.get("items")).unwrap().as_array().unwrap();
    list.iter().map(|entry| entry["displayName"].as_str().unwrap()).collect()
}

#[test]
fn a_result_is_an_entry_with_a_score_and_a_source() {
    let answer = search(json!({ "query": { "text": "hotels" } })).unwrap();
    assert_eq!(names(&answer), ["hotels"]);
    let result = &answer["results"][0];
    assert_eq!(
        (&result["score"], &result["url"]),
        (&json!(100), &json!("https://hotels.example/card.json"))
    );
    assert_eq!(result["source"], "https://peer.example:8443/ard/");
    assert_eq!(answer.get("pageToken"), None);
    assert_eq!(answer.get("referrals"), None);
}

#[test]
fn conditions_hold_together_and_their_values_apart() {
    let found = |filter: Value| search(text(&filter)).map(|answer| names(&answer).join(" "));
    let all = "Convoke flights hotels trains";
    assert_eq!(found(json!({})).unwrap(), all);
    assert_eq!(found(json!({ "tags": ["on-hotels", "on-trains"] })).unwrap(), "hotels trains");
    assert_eq!(found(json!({ "tags": "on-hotels" })).unwrap(), "hotels");
    assert_eq!(found(json!({ "tags": "on-hotels", "capabilities": "fly" })).unwrap(), "");
    assert_eq!(found(json!({ "capabilities": ["book"] })).unwrap(), all);
    assert_eq!(found(json!({ "type": ["application/a2a-agent-card+json"] })).unwrap(), all);
    assert_eq!(found(json!({ "mediaType": "application/mcp-server-card+json" })).unwrap(), "");
    assert_eq!(found(json!({ "publisher": "PEER.example" })).unwrap(), all);
    assert_eq!(found(json!({ "publisher": "other.example" })).unwrap(), "");
    let unknown = found(json!({ "metadata.region": "eu" })).unwrap_err();
    assert_eq!(
        unknown,
        "`metadata.region` is no condition here; those that are: type, publisher, tags, capabilities"
    );
    assert!(found(json!({ "tags": [1] })).unwrap_err().contains("`tags`"));
}

#[test]
fn pages_of_a_search_are_the_whole_of_it_in_its_order() {
    let page = |token: Option<&Value>| {
        let asked = json!({ "query": { "text": "booking" }, "pageSize": 3, "pageToken": token });
        search(asked).unwrap()
    };
    let first = page(None);
    let second = page(first.get("pageToken"));
    assert_eq!(second.get("pageToken"), None);
    let both = [names(&first), names(&second)].concat();
    assert_eq!(both, ["Convoke", "flights", "hotels", "trains"]);
    let score = |answer: &Value, at: usize| answer["results"][at]["score"].as_u64().unwrap();
    assert_eq!(score(&first, 0), 100);
    // A share of the best of the whole search, not of the page.
    assert!(score(&second, 0) <= score(&first, 2));
}

#[test]
fn a_search_that_cannot_be_understood_is_told_why() {
    let why = |asked: Value| search(asked).unwrap_err();
    assert!(why(json!({ "query": {} })).contains("text"));
    assert!(why(json!({ "query": { "text": "  " } })).contains("`query.text` is empty"));
    assert!(why(json!({ "query": { "text": "x".repeat(5000) } })).contains("longer"));
    let with = |key: &str, value: Value| why(json!({ "query": { "text": "a" }, key: value }));
    assert!(with("pageToken", json!("made up")).contains("`pageToken`"));
    assert!(with("pageSize", json!(0)).contains("`pageSize`"));
    assert!(with("federation", json!("all")).contains("all"));
}

#[test]
fn referrals_are_told_to_whoever_asks_for_them() {
    let asked = json!({ "query": { "text": "booking" }, "federation": "referrals" });
    assert_eq!(search(asked).unwrap()["referrals"], json!([]));
    for federation in ["auto", "none"] {
        let asked = json!({ "query": { "text": "booking" }, "federation": federation });
        assert_eq!(search(asked).unwrap().get("referrals"), None);
    }
}

fn list(asked: Value) -> Result<Value, String> {
    let published = published(["trains", "flights", "hotels"].map(tagged));
    let request: ListRequest = serde_json::from_value(asked).map_err(|error| error.to_string())?;
    published.list(&request).map_err(|error| error.to_string())
}

#[test]
fn a_list_is_in_the_order_of_names_and_in_pages() {
    let all = ["Convoke", "flights", "hotels", "trains"];
    let whole = list(json!({})).unwrap();
    assert_eq!((names(&whole), &whole["total"]), (all.to_vec(), &json!(4)));
    let first = list(json!({ "pageSize": 3 })).unwrap();
    let second = list(json!({ "pageSize": 3, "pageToken": first["pageToken"] })).unwrap();
    assert_eq!([names(&first), names(&second)].concat(), all);
    assert_eq!(second.get("pageToken"), None);
    let back = list(json!({ "orderBy": "displayName DESC" })).unwrap();
    assert_eq!(names(&back), ["trains", "hotels", "flights", "Convoke"]);
    assert!(list(json!({ "orderBy": "updatedAt" })).unwrap_err().contains("`orderBy`"));
    assert!(list(json!({ "pageToken": "!" })).unwrap_err().contains("`pageToken`"));
}

#[test]
fn a_list_is_filtered_by_what_is_written() {
    let found = |filter: &str| list(json!({ "filter": filter })).map(|it| names(&it).join(" "));
    assert_eq!(found("displayName = 'Hotels'").unwrap(), "hotels");
    let card = "type = 'application/a2a-agent-card+json,application/x'";
    assert_eq!(found(&format!("{card} AND displayName=\"trains\"")).unwrap(), "trains");
    assert_eq!(found("type = 'application/x'").unwrap(), "");
    assert_eq!(found("publisherId = 'peer.example, other'").unwrap().split(' ').count(), 4);
    assert_eq!(found("publisherId = 'other'").unwrap(), "");
    for wrong in ["createdAfter > '2026-01-01'", "displayName = hotels", "type", "x = 'y'"] {
        assert!(found(wrong).unwrap_err().contains("is no condition here"), "{wrong}");
    }
}
