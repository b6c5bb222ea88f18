//! How often a step is tried, after which failures, and how long is waited.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Says which failures are tried again, how often, and after what delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Attempts in all, the first included; 1 to 100.
    pub attempts: u32,
    /// The delay before the second attempt.
    pub initial: Duration,
    /// The longest delay.
    pub max: Duration,
    /// What each delay is multiplied by to give the next; at least 1.
    pub factor: f64,
    /// How delays are spread.
    pub jitter: Jitter,
    /// The failures that are tried again.
    pub on: BTreeSet<ErrorClass>,
}

impl Default for Retry {
    /// Three attempts for an agent that is unavailable, too slow or too busy: 0.5 s, 1 s, at most
    /// 30 s apart.
    fn default() -> Self {
        Retry {
            attempts: 3,
            initial: Duration::from_millis(500),
            max: Duration::from_secs(30),
            factor: 2.0,
            jitter: Jitter::Full,
            on: BTreeSet::from([
                ErrorClass::Unavailable,
                ErrorClass::Timeout,
                ErrorClass::RateLimited,
            ]),
        }
    }
}

impl Retry {
    /// How long to wait after an attempt (from 1) that failed so; none when it is not tried again.
    ///
    /// `jitter`, from 0 to 1, is drawn by the caller, so that this stays a function of its inputs.
    #[must_use]
    pub fn delay_after(&self, attempt: u32, class: ErrorClass, jitter: f64) -> Option<Duration> {
        if attempt >= self.attempts || !self.on.contains(&class) {
            return None;
        }
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.initial.as_secs_f64() * self.factor.powi(exponent);
        let longest = grown.min(self.max.as_secs_f64());
        let drawn = match self.jitter {
            Jitter::Full => longest * jitter.clamp(0.0, 1.0),
            Jitter::None => longest,
        };
        Some(Duration::try_from_secs_f64(drawn).unwrap_or(self.max))
    }
}

/// Says how the delays before retries are spread, so that many steps do not come back at the same
/// instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Anything from nothing to the whole delay.
    #[default]
    Full,
    /// The delay as computed.
    None,
}

/// Names the kinds of failure. Those of an attempt are the only values of `retry.on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The agent could not be reached or said that it is unavailable.
    Unavailable,
    /// The attempt took longer than the step's `timeout`.
    Timeout,
    /// The agent asked to come back later.
    RateLimited,
    /// The remote Task failed.
    Failed,
    /// The agent rejected the Task.
    Rejected,
    /// The result was not what the step expects.
    ExpectMismatch,
    /// The request or the answer cannot be right, however often it is sent.
    Invalid,
    /// The agent wants credentials, or others.
    Unauthorized,
    /// Nobody can say whether the agent received the Message.
    OutcomeUnknown,
    /// No round of `repeat` was good enough. Of a step, never of an attempt.
    NotConverged,
}

impl ErrorClass {
    /// Every class that an attempt can fail with, in the order of the documentation.
    pub const OF_ATTEMPTS: [ErrorClass; 9] = [
        ErrorClass::Unavailable,
        ErrorClass::Timeout,
        ErrorClass::RateLimited,
        ErrorClass::Failed,
        ErrorClass::Rejected,
        ErrorClass::ExpectMismatch,
        ErrorClass::Invalid,
        ErrorClass::Unauthorized,
        ErrorClass::OutcomeUnknown,
    ];

    /// The class as workflows write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorClass::Unavailable => "unavailable",
            ErrorClass::Timeout => "timeout",
            ErrorClass::RateLimited => "rate_limited",
            ErrorClass::Failed => "failed",
            ErrorClass::Rejected => "rejected",
            ErrorClass::ExpectMismatch => "expect_mismatch",
            ErrorClass::Invalid => "invalid",
            ErrorClass::Unauthorized => "unauthorized",
            ErrorClass::OutcomeUnknown => "outcome_unknown",
            ErrorClass::NotConverged => "not_converged",
        }
    }
}
