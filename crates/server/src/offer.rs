//! What can be asked for just now: the workflows and the card that shows them, swapped as a whole.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use protocol::v1::AgentCard;

use crate::{
    Declared, Delegation, Folder, Workflows,
    access::{Access, Scopes, Showing},
    card::Cards,
};

/// The workflows at one moment, and the cards of that moment.
pub(crate) struct Offered {
    pub(crate) workflows: Workflows,
    pub(crate) card: Arc<AgentCard>,
    /// The cards of workflows as agents of their own, by tenant.
    pub(crate) tenants: BTreeMap<String, Arc<AgentCard>>,
}

/// What is offered now. Whoever has looked keeps what was there then.
pub(crate) struct Offer {
    public_url: String,
    delegation: Delegation,
    showing: Showing,
    declared: Declared,
    now: RwLock<Arc<Offered>>,
}

impl Offer {
    /// Offers workflows, and perhaps to pass Messages on, under a URL.
    pub(crate) fn new(
        workflows: Workflows,
        delegation: Delegation,
        declared: Declared,
        public_url: String,
        showing: Showing,
    ) -> Self {
        let cards = Cards {
            delegation: &delegation,
            declared: &declared,
            public_url: &public_url,
            showing: &showing,
        };
        let now = RwLock::new(offered(workflows, cards));
        Self { public_url, delegation, showing, declared, now }
    }

    /// The card of what somebody may start: of one workflow as an agent of its own, where a tenant leads to one of
    /// these.
    pub(crate) fn card_for(&self, scopes: &Scopes, tenant: &str) -> AgentCard {
        let (workflows, delegation) = scopes.startable(&self.now().workflows, &self.delegation);
        let cards = Cards { delegation: &delegation, ..self.cards() };
        cards.of_tenant(tenant, &workflows).unwrap_or_else(|| cards.of_all(&workflows))
    }

    fn cards(&self) -> Cards<'_> {
        let Self { delegation, declared, public_url, showing, .. } = self;
        Cards { delegation, declared, public_url, showing }
    }

    /// Which credentials are taken.
    pub(crate) fn access(&self) -> &Access {
        &self.showing.access
    }

    /// What is offered now.
    pub(crate) fn now(&self) -> Arc<Offered> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where clients reach the server.
    pub(crate) fn public_url(&self) -> &str {
        &self.public_url
    }

    /// Whether Messages are passed on.
    pub(crate) fn delegation(&self) -> &Delegation {
        &self.delegation
    }

    /// Offers what a folder holds now, and says what is wrong with it.
    pub(crate) fn follow(&self, folder: &Folder) {
        let workflows = folder.workflows();
        tracing::info!(count = workflows.len(), "the folder of workflows has changed");
        for problems in &workflows.broken {
            tracing::warn!("a workflow file is not used as it is now:\n{problems}");
        }
        if let Some(why) = &workflows.unreadable {
            tracing::warn!("{why}; the workflows stay as they were");
        }
        self.change(workflows);
    }

    /// Offers other workflows from now on.
    fn change(&self, workflows: Workflows) {
        let next = offered(workflows, self.cards());
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

fn offered(workflows: Workflows, cards: Cards<'_>) -> Arc<Offered> {
    let (shown, delegation) = cards.showing.to_everybody(&workflows, cards.delegation);
    let cards = Cards { delegation: &delegation, ..cards };
    let (card, tenants) = (Arc::new(cards.of_all(&shown)), cards.of_tenants(&shown));
    Arc::new(Offered { workflows, card, tenants })
}
