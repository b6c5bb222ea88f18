//! Which earlier Tasks a step's Message refers to.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::rc::Rc;

use document::Diagnostic;

use crate::step::{Named, Step};

/// The most Tasks one Message refers to. A join of thousands on one agent would otherwise put
/// thousands of ids into every Message after it.
pub const MAX_REFERENCES: usize = 256;

/// For each step with a key, its nearest ancestors with the same key: those on some way up from it on which no
/// other step with its key comes before. Ascending, at most [`MAX_REFERENCES`] of them, the first
/// in the file.
///
/// Walks down from the steps of each key, no further than its last step, so that the cost follows
/// what there is to find. `order` is a topological order of all steps.
pub(crate) fn nearest_ancestors<K: Eq + Hash>(
    keys: &[Option<K>],
    order: &[usize],
    dependencies: &[Vec<usize>],
    dependents: &[Vec<usize>],
) -> Vec<Vec<usize>> {
    let mut references = vec![Vec::new(); keys.len()];
    let mut position = vec![0; keys.len()];
    let mut groups: HashMap<&K, Vec<usize>> = HashMap::new();
    for (at, step) in order.iter().enumerate() {
        position[*step] = at;
        if let Some(key) = &keys[*step] {
            groups.entry(key).or_default().push(at);
        }
    }
    // Made once for all groups: what another group left behind is told by its number.
    let mut queued = vec![0; keys.len()];
    let mut nearest: Vec<(usize, Rc<[usize]>)> = vec![(0, Rc::from([])); keys.len()];
    let several = groups.into_values().filter(|positions| positions.len() > 1);
    for (group, positions) in (1..).zip(several) {
        let last = positions.last().copied().unwrap_or_default();
        let key = &keys[order[last]];
        positions.iter().for_each(|at| queued[*at] = group);
        let mut pending: BinaryHeap<Reverse<usize>> = positions.into_iter().map(Reverse).collect();
        while let Some(Reverse(at)) = pending.pop() {
            let step = order[at];
            let found = dependencies[step].iter().map(|dependency| &nearest[*dependency]);
            let above = union(found.filter(|(of, _)| *of == group).map(|(_, found)| found));
            let here = if keys[step] == *key {
                references[step] = above.to_vec();
                Rc::from([step])
            } else {
                above
            };
            if !here.is_empty() {
                nearest[step] = (group, here);
                for next in dependents[step].iter().map(|next| position[*next]) {
                    if next <= last && queued[next] != group {
                        queued[next] = group;
                        pending.push(Reverse(next));
                    }
                }
            }
        }
    }
    references
}

fn union<'a>(sets: impl Iterator<Item = &'a Rc<[usize]>>) -> Rc<[usize]> {
    let mut all: Vec<usize> = Vec::new();
    let mut only: Option<&Rc<[usize]>> = None;
    for set in sets {
        if only.is_some_and(|only| Rc::ptr_eq(only, set)) {
            continue;
        }
        if all.is_empty() && only.is_none() {
            only = Some(set);
            continue;
        }
        if let Some(only) = only.filter(|_| all.is_empty()) {
            all.extend_from_slice(only);
        }
        all.extend_from_slice(set);
    }
    match only {
        Some(only) if all.is_empty() => only.clone(),
        _ => {
            // Each of them is in order: sorting merges them.
            all.sort();
            all.dedup();
            all.truncate(MAX_REFERENCES);
            all.into()
        }
    }
}

/// Puts the steps that `references` names in place of the nearest ancestors, as far as the same agent serves them:
/// another one does not know their Tasks, which is a warning. Of the steps without references only the warnings are
/// told.
pub(crate) fn take_named<'a, K: Eq>(
    steps: impl Iterator<Item = &'a Step>,
    served_by: &[K],
    references: &mut [Vec<usize>],
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let steps: Vec<&Step> = steps.collect();
    for (step, of_file) in steps.iter().enumerate() {
        let Some(named) = &of_file.asks.references else { continue };
        let is_there = |other: &&Named| served_by[other.step] == served_by[step];
        if let Some(references) = references.get_mut(step) {
            *references = named.iter().filter(is_there).map(|other| other.step).collect();
            references.sort_unstable();
        }
        for other in named.iter().filter(|other| !is_there(other)) {
            let message = format!(
                "step `{}` does not refer to the Task of `{}`, which another agent serves",
                of_file.id, steps[other.step].id
            );
            let warning = Diagnostic::warning("plan::reference-elsewhere", message);
            let help = "let one agent do both, as with `agent: {same_as: STEP}`; what the other one made can be \
                        sent with `artifacts: STEP`";
            warnings.push(warning.at(other.span, "").help(help));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dag::{Edge, neighbours, order};

    fn references(keys: &[&str], edges: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let edges: Vec<Edge> = edges
            .iter()
            .map(|(from, to)| Edge { from: *from, to: *to, reasons: Vec::new() })
            .collect();
        let (dependencies, dependents) = neighbours(keys.len(), &edges);
        let keys: Vec<Option<&str>> = keys.iter().map(|key| Some(*key)).collect();
        nearest_ancestors(&keys, &order(keys.len(), &edges).unwrap(), &dependencies, &dependents)
    }

    #[test]
    fn the_nearest_ancestor_on_the_agent_hides_those_before_it() {
        let found = references(&["a", "b", "a", "b", "a"], &[(0, 1), (1, 2), (2, 3), (3, 4)]);
        assert_eq!(found, [vec![], vec![], vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn every_way_up_gives_its_own_nearest_ancestor() {
        let found = references(&["a", "a", "b", "b", "a"], &[(0, 2), (1, 3), (2, 4), (3, 4)]);
        assert_eq!(found[4], [0, 1]);
    }

    #[test]
    fn steps_that_are_no_ancestors_are_not_referred_to() {
        let found = references(&["a", "a", "b"], &[(0, 2)]);
        assert!(found.iter().all(Vec::is_empty));
    }

    #[test]
    fn a_wide_join_gives_no_more_than_the_cap() {
        let width = 2 * MAX_REFERENCES;
        let mut keys = vec!["a"; width];
        keys.extend(["b", "a"]);
        let mut edges: Vec<(usize, usize)> = (0..width).map(|step| (step, width)).collect();
        edges.push((width, width + 1));
        assert_eq!(references(&keys, &edges)[width + 1].len(), MAX_REFERENCES);
    }

    /// Walks up from every step on its own.
    fn naive(keys: &[&str], edges: &[(usize, usize)], step: usize) -> Vec<usize> {
        let above =
            |step: usize| edges.iter().filter(move |(_, to)| *to == step).map(|(from, _)| *from);
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut pending: Vec<usize> = above(step).collect();
        while let Some(next) = pending.pop() {
            if seen.insert(next) {
                if keys[next] == keys[step] {
                    found.insert(next);
                } else {
                    pending.extend(above(next));
                }
            }
        }
        found.into_iter().collect()
    }

    proptest::proptest! {
        #[test]
        fn the_walk_down_finds_what_walking_up_finds(
            keys in proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c"]), 1..14),
            pairs in proptest::collection::btree_set((0_usize..14, 0_usize..14), 0..40),
        ) {
            let edges: Vec<(usize, usize)> =
                pairs.into_iter().filter(|(from, to)| from < to && *to < keys.len()).collect();
            let found = references(&keys, &edges);
            for (step, found) in found.iter().enumerate() {
                proptest::prop_assert_eq!(found, &naive(&keys, &edges, step));
            }
        }
    }
}
