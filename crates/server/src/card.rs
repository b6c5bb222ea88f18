//! Our Agent Card: one skill for each workflow.

use std::collections::BTreeSet;

use planner::Workflow;
use protocol::{
    card::Binding,
    model::metadata,
    v1::{AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill},
};

use crate::{Delegation, Workflows};

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";

/// The card of an orchestrator of these workflows that is reached at `public_url`.
pub(crate) fn card(workflows: &Workflows, delegation: &Delegation, public_url: &str) -> AgentCard {
    AgentCard {
        name: "Convoke".to_owned(),
        description: "Runs workflows over other agents; each skill is one workflow.".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        supported_interfaces: interfaces(public_url),
        capabilities: Some(AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(true),
            extensions: vec![extension()],
            extended_agent_card: Some(false),
        }),
        default_input_modes: defaults(workflows, Workflow::input_modes),
        default_output_modes: defaults(workflows, Workflow::output_modes),
        skills: workflows
            .iter()
            .map(|workflow| skill(workflow))
            .chain(delegation.skill())
            .collect(),
        ..AgentCard::default()
    }
}

/// Where the orchestrator is reached, in the order of preference; all on one port.
fn interfaces(public_url: &str) -> Vec<AgentInterface> {
    Binding::ALL.map(|binding| protocol::server::interface(binding, public_url)).into()
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
