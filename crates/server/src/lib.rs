//! Everything that listens: Convoke as an A2A agent whose skills are workflows.
//!
//! An [`Orchestrator`] is an [`protocol::service::A2aService`]: SendMessage starts a run or answers a pause of
//! one, and whoever asks for a Task reads the journal of its run. The id of a Task is the id of its run.

mod bind;
mod card;
mod drive;
mod error;
mod intake;
mod listing;
pub mod local;
mod orchestrator;
mod receive;
mod serve;
mod tail;
mod view;
mod workflows;

pub use bind::{BindError, bind};
pub use orchestrator::{Orchestrator, Parts};
pub use serve::{ServeError, serve};
pub use workflows::Workflows;
