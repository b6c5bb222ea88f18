//! A plan as a graph for Graphviz.

use petgraph::dot::{Config, Dot};
use petgraph::graph::{DiGraph, NodeIndex};

use super::{below, heading, title, why};
use crate::plan::Plan;

/// The most characters of one text; what is cut off is told by an ellipsis.
const MAX_TEXT: usize = 80;

/// Shows a plan as a graph in the DOT language: a box for each step with its agent and how that was
/// selected, an arrow for each dependency with what makes it one.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let mut graph: DiGraph<String, String> = DiGraph::new();
    for step in 0..plan.workflow.steps.len() {
        let [agent, selected] = below(plan, step);
        // Lines that end so are written flush left.
        graph.add_node([heading(plan, step), agent, selected].map(|it| text(&it) + "\n").concat());
    }
    for edge in plan.edges() {
        let why = text(&why(plan, edge)) + "\n";
        graph.add_edge(NodeIndex::new(edge.from), NodeIndex::new(edge.to), why);
    }
    let content = Dot::with_config(&graph, &[Config::GraphContentOnly]);
    let title = text(title(plan)).replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "digraph {{\n    label = \"{title}\"\n    labelloc = \"t\"\n    node [ shape = \"box\" ]\n{content}}}\n"
    )
}

/// One line of a label. Graphviz reads entities in labels; petgraph escapes the rest.
fn text(of: &str) -> String {
    document::brief(of, MAX_TEXT).replace('&', "&amp;")
}
