//! Words that many agents have: whether one has it, and where that stands in the list, without looking through the list.

use std::collections::HashMap;

/// A word is dense when more than one agent of so many has it. Fewer would cost more memory than their lists do.
const SPARSE: usize = 32;

/// The dense words of an index.
#[derive(Default)]
pub(super) struct DenseWords(HashMap<u32, Places>);

/// Where each agent stands in the sorted list of those that have a word.
pub(super) struct Places {
    /// A bit per agent.
    bits: Vec<u64>,
    /// Per 64 agents, how many of the list come before them.
    before: Vec<u32>,
}

impl DenseWords {
    /// Adds a word of an index of so many agents, if it is dense.
    pub(super) fn add(
        &mut self,
        term: u32,
        count: usize,
        list: impl ExactSizeIterator<Item = u32>,
    ) {
        if list.len() > count / SPARSE {
            self.0.insert(term, Places::of(count, list));
        }
    }

    pub(super) fn get(&self, term: u32) -> Option<&Places> {
        self.0.get(&term)
    }
}

impl Places {
    fn of(count: usize, list: impl Iterator<Item = u32>) -> Self {
        let mut bits = vec![0_u64; count.div_ceil(64)];
        list.for_each(|agent| bits[agent as usize / 64] |= 1 << (agent % 64));
        let mut sum = 0;
        let before = bits.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        });
        Self { before: before.collect(), bits }
    }

    /// How many of the list come before an agent, and whether it is there itself.
    #[inline]
    pub(super) fn place(&self, agent: u32) -> (u32, bool) {
        let (word, bit) = (agent as usize / 64, 1_u64 << (agent % 64));
        let bits = self.bits[word];
        (self.before[word] + (bits & (bit - 1)).count_ones(), bits & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_is_dense_when_more_than_one_agent_of_thirty_two_has_it() {
        let mut words = DenseWords::default();
        words.add(1, 320, 0..10);
        words.add(2, 320, 0..11);
        assert!(words.get(1).is_none() && words.get(2).is_some());
    }

    proptest! {
        #[test]
        fn places_are_those_of_the_list(set in proptest::collection::btree_set(0_u32..300, 0..200)) {
            let list: Vec<u32> = BTreeSet::into_iter(set).collect();
            let places = Places::of(300, list.iter().copied());
            for agent in 0..300 {
                let (place, is_there) = places.place(agent);
                let expected = list.binary_search(&agent);
                prop_assert_eq!(is_there, expected.is_ok());
                prop_assert_eq!(place as usize, expected.unwrap_or_else(|place| place));
            }
        }
    }
}
