use document::Source;
use serde_json::json;

use super::*;
use crate::check;

fn workflow() -> Workflow {
    let text = r#"
convoke: 1
name: w
inputs:
  request: {type: string, from: text}
  travellers: {type: integer, minimum: 1, default: 2}
  extra: {type: [object, "null"], from: data, default: null, properties: {seat: {enum: [aisle, window]}}}
  passport: {from: file, default: {url: "https://x.example/p.pdf"}}
steps: {a: {agent: x}}
"#;
    check(&Source::new("w.yaml", text)).unwrap()
}

fn given(values: Json) -> Map<String, Json> {
    match values {
        Json::Object(map) => map,
        _ => unreachable!("tests give mappings"),
    }
}

fn problems(values: Json) -> String {
    let problems = workflow().check_inputs(given(values)).unwrap_err();
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn defaults_are_filled_in() {
    let values = workflow().check_inputs(given(json!({"request": "r"}))).unwrap();
    assert_eq!(
        Json::Object(values),
        json!({
            "request": "r", "travellers": 2, "extra": null, "passport": {"url": "https://x.example/p.pdf"}
        })
    );
}

#[test]
fn a_value_that_does_not_fit_is_named_with_what_was_expected_and_given() {
    insta::assert_snapshot!(problems(json!({
        "request": 7, "travellers": "two", "traveler": 1, "extra": {"seat": "roof"}, "passport": "p.pdf"
    })), @r#"
    the workflow has no input `traveler`: did you mean `travellers`?
    the input `request` must be a string, not the number 7
    the input `travellers` must be an integer, not the string "two"
    /seat of the input `extra` does not fit: "roof" is not one of "aisle" or "window"
    the input `passport` must be a file, not the string "p.pdf"
    "#);
    insta::assert_snapshot!(problems(json!({"request": "r", "travellers": 0})), @"the input `travellers` does not fit: 0 is less than the minimum of 1");
}

#[test]
fn a_missing_required_input_is_named() {
    insta::assert_snapshot!(problems(json!({})), @"the input `request` is required and has no value: give a string");
    assert!(workflow().check_inputs(Map::new()).unwrap_err()[0].is_missing);
}

#[test]
fn text_from_a_command_line_becomes_what_the_schema_asks_for() {
    let workflow = workflow();
    assert_eq!(workflow.input_from_text("travellers", "3"), json!(3));
    assert_eq!(workflow.input_from_text("request", "3"), json!("3"));
    assert_eq!(workflow.input_from_text("travellers", "two"), json!("two"));
    assert_eq!(
        workflow.input_from_text("extra", "{\"seat\": \"aisle\"}"),
        json!({"seat": "aisle"})
    );
}

#[test]
fn inputs_travel_as_parts_and_back() {
    let workflow = workflow();
    let values = given(json!({
        "request": "go", "travellers": 3, "extra": {"seat": "aisle"},
        "passport": {"bytes": "AAEC", "filename": "p.bin", "media_type": "application/octet-stream"}
    }));
    let parts = workflow.parts_from_inputs(&values);
    assert_eq!(
        serde_json::to_value(&parts).unwrap(),
        json!([
            {"text": "go"},
            {"raw": "AAEC", "filename": "p.bin", "mediaType": "application/octet-stream"},
            {"data": {"travellers": 3, "extra": {"seat": "aisle"}}}
        ])
    );
    assert_eq!(workflow.inputs_from_parts(&parts), values);
}

#[test]
fn an_input_without_source_is_a_member_of_the_data_part() {
    let parts =
        [text_part("a".to_owned()), text_part("b".to_owned()), data_part(json!({"travellers": 4}))];
    let values = workflow().inputs_from_parts(&parts);
    assert_eq!(
        Json::Object(values),
        json!({"request": "a\nb", "travellers": 4, "extra": {"travellers": 4}})
    );
}

#[test]
fn a_default_of_null_is_not_the_same_as_none() {
    let workflow = workflow();
    let stored = serde_json::to_string(&workflow.inputs).unwrap();
    let read: Vec<Input> = serde_json::from_str(&stored).unwrap();
    assert_eq!(read, workflow.inputs);
}
