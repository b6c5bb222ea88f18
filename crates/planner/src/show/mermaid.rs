//! A plan as a mermaid flow chart.

use super::{below, heading, title, why};
use crate::plan::Plan;

/// The most characters of one text; what is cut off is told by an ellipsis.
const MAX_TEXT: usize = 80;

/// Shows a plan as a mermaid flow chart: a box for each step with its agent and how that was
/// selected, an arrow for each dependency with what makes it one.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    let mut out = format!("---\ntitle: {}\n---\nflowchart TD\n", quoted(title(plan)));
    for (step, of_file) in plan.workflow.steps.iter().enumerate() {
        // Prefixed, since some words, such as `end`, cannot be ids in mermaid.
        let (id, heading) = (&of_file.id, label(&heading(plan, step)));
        let [agent, selected] = below(plan, step).map(|it| label(&it));
        out.push_str(&format!("    step_{id}[\"{heading}<br/>{agent}<br/><i>{selected}</i>\"]\n"));
    }
    for edge in plan.edges() {
        let [from, to] = [edge.from, edge.to].map(|step| &plan.workflow.steps[step].id);
        let why = label(&why(plan, edge));
        out.push_str(&format!("    step_{from} -->|\"{why}\"| step_{to}\n"));
    }
    out
}

/// Text as mermaid can take it: a card is data from a stranger.
pub(super) fn label(text: &str) -> String {
    document::brief(text, MAX_TEXT)
        .chars()
        .map(|c| match c {
            '"' => "#quot;".to_owned(),
            '<' => "#lt;".to_owned(),
            '>' => "#gt;".to_owned(),
            '&' => "#amp;".to_owned(),
            // What begins an escape, or Markdown.
            '#' | '`' | '\\' => format!("#{};", u32::from(c)),
            c => c.to_string(),
        })
        .collect()
}

/// Text as a scalar of YAML, which a string of JSON is.
fn quoted(text: &str) -> String {
    serde_json::Value::from(document::brief(text, MAX_TEXT)).to_string()
}
