//! What the load asks of an echo agent, in one place for those who ask and those who answer.
//!
//! The peers, in packages and languages of their own, understand the same texts.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// SendMessage, answered with a completed Task whose artifact holds the text.
    Echo,
    /// SendStreamingMessage, answered with so many chunks between which others get their turn.
    Chunks(usize),
    /// The same from an agent that never waits between two chunks.
    Burst(usize),
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo => f.write_str("Please say this once more."),
            Self::Chunks(count) => write!(f, "chunks {count}"),
            Self::Burst(count) => write!(f, "burst {count}"),
        }
    }
}

impl Ask {
    /// Reads the text of a Message; anything unknown is echoed.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let (word, count) = text.split_once(' ').unwrap_or((text, ""));
        match (word, count.parse()) {
            ("chunks", Ok(count)) => Self::Chunks(count),
            ("burst", Ok(count)) => Self::Burst(count),
            _ => Self::Echo,
        }
    }

    /// Chunks in the answer.
    #[must_use]
    pub fn chunks(self) -> usize {
        match self {
            Self::Echo => 0,
            Self::Chunks(count) | Self::Burst(count) => count,
        }
    }

    /// Writes the JSON-RPC request. No two have the same messageId: a server may take a Message that
    /// it knows for no work at all.
    #[must_use]
    pub fn body(self) -> Bytes {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let method = match self {
            Self::Echo => "SendMessage",
            Self::Chunks(_) | Self::Burst(_) => "SendStreamingMessage",
        };
        let message = format!(
            r#"{{"messageId":"bench-{id:012}","role":"ROLE_USER","parts":[{{"text":"{self}"}}]}}"#
        );
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{message}}}}}"#
        )
        .into()
    }
}

/// The text of a chunk.
#[must_use]
pub fn chunk(index: usize) -> String {
    format!("chunk {index} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_again() {
        for ask in [Ask::Echo, Ask::Chunks(100), Ask::Burst(7)] {
            assert_eq!(Ask::read(&ask.to_string()), ask);
        }
        assert_eq!(Ask::read("chunks"), Ask::Echo);
    }

    #[test]
    fn no_request_is_like_another() {
        assert_ne!(Ask::Echo.body(), Ask::Echo.body());
        let body = String::from_utf8(Ask::Chunks(3).body().into()).expect("JSON is text");
        assert!(body.contains(r#""method":"SendStreamingMessage""#), "{body}");
        assert!(body.contains(r#"[{"text":"chunks 3"}]"#), "{body}");
    }
}
