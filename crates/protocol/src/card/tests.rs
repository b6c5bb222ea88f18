mod again;
mod fetching;
mod reading;

use serde_json::{Value as Json, json};

use super::*;

/// A card with no more than reading demands.
fn least() -> Json {
    json!({
        "name": "Ferries",
        "supportedInterfaces": [
            {"url": "https://a.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
    })
}

fn interface(binding: &str, version: &str) -> AgentInterface {
    AgentInterface {
        url: format!("{binding} {version}"),
        protocol_binding: binding.to_owned(),
        protocol_version: version.to_owned(),
        ..Default::default()
    }
}

#[test]
fn the_interfaces_spoken_are_listed_in_the_order_of_the_card() {
    let spoken = [
        "GRPC 1.0",
        "jsonrpc 1.0.1",
        "HTTP+JSON 1.0",
        "JSONRPC 0.3",
        "HTTP+JSON 0.3.0",
        "JSONRPC 0.2.6",
        "JSONRPC 0.1",
        "JSONRPC 1.0",
        "JSONRPC  1.0 ",
    ];
    let card = AgentCard {
        supported_interfaces: vec![
            interface("GRPC", "1.0"),
            interface("jsonrpc", "1.0.1"),
            interface("HTTP+JSON", "1.0"),
            interface("JSONRPC", "0.3"),
            interface("HTTP+JSON", "0.3.0"),
            interface("JSONRPC", "0.2.6"),
            interface("JSONRPC", "0.1"),
            interface("HTTP+JSON", "0.1"),
            interface("GRPC", "0.3"),
            interface("JSONRPC", "1.0"),
            interface("JSONRPC", "1.10"),
            interface("JSONRPC", "1"),
            interface("JSONRPC", ""),
            interface("https://example/own-binding", "1.0"),
            interface("JSONRPC", " 1.0 "),
        ],
        ..Default::default()
    };
    let urls: Vec<_> = interfaces_spoken(&card).into_iter().map(|i| i.url.as_str()).collect();
    assert_eq!(urls, spoken);
}

#[test]
fn bindings_are_known_by_the_names_of_cards() {
    for (binding, name) in Binding::ALL.into_iter().zip(["JSONRPC", "HTTP+JSON", "GRPC"]) {
        assert_eq!(binding.to_string(), name);
        assert_eq!(Binding::from_name(name), Some(binding));
        assert_eq!(interface(name, "1.0").binding(), Some(binding));
        assert_eq!(serde_json::to_value(binding).unwrap(), name);
        assert_eq!(serde_json::from_value::<Binding>(json!(name)).unwrap(), binding);
    }
    assert_eq!(Binding::from_name("MQTT"), None);
}
