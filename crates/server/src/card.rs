//! Our Agent Card: one skill for each workflow.

use std::collections::BTreeSet;

use planner::{InputFrom, Workflow};
use protocol::{
    card::Binding,
    model::metadata,
    v1::{AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill},
};

use crate::Workflows;

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";
const FILE: &str = "application/octet-stream";

/// The card of an orchestrator of these workflows that is reached at `public_url`.
pub(crate) fn card(workflows: &Workflows, public_url: &str) -> AgentCard {
    let modes = || vec![TEXT.to_owned(), JSON.to_owned()];
    AgentCard {
        name: "Convoke".to_owned(),
        description: "Runs workflows over other agents; each skill is one workflow.".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        supported_interfaces: interfaces(public_url),
        capabilities: Some(AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(false),
            extensions: vec![extension()],
            extended_agent_card: Some(false),
        }),
        default_input_modes: modes(),
        default_output_modes: modes(),
        skills: workflows.iter().map(|workflow| skill(workflow)).collect(),
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
        input_modes: input_modes(workflow),
        output_modes: output_modes(workflow),
        ..AgentSkill::default()
    }
}

/// What fills its inputs; without inputs, the agent's defaults.
fn input_modes(workflow: &Workflow) -> Vec<String> {
    let modes: BTreeSet<&str> = workflow
        .inputs
        .iter()
        .map(|input| match input.from {
            Some(InputFrom::Text) => TEXT,
            Some(InputFrom::File) => FILE,
            Some(InputFrom::Data) | None => JSON,
        })
        .collect();
    modes.into_iter().map(str::to_owned).collect()
}

/// What its outputs say; when one of them does not, the agent's defaults.
fn output_modes(workflow: &Workflow) -> Vec<String> {
    let modes: Option<BTreeSet<&str>> =
        workflow.outputs.iter().map(|output| output.media_type.as_deref()).collect();
    modes.into_iter().flatten().map(str::to_owned).collect()
}
