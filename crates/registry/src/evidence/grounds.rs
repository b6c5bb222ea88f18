use std::collections::VecDeque;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::CardDigest;

/// How many versions of a card are remembered: as many as are kept of it.
const MOST: usize = crate::MOST_VERSIONS as usize;

/// Says which observations of an agent count: those of the present card, and of the cards before it as far back as
/// none of them was followed by a breaking change, made since the first of these came.
///
/// Evidence belongs to what it was gathered from and not to a name. A card that changes in a breaking way, such as
/// one that moves its interface, or that is found at another origin, is about another agent until that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Grounds {
    /// When the first of the cards came.
    pub since: Timestamp,
    /// The cards, oldest first.
    pub cards: VecDeque<CardDigest>,
}

impl Grounds {
    /// Begins with a card; nothing that was observed before it counts.
    #[must_use]
    pub fn new(since: Timestamp, card: CardDigest) -> Self {
        Self { since, cards: [card].into() }
    }

    /// Adds a card that breaks nothing.
    pub(crate) fn add(&mut self, card: CardDigest) {
        if self.covers(card) {
            return;
        }
        self.cards.push_back(card);
        while self.cards.len() > MOST {
            self.cards.pop_front();
        }
    }

    /// Whether what is observed of an agent by this card is observed of this agent.
    #[must_use]
    pub fn covers(&self, card: CardDigest) -> bool {
        self.cards.contains(&card)
    }

    /// Whether an observation counts that was made of a card at a moment. One that does not say of which card, as those
    /// of earlier versions of Convoke do, does not.
    pub(crate) fn count(&self, card: Option<CardDigest>, at: Timestamp) -> bool {
        at >= self.since && card.is_some_and(|card| self.covers(card))
    }
}
