//! Sorted lists of agents' numbers: what is in both, and what is in either.

/// What is in both lists. Costs the shorter one, times the logarithm of the gaps in the longer one.
pub(crate) fn intersect(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut both = Vec::with_capacity(short.len());
    walk(short, long, |_, _, number| both.push(number));
    both
}

/// Calls back for every number of both lists, with its place in each.
pub(crate) fn walk(short: &[u32], long: &[u32], mut met: impl FnMut(usize, usize, u32)) {
    let mut at = 0;
    for (place, number) in short.iter().enumerate() {
        at += gallop(&long[at..], *number);
        match long.get(at) {
            Some(found) if found == number => met(place, at, *number),
            Some(_) => {}
            None => return,
        }
    }
}

/// The place of the first number that is not smaller, looked for in growing strides.
fn gallop(list: &[u32], number: u32) -> usize {
    let mut stride = 1;
    while stride < list.len() && list[stride] < number {
        stride *= 2;
    }
    let from = stride / 2;
    let to = list.len().min(stride + 1);
    from + list[from..to].partition_point(|it| *it < number)
}

/// What is in any of the lists, once.
pub(crate) fn unite(lists: &[&[u32]]) -> Vec<u32> {
    let mut all = lists.concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Two ranked lists as one: `both` makes one score of two.
pub(crate) fn merge(
    a: &[(u32, f32)],
    b: &[(u32, f32)],
    both: impl Fn(f32, f32) -> f32,
) -> Vec<(u32, f32)> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut left, mut right) = (0, 0);
    while let (Some(one), Some(other)) = (a.get(left), b.get(right)) {
        match one.0.cmp(&other.0) {
            std::cmp::Ordering::Less => merged.push(*one),
            std::cmp::Ordering::Greater => merged.push(*other),
            std::cmp::Ordering::Equal => merged.push((one.0, both(one.1, other.1))),
        }
        left += usize::from(one.0 <= other.0);
        right += usize::from(other.0 <= one.0);
    }
    merged.extend_from_slice(&a[left..]);
    merged.extend_from_slice(&b[right..]);
    merged
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

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

        #[test]
        fn merged_scores_are_what_maps_are(
            a in proptest::collection::btree_map(0u32..100, 0u8..50, 0..60),
            b in proptest::collection::btree_map(0u32..100, 0u8..50, 0..60),
        ) {
            let list = |map: &BTreeMap<u32, u8>| -> Vec<(u32, f32)> {
                map.iter().map(|(number, score)| (*number, f32::from(*score))).collect()
            };
            let mut sum: BTreeMap<u32, f32> = list(&a).into_iter().collect();
            for (number, score) in list(&b) {
                *sum.entry(number).or_default() += score;
            }
            let merged = merge(&list(&a), &list(&b), |one, other| one + other);
            prop_assert_eq!(merged, sum.into_iter().collect::<Vec<_>>());
        }
    }
}
