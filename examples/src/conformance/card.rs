//! What the agent says of itself, by profile.

use std::collections::BTreeMap;

use protocol::v1::{
    AgentCapabilities, AgentCard, AgentExtension, HttpAuthSecurityScheme, SecurityRequirement,
    SecurityScheme, StringList, security_scheme::Scheme,
};

use super::{ConformanceProfile, access};
use crate::{Options, harness::skill};

/// The extension that callers must know in the profile `ext`.
const REQUIRED: &str = "urn:a2a:tck:required-extension";

/// The card that everybody may read, from one that declares nothing.
pub(super) fn of(options: &Options, mut card: AgentCard) -> AgentCard {
    let profile = options.profile;
    let is_full = profile != ConformanceProfile::Min;
    let extensions = match profile {
        ConformanceProfile::Ext => vec![required()],
        _ => Vec::new(),
    };
    card.capabilities = Some(AgentCapabilities {
        streaming: Some(is_full && options.streaming),
        push_notifications: Some(is_full),
        extended_agent_card: Some(is_full),
        extensions,
    });
    if profile == ConformanceProfile::Auth {
        secure(&mut card);
    }
    card
}

/// The card of those who ask for more: one skill is for them.
pub(super) fn extended(card: &AgentCard) -> AgentCard {
    let mut card = card.clone();
    let description = "Is on the extended card and on no other.";
    card.skills.push(skill("extended", "Extended", description, &["conformance"]));
    card
}

fn required() -> AgentExtension {
    AgentExtension {
        uri: REQUIRED.to_owned(),
        description: "Has to be declared by every caller; it changes nothing.".to_owned(),
        required: true,
        params: None,
    }
}

fn secure(card: &mut AgentCard) {
    let bearer = HttpAuthSecurityScheme {
        description: "One of the fixed tokens of the conformance agent.".to_owned(),
        scheme: "Bearer".to_owned(),
        ..HttpAuthSecurityScheme::default()
    };
    let scheme = SecurityScheme { scheme: Some(Scheme::HttpAuthSecurityScheme(bearer)) };
    card.security_schemes.insert("bearer".to_owned(), scheme);
    let scopes = StringList { list: vec![access::WRITE.to_owned()] };
    let schemes = BTreeMap::from([("bearer".to_owned(), scopes)]);
    card.security_requirements.push(SecurityRequirement { schemes });
}
