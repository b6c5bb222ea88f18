//! Which step waits for which, and why.

use std::collections::{HashMap, VecDeque};

use document::{Diagnostic, Span};
use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use serde::{Deserialize, Serialize};

/// The most steps of a cycle that are written out; longer ones are cut in the middle of the
/// sentence.
const MAX_CYCLE_SHOWN: usize = 40;

/// Says that one step waits for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The step that is waited for.
    pub from: usize,
    /// The step that waits.
    pub to: usize,
    /// Everything in the file that makes it wait, in the order of the file; never empty.
    pub reasons: Vec<Reason>,
}

/// Says what in the file makes a step wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What.
    #[serde(flatten)]
    pub kind: ReasonKind,
    /// Where.
    pub span: Span,
}

/// Names the ways to depend on a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReasonKind {
    /// `needs` names it.
    Needs,
    /// An expression reads it.
    Expression {
        /// The field the expression stands in.
        position: String,
        /// The reference as written.
        text: String,
    },
    /// A Part takes its artifacts.
    Artifacts {
        /// The reference as written.
        text: String,
    },
    /// `same_as` names it.
    SameAs,
    /// `references` names it.
    References,
}

impl std::fmt::Display for ReasonKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReasonKind::Needs => f.write_str("needs"),
            ReasonKind::Expression { position, text } => write!(f, "{text} in {position}"),
            ReasonKind::Artifacts { text } => write!(f, "artifacts of {text}"),
            ReasonKind::SameAs => f.write_str("same_as"),
            ReasonKind::References => f.write_str("references"),
        }
    }
}

/// Gathers edges, one for each pair of steps.
#[derive(Default)]
pub(crate) struct Edges {
    edges: Vec<Edge>,
    index: HashMap<(usize, usize), usize>,
    /// How many steps each step waits for.
    into: HashMap<usize, u32>,
}

impl Edges {
    pub(crate) fn add(&mut self, from: usize, to: usize, reason: Reason) {
        let index = *self.index.entry((from, to)).or_insert_with(|| {
            self.edges.push(Edge { from, to, reasons: Vec::new() });
            *self.into.entry(to).or_default() += 1;
            self.edges.len() - 1
        });
        self.edges[index].reasons.push(reason);
    }

    /// How many steps a step waits for so far.
    pub(crate) fn count_into(&self, step: usize) -> u32 {
        self.into.get(&step).copied().unwrap_or_default()
    }

    /// The edges by the step that waits, then the step that is waited for.
    pub(crate) fn finish(mut self) -> Vec<Edge> {
        self.edges.sort_by_key(|edge| (edge.to, edge.from));
        for edge in &mut self.edges {
            edge.reasons.sort_by_key(|reason| reason.span);
        }
        self.edges
    }
}

/// For each step, the steps it waits for and the steps that wait for it, in ascending order.
pub(crate) fn neighbours(steps: usize, edges: &[Edge]) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let (mut dependencies, mut dependents) = (vec![Vec::new(); steps], vec![Vec::new(); steps]);
    for edge in edges {
        dependencies[edge.to].push(edge.from);
        dependents[edge.from].push(edge.to);
    }
    (dependencies, dependents)
}

/// The steps in an order in which each comes after those it waits for; none when there is a cycle.
pub(crate) fn order(steps: usize, edges: &[Edge]) -> Option<Vec<usize>> {
    let sorted = toposort(&graph(steps, edges), None).ok()?;
    Some(sorted.into_iter().map(NodeIndex::index).collect())
}

/// Reports every group of steps that wait for each other, each with one shortest cycle in full.
pub(crate) fn check_cycles(steps: &[(&str, Span)], edges: &[Edge], problems: &mut Vec<Diagnostic>) {
    let graph = graph(steps.len(), edges);
    if toposort(&graph, None).is_ok() {
        return;
    }
    // Kosaraju's way, since the walk of petgraph's tarjan_scc recurses as deep as the longest chain
    // of the file.
    for component in kosaraju_scc(&graph) {
        let members: Vec<usize> = component.into_iter().map(NodeIndex::index).collect();
        if let Some(cycle) = shortest_cycle(&members, &graph) {
            problems.push(cycle_problem(&cycle, steps, edges));
        }
    }
}

fn graph(steps: usize, edges: &[Edge]) -> DiGraph<(), ()> {
    let mut graph = DiGraph::with_capacity(steps, edges.len());
    for _ in 0..steps {
        graph.add_node(());
    }
    for edge in edges {
        graph.add_edge(NodeIndex::new(edge.from), NodeIndex::new(edge.to), ());
    }
    graph
}

/// A shortest way from the first step of a group through what it waits for back to itself, that
/// step at both ends.
fn shortest_cycle(members: &[usize], graph: &DiGraph<(), ()>) -> Option<Vec<usize>> {
    let first = *members.iter().min()?;
    let is_member: std::collections::HashSet<usize> = members.iter().copied().collect();
    let mut waiter_of: HashMap<usize, usize> = HashMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(step) = queue.pop_front() {
        let mut waited_for: Vec<usize> = graph
            .neighbors_directed(NodeIndex::new(step), petgraph::Direction::Incoming)
            .map(NodeIndex::index)
            .collect();
        waited_for.sort_unstable();
        for next in waited_for.into_iter().filter(|next| is_member.contains(next)) {
            if next == first {
                return Some(trace(first, step, &waiter_of));
            }
            waiter_of.entry(next).or_insert_with(|| {
                queue.push_back(next);
                step
            });
        }
    }
    None
}

fn trace(first: usize, last: usize, waiter_of: &HashMap<usize, usize>) -> Vec<usize> {
    let mut path = vec![first, last];
    let mut at = last;
    while at != first {
        at = waiter_of[&at];
        path.push(at);
    }
    if first == last {
        path.truncate(2);
    }
    path.reverse();
    path
}

fn cycle_problem(cycle: &[usize], steps: &[(&str, Span)], edges: &[Edge]) -> Diagnostic {
    let name = |step: &usize| steps[*step].0;
    let mut path: Vec<&str> = cycle.iter().map(name).collect();
    let hidden = path.len().saturating_sub(MAX_CYCLE_SHOWN);
    let omitted = format!("… {hidden} more …");
    if hidden > 0 {
        path.splice(MAX_CYCLE_SHOWN / 2..MAX_CYCLE_SHOWN / 2 + hidden, [omitted.as_str()]);
    }
    let message = format!("these steps wait for each other: {}", path.join(" → "));
    let mut problem = Diagnostic::error("workflow::cycle", message);
    for hop in cycle.windows(2).take(MAX_CYCLE_SHOWN) {
        let (waiter, waited_for) = (hop[0], hop[1]);
        if let Ok(index) =
            edges.binary_search_by_key(&(waiter, waited_for), |edge| (edge.to, edge.from))
        {
            let text = format!("{} waits for {}", name(&waiter), name(&waited_for));
            problem = problem.at(edges[index].reasons[0].span, text);
        }
    }
    problem.help("take one of these references away")
}

#[cfg(test)]
mod tests;
