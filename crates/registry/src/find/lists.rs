//! Sorted lists of agents' numbers: what is in both, and what is in either.

/// What is in both lists. Costs the shorter one, times the logarithm of the gaps in the longer one.
pub(crate) fn intersect(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut both = Vec::with_capacity(short.len());
    walk(short, long, |it| *it, |at| both.push(long[at]));
    both
}

/// Calls back for every number of both lists, with its place in the longer one.
pub(crate) fn walk<T>(
    short: &[u32],
    long: &[T],
    number_of: impl Fn(&T) -> u32,
    mut met: impl FnMut(usize),
) {
    let mut at = 0;
    for number in short {
        at += gallop(&long[at..], |it| number_of(it) < *number);
        match long.get(at) {
            Some(found) if number_of(found) == *number => met(at),
            Some(_) => {}
            None => return,
        }
    }
}

/// The place of the first that is not before what is looked for, in growing strides.
fn gallop<T>(list: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut stride = 1;
    while stride < list.len() && is_before(&list[stride]) {
        stride *= 2;
    }
    let from = stride / 2;
    let to = list.len().min(stride + 1);
    from + list[from..to].partition_point(is_before)
}

/// What is in any of the lists, once.
pub(crate) fn unite(lists: &[&[u32]]) -> Vec<u32> {
    let mut all = lists.concat();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn sorted(set: &BTreeSet<u32>) -> Vec<u32> {
        set.iter().copied().collect()
    }

    proptest! {
        #[test]
        fn lists_are_what_sets_are(
            a in proptest::collection::btree_set(0u32..200, 0..60),
            b in proptest::collection::btree_set(0u32..2_000, 0..400),
        ) {
            let both: Vec<u32> = a.intersection(&b).copied().collect();
            prop_assert_eq!(&intersect(&sorted(&a), &sorted(&b)), &both);
            prop_assert_eq!(&intersect(&sorted(&b), &sorted(&a)), &both);
            let either: Vec<u32> = a.union(&b).copied().collect();
            prop_assert_eq!(unite(&[&sorted(&a), &sorted(&b)]), either);
        }
    }
}
