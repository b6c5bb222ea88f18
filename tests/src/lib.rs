//! What end-to-end tests are made of: the real binary, agents that do as they are told, and the
//! journal that a run leaves behind.

pub mod agent;
pub mod convoke;
pub mod journal;

use std::time::Duration;

/// Longer than anything takes that a test waits for, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
