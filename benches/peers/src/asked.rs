//! What the text of a Message asks of the echo agent; the same on every server.

/// The id of the one artifact.
pub(crate) const ARTIFACT: &str = "echo";

/// How to answer.
pub(crate) enum Asked {
    /// With a completed Task whose artifact holds the text.
    Echo(String),
    /// With a Task that works, so many chunks of its artifact, and its completion.
    Chunks {
        count: usize,
        /// Whether others get their turn between two of them.
        yields: bool,
    },
}

impl Asked {
    /// `chunks 100` streams chunks, `burst 100` streams them without ever waiting; any other text is
    /// echoed.
    pub(crate) fn read(text: &str) -> Self {
        let (word, count) = text.split_once(' ').unwrap_or((text, ""));
        match (word, count.parse()) {
            ("chunks", Ok(count)) => Self::Chunks { count, yields: true },
            ("burst", Ok(count)) => Self::Chunks { count, yields: false },
            _ => Self::Echo(text.to_owned()),
        }
    }
}

/// The text of a chunk.
pub(crate) fn chunk(index: usize) -> String {
    format!("chunk {index} ")
}

/// Lets others have their turn, where that is asked for.
pub(crate) async fn pause(yields: bool) {
    if yields {
        tokio::task::yield_now().await;
    }
}
