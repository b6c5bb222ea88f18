use super::*;

fn edges(pairs: &[(usize, usize)]) -> Vec<Edge> {
    let mut edges = Edges::default();
    for (from, to) in pairs {
        edges.add(*from, *to, Reason { kind: ReasonKind::Needs, span: Span::default() });
    }
    edges.finish()
}

fn cycles(steps: usize, pairs: &[(usize, usize)]) -> Vec<String> {
    let names: Vec<String> = (0..steps).map(|step| format!("s{step}")).collect();
    let steps: Vec<(&str, Span)> =
        names.iter().map(|name| (name.as_str(), Span::default())).collect();
    let mut problems = Vec::new();
    check_cycles(&steps, &edges(pairs), &mut problems);
    let mut messages: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
    messages.sort();
    messages
}

#[test]
fn a_graph_without_cycle_is_fine() {
    assert!(cycles(3, &[(0, 1), (0, 2), (1, 2)]).is_empty());
}

#[test]
fn each_group_is_named_with_a_shortest_cycle() {
    let found = cycles(6, &[(0, 1), (1, 2), (2, 0), (1, 0), (3, 3), (4, 5)]);
    assert_eq!(
        found,
        [
            "these steps wait for each other: s0 → s1 → s0",
            "these steps wait for each other: s3 → s3"
        ]
    );
}

#[test]
fn a_cycle_of_ten_thousand_steps_is_cut_short_and_does_not_exhaust_the_stack() {
    let steps = 10_000;
    let mut pairs: Vec<(usize, usize)> = (1..steps).map(|step| (step - 1, step)).collect();
    pairs.push((steps - 1, 0));
    let found = cycles(steps, &pairs);
    assert!(found[0].contains("… 9961 more …"), "{}", found[0]);
    assert!(found[0].ends_with("s1 → s0"), "{}", found[0]);
}

#[test]
fn several_reasons_make_one_edge() {
    let found = edges(&[(0, 2), (1, 2), (0, 2)]);
    assert_eq!(
        found.iter().map(|edge| (edge.from, edge.to, edge.reasons.len())).collect::<Vec<_>>(),
        [(0, 2, 2), (1, 2, 1)]
    );
}
