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
mod ard;
mod brought;
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
mod news;
mod outcomes;
mod policy;
mod probe;
mod prober;
mod provenance;
mod record;
mod registry;
mod report;
mod signers;
mod synonyms;
mod token;
mod trust;
mod versions;

pub use access::Access;
pub use agent::Agent;
pub use apply::ApplyOptions;
pub use ard::{ListRequest, PART, Published, QueryError, REGISTRY, SearchRequest, WELL_KNOWN};
pub use brought::Brought;
pub use cards::{Cards, fetch_agent};
pub use catalog::{CardAt, Entry, Listing, read as read_catalog};
pub use changes::{CardChange, changes as card_changes};
pub use curation::{Change, Curation, Decision, History, TransitionError};
pub use digest::{CardDigest, NotADigest};
pub use drift::{Drift, DriftClass};
pub use error::RegistryError;
pub use evidence::{
    EvidenceSettings, FAILURES, Grounds, MOST_OUTCOMES, MOST_PROBES, Probed, Rung, Seen, Service,
    Shortfall, Tier, Work,
};
pub use export::to_catalog;
pub use find::{Facet, Field, Filter, Found, Hit, Kind, Match, Position, Query};
pub use index::{Index, Meeting};
pub use keyrings::Keyrings;
pub use lint::{Finding, is_media_type, lint};
pub use news::{Event, News, NewsAt};
pub use outcomes::{Ended, Noted, Outcomes};
pub use policy::{Pinned, Policy, Rule, Whence, read_brought_policy, read_policy};
pub use prober::Prober;
pub use provenance::Provenance;
pub use record::{AGENTS, Details, Record};
pub use registry::{Difference, Registry, Removed};
pub use report::{Applied, Outcome, Report};
pub use synonyms::Synonyms;
pub use token::{of_page_token, to_page_token};
pub use trust::{Signed, Trust};
pub use versions::{CardVersion, MOST_VERSIONS};

/// Every table that holds something of the directory.
pub const TABLES: [store::Table; 7] = [
    AGENTS,
    versions::CARDS,
    policy::DIRECTORY,
    news::NEWS,
    news::PUBLIC_NEWS,
    evidence::EVIDENCE,
    evidence::OUTCOMES,
];
