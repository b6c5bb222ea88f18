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
}

impl Default for Limits {
    fn default() -> Self {
        Self { client: ClientLimits::default(), patience: Duration::from_secs(60) }
    }
}
