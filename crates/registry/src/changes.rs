use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One place in which two versions of a card differ.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CardChange {
    /// A JSON pointer (RFC 6901), in which an item of a list that has an `id`, a `name` or a `url`
    /// is called by it and not by its place.
    pub pointer: String,
    /// What was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

impl fmt::Display for CardChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "~ {}: {old} → {new}", self.pointer),
            (Some(old), None) => write!(f, "- {}: {old}", self.pointer),
            (None, Some(new)) => write!(f, "+ {}: {new}", self.pointer),
            (None, None) => write!(f, "  {}", self.pointer),
        }
    }
}

/// Every place in which two versions of a card differ, in the order of their pointers.
#[must_use]
pub fn changes(old: &Value, new: &Value) -> Vec<CardChange> {
    let mut found = Vec::new();
    compare("", Some(old), Some(new), &mut found);
    found.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    found
}

fn compare(pointer: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<CardChange>) {
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => members(pointer, old, new, found),
        (Some(Value::Array(old)), Some(Value::Array(new))) => items(pointer, old, new, found),
        (old, new) if old == new => {}
        (old, new) => found.push(CardChange {
            pointer: pointer.to_owned(),
            old: old.cloned(),
            new: new.cloned(),
        }),
    }
}

fn members(
    pointer: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    found: &mut Vec<CardChange>,
) {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        compare(&below(pointer, key), old.get(key), new.get(key), found);
    }
}

/// Items are matched by what they are called, so that one which is inserted is one difference.
fn items(pointer: &str, old: &[Value], new: &[Value], found: &mut Vec<CardChange>) {
    let (named_old, named_new) = (named(old), named(new));
    let (Some(named_old), Some(named_new)) = (named_old, named_new) else {
        return lists(pointer, old, new, found);
    };
    let names: BTreeSet<&str> = named_old.iter().chain(&named_new).map(|it| it.0).collect();
    let of = |list: &[(&str, &Value)], name: &str| -> Option<Value> {
        list.iter().find(|it| it.0 == name).map(|it| it.1.clone())
    };
    for name in names {
        let (old, new) = (of(&named_old, name), of(&named_new, name));
        compare(&below(pointer, name), old.as_ref(), new.as_ref(), found);
    }
}

/// Lists of plain values: what came and what went; their order when that is all.
fn lists(pointer: &str, old: &[Value], new: &[Value], found: &mut Vec<CardChange>) {
    let is_plain = |list: &[Value]| list.iter().all(|it| !it.is_object() && !it.is_array());
    let gone: Vec<&Value> = old.iter().filter(|it| !new.contains(it)).collect();
    let come: Vec<&Value> = new.iter().filter(|it| !old.contains(it)).collect();
    if !is_plain(old) || !is_plain(new) || (gone.is_empty() && come.is_empty()) {
        let (old, new) = (Value::from(old.to_vec()), Value::from(new.to_vec()));
        if old != new {
            let pointer = pointer.to_owned();
            found.push(CardChange { pointer, old: Some(old), new: Some(new) });
        }
        return;
    }
    let change = |old: Option<&Value>, new: Option<&Value>| CardChange {
        pointer: pointer.to_owned(),
        old: old.cloned(),
        new: new.cloned(),
    };
    found.extend(gone.into_iter().map(|it| change(Some(it), None)));
    found.extend(come.into_iter().map(|it| change(None, Some(it))));
}

/// What each item is called, when all are called something, each differently.
fn named(list: &[Value]) -> Option<Vec<(&str, &Value)>> {
    let name = |item: &'_ Value| {
        ["id", "name", "url"]
            .iter()
            .find_map(|key| item.get(key)?.as_str().map(str::len).map(|_| *key))
    };
    let mut names = BTreeSet::new();
    list.iter()
        .map(|item| {
            let called = item.get(name(item)?)?.as_str()?;
            names.insert(called).then_some((called, item))
        })
        .collect()
}

fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Value, changes};

    fn shown(old: &Value, new: &Value) -> Vec<String> {
        changes(old, new).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_difference_is_named_by_its_place() {
        let old = json!({
            "name": "a", "version": "1", "gone": true,
            "skills": [{"id": "book", "tags": ["x", "y"]}, {"id": "cancel"}],
            "supportedInterfaces": [{"url": "https://a.example/a/b", "protocolBinding": "GRPC"}]
        });
        let new = json!({
            "name": "a", "version": "2", "come": {"deep": 1},
            "skills": [{"id": "first"}, {"id": "book", "tags": ["y", "z"]}],
            "supportedInterfaces": [{"url": "https://a.example/a/b", "protocolBinding": "JSONRPC"}]
        });
        assert_eq!(
            shown(&old, &new),
            [
                r#"+ /come: {"deep":1}"#,
                "- /gone: true",
                r#"- /skills/book/tags: "x""#,
                r#"+ /skills/book/tags: "z""#,
                r#"- /skills/cancel: {"id":"cancel"}"#,
                r#"+ /skills/first: {"id":"first"}"#,
                r#"~ /supportedInterfaces/https:~1~1a.example~1a~1b/protocolBinding: "GRPC" → "JSONRPC""#,
                r#"~ /version: "1" → "2""#,
            ]
        );
        assert!(shown(&old, &old).is_empty());
    }

    #[test]
    fn lists_without_names_are_shown_whole_when_nothing_else_tells_them_apart() {
        assert_eq!(shown(&json!([1, 2]), &json!([2, 1])), ["~ : [1,2] → [2,1]"]);
        assert_eq!(shown(&json!([[1]]), &json!([[2]])), ["~ : [[1]] → [[2]]"]);
        let twins = json!([{"id": "a"}, {"id": "a"}]);
        assert_eq!(shown(&twins, &json!([])).len(), 1);
    }
}
