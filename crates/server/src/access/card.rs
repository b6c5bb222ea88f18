//! What the Agent Card says of who may call, and which skills it shows to whom.

use std::collections::{BTreeMap, BTreeSet};

use protocol::v1::{AgentCard, SecurityRequirement, StringList};

use super::Access;
use crate::{Workflows, skills::OwnSkills};

/// Which skills stand on the card that everybody can read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PublicSkills {
    /// All of them.
    #[default]
    All,
    /// None of them.
    None,
    /// Those of these workflows; `delegate` and `find-agents` are among them where they are offered.
    Named(BTreeSet<String>),
}

/// Who sees what.
#[derive(Debug, Default)]
pub(crate) struct Showing {
    pub(crate) access: Access,
    pub(crate) public_skills: PublicSkills,
}

impl PublicSkills {
    fn hold(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Named(names) => names.contains(name),
        }
    }
}

impl Showing {
    /// What everybody sees of workflows and other skills.
    pub(crate) fn to_everybody(
        &self,
        workflows: &Workflows,
        own: &OwnSkills,
    ) -> (Workflows, OwnSkills) {
        let is_public = |name: &str| self.public_skills.hold(name);
        (workflows.of_names(is_public), own.of_names(is_public))
    }

    /// Says on a card how callers show who they are, and that there is a card for those who do. Where everybody may
    /// call, there is nothing to say.
    pub(crate) fn declare(&self, card: &mut AgentCard) {
        if self.access.is_open() {
            return;
        }
        for (name, scheme) in self.access.schemes() {
            card.security_schemes.insert(name.to_owned(), scheme);
            let schemes = BTreeMap::from([(name.to_owned(), StringList::default())]);
            card.security_requirements.push(SecurityRequirement { schemes });
        }
        card.capabilities.get_or_insert_default().extended_agent_card = Some(true);
    }
}
