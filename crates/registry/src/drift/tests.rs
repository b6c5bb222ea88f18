use protocol::v1::AgentCard;
use serde_json::{Value, json};

use super::Drift;

fn card() -> Value {
    json!({
        "name": "Flights", "description": "Books flights.",
        "defaultInputModes": ["text/plain"],
        "supportedInterfaces": [{"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}},
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "skills": [
            {"id": "book", "name": "Book", "outputModes": ["text/plain", "application/json"]},
            {"id": "cancel", "name": "Cancel"}
        ]
    })
}

fn drift(change: impl FnOnce(&mut Value)) -> Drift {
    let mut new = card();
    change(&mut new);
    let read = |card: Value| serde_json::from_value::<AgentCard>(card).unwrap();
    Drift::between(&read(card()), &read(new))
}

fn broken(change: impl FnOnce(&mut Value)) -> String {
    match drift(change) {
        Drift::Breaking(broken) => broken.join("; "),
        other => panic!("{other:?}"),
    }
}

#[test]
fn words_are_cosmetic() {
    assert_eq!(drift(|_| {}), Drift::Cosmetic);
    assert_eq!(drift(|card| card["description"] = json!("Books all flights.")), Drift::Cosmetic);
    assert_eq!(drift(|card| card["skills"][0]["examples"] = json!(["new"])), Drift::Cosmetic);
}

#[test]
fn what_an_agent_is_selected_by_or_called_with_is_more_than_words() {
    assert_eq!(drift(|card| card["skills"][0]["tags"] = json!(["new"])), Drift::Additive);
    assert_eq!(drift(|card| card["capabilities"] = json!({"streaming": true})), Drift::Additive);
}

#[test]
fn more_than_before_is_additive() {
    let skill = json!({"id": "change", "name": "Change"});
    assert_eq!(drift(|card| card["skills"].as_array_mut().unwrap().push(skill)), Drift::Additive);
    let interface = json!({"url": "https://a.example/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
    let add =
        |card: &mut Value| card["supportedInterfaces"].as_array_mut().unwrap().push(interface);
    assert_eq!(drift(add), Drift::Additive);
    assert_eq!(
        drift(|card| card["defaultInputModes"] = json!(["text/plain", "image/png"])),
        Drift::Additive
    );
}

#[test]
fn what_a_plan_relied_on_breaks_when_it_goes() {
    assert_eq!(
        broken(|card| card["skills"] = json!([card["skills"][0].clone()])),
        "skill `cancel` was removed"
    );
    assert_eq!(
        broken(|card| card["skills"][0]["outputModes"] = json!(["text/plain"])),
        "skill `book` takes or gives fewer media types"
    );
    assert_eq!(
        broken(|card| card["defaultInputModes"] = json!(["image/png"])),
        "skill `book` takes or gives fewer media types; skill `cancel` takes or gives fewer media types"
    );
}

#[test]
fn an_interface_that_moves_breaks() {
    assert_eq!(
        broken(|card| card["supportedInterfaces"][0]["url"] = json!("https://b.example/a2a")),
        "an interface is now on `https://b.example`; the JSONRPC interface `https://a.example/a2a` was removed or changed"
    );
    assert_eq!(
        broken(|card| card["supportedInterfaces"][0]["tenant"] = json!("eu")),
        "the JSONRPC interface `https://a.example/a2a` was removed or changed"
    );
}

#[test]
fn security_that_changes_breaks() {
    assert_eq!(
        broken(|card| card["securityRequirements"] = json!([])),
        "the security requirements changed"
    );
    assert_eq!(
        broken(|card| card["skills"][1]["securityRequirements"] = json!([{"schemes": {}}])),
        "the security requirements of skill `cancel` changed"
    );
    assert_eq!(
        broken(|card| card["securitySchemes"] = json!({})),
        "the security scheme `key` was removed or changed"
    );
}
