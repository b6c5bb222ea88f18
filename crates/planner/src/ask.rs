//! A step that asks a person: what is asked, and what an answer is worth.

use std::time::Duration;

use protocol::v1::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::expression::{Context, ExpressionError};
use crate::result::{StepResult, StepState, first_data, message_text};
use crate::schema::Schema;
use crate::scope::Scope;
use crate::template::Template;
use crate::workflow::Workflow;

/// How long a pause may last, unless the workflow says otherwise.
pub const DEFAULT_PAUSE_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Says what a step asks, and what the answer has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The question.
    pub question: Template,
    /// What the answer has to fit; anything when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
}

impl Ask {
    /// What the step yields with this answer: its texts are the `text`, its first data Part, or else its text, read
    /// as the schema has it, is the `data`.
    ///
    /// # Errors
    /// When the answer does not fit the schema: where and why, for whoever answered.
    pub fn answered(&self, said: Message) -> Result<StepResult, String> {
        let Some(schema) = &self.schema else { return Ok(completed(said, None)) };
        let data = first_data(&said.parts).cloned();
        let of_text = || message_text(&said).map(|text| value_of(schema, text));
        let Some(value) = data.clone().or_else(of_text) else {
            return Err("it holds neither text nor data".to_owned());
        };
        let mismatches = schema.mismatches(&value);
        if !mismatches.is_empty() {
            return Err(mismatches.join("; "));
        }
        Ok(completed(said, data.is_none().then_some(value)))
    }
}

fn completed(said: Message, computed: Option<Json>) -> StepResult {
    let result = StepResult::new(StepState::Completed);
    StepResult { message: Some(said), computed, ..result }
}

/// A text as the schema has it: JSON, unless it asks for text.
fn value_of(schema: &Schema, text: String) -> Json {
    let is_of_text = schema.json.get("type").is_some_and(|kind| kind == "string");
    match serde_json::from_str(&text) {
        Ok(value) if !is_of_text => value,
        _ => Json::String(text),
    }
}

/// Evaluates the question of a step; none for a step that asks nobody.
///
/// # Errors
/// An expression fails.
pub fn evaluate_question(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Option<String>, ExpressionError> {
    let Some(ask) = &workflow.steps[step].ask else { return Ok(None) };
    ask.question.render(scope, &Context::new(scope), &workflow.source).map(Some)
}

#[cfg(test)]
mod tests {
    use protocol::v1::Part;
    use serde_json::json;

    use super::*;
    use crate::inputs::data_part;

    fn asking(schema: Option<Json>) -> Ask {
        let schema = schema.map(|it| Schema::new(it, document::Span { start: 0, end: 0 }).unwrap());
        Ask { question: Template::Literal(json!("How many?")), schema }
    }

    fn said(part: Part) -> Message {
        Message::user(vec![part])
    }

    #[test]
    fn an_answer_becomes_text_and_data() {
        let any = asking(None);
        let yes = any.answered(said(Part::text("yes"))).unwrap();
        assert_eq!((yes.text().as_deref(), yes.data()), (Some("yes"), None));
        let data = any.answered(said(data_part(json!({"n": 1})))).unwrap();
        assert_eq!(data.data(), Some(&json!({"n": 1})));
        let number = asking(Some(json!({"type": "integer"})));
        let seven = number.answered(said(Part::text("7"))).unwrap();
        assert_eq!((seven.text().as_deref(), seven.data()), (Some("7"), Some(&json!(7))));
        let text = asking(Some(json!({"type": "string"})));
        let seven = text.answered(said(Part::text("7"))).unwrap();
        assert_eq!(seven.data(), Some(&json!("7")));
        let word = asking(Some(json!({"enum": ["yes", "no"]})));
        assert_eq!(word.answered(said(Part::text("no"))).unwrap().data(), Some(&json!("no")));
    }

    #[test]
    fn an_answer_that_does_not_fit_says_where_and_why() {
        let schema = json!({"type": "object", "properties": {"n": {"maximum": 3}}});
        let ask = asking(Some(schema));
        let why = |part| ask.answered(said(part)).unwrap_err();
        assert_eq!(
            why(data_part(json!({"n": 4}))),
            "`/n` does not fit: 4 is greater than the maximum of 3"
        );
        assert_eq!(
            why(Part::text(r#"{"n": 4}"#)),
            "`/n` does not fit: 4 is greater than the maximum of 3"
        );
        assert_eq!(
            why(Part::text("four")),
            r#"the whole must be an object, not the string "four""#
        );
        assert_eq!(why(Part::default()), "it holds neither text nor data");
    }
}
