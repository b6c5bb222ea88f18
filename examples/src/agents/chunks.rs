//! Streams one artifact in many pieces.

use async_trait::async_trait;
use protocol::v1::Part;

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// The most pieces a text can ask for.
const MOST: u32 = 100_000;

/// Artifact `pieces`: `1 2 3 …`, a number and a space a piece.
pub(super) struct Chunks {
    /// How many for a text that names no number.
    pub(super) pieces: u32,
}

#[async_trait]
impl Agent for Chunks {
    fn profile(&self) -> Profile {
        Profile {
            name: "chunks",
            description: "Streams an artifact in as many pieces as the text says.",
            skills: vec![skill(
                "count",
                "Count",
                "Counts up to the first number in the text, a number a piece.",
                &["chunks", "streaming"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let text = work.text();
        let named = text.split_whitespace().find_map(|word| word.parse().ok());
        let pieces: u32 = named.unwrap_or(self.pieces);
        if !(1..=MOST).contains(&pieces) {
            return Ending::Rejected(format!("Between 1 and {MOST} pieces, not {pieces}."));
        }
        work.say("Counting");
        let share = work.pace / pieces;
        for piece in 1..=pieces {
            let parts = vec![Part::text(format!("{piece} "))];
            work.piece("pieces", parts, piece == 1, piece == pieces);
            work.pause(share).await;
            // Followers get their turn between the pieces also without a pace.
            tokio::task::yield_now().await;
        }
        Ending::Completed
    }
}
