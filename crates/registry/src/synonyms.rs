use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::agent::fold;
use crate::find::of_query;

/// Knows which tags mean the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Synonyms {
    groups: Vec<Arc<BTreeSet<String>>>,
    of: HashMap<String, usize>,
    /// Per word, the tags that consist of it.
    stems: HashMap<String, Vec<String>>,
}

impl Synonyms {
    /// Takes groups of tags that mean the same; groups that share a tag are one.
    #[must_use]
    pub fn new<'a>(groups: impl IntoIterator<Item = &'a [String]>) -> Self {
        let mut united: Vec<BTreeSet<String>> = Vec::new();
        for group in groups {
            let tags = group.iter().map(|tag| fold(tag)).filter(|tag| !tag.is_empty());
            let mut one: BTreeSet<String> = tags.collect();
            united.retain_mut(|other| {
                let is_apart = other.is_disjoint(&one);
                if !is_apart {
                    one.append(other);
                }
                is_apart
            });
            if one.len() > 1 {
                united.push(one);
            }
        }
        let mut of = HashMap::new();
        for (number, group) in united.iter().enumerate() {
            of.extend(group.iter().map(|tag| (tag.clone(), number)));
        }
        let mut stems: HashMap<String, Vec<String>> = HashMap::new();
        for tag in of.keys() {
            if let [word] = &of_query(tag)[..] {
                stems.entry(word.clone()).or_default().push(tag.clone());
            }
        }
        Self { groups: united.into_iter().map(Arc::new).collect(), of, stems }
    }

    /// The other tags that mean what this one (in lower case) does, sorted.
    pub(crate) fn of<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a str> {
        let group = self.of.get(tag).map(|number| &self.groups[*number]);
        group
            .into_iter()
            .flat_map(|tags| tags.iter())
            .map(String::as_str)
            .filter(move |it| *it != tag)
    }

    /// The tags that mean what a word of a query says: `flight` stands for `flights` here.
    pub(crate) fn of_word<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let stems = self.stems.get(word).into_iter().flatten();
        stems.flat_map(|tag| self.of(tag))
    }

    /// Those of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let groups: Vec<Vec<String>> = self
            .groups()
            .chain(other.groups())
            .map(|tags| tags.iter().cloned().collect())
            .collect();
        Self::new(groups.iter().map(Vec::as_slice))
    }

    /// All groups, each sorted.
    pub fn groups(&self) -> impl Iterator<Item = &BTreeSet<String>> {
        self.groups.iter().map(AsRef::as_ref)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Synonyms;

    fn synonyms(groups: &[&[&str]]) -> Synonyms {
        let groups: Vec<Vec<String>> =
            groups.iter().map(|tags| tags.iter().map(|tag| (*tag).to_owned()).collect()).collect();
        Synonyms::new(groups.iter().map(Vec::as_slice))
    }

    #[test]
    fn a_tag_has_the_others_of_its_group_without_case() {
        let synonyms = synonyms(&[&["Flights", "air-travel"], &["rooms", "hotels"]]);
        assert_eq!(synonyms.of("flights").collect::<Vec<_>>(), ["air-travel"]);
        assert_eq!(synonyms.of("hotels").collect::<Vec<_>>(), ["rooms"]);
        assert_eq!(synonyms.of("spa").count(), 0);
    }

    #[test]
    fn groups_that_share_a_tag_are_one_and_a_tag_alone_is_none() {
        let synonyms = synonyms(&[&["a", "b"], &["c", "d"], &["b", "c", "e"], &["alone", "ALONE"]]);
        assert_eq!(synonyms.of("a").collect::<Vec<_>>(), ["b", "c", "d", "e"]);
        assert_eq!(synonyms.groups().count(), 1);
    }
}
