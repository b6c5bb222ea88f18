//! What a server takes and a client waits for, at most. Errors name the limit they enforce.

use std::time::Duration;

pub use crate::wkt::MAX_DEPTH as MAX_JSON_DEPTH;

const MEBIBYTE: usize = 1024 * 1024;

/// Limits of a serving router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The largest request body, in bytes. Default 16 MiB, in which a file of
    /// 10 MB fits as base64.
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
            max_body_bytes: 16 * MEBIBYTE,
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
    /// The largest event of a stream, in bytes; one may hold a whole Task. Default 32 MiB.
    pub max_event_bytes: usize,
    /// How long a stream may be silent; comments count as a sign of life. The first event of a new
    /// Task may take as long as the call that opened it. Default 2 min.
    pub stream_idle: Duration,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            max_response_bytes: 32 * MEBIBYTE,
            max_event_bytes: 32 * MEBIBYTE,
            stream_idle: Duration::from_secs(120),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_10_mb_fits_into_a_request_and_its_task_into_an_answer_and_an_event() {
        const ENVELOPE: usize = 64 * 1024;
        let written = 10_000_000_usize.div_ceil(3) * 4;
        assert!(written + ENVELOPE <= ServerLimits::default().max_body_bytes);
        // A Task may hold it twice: in the Message that came, and in the artifact that came of it.
        let limits = ClientLimits::default();
        let task = 2 * written + ENVELOPE;
        assert!(task <= limits.max_response_bytes && task <= limits.max_event_bytes);
    }
}
