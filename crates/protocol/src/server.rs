//! Serving an [`A2aService`]: the card, the three bindings on one port, and the socket loop.

mod admission;
mod endpoint;
mod exchange;
mod frames;
mod framing;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod grpc;
mod jsonrpc;
mod older;
mod peek;
mod rest;
mod socket;
#[cfg(test)]
mod tests;
mod validation;
mod well_known;

use std::sync::Arc;

use axum::{
    Router,
    routing::{any, get, post},
};

use crate::{
    card::{self, Binding},
    limits::ServerLimits,
    service::A2aService,
    v1::AgentInterface,
};

pub(crate) use older::as_named;
pub use peek::sent;
pub use socket::{serve, with_shutdown};
pub use well_known::document;

/// The path at which the card is found (A2A §8.2).
pub const CARD_PATH: &str = "/.well-known/agent-card.json";

/// The path at which clients of 0.2 and 0.1 look for the card.
pub const OLDER_CARD_PATH: &str = "/.well-known/agent.json";

/// The path at which the card of a tenant is found that is an agent of its own.
const TENANT_CARD_PATH: &str = "/agents/{tenant}/.well-known/agent-card.json";

/// The path under which HTTP+JSON is served.
pub const HTTP_JSON_PATH: &str = "/a2a";

/// Where gRPC's methods are, which the definition's names decide.
const GRPC_PATH: &str = "/lf.a2a.v1.A2AService/{method}";

/// Builds the routes of an agent: JSON-RPC at `/`, HTTP+JSON under [`HTTP_JSON_PATH`], gRPC's
/// methods, and its card at [`CARD_PATH`].
pub fn router(service: Arc<dyn A2aService>) -> Router {
    router_with_limits(service, ServerLimits::default())
}

/// Builds the routes of an agent with limits of its own.
pub fn router_with_limits(service: Arc<dyn A2aService>, limits: ServerLimits) -> Router {
    let endpoint = endpoint::Endpoint::new(service.clone(), limits);
    routes(endpoint, Arc::new(well_known::Card::new(service, limits.card_max_age)))
}

/// Builds the routes of an agent that speaks A2A 0.3, 0.2 and 0.1 as well: their JSON-RPC methods at
/// `/`, 0.3's HTTP+JSON under `/a2a/v1`, its card, with what older clients look for in it, also at
/// [`OLDER_CARD_PATH`].
///
/// A request without a version, which a router of 1.0 alone refuses, is one of an older version.
/// Clients of 0.1 make the ids of their Tasks. A Task is found again by a context that is made of
/// such an id, so the service has to keep the contextId that a Message brings, and to list Tasks by
/// it. Where they would open a finished Task again, a new one begins under the same id.
pub fn router_with_older_versions(service: Arc<dyn A2aService>, limits: ServerLimits) -> Router {
    let endpoint = endpoint::Endpoint::new(service.clone(), limits).with_older_versions();
    let card = well_known::Card::new(service, limits.card_max_age).with_older_fields();
    let card = Arc::new(card);
    let older = get(well_known::answer).with_state(Arc::clone(&card));
    routes(endpoint, card).route(OLDER_CARD_PATH, older)
}

/// Builds the routes of the cards of tenants, each at `/agents/TENANT/.well-known/agent-card.json`, so
/// that `/agents/TENANT` is where such an agent is found (A2A §8.2). Other routes lead to them by the
/// tenant that their cards name.
pub fn tenant_cards(service: Arc<dyn A2aService>, limits: ServerLimits) -> Router {
    let card = Arc::new(well_known::Card::new(service, limits.card_max_age));
    Router::new().route(TENANT_CARD_PATH, get(well_known::answer_tenant).with_state(card))
}

fn routes(endpoint: endpoint::Endpoint, card: Arc<well_known::Card>) -> Router {
    Router::new()
        .route("/", post(jsonrpc::answer))
        .route(HTTP_JSON_PATH, any(rest::answer))
        .route(&format!("{HTTP_JSON_PATH}/{{*path}}"), any(rest::answer))
        .route(GRPC_PATH, post(grpc::answer))
        .with_state(Arc::new(endpoint))
        .route(CARD_PATH, get(well_known::answer).with_state(card))
}

/// Returns what a card says of a binding of [`router`], given the URL at which the router is
/// reached: `http://host:port`, or with a path below which it is mounted. gRPC's methods have fixed
/// paths, so it is reached only without such a path.
#[must_use]
pub fn interface(binding: Binding, base_url: &str) -> AgentInterface {
    let base = base_url.trim_end_matches('/');
    let url = match binding {
        Binding::JsonRpc => base_url.to_owned(),
        Binding::HttpJson => format!("{base}{HTTP_JSON_PATH}"),
        Binding::Grpc => authority(base),
    };
    AgentInterface {
        url,
        protocol_binding: binding.name().to_owned(),
        protocol_version: card::VERSION.to_owned(),
        ..AgentInterface::default()
    }
}

/// Returns `host:port` of a URL, which is how gRPC's addresses are written.
fn authority(base: &str) -> String {
    let (port, rest) = match base.split_once("://") {
        Some(("https", rest)) => (443, rest),
        Some((_, rest)) => (80, rest),
        None => (80, base),
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let has_port = authority.rsplit(']').next().unwrap_or_default().contains(':');
    if has_port { authority.to_owned() } else { format!("{authority}:{port}") }
}
