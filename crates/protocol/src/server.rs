//! Serving an [`A2aService`]: the card, JSON-RPC with its event streams, and the socket loop.

mod admission;
mod frames;
mod jsonrpc;
mod socket;
#[cfg(test)]
mod tests;
mod validation;
mod well_known;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

use crate::{limits::ServerLimits, service::A2aService};

pub use socket::{serve, with_shutdown};

/// The path at which the card is found (A2A §8.2).
pub const CARD_PATH: &str = "/.well-known/agent-card.json";

/// Builds the routes of an agent: JSON-RPC at `/`, its card at [`CARD_PATH`].
pub fn router(service: Arc<dyn A2aService>) -> Router {
    router_with_limits(service, ServerLimits::default())
}

/// Builds the routes of an agent with limits of its own.
pub fn router_with_limits(service: Arc<dyn A2aService>, limits: ServerLimits) -> Router {
    let endpoint = jsonrpc::Endpoint::new(service.clone(), limits);
    let card = well_known::Card::new(service, limits.card_max_age);
    Router::new()
        .route("/", post(jsonrpc::answer).with_state(Arc::new(endpoint)))
        .route(CARD_PATH, get(well_known::answer).with_state(Arc::new(card)))
}
