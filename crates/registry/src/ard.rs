//! Agentic Resource Discovery: catalogs of agents that others publish (`ai-catalog.json`), and ours.
//!
//! A catalog is somebody else's word about agents. It is read as data of a stranger: how deep, how
//! long and how wide it may be is bounded, whatever it points at is fetched by the guarded client,
//! and what it lists waits for a curator.

mod document;
mod publish;
mod query;
mod walk;

pub(crate) use document::{Clients, Documents, Reach, clipped};
pub use publish::{PART, Published, REGISTRY};
pub use query::{ListRequest, QueryError, SearchRequest};
pub(crate) use walk::{
    At, Found, find, is_catalog_address, is_catalog_beside, one_of, split_entry, walk,
};

/// Where a host publishes its catalog.
pub const WELL_KNOWN: &str = "/.well-known/ai-catalog.json";

/// The media type of a catalog.
const CATALOG: &str = "application/ai-catalog+json";

/// The media type of an Agent Card in a catalog.
const CARD: &str = "application/a2a-agent-card+json";
