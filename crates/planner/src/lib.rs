//! YAML to a checked workflow, a petgraph DAG, and a plan with agents bound. Pure.
//!
//! [`check`] reads a workflow file and finds everything that is wrong with it at once. [`bind()`]
//! chooses an agent for each step from a snapshot of the registry, always the same for the same
//! snapshot, and says why every other agent was not chosen. While the plan runs, [`evaluate_when`],
//! [`evaluate_items`], [`evaluate_set`], [`evaluate_question`], [`render_message`] and [`evaluate_outputs`] turn the results of earlier steps into what is done
//! next. Nothing here does I/O, knows the time, or is async.

mod ask;
mod bind;
mod clean_up;
#[cfg(test)]
mod cost;
mod criteria;
mod dag;
mod expect;
mod expression;
mod inputs;
pub mod language;
mod limits;
mod link;
mod lock;
mod modes;
mod pass_through;
mod plan;
mod references;
mod render;
mod result;
mod reuse;
mod schedule;
mod schema;
mod scope;
pub mod show;
mod step;
mod template;
mod turn;
mod workflow;

pub use ask::{Ask, DEFAULT_PAUSE_TIMEOUT, evaluate_question};
pub use bind::{bind, lock};
pub use clean_up::{CleanUp, Ended, Undo, Undoes, clean_up};
pub use criteria::{Criteria, Preference};
pub use dag::{Edge, Reason, ReasonKind};
pub use expect::{JSON, accepted_output_modes, ask_for_data, mismatch};
pub use expression::{Expression, ExpressionError, MAX_FUEL, MAX_RESULT_BYTES, MAX_SOURCE_BYTES};
pub use inputs::{Input, InputFrom, InputProblem};
pub use limits::{Budget, Concurrency, MAX_KEY_BYTES, OnConflict, evaluate_key};
pub use link::{DEFAULT_MAX_DEPTH, Given, SubWorkflow, evaluate_with, link};
pub use lock::Lock;
pub use modes::{accepted, is_accepted, media_type};
pub use pass_through::PassThrough;
pub use plan::{Binding, Left, Lost, Plan};
pub use references::MAX_REFERENCES;
pub use render::{Origin, evaluate_outputs, render_message, render_metadata};
pub use result::{StepError, StepResult, StepState, Version};
pub use reuse::{Cache, evaluate_cache_key};
pub use schedule::{Occurrence, Schedule, Times};
pub use schema::Schema;
pub use scope::{Item, RunView, Scope};
pub use step::{
    Asks, ErrorClass, Fallback, ForEach, Jitter, Join, MAX_ROUNDS, Metadata, Named, OnError, Push,
    Repeat, Retry, RunIf, Selector, Step, StepEffect, item_id,
};
pub use template::{PartContent, PartTemplate, Template};
pub use turn::{
    MAX_ITEMS, evaluate_items, evaluate_set, evaluate_step_outputs, evaluate_until, evaluate_when,
};
pub use workflow::{
    DEFAULT_PARALLEL, DEFAULT_RUN_TIMEOUT, DEFAULT_STEP_TIMEOUT, InlineAgent, LANGUAGE_VERSION,
    Output, Workflow, check, parse_duration, show_duration,
};
