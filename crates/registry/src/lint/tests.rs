use insta::assert_snapshot;
use protocol::v1::AgentCard;
use serde_json::{Value, json};

use super::{lint, pointer_of};

fn good() -> Value {
    json!({
        "name": "Flights", "description": "Books flights.", "version": "1.0.0",
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [
            {"url": "https://flights.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "skills": [{"id": "book", "name": "Book", "description": "Books a flight.", "tags": ["flights"]}]
    })
}

fn findings(change: impl FnOnce(&mut Value)) -> String {
    let mut card = good();
    change(&mut card);
    let card: AgentCard = serde_json::from_value(card).unwrap();
    let found = lint(&card, Some("https://flights.example/.well-known/agent-card.json"));
    found.iter().map(|finding| format!("{finding}\n")).collect()
}

#[test]
fn a_good_card_has_no_findings() {
    assert_eq!(findings(|_| {}), "");
}

#[test]
fn missing_required_fields_are_all_named() {
    assert_snapshot!(findings(|card| {
        card["description"] = json!("");
        card["version"] = Value::Null;
        card["skills"][0]["name"] = json!("");
    }), @"
    error card::missing-field at /description: the required field `description` is missing or empty; the agent's author has to add it
    error card::missing-field at /version: the required field `version` is missing or empty; the agent's author has to add it
    error card::missing-field at /skills/0/name: the required field `skills[0].name` is missing or empty; the agent's author has to add it
    ");
}

#[test]
fn a_card_without_skills_or_tags_is_noted() {
    assert_snapshot!(findings(|card| card["skills"] = json!([])), @"error card::no-skills at /skills: the card names no skill; without skills the agent can only be selected by its name; its author has to add them");
    assert_snapshot!(findings(|card| card["skills"][0]["tags"] = json!([" "])), @"warning card::no-tags at /skills/0/tags: the skill `book` has no tags; add tags of your own in the catalog, so that steps can select the agent by them");
}

#[test]
fn duplicate_skill_ids_are_noted() {
    assert_snapshot!(findings(|card| {
        let skill = card["skills"][0].clone();
        card["skills"] = json!([skill, skill, skill]);
    }), @"
    error card::duplicate-skill at /skills/1/id: the skill id `book` is there twice, first at /skills/0/id; the agent's author has to give every skill an id of its own
    error card::duplicate-skill at /skills/2/id: the skill id `book` is there twice, first at /skills/0/id; the agent's author has to give every skill an id of its own
    ");
}

#[test]
fn interface_urls_that_cannot_be_called_are_noted() {
    assert_snapshot!(findings(|card| {
        card["supportedInterfaces"] = json!([
            {"url": "/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "ftp://flights.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
            {"url": "flights.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
            {"url": "https://flights.example/x", "protocolBinding": "CARRIER-PIGEON", "protocolVersion": "1.0"}
        ]);
    }), @"
    error card::relative-url at /supportedInterfaces/0/url: the interface URL `/a2a` is relative; the agent's author has to write the whole URL, with `https://` and the host
    error card::invalid-url at /supportedInterfaces/1/url: the interface URL `ftp://flights.example` is not an http or https URL; the agent's author has to correct it
    warning card::unknown-binding at /supportedInterfaces/3/protocolBinding: the binding `CARRIER-PIGEON` is not one of JSONRPC, HTTP+JSON and GRPC; this interface is not used
    ");
    assert_snapshot!(findings(|card| card["supportedInterfaces"] = json!([])), @"error card::no-interface at /supportedInterfaces: the card names no interface; without an address the agent cannot be called");
}

#[test]
fn an_interface_that_is_not_encrypted_or_elsewhere_is_noted() {
    assert_snapshot!(findings(|card| {
        card["supportedInterfaces"][0]["url"] = json!("http://other.example/a2a");
    }), @"
    warning card::plain-http at /supportedInterfaces/0/url: the interface `http://other.example/a2a` is not encrypted; ask for an https address: what is sent there can be read and changed on the way
    warning card::other-origin at /supportedInterfaces/0/url: the interface is on `other.example`, the card on `flights.example`; approve it only when both belong to the same operator
    ");
    assert_snapshot!(findings(|card| {
        card["supportedInterfaces"][0]["url"] = json!("http://127.0.0.1:9101/");
    }), @"warning card::other-origin at /supportedInterfaces/0/url: the interface is on `127.0.0.1`, the card on `flights.example`; approve it only when both belong to the same operator");
}

#[test]
fn an_interface_of_another_version_alone_is_an_error() {
    assert_snapshot!(findings(|card| {
        card["supportedInterfaces"][0]["protocolVersion"] = json!("7.3");
    }), @"error card::no-spoken-interface at /supportedInterfaces: none of the interfaces can be called from here; the agent needs an interface with a binding and protocol version that is spoken here, such as JSONRPC 1.0");
}

#[test]
fn paths_become_json_pointers() {
    assert_eq!(pointer_of("skills[0].inputModes"), "/skills/0/inputModes");
    assert_eq!(pointer_of(r#"securitySchemes["a/b~]"].x.y"#), "/securitySchemes/a~1b~0]/x/y");
    assert_eq!(pointer_of(""), "");
}

#[test]
fn media_types_that_are_none_are_noted() {
    assert_snapshot!(findings(|card| {
        card["defaultInputModes"] = json!(["text/plain; charset=utf-8", "text"]);
        card["skills"][0]["outputModes"] = json!(["image/png", "not a/type", "a/b/c"]);
    }), @"
    warning card::media-type at /defaultInputModes/1: `text` is no media type; the agent's author has to write it as in `text/plain`
    warning card::media-type at /skills/0/outputModes/1: `not a/type` is no media type; the agent's author has to write it as in `text/plain`
    warning card::media-type at /skills/0/outputModes/2: `a/b/c` is no media type; the agent's author has to write it as in `text/plain`
    ");
}

#[test]
fn a_security_scheme_that_is_required_and_not_declared_is_noted() {
    assert_snapshot!(findings(|card| {
        card["securitySchemes"] = json!({"key": {"apiKeySecurityScheme": {"location": "header", "name": "X"}}});
        card["securityRequirements"] = json!([{"schemes": {"key": {"list": []}}}, {"schemes": {"oauth": {"list": []}}}]);
        card["skills"][0]["securityRequirements"] = json!([{"schemes": {"mtls": {"list": []}}}]);
    }), @"
    error card::undeclared-scheme at /securityRequirements/1: the security scheme `oauth` is required and not declared; the agent's author has to declare it under `securitySchemes`
    error card::undeclared-scheme at /skills/0/securityRequirements/0: the security scheme `mtls` is required and not declared; the agent's author has to declare it under `securitySchemes`
    ");
}

#[test]
fn credentials_in_an_interface_url_are_noted_and_not_repeated() {
    let found = findings(|card| {
        card["supportedInterfaces"][0]["url"] = json!("https://me:secret@flights.example/a2a");
    });
    assert_snapshot!(found, @"error card::credentials-in-url at /supportedInterfaces/0/url: the interface URL holds credentials, and is not called; the agent's author has to take them out of the card, and to change them");
}
