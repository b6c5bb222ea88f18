//! The curated agent directory.
//!
//! A [`Registry`] keeps, per agent, its card as it came, what a curator decided about it, and how
//! that came about. Cards come in by URL or file ([`Registry::add_url`], [`Registry::add_file`],
//! [`Registry::apply`]) and are looked over ([`lint()`]); only what is approved is bound to steps.
//! Planners work against an [`Index`], an immutable picture of the directory.
//!
//! Decisions are pure and take the time as data: [`History::transition`], [`Drift::between`], and
//! what a catalog means for the directory as it is (`apply.rs`).

mod access;
mod agent;
mod apply;
mod cards;
mod catalog;
mod curation;
mod digest;
mod drift;
mod error;
mod index;
mod intake;
mod keyrings;
mod lint;
mod name;
mod record;
mod registry;
mod report;
mod search;

pub use access::Access;
pub use agent::Agent;
pub use apply::ApplyOptions;
pub use cards::{Cards, fetch_agent};
pub use catalog::{CardAt, Entry, Listing, read as read_catalog};
pub use curation::{Change, Curation, Decision, History, TransitionError};
pub use digest::{CardDigest, NotADigest};
pub use drift::Drift;
pub use error::RegistryError;
pub use index::{Hit, Index};
pub use keyrings::Keyrings;
pub use lint::{Finding, is_media_type, lint};
pub use record::{AGENTS, Details, Record};
pub use registry::{Registry, Removed};
pub use report::{Applied, Outcome, Report};
pub use search::{Field, Match};
