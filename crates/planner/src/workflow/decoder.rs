//! Reads values out of a YAML tree and collects every problem on the way, instead of stopping at
//! the first.

use std::time::Duration;

use document::{Diagnostic, Entry, Node, Source, Span, Value, nearest};

use registry::is_media_type;

use super::duration;
use crate::expression::is_template;
use crate::language::Place;

/// Beyond this many problems hints are no longer searched for: they cost more than anyone would
/// read.
const MAX_HINTED: usize = 200;

/// Collects problems while values are read.
pub(super) struct Decoder<'s> {
    pub(super) source: &'s Source,
    pub(super) problems: Vec<Diagnostic>,
}

/// The entries of a mapping whose keys have been checked.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n> {
    entries: &'n [Entry],
    place: Place,
}

impl<'n> Fields<'n> {
    /// The entry of a key, which must be in the table of the language: what is not described there
    /// cannot be read.
    pub(super) fn entry(&self, key: &str) -> Option<&'n Entry> {
        debug_assert!(self.place.field(key).is_some(), "the language has no `{key}` here");
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }
}

impl<'s> Decoder<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        Decoder { source, problems: Vec::new() }
    }

    pub(super) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Reads a mapping with a closed set of keys.
    pub(super) fn fields<'n>(&mut self, node: &'n Node, what: &str, place: Place) -> Fields<'n> {
        let Value::Mapping(entries) = &node.value else {
            let help = format!("write `KEY: VALUE` with keys of these: {}", listed(place));
            self.expected(node, what, "a mapping", &help);
            return Fields { entries: &[], place };
        };
        for entry in entries.iter().filter(|entry| place.field(&entry.key).is_none()) {
            self.unknown_key(entry, what, place);
        }
        Fields { entries, place }
    }

    fn unknown_key(&mut self, entry: &Entry, what: &str, place: Place) {
        let help = match self.nearest(&entry.key, place.keys()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys: {}", listed(place)),
        };
        let message = format!("`{}` is not a key of {what}", entry.key);
        self.report(
            Diagnostic::error("workflow::unknown-key", message)
                .at(entry.key_span, "unknown key")
                .help(help),
        );
    }

    /// The candidate a mistyped name most probably stands for.
    pub(super) fn nearest<'c>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        if self.problems.len() < MAX_HINTED { nearest(word, candidates) } else { None }
    }

    /// Reads the entries of a mapping whose keys are names that the author chose.
    pub(super) fn entries<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Entry] {
        match &node.value {
            Value::Mapping(entries) => entries,
            Value::Null => &[],
            _ => {
                let help = "write `NAME: …` for each, without `-`";
                self.expected(node, what, "a mapping", help);
                &[]
            }
        }
    }

    pub(super) fn expected(&mut self, node: &Node, what: &str, expected: &str, help: &str) {
        let help = match &node.value {
            Value::Null => "give it a value, or take the key away",
            _ => help,
        };
        let message = format!("{what} must be {expected}, not {}", node.kind());
        self.report(
            Diagnostic::error("workflow::wrong-type", message)
                .at(node.head_span(), format!("{expected} goes here"))
                .help(help),
        );
    }

    pub(super) fn missing(&mut self, at: Span, what: &str, key: &str, help: &str) {
        let message = format!("{what} has no `{key}`");
        self.report(
            Diagnostic::error("workflow::missing-key", message)
                .at(at, format!("`{key}` is missing"))
                .help(help),
        );
    }

    pub(super) fn invalid(&mut self, at: Span, message: String, help: &str) {
        self.report(Diagnostic::error("workflow::invalid-value", message).at(at, "").help(help));
    }

    pub(super) fn string(&mut self, node: &Node, what: &str) -> Option<String> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            _ => {
                let help = match &node.value {
                    Value::Number(_) | Value::Bool(_) => "put it in quotes",
                    _ => "write one text, in quotes where it holds signs of YAML",
                };
                self.expected(node, what, "a string", help);
                None
            }
        }
    }

    /// Reads a string that is taken as it is written: an expression in it would be sent on, or looked
    /// for, as text.
    pub(super) fn literal(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.string(node, what)?;
        if is_template(&text) {
            let message = format!("{what} takes no expression");
            self.invalid(node.span, message, "write the text itself");
            return None;
        }
        Some(text)
    }

    /// Reads a string that names something.
    pub(super) fn name(&mut self, node: &Node, what: &str) -> Option<String> {
        let name = self.literal(node, what)?;
        if name.trim().is_empty() {
            self.invalid(
                node.span,
                format!("{what} is empty"),
                "give a name, or take the key away",
            );
            return None;
        }
        Some(name)
    }

    /// Reads a media type.
    pub(super) fn media_type(&mut self, node: &Node, what: &str) -> Option<String> {
        let text = self.literal(node, what)?;
        if !is_media_type(&text) {
            let message = format!("`{text}` is no media type");
            self.invalid(node.span, message, "write it as in `text/plain` or `application/json`");
        }
        Some(text)
    }

    /// Reads a list of strings; each with its node for positions.
    pub(super) fn strings<'n>(&mut self, node: &'n Node, what: &str) -> Vec<(String, &'n Node)> {
        let Value::Sequence(items) = &node.value else {
            let help = match node.as_str() {
                Some(text) => format!("write it as a list: `[{text}]`"),
                None => "write it as a list, as in `[one, two]`".to_owned(),
            };
            self.expected(node, what, "a list of strings", &help);
            return Vec::new();
        };
        let item_name = format!("each item of {what}");
        items.iter().filter_map(|item| Some((self.string(item, &item_name)?, item))).collect()
    }

    pub(super) fn integer(
        &mut self,
        node: &Node,
        what: &str,
        least: u64,
        most: u64,
    ) -> Option<u64> {
        let expected = format!("a whole number from {least} to {most}");
        let Value::Number(number) = &node.value else {
            let is_like_one = node.as_str().is_some_and(|text| {
                text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
            });
            let help = match is_like_one {
                true => {
                    "write decimal digits only, without quotes, `_`, a sign or zeros before them"
                }
                false => "write a number in digits",
            };
            self.expected(node, what, &expected, help);
            return None;
        };
        match number.as_u64().filter(|value| (least..=most).contains(value)) {
            Some(value) => Some(value),
            None => {
                self.invalid(
                    node.span,
                    format!("{what} must be {expected}, not {number}"),
                    "write a whole number of that range, in digits",
                );
                None
            }
        }
    }

    pub(super) fn duration(&mut self, node: &Node, what: &str) -> Option<Duration> {
        const HELP: &str =
            "write a number with its unit: ms, s, m, h or d, as in 500ms, 30s, 5m or 1h30m";
        let Value::String(text) = &node.value else {
            self.expected(node, what, "a duration", HELP);
            return None;
        };
        match duration::parse(text) {
            Ok(duration) => Some(duration),
            Err(why) => {
                self.invalid(node.span, format!("{what} is no duration: {why}"), HELP);
                None
            }
        }
    }

    pub(super) fn flag(&mut self, node: &Node, what: &str) -> Option<bool> {
        match &node.value {
            Value::Bool(flag) => Some(*flag),
            _ => {
                self.expected(
                    node,
                    what,
                    "true or false",
                    "write `true` or `false`, without quotes",
                );
                None
            }
        }
    }

    /// Reads one of a closed set of words.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        options: &[(&str, T)],
    ) -> Option<T> {
        let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
        let listed = format!("one of: {}", names.join(", "));
        let Some(text) = node.as_str() else {
            self.expected(node, what, "a word", &listed);
            return None;
        };
        if let Some((_, value)) = options.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let help = match self.nearest(text, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => listed,
        };
        self.invalid(node.span, format!("`{text}` is no value of {what}"), &help);
        None
    }
}

fn listed(place: Place) -> String {
    place.keys().collect::<Vec<_>>().join(", ")
}
