//! Which agents meet several conditions, and which only some of them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Index;
use crate::Agent;
use crate::find::{Filter, intersect};

/// Agents by how many of several conditions they meet, each list in the order of their names.
#[derive(Debug, Default)]
pub struct Meeting<'a> {
    /// Those that meet all of them.
    pub all: Vec<&'a Arc<Agent>>,
    /// Those that meet at least one, but not all: of conditions that few agents meet first, as many as were wanted.
    pub some: Vec<&'a Arc<Agent>>,
    /// How many of the latter there are beyond these, at least.
    pub more: usize,
}

impl Index {
    /// The agents that meet these conditions, and at most `most` of those that meet only some. Costs what the conditions
    /// that few agents meet find, and the other lists only by the logarithm of what they hold.
    #[must_use]
    pub fn meeting(&self, conditions: &[Filter], most: usize) -> Meeting<'_> {
        let having = |filter| self.attributes.having(filter, &self.synonyms);
        let mut lists: Vec<Cow<'_, [u32]>> = conditions.iter().map(having).collect();
        lists.sort_by_key(|list| list.len());
        let Some((rarest, others)) = lists.split_first() else { return Meeting::default() };
        let mut all = rarest.to_vec();
        for list in others {
            all = intersect(&all, list);
        }
        let (mut some, mut more) = (BTreeSet::new(), 0);
        for number in lists.iter().flat_map(|list| list.iter()) {
            if all.binary_search(number).is_ok() || some.contains(number) {
                continue;
            }
            if some.len() == most {
                let longest = lists.last().map_or(0, |list| list.len()) - all.len();
                more = longest.saturating_sub(most).max(1);
                break;
            }
            some.insert(*number);
        }
        let agents =
            |numbers: &mut dyn Iterator<Item = u32>| numbers.map(|it| self.agent(it)).collect();
        Meeting { all: agents(&mut all.into_iter()), some: agents(&mut some.into_iter()), more }
    }

    /// A tag and those that mean the same, in lower case.
    #[must_use]
    pub fn meanings(&self, tag: &str) -> Vec<String> {
        let tag = crate::agent::fold(tag);
        let same = self.synonyms.of(&tag).map(str::to_owned);
        std::iter::once(tag.clone()).chain(same).collect()
    }
}
