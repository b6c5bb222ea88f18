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
mod changes;
mod curation;
mod digest;
mod drift;
mod error;
mod evidence;
mod export;
mod find;
mod form;
mod index;
mod intake;
mod keyrings;
mod lint;
mod name;
mod policy;
mod record;
mod registry;
mod report;
mod signers;
mod synonyms;
mod trust;
mod versions;

pub use access::Access;
pub use agent::Agent;
pub use apply::ApplyOptions;
pub use cards::{Cards, fetch_agent};
pub use catalog::{CardAt, Entry, Listing, read as read_catalog};
pub use changes::CardChange;
pub use curation::{Change, Curation, Decision, History, TransitionError};
pub use digest::{CardDigest, NotADigest};
pub use drift::{Drift, DriftClass};
pub use error::RegistryError;
pub use evidence::Tier;
pub use export::to_catalog;
pub use find::{Facet, Field, Filter, Found, Hit, Kind, Match, Position, Query};
pub use index::Index;
pub use keyrings::Keyrings;
pub use lint::{Finding, is_media_type, lint};
pub use policy::{DIRECTORY, Pinned, Policy, Rule, Whence, read_policy};
pub use record::{AGENTS, Details, Record};
pub use registry::{Difference, Registry, Removed};
pub use report::{Applied, Outcome, Report};
pub use synonyms::Synonyms;
pub use trust::{Signed, Trust};
pub use versions::{CARDS, CardVersion, MOST_VERSIONS};
