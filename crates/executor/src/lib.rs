//! Runs plans durably: pure run core, drivers, remote-task following, recovery.
//!
//! ```text
//! inputs → Run::step → events → one commit → effects → reports → inputs
//! ```
//!
//! [`run`] is the pure core; its journal is the truth. A driver per run owns all that is impure around it. What
//! others see of a run they read from the journal: [`Runs`].

mod answer;
mod body;
mod callback;
mod context;
mod driver;
mod error;
mod executor;
mod flights;
mod id;
mod interfaces;
mod journal;
mod limits;
mod once;
mod outcome;
mod ownership;
mod record;
mod remote;
mod report;
pub mod run;
mod runs;
mod seats;
mod streamed;
mod supervise;
mod tally;

pub use answer::{ReplyError, Said};
pub use body::{Body, Json};
pub use callback::{Awaited, Callback, CallbackId, CallbackToken, Callbacks};
pub use error::ExecutorError;
pub use executor::{Decided, Exchange, Executor, NewRun, Scheduled};
pub use id::{NotARunId, RunId};
pub use journal::{RUNS, RunSummary};
pub use limits::{Limits, Polls};
pub use once::Once;
pub use outcome::Decision;
pub use record::{Opening, Recorded, TaskRecord};
pub use run::projection::RunState;
pub use runs::{RunPage, RunQuery, Runs};
pub use seats::RunLimits;
pub use streamed::Streamed;
