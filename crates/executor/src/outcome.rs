//! What can be decided about a Message that an agent must not get twice, and may have got.

use protocol::v1::{Message, Part, part::Content};
use serde_json::{Value, json};

/// What is to be done. It is said by a data Part `{"outcome": "resend"}`, `{"outcome": "failed"}` or
/// `{"outcome": "task", "task": "ID"}`, or by the text `resend`, `failed` or `task ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is sent once more, under the same messageId.
    Resend,
    /// The attempt has failed.
    Failed,
    /// The agent has made the Task with this id of it, which is followed.
    Task(String),
}

impl Decision {
    /// What a Message says; `None` when it says nothing of the kind, or several things.
    #[must_use]
    pub fn of(said: &Message) -> Option<Self> {
        let [part] = said.parts.as_slice() else { return None };
        match &part.content {
            Some(Content::Data(data)) => Self::of_data(&data.0),
            Some(Content::Text(text)) => Self::of_text(text),
            _ => None,
        }
    }

    fn of_data(data: &Value) -> Option<Self> {
        match (data.get("outcome")?.as_str()?, data.get("task").map(Value::as_str)) {
            ("resend", None) => Some(Self::Resend),
            ("failed", None) => Some(Self::Failed),
            ("task", Some(Some(id))) if !id.is_empty() => Some(Self::Task(id.to_owned())),
            _ => None,
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        match (words.next()?, words.next(), words.next()) {
            ("resend", None, _) => Some(Self::Resend),
            ("failed", None, _) => Some(Self::Failed),
            ("task", Some(id), None) => Some(Self::Task(id.to_owned())),
            _ => None,
        }
    }

    /// The Part that says so.
    #[must_use]
    pub fn part(&self) -> Part {
        Part::data(match self {
            Self::Resend => json!({"outcome": "resend"}),
            Self::Failed => json!({"outcome": "failed"}),
            Self::Task(id) => json!({"outcome": "task", "task": id}),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(parts: Vec<Part>) -> Option<Decision> {
        Decision::of(&Message::user(parts))
    }

    #[test]
    fn a_decision_is_a_part_and_can_be_typed() {
        let task = Decision::Task("t 1".to_owned());
        for decision in [Decision::Resend, Decision::Failed, task] {
            assert_eq!(said(vec![decision.part()]), Some(decision));
        }
        let typed = |text: &str| said(vec![Part::text(text)]);
        assert_eq!(typed(" resend\n"), Some(Decision::Resend));
        assert_eq!(typed("failed"), Some(Decision::Failed));
        assert_eq!(typed("task t1"), Some(Decision::Task("t1".to_owned())));
    }

    #[test]
    fn what_is_not_clear_decides_nothing() {
        for text in ["", "yes", "task", "task a b", "resend it", "Failed"] {
            assert_eq!(said(vec![Part::text(text)]), None, "{text}");
        }
        for data in [
            json!({"outcome": "task"}),
            json!({"outcome": "task", "task": ""}),
            json!({"outcome": "resend", "task": "t"}),
            json!({"outcome": "later"}),
            json!("resend"),
        ] {
            assert_eq!(said(vec![Part::data(data.clone())]), None, "{data}");
        }
        assert_eq!(said(vec![Part::text("resend"), Part::text("failed")]), None);
    }
}
