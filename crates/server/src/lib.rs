//! Everything that listens: Convoke as an A2A agent whose skills are workflows.
//!
//! An [`Orchestrator`] is an [`protocol::service::A2aService`]: SendMessage starts a run or answers a pause of
//! one, and whoever asks for a Task reads the journal of its run. The id of a Task is the id of its run.

pub mod access;
mod ard;
mod bind;
mod callbacks;
mod card;
mod delegate;
pub mod directory;
mod drive;
mod error;
mod find_agents;
mod folder;
mod follow;
mod health;
mod hosts;
mod intake;
mod listing;
pub mod local;
mod media;
mod names;
mod offer;
mod orchestrator;
mod private;
mod push;
mod receive;
mod relay;
mod schedules;
mod serve;
mod settings;
mod skills;
mod tail;
mod view;
pub mod webhook;
mod workflows;

pub use access::{Access, PublicSkills};
pub use bind::{BindError, bind, bind_and_lock};
pub use callbacks::CALLBACKS;
pub use delegate::Delegation;
pub use folder::{Folder, is_lock, link_beside, load_lock, load_workflow, lock_of, workflow_files};
pub use hosts::Hosts;
pub use orchestrator::{Offering, Orchestrator, Parts};
pub use push::{DeliveryReport, DeliveryState, Position, PushParts, deliveries, retry_deliveries};
pub use serve::{ServeError, serve};
pub use settings::{Declared, Publish, PushSettings, Settings};
pub use workflows::Workflows;
