//! What a server takes and a client waits for, at most. Errors name the limit they enforce.

use std::time::Duration;

pub use crate::wkt::MAX_DEPTH as MAX_JSON_DEPTH;

const MEBIBYTE: usize = 1024 * 1024;

/// Limits of a serving router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest request body, in bytes. Default 8 MiB.
    pub max_body_bytes: usize,
    /// How long a request body may take to arrive. Default 30 s.
    pub body_timeout: Duration,
    /// How often a silent event stream carries a comment, so that neither end nor anything between
    /// takes it for dead; also how long a stream may take to its first event before its answer is
    /// begun without one. Default 15 s.
    pub keep_alive: Duration,
    /// How long a client may use the card without asking again. Default 5 min.
    pub card_max_age: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            max_body_bytes: 8 * MEBIBYTE,
            body_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            card_max_age: Duration::from_secs(300),
        }
    }
}

/// Limits of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// The largest answer, in bytes after decompression. Default 32 MiB.
    pub max_response_bytes: usize,
    /// The largest event of a stream, in bytes. Default 16 MiB.
    pub max_event_bytes: usize,
    /// How long a stream may be silent; comments count as a sign of life. The first event of a new
    /// Task may take as long as the call that opened it. Default 2 min.
    pub stream_idle: Duration,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            max_response_bytes: 32 * MEBIBYTE,
            max_event_bytes: 16 * MEBIBYTE,
            stream_idle: Duration::from_secs(120),
        }
    }
}
