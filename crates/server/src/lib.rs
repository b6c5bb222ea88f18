//! Everything that listens: Convoke as an A2A agent whose skills are workflows.
//!
//! An [`Orchestrator`] is an [`protocol::service::A2aService`]: SendMessage starts a run or answers a pause of
//! one, and whoever asks for a Task reads the journal of its run. The id of a Task is the id of its run.

mod bind;
mod card;
mod drive;
mod error;
mod folder;
mod health;
mod hosts;
mod intake;
mod listing;
pub mod local;
mod media;
mod offer;
mod orchestrator;
mod receive;
mod serve;
mod settings;
mod tail;
mod view;
mod workflows;

pub use bind::{BindError, bind};
pub use folder::Folder;
pub use hosts::Hosts;
pub use orchestrator::{Offering, Orchestrator, Parts};
pub use serve::{ServeError, serve};
pub use settings::Settings;
pub use workflows::Workflows;
