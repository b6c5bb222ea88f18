//! What can be asked for just now: the workflows and the card that shows them, swapped as a whole.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use protocol::v1::AgentCard;

use crate::{
    Declared, Folder, Workflows,
    access::{Access, Scopes, Showing},
    card::Cards,
    skills::OwnSkills,
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
    own: OwnSkills,
    showing: Showing,
    declared: Declared,
    now: RwLock<Arc<Offered>>,
}

impl Offer {
    /// Offers workflows and other skills under a URL.
    pub(crate) fn new(
        workflows: Workflows,
        own: OwnSkills,
        declared: Declared,
        public_url: String,
        showing: Showing,
    ) -> Self {
        let cards =
            Cards { own: &own, declared: &declared, public_url: &public_url, showing: &showing };
        let now = RwLock::new(offered(workflows, cards));
        Self { public_url, own, showing, declared, now }
    }

    /// The card of what somebody may start: of one workflow as an agent of its own, where a tenant leads to one of
    /// these.
    pub(crate) fn card_for(&self, scopes: &Scopes, tenant: &str) -> AgentCard {
        let workflows = self.now().workflows.of_names(|name| scopes.start(name));
        let own = self.own.for_scopes(scopes);
        let cards = Cards { own: &own, ..self.cards() };
        cards.of_tenant(tenant, &workflows).unwrap_or_else(|| cards.of_all(&workflows))
    }

    fn cards(&self) -> Cards<'_> {
        let Self { own, declared, public_url, showing, .. } = self;
        Cards { own, declared, public_url, showing }
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

    /// The skills that are no workflows.
    pub(crate) fn own(&self) -> &OwnSkills {
        &self.own
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
    let (shown, own) = cards.showing.to_everybody(&workflows, cards.own);
    let cards = Cards { own: &own, ..cards };
    let (card, tenants) = (Arc::new(cards.of_all(&shown)), cards.of_tenants(&shown));
    Arc::new(Offered { workflows, card, tenants })
}
