//! What can be asked for just now: the workflows and the card that shows them, swapped as a whole.

use std::sync::{Arc, PoisonError, RwLock};

use protocol::v1::AgentCard;

use crate::{Delegation, Workflows, card};

/// The workflows at one moment, and the card of that moment.
pub(crate) struct Offered {
    pub(crate) workflows: Workflows,
    pub(crate) card: Arc<AgentCard>,
}

/// What is offered now. Whoever has looked keeps what was there then.
pub(crate) struct Offer {
    public_url: String,
    delegation: Delegation,
    now: RwLock<Arc<Offered>>,
}

impl Offer {
    /// Offers workflows, and perhaps to pass Messages on, under a URL.
    pub(crate) fn new(workflows: Workflows, delegation: Delegation, public_url: String) -> Self {
        let now = offered(workflows, &delegation, &public_url);
        Self { public_url, delegation, now: RwLock::new(now) }
    }

    /// What is offered now.
    pub(crate) fn now(&self) -> Arc<Offered> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether Messages are passed on.
    pub(crate) fn delegation(&self) -> &Delegation {
        &self.delegation
    }

    /// Offers other workflows from now on.
    pub(crate) fn change(&self, workflows: Workflows) {
        let next = offered(workflows, &self.delegation, &self.public_url);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

fn offered(workflows: Workflows, delegation: &Delegation, public_url: &str) -> Arc<Offered> {
    let card = Arc::new(card::card(&workflows, delegation, public_url));
    Arc::new(Offered { workflows, card })
}
