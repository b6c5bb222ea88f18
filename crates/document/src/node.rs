use serde_json::{Map, Number};

use crate::Span;

mod locate;

pub use locate::Locator;

/// Holds one value of a document and where it was written.
///
/// What an alias stands for keeps the place of its definition, since its text is there.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Where: of a scalar its text with quotes, of a mapping or sequence its first to last part.
    pub span: Span,
    /// What.
    pub value: Value,
}

/// Holds the value of a [`Node`]: what JSON can say, and nothing else.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Nothing: an empty value, `null` or `~`.
    Null,
    /// `true` or `false`, in these spellings only.
    Bool(bool),
    /// A plain scalar that is a JSON number.
    Number(Number),
    /// Any other scalar, with quotes and escapes resolved.
    String(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in the order written; no key twice.
    Mapping(Vec<Entry>),
}

/// Holds one key of a mapping with its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The key as text; a key such as `1` or `true` is its spelling.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value as JSON, without places.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::String(text) => text.as_str().into(),
            Value::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Value::Mapping(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.to_json()))
                .collect::<Map<_, _>>()
                .into(),
        }
    }

    /// The value under a key of a mapping.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key of a mapping.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.as_mapping()?.iter().find(|entry| entry.key == key)
    }

    /// What the value is, for a message: `a mapping`, `a list`, `a string`, `a number`,
    /// `true or false`, `nothing`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }

    /// The text, when the value is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items, when the value is a list.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, when the value is a mapping.
    #[must_use]
    pub fn as_mapping(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value a JSON pointer (RFC 6901) names; the empty pointer names this one.
    #[must_use]
    pub fn at_pointer(&self, pointer: &str) -> Option<&Self> {
        segments(pointer)?
            .iter()
            .try_fold(self, |node, segment| node.child(segment).map(|(_, node)| node))
    }

    /// Where to point for a JSON pointer: the key of a mapping's value, an item of a list; for what
    /// is not there, the nearest enclosing thing that is.
    #[must_use]
    pub fn span_at_pointer(&self, pointer: &str) -> Span {
        let (mut node, mut span) = (self, self.head_span());
        for segment in segments(pointer).unwrap_or_default() {
            let Some((place, child)) = node.child(&segment) else {
                break;
            };
            (node, span) = (child, place);
        }
        span
    }

    /// A short place to point at for the whole value: its first key, or the value itself.
    #[must_use]
    pub fn head_span(&self) -> Span {
        match &self.value {
            Value::Mapping(entries) if !entries.is_empty() => entries[0].key_span,
            Value::Sequence(items) if !items.is_empty() => items[0].head_span(),
            _ => self.span,
        }
    }

    fn child(&self, segment: &str) -> Option<(Span, &Self)> {
        match &self.value {
            Value::Mapping(_) => self.entry(segment).map(|entry| (entry.key_span, &entry.value)),
            Value::Sequence(items) => {
                items.get(segment.parse::<usize>().ok()?).map(|item| (item.head_span(), item))
            }
            _ => None,
        }
    }
}

fn segments(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let unescape = |segment: &str| segment.replace("~1", "/").replace("~0", "~");
    Some(pointer.strip_prefix('/')?.split('/').map(unescape).collect())
}

#[cfg(test)]
mod tests;
