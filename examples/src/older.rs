//! Agents as they were before A2A 1.0: the card is of one older version alone, where that version has it.

use std::sync::Arc;

use axum::{Json, Router, routing::get};
use clap::ValueEnum;
use protocol::{
    card::Binding,
    server::{CARD_PATH, HTTP_JSON_PATH, OLDER_CARD_PATH},
    v1::{AgentCard, AgentInterface},
};
use serde_json::{Map, Value, json};

/// The older versions of which a card can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OlderCard {
    /// A2A 0.1: modes that are no media types, and `authentication`.
    #[value(name = "0.1")]
    V0_1,
    /// A2A 0.2 as it was before cards named their version.
    #[value(name = "0.2")]
    V0_2,
    /// A2A 0.3.
    #[value(name = "0.3")]
    V0_3,
}

/// Puts the card of an older version in the place of those that routes have.
pub(crate) fn with_card(routes: Router, card: &AgentCard, of: OlderCard) -> Router {
    let json = Arc::new(older(card, of));
    let answer = move || {
        let json = Arc::clone(&json);
        async move { Json(Value::clone(&json)) }
    };
    let place = if of == OlderCard::V0_3 { CARD_PATH } else { OLDER_CARD_PATH };
    let others = [CARD_PATH, OLDER_CARD_PATH].into_iter().filter(|other| *other != place);
    let nothing = async || axum::http::StatusCode::NOT_FOUND;
    let cards = Router::new().route(place, get(answer));
    others.fold(cards, |cards, other| cards.route(other, get(nothing))).fallback_service(routes)
}

fn older(card: &AgentCard, of: OlderCard) -> Value {
    let own = |it: &&AgentInterface| it.binding() == Some(Binding::JsonRpc);
    let url = card.supported_interfaces.iter().find(own).map_or("", |it| it.url.as_str());
    let capabilities = card.capabilities.clone().unwrap_or_default();
    let shared = json!({
        "name": card.name,
        "description": card.description,
        "version": card.version,
        "url": url,
        "provider": card.provider,
        "capabilities": {
            "streaming": capabilities.streaming,
            "pushNotifications": capabilities.push_notifications,
            "stateTransitionHistory": false,
        },
        "skills": card.skills,
    });
    let own = match of {
        OlderCard::V0_1 => json!({
            "authentication": {"schemes": []},
            "defaultInputModes": ["text", "data"],
            "defaultOutputModes": ["text", "data"],
        }),
        OlderCard::V0_2 => json!({
            "defaultInputModes": card.default_input_modes,
            "defaultOutputModes": card.default_output_modes,
        }),
        OlderCard::V0_3 => json!({
            "protocolVersion": "0.3.0",
            "preferredTransport": "JSONRPC",
            "additionalInterfaces": [
                {"url": format!("{url}{HTTP_JSON_PATH}"), "transport": "HTTP+JSON"}
            ],
            "defaultInputModes": card.default_input_modes,
            "defaultOutputModes": card.default_output_modes,
        }),
    };
    let fields = [shared, own].into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    Value::Object(fields.flatten().collect::<Map<_, _>>())
}
