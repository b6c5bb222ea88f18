//! What following an agent costs at most.

use std::time::Duration;

use protocol::limits::ClientLimits;

/// Limits of the calls to agents and of the wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limits of every call.
    pub client: ClientLimits,
    /// How long an agent may be unreachable while its Task is followed before the attempt fails. A Task that
    /// waits for somebody is followed for as long as it waits. Default 60 s.
    pub patience: Duration,
    /// How often a Task is looked at whose agent does not stream.
    pub polls: Polls,
}

/// Pauses between two looks at a Task, each half as long again as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polls {
    /// The first. Default 50 ms.
    pub first: Duration,
    /// The longest. Default 2 s.
    pub longest: Duration,
}

impl Default for Polls {
    fn default() -> Self {
        Self { first: Duration::from_millis(50), longest: Duration::from_secs(2) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            client: ClientLimits::default(),
            patience: Duration::from_secs(60),
            polls: Polls::default(),
        }
    }
}
