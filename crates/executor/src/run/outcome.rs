//! How a run ended.

use std::fmt;

use planner::StepError;
use serde::{Deserialize, Serialize};

use super::StepId;
use crate::body::Body;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step settled, none failed in a way that fails the run. Holds the outputs: a JSON array of
    /// A2A Artifacts.
    Completed(Body),
    /// A step failed, or the run's timeout passed.
    Failed(RunError),
    /// Canceled on request.
    Canceled,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunError {
    /// The step that failed; absent when it is the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// What went wrong there.
    pub error: StepError,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, error } = self;
        match step {
            Some(step) if error.attempt > 0 => {
                write!(f, "step `{step}` failed (attempt {}): {}", error.attempt, error.message)
            }
            Some(step) => write!(f, "step `{step}` failed: {}", error.message),
            None => f.write_str(&error.message),
        }
    }
}
