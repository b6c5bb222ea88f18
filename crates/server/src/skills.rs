//! The skills of this server that are no workflows, and how a Message says which skill it is for.

use protocol::{
    model::metadata,
    v1::{AgentSkill, SendMessageRequest},
};
use serde_json::Value;

use crate::{Delegation, access::Scopes, delegate, find_agents};

/// Which of its own skills a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnSkills {
    /// Whether Messages are passed on.
    pub(crate) delegation: Delegation,
    /// Whether the directory answers Messages.
    pub(crate) finds_agents: bool,
}

impl OwnSkills {
    /// The skills as cards show them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = AgentSkill> {
        let finding = self.finds_agents.then(find_agents::skill);
        self.delegation.skill().into_iter().chain(finding)
    }

    /// Those whose names are wanted.
    pub(crate) fn of_names(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let delegation = match is_wanted(delegate::NAME) {
            true => self.delegation.clone(),
            false => Delegation::Off,
        };
        Self { delegation, finds_agents: self.finds_agents && is_wanted(find_agents::NAME) }
    }

    /// Those that credentials are good for.
    pub(crate) fn for_scopes(&self, scopes: &Scopes) -> Self {
        self.of_names(|name| match name {
            find_agents::NAME => scopes.read_agents(),
            name => scopes.start(name),
        })
    }
}

/// What a Message, or else its request, says under a key, and where.
pub(crate) fn stated<'a>(
    request: &'a SendMessageRequest,
    key: &str,
) -> Option<(String, &'a Value)> {
    let in_message = request.message.as_ref().and_then(|message| message.metadata(key));
    let in_request = || request.metadata.as_ref().and_then(|metadata| metadata.0.get(key));
    match in_message {
        Some(value) => Some((format!("message.metadata[{key}]"), value)),
        None => in_request().map(|value| (format!("metadata[{key}]"), value)),
    }
}

/// The skill that a Message names, or else its request, or else the tenant, and where; no name where something other
/// than a text is written there.
pub(crate) fn named<'a>(
    request: &'a SendMessageRequest,
    tenant: &'a str,
) -> Option<(String, Option<&'a str>)> {
    match stated(request, metadata::WORKFLOW) {
        Some((field, name)) => Some((field, name.as_str())),
        None => (!tenant.is_empty()).then(|| ("tenant".to_owned(), Some(tenant))),
    }
}
