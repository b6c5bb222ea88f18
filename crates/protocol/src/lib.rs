//! The A2A data model, its bindings, client and server side.

pub mod artifacts;
pub mod auth;
pub mod bearer;
pub mod card;
pub mod client;
mod dialect;
#[cfg(test)]
mod echo;
pub mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
#[cfg(test)]
mod golden;
mod jwt;
pub mod limits;
pub mod model;
pub mod operation;
pub mod outbound;
pub mod push;
mod request;
pub mod server;
pub mod service;
pub mod signature;
pub mod sse;
pub mod v1;
pub mod version;
pub mod wkt;
