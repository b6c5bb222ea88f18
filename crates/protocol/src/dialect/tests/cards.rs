//! Cards from before 1.0, and ours as older readers see it.

use serde_json::{Value, json};

use super::super::{Dialect, write_result};
use crate::{card, operation::Operation, v1::AgentCard};

fn read_card(card: &Value) -> AgentCard {
    card::read(card).expect("it is a card")
}

fn interfaces(card: &AgentCard) -> Vec<String> {
    let line = |one: &crate::v1::AgentInterface| {
        format!("{} {} {}", one.protocol_binding, one.protocol_version, one.url)
    };
    card.supported_interfaces.iter().map(line).collect()
}

#[test]
fn a_card_of_0_3_is_read_as_what_it_would_be_in_1_0() {
    let card = read_card(&json!({
        "protocolVersion": "0.3.0", "name": "Ferries", "description": "d", "version": "2",
        "url": "https://a.example/rpc", "preferredTransport": "JSONRPC",
        "additionalInterfaces": [
            {"url": "https://a.example/rpc", "transport": "JSONRPC"},
            {"url": "https://a.example/rest", "transport": "HTTP+JSON"},
            {"url": "https://a.example:443", "transport": "GRPC"},
        ],
        "supportsAuthenticatedExtendedCard": true,
        "capabilities": {"streaming": true, "stateTransitionHistory": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"], "security": [{"key": []}]}],
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            "oauth": {"type": "oauth2", "flows": {
                "clientCredentials": {"tokenUrl": "https://t.example", "scopes": {"a": "b"}},
                "implicit": {"authorizationUrl": "https://i.example", "scopes": {}},
            }},
            "oidc": {"type": "openIdConnect", "openIdConnectUrl": "https://o.example"},
            "mtls": {"type": "mutualTLS", "description": "m"},
        },
        "security": [{"oauth": ["a"]}, {"key": []}],
    }));
    assert_eq!(
        interfaces(&card),
        [
            "JSONRPC 0.3 https://a.example/rpc",
            "HTTP+JSON 0.3 https://a.example/rest",
            "GRPC 0.3 https://a.example:443",
        ]
    );
    let spoken = card::interfaces_spoken(&card);
    assert_eq!(spoken.len(), 2, "gRPC of 0.3 is another service");
    assert_eq!(
        serde_json::to_value(&card.capabilities).expect("JSON"),
        json!({"streaming": true, "extendedAgentCard": true})
    );
    assert_eq!(
        serde_json::to_value(&card.security_schemes).expect("JSON"),
        json!({
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "bearer": {"httpAuthSecurityScheme": {"scheme": "bearer", "bearerFormat": "JWT"}},
            "oauth": {"oauth2SecurityScheme": {"flows": {
                "clientCredentials": {"tokenUrl": "https://t.example", "scopes": {"a": "b"}},
            }}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o.example"}},
            "mtls": {"mtlsSecurityScheme": {"description": "m"}},
        })
    );
    assert_eq!(
        serde_json::to_value(&card.security_requirements).expect("JSON"),
        json!([{"schemes": {"oauth": {"list": ["a"]}}}, {"schemes": {"key": {}}}])
    );
    assert_eq!(card.skills[0].security_requirements.len(), 1);
}

#[test]
fn a_card_of_0_1_tells_its_version_by_its_authentication_or_its_modes() {
    let mut first = json!({
        "name": "Ferries", "url": "https://a.example", "version": "1", "skills": [], "capabilities": {},
        "authentication": {"schemes": ["Bearer", "Basic"]},
    });
    let card = read_card(&first);
    assert_eq!(interfaces(&card), ["JSONRPC 0.1 https://a.example"]);
    assert_eq!(card.security_schemes.len(), 2);
    assert_eq!(
        serde_json::to_value(&card.security_requirements).expect("JSON"),
        json!([{"schemes": {"Bearer": {}}}, {"schemes": {"Basic": {}}}])
    );
    first.as_object_mut().expect("an object").remove("authentication");
    assert_eq!(interfaces(&read_card(&first)), ["JSONRPC 0.2 https://a.example"]);
    first["defaultInputModes"] = json!(["text"]);
    assert_eq!(interfaces(&read_card(&first)), ["JSONRPC 0.1 https://a.example"]);
    first["protocolVersion"] = json!("0.2.6");
    assert_eq!(interfaces(&read_card(&first)), ["JSONRPC 0.2 https://a.example"]);
    first["protocolVersion"] = json!("soon");
    assert!(card::interfaces_spoken(&read_card(&first)).is_empty());
}

#[test]
fn what_an_older_card_lacks_is_named_as_in_1_0() {
    let refused =
        card::read(&json!({"name": "a", "protocolVersion": "0.3.0"})).expect_err("no address");
    insta::assert_snapshot!(refused, @"it lacks supportedInterfaces[0].url, without which the agent cannot be called");
}

fn add_older_fields(card: &mut Value) {
    super::super::card::add_older_fields(card.as_object_mut().expect("a card is an object"));
}

/// A card of ours, as JSON.
fn ours() -> Value {
    let interface = |binding: &str, version: &str| json!({"url": format!("https://us/{binding}"), "protocolBinding": binding, "protocolVersion": version});
    json!({
        "name": "Us", "description": "d", "version": "1",
        "supportedInterfaces": [
            interface("GRPC", "1.0"), interface("JSONRPC", "1.0"), interface("HTTP+JSON", "1.0"),
        ],
        "capabilities": {"streaming": true, "extendedAgentCard": true},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"],
            "securityRequirements": [{"schemes": {"key": {}}}]}],
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "bearer": {"httpAuthSecurityScheme": {"scheme": "bearer"}},
        },
        "securityRequirements": [{"schemes": {"key": {"list": ["a"]}}}],
    })
}

#[test]
fn our_card_is_read_by_older_readers_and_by_newer_ones_as_before() {
    let mut both = ours();
    add_older_fields(&mut both);
    let found = |pointer: &str| both.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(found("/protocolVersion"), "0.3.0");
    assert_eq!(found("/url"), "https://us/JSONRPC");
    assert_eq!(found("/preferredTransport"), "JSONRPC");
    assert_eq!(
        found("/additionalInterfaces"),
        json!([
            {"url": "https://us/JSONRPC", "transport": "JSONRPC"},
            {"url": "https://us/HTTP+JSON", "transport": "HTTP+JSON"},
        ])
    );
    assert_eq!(found("/supportsAuthenticatedExtendedCard"), true);
    assert_eq!(found("/security"), json!([{"key": ["a"]}]));
    assert_eq!(found("/skills/0/security"), json!([{"key": []}]));
    assert_eq!(found("/securitySchemes/key/type"), "apiKey");
    assert_eq!(found("/securitySchemes/key/in"), "header");
    assert_eq!(found("/securitySchemes/bearer/type"), "http");

    let (before, after) = (read_card(&ours()), read_card(&both));
    assert_eq!(after.security_schemes, before.security_schemes);
    assert_eq!(after.security_requirements, before.security_requirements);
    assert_eq!(
        interfaces(&after)[3..],
        ["JSONRPC 0.3 https://us/JSONRPC", "HTTP+JSON 0.3 https://us/HTTP+JSON"]
    );
    // Somebody who reads nothing but the older fields.
    let mut older = both.clone();
    for newer in ["supportedInterfaces", "securityRequirements"] {
        older.as_object_mut().expect("an object").remove(newer);
    }
    let older = read_card(&older);
    assert_eq!(older.security_requirements, before.security_requirements);
    assert_eq!(
        interfaces(&older),
        ["JSONRPC 0.3 https://us/JSONRPC", "HTTP+JSON 0.3 https://us/HTTP+JSON"]
    );
}

#[test]
fn a_card_without_an_address_for_older_clients_stays_as_it_is() {
    let mut card = ours();
    card["supportedInterfaces"] = json!([card["supportedInterfaces"][0], {
        "url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t",
    }]);
    let mut after = card.clone();
    add_older_fields(&mut after);
    assert_eq!(after, card);
}

#[test]
fn an_extended_card_is_answered_for_older_readers() {
    let read = Operation::GetExtendedAgentCard;
    for dialect in [Dialect::V0_3, Dialect::V0_3Proto] {
        let written = write_result(dialect, read, ours());
        assert_eq!(written["url"], "https://us/JSONRPC");
        let older = json!({"name": "a", "url": "https://a", "protocolVersion": "0.3.0"});
        let card = dialect.read_result(read, older, "");
        assert_eq!(card["supportedInterfaces"][0]["url"], "https://a");
    }
}
