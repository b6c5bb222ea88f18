//! What a Message is to start: which workflow, with which inputs, or what is missing. Pure.

use std::{collections::BTreeSet, sync::Arc};

use planner::{InputFrom, InputProblem, Workflow};
use protocol::{
    model::metadata,
    v1::{Message, Part},
};
use serde_json::{Map, Value, json};

use crate::Workflows;

/// What follows from everything that was said so far.
pub(crate) enum Decision {
    /// A run can start.
    Start {
        /// Of this workflow.
        workflow: Arc<Workflow>,
        /// Checked inputs.
        inputs: Map<String, Value>,
        /// What a step without `message` sends on.
        start: Vec<Part>,
    },
    /// More has to be said.
    Ask {
        /// The workflow, if that is clear.
        workflow: Option<String>,
        /// The question.
        question: Vec<Part>,
    },
    /// Nothing can ever come of it.
    Reject {
        /// Why.
        why: String,
    },
}

/// Decides what the Messages of a Task start: all of them, in the order they came. `known` is the workflow that
/// an earlier one, or this request, has named.
pub(crate) fn decide(
    workflows: &Workflows,
    known: Option<&Arc<Workflow>>,
    messages: &[Message],
) -> Decision {
    if workflows.is_empty() {
        let why = "there is no workflow here that could be run; its operator has to add one";
        return Decision::Reject { why: why.to_owned() };
    }
    let chosen = || messages.iter().rev().find_map(|message| choice(workflows, message));
    let Some(workflow) = known.or_else(|| workflows.only()).or_else(chosen) else {
        return Decision::Ask { workflow: None, question: choices(workflows) };
    };
    let content: Vec<&Message> =
        messages.iter().filter(|message| !is_choice_of(workflows, message, workflow)).collect();
    match gather(workflow, &content) {
        Ok(inputs) => {
            let said = content.iter().flat_map(|message| message.parts.iter().cloned());
            Decision::Start { workflow: Arc::clone(workflow), inputs, start: said.collect() }
        }
        Err(problems) => Decision::Ask {
            workflow: Some(workflow.name.clone()),
            question: missing(workflow, &problems),
        },
    }
}

/// The workflow whose name is all that a Message says.
fn choice<'a>(workflows: &'a Workflows, message: &Message) -> Option<&'a Arc<Workflow>> {
    let [part] = message.parts.as_slice() else { return None };
    let said = part.as_text()?.trim();
    let is_meant = |workflow: &&Arc<Workflow>| {
        let title = workflow.title.as_deref().unwrap_or_default();
        said.eq_ignore_ascii_case(&workflow.name) || said.eq_ignore_ascii_case(title)
    };
    workflows.iter().find(is_meant)
}

/// Whether a Message only answers the question which workflow is meant. Where there is one workflow, that is
/// never asked.
fn is_choice_of(workflows: &Workflows, message: &Message, workflow: &Workflow) -> bool {
    workflows.len() > 1
        && message.metadata(metadata::WORKFLOW).is_none()
        && choice(workflows, message).is_some_and(|chosen| chosen.name == workflow.name)
}

/// The inputs that the Messages give. A later one fills in what is missing or wrong, and leaves what is right;
/// when one value is missing and the Message is plain text, that is the value.
fn gather(
    workflow: &Workflow,
    messages: &[&Message],
) -> Result<Map<String, Value>, Vec<InputProblem>> {
    let mut given = Map::new();
    for (index, message) in messages.iter().enumerate() {
        let values = workflow.inputs_from_parts(&message.parts);
        if index == 0 {
            given = values;
            continue;
        }
        let problems = workflow.check_inputs(given.clone()).err().unwrap_or_default();
        let wanted: BTreeSet<String> = problems.into_iter().map(|problem| problem.input).collect();
        let mut has_helped = false;
        for (name, value) in values {
            let is_wanted = wanted.contains(&name);
            let is_extra = !given.contains_key(&name) && !is_from_text(workflow, &name);
            if is_wanted || is_extra {
                has_helped |= is_wanted;
                given.insert(name, value);
            }
        }
        let text = message.text();
        if !has_helped
            && wanted.len() == 1
            && !text.is_empty()
            && let Some(only) = wanted.into_iter().next()
        {
            let value = workflow.input_from_text(&only, text.trim());
            given.insert(only, value);
        }
    }
    workflow.check_inputs(given)
}

fn is_from_text(workflow: &Workflow, name: &str) -> bool {
    let is_it = |input: &planner::Input| input.name == name && input.from == Some(InputFrom::Text);
    workflow.inputs.iter().any(is_it)
}

fn choices(workflows: &Workflows) -> Vec<Part> {
    let line = |workflow: &Arc<Workflow>| {
        let what = workflow.description.as_ref().or(workflow.title.as_ref());
        let what = what.map(|what| format!(": {}", what.trim())).unwrap_or_default();
        format!("\n- {}{what}", workflow.name)
    };
    let text: String = workflows.iter().map(line).collect();
    let data: Vec<Value> = workflows
        .iter()
        .map(|it| json!({"name": it.name, "title": it.title, "description": it.description}))
        .collect();
    vec![
        Part::text(format!("Which workflow is meant? Answer with its name:{text}")),
        Part::data(json!({"workflows": data})),
    ]
}

fn missing(workflow: &Workflow, problems: &[InputProblem]) -> Vec<Part> {
    let lines: String = problems.iter().map(|problem| format!("\n- {problem}")).collect();
    let data: Vec<Value> = problems
        .iter()
        .map(|it| json!({"name": it.input, "is_missing": it.is_missing, "message": it.message}))
        .collect();
    vec![
        Part::text(format!("The workflow {} needs more before it can run:{lines}", workflow.name)),
        Part::data(json!({"workflow": workflow.name, "inputs": data})),
    ]
}

#[cfg(test)]
mod tests;
