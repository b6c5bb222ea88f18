//! What an operator can decide about a server.

use std::time::Duration;

use protocol::limits::ServerLimits;

use crate::Hosts;

/// Settings of a server; each has a default.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the bindings take.
    pub limits: ServerLimits,
    /// Hosts that requests may name besides loopback and that of the public URL.
    pub hosts: Hosts,
    /// For how long an equal Message counts as the same one; `None` takes each Message as new.
    pub remember: Option<Duration>,
}

impl Default for Settings {
    /// Loopback only, Messages remembered for an hour.
    fn default() -> Self {
        Self {
            limits: ServerLimits::default(),
            hosts: Hosts::default(),
            remember: Some(Duration::from_hours(1)),
        }
    }
}
