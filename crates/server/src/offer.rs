//! What can be asked for just now: the workflows and the card that shows them, swapped as a whole.

use std::sync::{Arc, PoisonError, RwLock};

use protocol::v1::AgentCard;

use crate::{Workflows, card};

/// The workflows at one moment, and the card of that moment.
pub(crate) struct Offered {
    pub(crate) workflows: Workflows,
    pub(crate) card: Arc<AgentCard>,
}

/// What is offered now. Whoever has looked keeps what was there then.
pub(crate) struct Offer {
    public_url: String,
    now: RwLock<Arc<Offered>>,
}

impl Offer {
    /// Offers workflows under a URL.
    pub(crate) fn new(workflows: Workflows, public_url: String) -> Self {
        let now = offered(workflows, &public_url);
        Self { public_url, now: RwLock::new(now) }
    }

    /// What is offered now.
    pub(crate) fn now(&self) -> Arc<Offered> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Offers other workflows from now on.
    pub(crate) fn change(&self, workflows: Workflows) {
        let next = offered(workflows, &self.public_url);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

fn offered(workflows: Workflows, public_url: &str) -> Arc<Offered> {
    let card = Arc::new(card::card(&workflows, public_url));
    Arc::new(Offered { workflows, card })
}
