//! Our Agent Cards: one with a skill for each workflow, and one for each workflow as an agent of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use planner::Workflow;
use protocol::{
    card::Binding,
    model::metadata,
    v1::{AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill},
};

use crate::{Declared, Workflows, access::Showing, skills::OwnSkills};

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// Makes the cards of one server.
#[derive(Clone, Copy)]
pub(crate) struct Cards<'a> {
    pub(crate) own: &'a OwnSkills,
    pub(crate) declared: &'a Declared,
    /// Where clients reach it.
    pub(crate) public_url: &'a str,
    /// What they say of who may call.
    pub(crate) showing: &'a Showing,
}

impl Cards<'_> {
    /// The card of an orchestrator of these workflows.
    pub(crate) fn of_all(self, workflows: &Workflows) -> AgentCard {
        AgentCard {
            name: "Convoke".to_owned(),
            description: "Runs workflows over other agents; each skill is one workflow.".to_owned(),
            default_input_modes: defaults(workflows, Workflow::input_modes),
            default_output_modes: defaults(workflows, Workflow::output_modes),
            skills: self.skills(workflows).collect(),
            ..self.frame("", vec![extension()])
        }
    }

    /// The cards of its workflows, and of its other skills, as agents of their own: each by the tenant that
    /// leads to it.
    pub(crate) fn of_tenants(self, workflows: &Workflows) -> BTreeMap<String, Arc<AgentCard>> {
        let card = |skill: AgentSkill| (skill.id.clone(), Arc::new(self.of_one(&skill)));
        self.skills(workflows).map(card).collect()
    }

    /// The card of the one to which a tenant leads.
    pub(crate) fn of_tenant(self, tenant: &str, workflows: &Workflows) -> Option<AgentCard> {
        let skill = self.skills(workflows).find(|skill| skill.id == tenant)?;
        Some(self.of_one(&skill))
    }

    fn skills(self, workflows: &Workflows) -> impl Iterator<Item = AgentSkill> {
        workflows.iter().map(|workflow| skill(workflow)).chain(self.own.iter())
    }

    /// The card of an agent that has one skill.
    fn of_one(self, skill: &AgentSkill) -> AgentCard {
        AgentCard {
            name: skill.name.clone(),
            description: skill.description.clone(),
            default_input_modes: or_anything(skill.input_modes.clone()),
            default_output_modes: or_anything(skill.output_modes.clone()),
            skills: vec![skill.clone()],
            ..self.frame(&skill.id, Vec::new())
        }
    }

    /// What all cards have in common.
    fn frame(self, tenant: &str, extensions: Vec<AgentExtension>) -> AgentCard {
        let required = self.declared.required_extensions.iter().map(|uri| AgentExtension {
            uri: uri.clone(),
            required: true,
            ..AgentExtension::default()
        });
        let mut card = AgentCard {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            supported_interfaces: interfaces(self.public_url, tenant),
            capabilities: Some(AgentCapabilities {
                streaming: Some(self.declared.streaming),
                push_notifications: Some(self.declared.push_notifications),
                extensions: extensions.into_iter().chain(required).collect(),
                extended_agent_card: Some(false),
            }),
            ..AgentCard::default()
        };
        self.showing.declare(&mut card);
        card
    }
}

/// Where an agent is reached, in the order of preference; all on one port.
fn interfaces(public_url: &str, tenant: &str) -> Vec<AgentInterface> {
    let tenant = tenant.to_owned();
    let interface = |binding| AgentInterface {
        tenant: tenant.clone(),
        ..protocol::server::interface(binding, public_url)
    };
    Binding::ALL.map(interface).into()
}

fn extension() -> AgentExtension {
    let description = "The id of a skill under this key of a Message's metadata, or of the request's, says which \
                       workflow the Message starts.";
    AgentExtension {
        uri: metadata::WORKFLOW.to_owned(),
        description: description.to_owned(),
        ..AgentExtension::default()
    }
}

fn skill(workflow: &Workflow) -> AgentSkill {
    let name = workflow.title.as_ref().unwrap_or(&workflow.name);
    let description =
        workflow.description.clone().unwrap_or_else(|| format!("Runs the workflow {name}."));
    let tags = match workflow.tags.is_empty() {
        true => vec!["workflow".to_owned()],
        false => workflow.tags.clone(),
    };
    AgentSkill {
        id: workflow.name.clone(),
        name: name.clone(),
        description,
        tags,
        examples: workflow.examples.clone(),
        input_modes: workflow.input_modes(),
        output_modes: workflow.output_modes(),
        ..AgentSkill::default()
    }
}

/// What holds for the agent as a whole: all that its workflows say, and where one does not say, text and data, which
/// is what it takes or yields for all anybody knows.
fn defaults(workflows: &Workflows, of: impl Fn(&Workflow) -> Vec<String>) -> Vec<String> {
    let by_workflow: Vec<Vec<String>> = workflows.iter().map(|workflow| of(workflow)).collect();
    let is_all_said = !by_workflow.is_empty() && by_workflow.iter().all(|modes| !modes.is_empty());
    let unsaid = if is_all_said { &[][..] } else { &[TEXT, JSON] };
    let modes: BTreeSet<String> =
        unsaid.iter().map(ToString::to_string).chain(by_workflow.into_iter().flatten()).collect();
    modes.into_iter().collect()
}

/// Text and data where one workflow does not say.
fn or_anything(modes: Vec<String>) -> Vec<String> {
    if modes.is_empty() { [TEXT, JSON].map(str::to_owned).into() } else { modes }
}
