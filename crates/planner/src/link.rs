//! Workflows that are steps of others: found by their names, held against each other, and carried along, so that a plan
//! holds all that a run of it is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use document::{Diagnostic, Span, nearest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::expression::{Context, ExpressionError};
use crate::inputs::Input;
use crate::schema::with_article;
use crate::scope::Scope;
use crate::template::Template;
use crate::workflow::Workflow;

/// How deep workflows may be nested, unless the configuration says otherwise: one that uses no other is 1 deep.
pub const DEFAULT_MAX_DEPTH: usize = 8;

/// Says which workflow a step is a run of, and what that starts with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubWorkflow {
    /// The name of the workflow.
    pub name: String,
    /// Where it is named.
    pub span: Span,
    /// The values of its inputs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<Given>,
}

/// Gives the value of one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Given {
    /// The input.
    pub name: String,
    /// Where it is named.
    pub span: Span,
    /// Its value.
    pub value: Template,
    /// Where that stands.
    pub value_span: Span,
}

/// Finds the workflows that the steps of one are, and those that theirs are, and checks what they are given.
///
/// `others` are all there are, by their names; the workflow itself need not be among them.
///
/// # Errors
/// A workflow that is not there, one that uses itself by whatever way, more than `max_depth` of them inside each other,
/// inputs that are unknown, missing or given what they do not take; each at its place in the file.
pub fn link(
    workflow: &Arc<Workflow>,
    others: &BTreeMap<String, Arc<Workflow>>,
    max_depth: usize,
) -> Result<Arc<Workflow>, Vec<Diagnostic>> {
    if workflow.subs().next().is_none() {
        return Ok(Arc::clone(workflow));
    }
    let mut linker = Linker { others, max_depth, uses: BTreeMap::new() };
    let problems = linker.problems(workflow, &[workflow.name.as_str()]);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Arc::new(Workflow { uses: linker.uses, ..Workflow::clone(workflow) }))
}

struct Linker<'a> {
    others: &'a BTreeMap<String, Arc<Workflow>>,
    max_depth: usize,
    /// Those without problems so far.
    uses: BTreeMap<String, Arc<Workflow>>,
}

impl<'a> Linker<'a> {
    /// What is wrong with the steps of a workflow that others are inside of: `path` leads to it, and ends with it.
    fn problems(&mut self, workflow: &Workflow, path: &[&str]) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for sub in workflow.subs() {
            match self.child(sub, path) {
                Ok(child) => problems.extend(sub.problems(&child)),
                Err(problem) => problems.push(problem),
            }
        }
        problems
    }

    /// The workflow that a step is a run of, once it and all that it uses is right.
    fn child(&mut self, sub: &SubWorkflow, path: &[&str]) -> Result<Arc<Workflow>, Diagnostic> {
        let others: &'a BTreeMap<String, Arc<Workflow>> = self.others;
        let problem = |code, message: String, help: String| {
            Err(Diagnostic::error(code, message).at(sub.span, "").help(help))
        };
        if let Some(first) = path.iter().position(|name| *name == sub.name) {
            let cycle = [&path[first..], &[sub.name.as_str()]].concat().join(" → ");
            let message = format!("these workflows are steps of each other: {cycle}");
            return problem(
                "workflow::recursion",
                message,
                "take one of these steps away".to_owned(),
            );
        }
        if path.len() >= self.max_depth {
            let message = format!(
                "`{}` is one workflow too many inside each other: {}",
                sub.name,
                path.join(" → ")
            );
            let help = format!(
                "at most {} are; for `convoke serve`, `runs.max_depth` says how many",
                self.max_depth
            );
            return problem("workflow::too-nested", message, help);
        }
        let Some(child) = others.get(&sub.name) else {
            let help = match nearest(&sub.name, others.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "workflows are found by the `name` in the files of the same folder".to_owned()
                }
            };
            return problem(
                "workflow::unknown-workflow",
                format!("there is no workflow `{}`", sub.name),
                help,
            );
        };
        let path = [path, &[sub.name.as_str()]].concat();
        if let Some(first) = self.problems(child, &path).first() {
            // What goes round, or is too deep, shows in the file that was asked about.
            if matches!(first.code, "workflow::recursion" | "workflow::too-nested") {
                let help = first.help.clone().unwrap_or_default();
                return problem(first.code, first.message.clone(), help);
            }
            let message = format!("workflow `{}` cannot be run: {}", sub.name, first.message);
            let help = format!("`convoke validate` of {} shows all of it", child.source.name());
            return problem("workflow::broken-workflow", message, help);
        }
        self.uses.insert(sub.name.clone(), Arc::clone(child));
        Ok(Arc::clone(child))
    }
}

impl SubWorkflow {
    /// What is wrong with the values for the inputs.
    fn problems(&self, child: &Workflow) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let input_of = |name: &str| child.inputs.iter().find(|input| input.name == name);
        for given in &self.with {
            match input_of(&given.name) {
                Some(input) => problems.extend(given.misfit(input)),
                None => problems.push(self.unknown(given, child)),
            }
        }
        let is_given = |input: &Input| self.with.iter().any(|given| given.name == input.name);
        for input in child.inputs.iter().filter(|it| it.default.is_none() && !is_given(it)) {
            let message = format!("workflow `{}` needs its input `{}`", self.name, input.name);
            let problem = Diagnostic::error("workflow::missing-input", message).at(self.span, "");
            let help = format!("give it: `with: {{{}: …}}`", input.name);
            problems.push(problem.help(help));
        }
        problems
    }

    fn unknown(&self, given: &Given, child: &Workflow) -> Diagnostic {
        let known: Vec<&str> = child.inputs.iter().map(|input| input.name.as_str()).collect();
        let help = match nearest(&given.name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "it takes no inputs".to_owned(),
            None => format!("its inputs are: {}", known.join(", ")),
        };
        let message = format!("workflow `{}` has no input `{}`", self.name, given.name);
        Diagnostic::error("workflow::unknown-input", message)
            .at(given.span, "unknown input")
            .help(help)
    }
}

impl Given {
    /// Why the input does not take the value, as far as that shows without a run.
    fn misfit(&self, input: &Input) -> Option<Diagnostic> {
        let invalid = |message: String, help: &str| {
            let problem = Diagnostic::error("workflow::invalid-value", message);
            Some(problem.at(self.value_span, "").help(help))
        };
        match &self.value {
            Template::Literal(value) => {
                let problem = input.problems(value).into_iter().next()?;
                invalid(problem.message, "change the value, or the schema of the input")
            }
            template => {
                let kind = template.kind()?;
                let takes = input.schema.get("type")?;
                let is_taken = match takes {
                    Json::String(one) => one == kind,
                    Json::Array(some) => some.iter().any(|one| one == kind),
                    _ => true,
                };
                if is_taken {
                    return None;
                }
                let message = format!(
                    "the input `{}` takes {takes}, and this is {}",
                    input.name,
                    with_article(kind)
                );
                invalid(message, "a value that is nothing but one `${{ … }}` keeps its type")
            }
        }
    }
}

/// Evaluates what the workflow of a step starts with; none for a step that is no run of one.
///
/// # Errors
/// An expression fails.
pub fn evaluate_with(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Option<Map<String, Json>>, ExpressionError> {
    let Some(sub) = &workflow.steps[step].workflow else { return Ok(None) };
    let context = Context::new(scope);
    let mut values = Map::new();
    for given in &sub.with {
        let value = given.value.evaluate(scope, &context, &workflow.source)?;
        values.insert(given.name.clone(), value);
    }
    Ok(Some(values))
}

#[cfg(test)]
mod tests;
