//! Which artifacts of steps are artifacts of the run as they are, so that their chunks can go on as they come.

use protocol::v1;

use crate::render::{Origin, artifact_parts, last_artifact, output_artifact};
use crate::result::newest_named;
use crate::template::Template;
use crate::workflow::Workflow;

/// Says what of a step's artifacts becomes an artifact of the run without being looked at.
///
/// Without `outputs` that is every artifact of a step that nothing depends on; with `outputs`, the
/// newest artifact of a name that an output names and adds nothing to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassThrough {
    is_last: bool,
    /// Outputs by their position, and the name of the artifact that each of them is.
    outputs: Vec<(usize, String)>,
}

impl PassThrough {
    /// What passes through of each step. Costs the size of the workflow, once.
    #[must_use]
    pub fn of(workflow: &Workflow) -> Vec<PassThrough> {
        let mut steps = vec![PassThrough::default(); workflow.steps.len()];
        if workflow.outputs.is_empty() {
            for step in workflow.last_steps() {
                steps[step].is_last = true;
            }
        }
        for (position, output) in workflow.outputs.iter().enumerate() {
            if let Template::Expression(value) = &output.value
                && let Some((step, name)) = value.one_artifact()
                && let Some(step) = workflow.step(&step)
                // Which item has the newest artifact of a name shows when all are settled.
                && workflow.steps[step].for_each.is_none()
            {
                steps[step].outputs.push((position, name));
            }
        }
        steps
    }

    /// Whether nothing does.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        !self.is_last && self.outputs.is_empty()
    }

    /// What the run makes of a piece of `artifacts[index]`, under the id that
    /// [`crate::evaluate_outputs`] gives to the whole: nothing for an artifact that is no output.
    ///
    /// `artifacts` are those of the step so far. Costs what the piece holds.
    #[must_use]
    pub fn pieces(
        &self,
        workflow: &Workflow,
        origin: Origin<'_>,
        artifacts: &[v1::Artifact],
        index: usize,
        piece: &v1::Artifact,
    ) -> Vec<v1::Artifact> {
        if self.is_last {
            return vec![last_artifact(origin, index, piece)];
        }
        let of = &artifacts[index];
        // Looked for only where it can be found.
        let is_it = |name: &str| {
            (of.name == name || of.name.is_empty())
                && newest_named(artifacts.iter(), name) == Some(index)
        };
        let outputs = self.outputs.iter().filter(|(_, name)| is_it(name));
        outputs
            .map(|(position, _)| {
                output_artifact(&workflow.outputs[*position], artifact_parts(origin, piece))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
