use std::collections::BTreeMap;
use std::sync::Arc;

use document::Source;
use serde_json::json;

use super::*;
use crate::check;
use crate::result::{StepResult, StepState};
use crate::scope::Item;

/// What `for_each` of the second step gives.
fn items(for_each: &str) -> Result<Option<Vec<Json>>, ExpressionError> {
    let text = format!(
        "convoke: 1\nname: w\ninputs: {{topics: {{}}}}\nsteps:\n  a: {{agent: x}}\n  b:\n    agent: x\n    {for_each}\n"
    );
    let workflow = check(&Source::new("w.yaml", &text)).unwrap();
    evaluate_items(&workflow, 1, &scope(&json!(["ice", {"n": 1}, 2])))
}

/// What `when` of the second step gives.
fn when(when: &str) -> Result<bool, String> {
    let text = format!(
        "convoke: 1\nname: w\ninputs: {{topics: {{}}}}\nsteps:\n  a: {{agent: x}}\n  b:\n    agent: x\n    {when}\n"
    );
    let workflow = check(&Source::new("w.yaml", &text)).unwrap();
    evaluate_when(&workflow, 1, &scope(&json!("ice"))).map_err(|error| error.to_string())
}

#[test]
fn when_is_true_or_false_and_nothing_else() {
    assert_eq!(when("when: inputs.topics | length > 2"), Ok(true));
    assert_eq!(when("when: '${{ steps.a.state == \"x\" }}'"), Ok(false));
    assert_eq!(when("when: false"), Ok(false));
    assert_eq!(when("when: steps.a.text is defined"), Ok(false));
    assert_eq!(when("message: hi"), Ok(true), "without one");
    insta::assert_snapshot!(when("when: inputs.topics").unwrap_err(), @r#"w.yaml:8:11: `when` must give true or false, not "ice" (compare it, as in `steps.a.text == "yes"`, or test it, as in `steps.a.data is defined`)"#);
}

/// What `until` of a step gives over an answer.
fn until(until: &str, answer: &str) -> Result<bool, String> {
    let text = format!(
        "convoke: 1\nname: w\nsteps:\n  a:\n    agent: x\n    outputs: {{n: 1}}\n    repeat: {{until: {until}, max: 2}}\n"
    );
    let workflow = check(&Source::new("w.yaml", &text)).unwrap();
    let message = protocol::v1::Message::agent(vec![protocol::v1::Part::text(answer)]);
    let this = StepResult { message: Some(message), ..StepResult::new(StepState::Completed) };
    let scope = Scope { this: Some(Arc::new(this)), ..Scope::default() };
    evaluate_until(&workflow, 0, &scope).map_err(|error| error.to_string())
}

#[test]
fn until_is_true_or_false_of_an_answer() {
    assert_eq!(until("this.text == 'good'", "good"), Ok(true));
    assert_eq!(until("this.text == 'good'", "bad"), Ok(false));
    insta::assert_snapshot!(until("this.text", "bad").unwrap_err(), @r#"w.yaml:7:21: `until` must give true or false, not "bad" (compare it, as in `this.data.score > 7`, or test it, as in `"done" in this.text`)"#);
    insta::assert_snapshot!(until("this.data.n > 1", "bad").unwrap_err(), @r#"w.yaml:7:25: `.data.n` is undefined (where a value may be missing, say what to use then: `… | default("none")`)"#);
}

fn scope(topics: &Json) -> Scope {
    Scope {
        inputs: Arc::new(json!({"topics": topics}).as_object().unwrap().clone()),
        steps: BTreeMap::from([("a".to_owned(), Arc::new(StepResult::new(StepState::Completed)))]),
        ..Scope::default()
    }
}

#[test]
fn items_come_from_an_expression_or_stand_in_the_file() {
    let given = Some(vec![json!("ice"), json!({"n": 1}), json!(2)]);
    assert_eq!(items("for_each: inputs.topics").unwrap(), given);
    assert_eq!(items("for_each: ${{ inputs.topics }}").unwrap(), given);
    let written = items("for_each: [one, \"${{ steps.a.state }}\"]").unwrap();
    assert_eq!(written, Some(vec![json!("one"), json!("completed")]));
    assert_eq!(items("for_each: []").unwrap(), Some(Vec::new()));
    assert_eq!(items("message: hi").unwrap(), None);
}

#[test]
fn what_is_no_list_is_an_error_with_its_place() {
    let error = items("for_each: steps.a.state").unwrap_err();
    insta::assert_snapshot!(error, @"w.yaml:8:15: `for_each` must give a list, not a text (make one of it, as in `steps.a.text | lines` or `inputs.pairs | items`)");
    assert_eq!(error.diagnostic.code, "expression::not-a-list");
}

#[test]
fn more_items_than_a_step_may_have_are_an_error_of_their_own() {
    let exactly = items(&format!("for_each: range({MAX_ITEMS})")).unwrap();
    assert_eq!(exactly.map(|items| items.len()), Some(MAX_ITEMS));
    let error = items(&format!("for_each: range({MAX_ITEMS} + 1)")).unwrap_err();
    assert_eq!(error.diagnostic.code, "expression::too-many-items");
    insta::assert_snapshot!(error, @"w.yaml:8:15: `for_each` gives 10001 items (a step runs for at most 10000: let an item hold several)");
}

#[test]
fn a_message_sees_the_item_and_its_number() {
    let text = "convoke: 1\nname: w\nsteps:\n  b:\n    agent: x\n    for_each: [a, b]\n    message:\n      - text: ${{ index }} is ${{ item.name }}\n      - data: ${{ item }}\n";
    let workflow = check(&Source::new("w.yaml", text)).unwrap();
    let item = Item { value: Arc::new(json!({"name": "ice"})), index: 7 };
    let scope = Scope { item: Some(item), ..Scope::default() };
    let parts = crate::render_message(&workflow, 0, &scope).unwrap();
    let parts = serde_json::to_value(parts).unwrap();
    assert_eq!(parts, json!([{"text": "7 is ice"}, {"data": {"name": "ice"}}]));
}
