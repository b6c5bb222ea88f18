//! What is said of the workflows that a workflow uses.

use document::Diagnostic;

use crate::link::SubWorkflow;
use crate::workflow::Workflow;

/// A step of a workflow that nobody has looked for.
pub(super) fn not_found(sub: &SubWorkflow) -> Diagnostic {
    let message = format!("there is no workflow `{}`", sub.name);
    let problem = Diagnostic::error("workflow::unknown-workflow", message).at(sub.span, "");
    problem.help("workflows are found by the `name` in the files of the same folder")
}

/// What is said of a workflow that another one uses, in the file of that one.
pub(super) trait Inside {
    fn inside(&self, workflow: &Workflow, name: &str) -> Diagnostic;
}

impl Inside for Diagnostic {
    fn inside(&self, workflow: &Workflow, name: &str) -> Diagnostic {
        let step = workflow.subs().find(|sub| sub.name == name).or_else(|| workflow.subs().next());
        let span = step.map(|sub| sub.span).unwrap_or_default();
        let message = format!("workflow `{name}`: {}", self.message);
        let labels = Vec::new();
        Diagnostic { message, labels, ..self.clone() }.at(span, "")
    }
}
