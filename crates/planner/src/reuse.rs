//! `cache`: what makes two steps equal, so that one may have the result of the other.

use std::time::Duration;

use protocol::v1::Part;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::expression::{Context, Expression, ExpressionError};
use crate::render::{render_message, render_metadata};
use crate::scope::{Item, Scope};
use crate::turn::evaluate_items;
use crate::workflow::Workflow;

/// Says that a step may have the result of an equal one, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// How long a result may be reused, from its completion on.
    pub ttl: Duration,
    /// What steps must have in common to be equal; without it, all that they send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Expression>,
}

/// Evaluates what a step must have in common with another one to have its result; none for a step without `cache`.
///
/// It is about the step as a whole: without a `key` of its own, the Messages of all its items.
///
/// # Errors
/// An expression fails, or a Message cannot be made.
pub fn evaluate_cache_key(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<Option<Json>, ExpressionError> {
    let Some(cache) = &workflow.steps[step].cache else { return Ok(None) };
    if let Some(key) = &cache.key {
        let key = key.evaluate(scope, &Context::new(scope), &workflow.source)?;
        return Ok(Some(json!({ "key": key })));
    }
    let Some(items) = evaluate_items(workflow, step, scope)? else {
        return Ok(Some(json!({"message": said(workflow, step, scope)?})));
    };
    let mut scope = scope.clone();
    let mut messages = Vec::with_capacity(items.len());
    for (index, value) in items.into_iter().enumerate() {
        scope.item = Some(Item { value: value.into(), index });
        messages.push(said(workflow, step, &scope)?);
    }
    Ok(Some(json!({ "messages": messages })))
}

/// All that a Message says.
fn said(
    workflow: &Workflow,
    step: usize,
    scope: &Scope,
) -> Result<(Vec<Part>, Map<String, Json>), ExpressionError> {
    Ok((render_message(workflow, step, scope)?, render_metadata(workflow, step, scope)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use document::Source;

    use super::*;

    fn key(fields: &str, city: &str) -> Json {
        let text = format!(
            "convoke: 1\nname: w\ninputs: {{city: {{}}}}\nsteps:\n  a: {{agent: x, {fields}}}\n"
        );
        let workflow = crate::check(&Source::new("w.yaml", &text)).unwrap();
        let inputs = Map::from_iter([("city".to_owned(), json!(city))]);
        let scope = Scope { inputs: Arc::new(inputs), ..Scope::default() };
        evaluate_cache_key(&workflow, 0, &scope).unwrap().unwrap()
    }

    #[test]
    fn steps_are_equal_that_send_the_same_or_have_the_same_key() {
        let whole = "message: 'To ${{ inputs.city }}', cache: {ttl: 1h}";
        assert_eq!(key(whole, "Oulu"), key(whole, "Oulu"));
        assert_ne!(key(whole, "Oulu"), key(whole, "Turku"));
        let keyed = "message: 'To ${{ inputs.city }}', cache: {ttl: 1h, key: inputs.city | length}";
        assert_eq!(key(keyed, "Oulu"), key(keyed, "Pori"));
        assert_ne!(key(keyed, "Oulu"), key(keyed, "Turku"));
        let told = "message: hi, metadata: {city: '${{ inputs.city }}'}, cache: {ttl: 1h}";
        assert_ne!(key(told, "Oulu"), key(told, "Turku"), "metadata is sent as well");
    }

    #[test]
    fn of_a_step_with_items_the_messages_of_all_of_them_count() {
        let each =
            "message: '${{ item }} of ${{ inputs.city }}', for_each: [map, plan], cache: {ttl: 1h}";
        assert_eq!(key(each, "Oulu")["messages"].as_array().map(Vec::len), Some(2));
        assert_ne!(key(each, "Oulu"), key(each, "Turku"));
    }
}
