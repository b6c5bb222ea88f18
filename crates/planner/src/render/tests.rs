use std::collections::BTreeMap;

use document::Source;
use serde_json::json;

use super::*;
use crate::check;
use crate::result::{StepError, StepState};
use crate::step::ErrorClass;

fn workflow(step: &str, rest: &str) -> Workflow {
    let text = format!(
        "convoke: 1\nname: w\ninputs: {{topic: {{type: string}}, n: {{type: integer}}, doc: {{from: file}}, deep: {{}}}}\nsteps:\n  a: {{agent: x}}\n  off: {{agent: x}}\n  b:\n    agent: x\n{step}\n{rest}\n"
    );
    let source = Source::new("w.yaml", &text);
    check(&source).unwrap_or_else(|problems| {
        panic!("{}", document::render(&source, &problems, Default::default()))
    })
}

fn artifact(id: &str, name: &str, parts: Vec<Part>) -> v1::Artifact {
    v1::Artifact { artifact_id: id.to_owned(), name: name.to_owned(), parts, ..Default::default() }
}

fn result() -> StepResult {
    StepResult {
        agent: Some("x".to_owned()),
        task_id: Some("t1".to_owned()),
        artifacts: vec![
            artifact("1", "ticket", vec![text_part("AY1".to_owned())]),
            artifact("2", "flight", vec![data_part(json!({"arrival": "2026-03-01"}))]),
        ],
        ..StepResult::new(StepState::Completed)
    }
}

fn scope_with(a: StepResult) -> Scope {
    let values = json!({"topic": "ice", "n": 3, "doc": {"bytes": "AAEC", "filename": "d.bin"}});
    Scope {
        inputs: Arc::new(values.as_object().unwrap().clone()),
        steps: BTreeMap::from([
            ("a".to_owned(), Arc::new(a)),
            ("off".to_owned(), Arc::new(StepResult::skipped("`when` was false"))),
        ]),
        start: Arc::from([text_part("start".to_owned())]),
        ..Scope::default()
    }
}

fn rendered(step: &str) -> Result<Json, ExpressionError> {
    render_message(&workflow(step, ""), 2, &scope_with(result()))
        .map(|parts| serde_json::to_value(parts).unwrap())
}

fn message(yaml: &str) -> Json {
    rendered(&format!("    message: {yaml}")).unwrap_or_else(|error| panic!("{error}"))
}

fn failure(yaml: &str) -> String {
    rendered(&format!("    message: {yaml}")).unwrap_err().to_string()
}

#[test]
fn a_step_without_message_sends_on_what_started_the_run() {
    assert_eq!(rendered("").unwrap(), json!([{"text": "start"}]));
    let nothing = Scope { start: Arc::from([]), ..scope_with(result()) };
    let error = render_message(&workflow("", ""), 2, &nothing).unwrap_err();
    assert_eq!(error.diagnostic.code, "workflow::empty-message");
}

#[test]
fn a_string_is_one_text_part() {
    assert_eq!(message("About ${{ inputs.topic }}"), json!([{"text": "About ice"}]));
    assert_eq!(
        message("${{ inputs.n }}"),
        json!([{"text": "3"}]),
        "a text Part is text, whatever the value"
    );
}

#[test]
fn every_kind_of_part_is_made() {
    assert_eq!(
        message(
            "[{text: hi, media_type: text/markdown, filename: 'n-${{ inputs.n }}', metadata: {k: '${{ inputs.n }}'}}]"
        ),
        json!([
            {"text": "hi", "mediaType": "text/markdown", "filename": "n-3", "metadata": {"k": 3}}
        ])
    );
    assert_eq!(
        message("[{data: {n: '${{ inputs.n }}', l: [1, null]}}]"),
        json!([{"data": {"n": 3, "l": [1, null]}}])
    );
    assert_eq!(message("[{data: null}]"), json!([{"data": null}]));
    assert_eq!(
        message("[{url: 'https://x.example/${{ inputs.topic }}'}]"),
        json!([{"url": "https://x.example/ice"}])
    );
    assert_eq!(message("[{file: doc}]"), json!([{"raw": "AAEC", "filename": "d.bin"}]));
    assert_eq!(
        message("[{file: '${{ inputs.doc }}', filename: other}]"),
        json!([{"raw": "AAEC", "filename": "other"}])
    );
    assert_eq!(message("[{file: '${{ inputs.topic }}'}]"), json!([{"raw": "aWNl"}]));
    assert_eq!(
        message("[{input: topic}, {input: n}, {input: doc}]"),
        json!([
            {"text": "ice"}, {"data": 3}, {"raw": "AAEC", "filename": "d.bin"}
        ])
    );
}

#[test]
fn artifacts_travel_with_where_they_come_from() {
    assert_eq!(
        message("[{artifacts: a}]"),
        json!([
            {"text": "AY1", "metadata": {"artifactId": "1", "taskId": "t1", "step": "a", "agent": "x"}},
            {"data": {"arrival": "2026-03-01"}, "metadata": {"artifactId": "2", "taskId": "t1", "step": "a", "agent": "x"}}
        ])
    );
    assert_eq!(
        message("[{artifacts: 'a[\"ticket\"]', metadata: {own: 1}}]"),
        json!([
            {"text": "AY1", "metadata": {"artifactId": "1", "taskId": "t1", "step": "a", "agent": "x", "own": 1}}
        ])
    );
    insta::assert_snapshot!(failure("[{artifacts: 'a[\"tickets\"]'}]"), @"w.yaml:9:16: step `a` has no artifact `tickets` (it yielded: ticket, flight)");
}

#[test]
fn a_skipped_step_has_no_artifacts() {
    assert_eq!(message("[{text: hi}, {artifacts: 'off[\"x\"]'}]"), json!([{"text": "hi"}]));
    insta::assert_snapshot!(failure("[{artifacts: off}]"), @"w.yaml:7:3: step `b` has nothing to send: its message has no Parts (add a `text` Part to its `message`)");
}

#[test]
fn a_direct_answer_stands_in_for_artifacts() {
    let answer = v1::Message { parts: vec![text_part("hello".to_owned())], ..Default::default() };
    let result = StepResult {
        message: Some(answer),
        agent: Some("x".to_owned()),
        ..StepResult::new(StepState::Completed)
    };
    let parts =
        render_message(&workflow("    message: [{artifacts: a}]", ""), 2, &scope_with(result))
            .unwrap();
    assert_eq!(
        serde_json::to_value(parts).unwrap(),
        json!([{"text": "hello", "metadata": {"step": "a", "agent": "x"}}])
    );
}

#[test]
fn when_is_true_or_false_and_nothing_else() {
    let when = |when: &str| {
        let workflow = workflow(&format!("    when: {when}"), "");
        evaluate_when(&workflow, 2, &scope_with(result())).map_err(|error| error.to_string())
    };
    assert_eq!(when("inputs.n > 2"), Ok(true));
    assert_eq!(when("'${{ steps.a.data.arrival == \"x\" }}'"), Ok(false));
    assert_eq!(when("false"), Ok(false));
    assert_eq!(when("steps.off.text is defined"), Ok(false));
    assert_eq!(evaluate_when(&workflow("", ""), 2, &scope_with(result())).ok(), Some(true));
    insta::assert_snapshot!(when("inputs.topic").unwrap_err(), @r#"w.yaml:9:11: `when` must give true or false, not "ice" (compare it, as in `steps.a.text == "yes"`, or test it, as in `steps.a.data is defined`)"#);
}

#[test]
fn outputs_become_artifacts() {
    let outputs = "outputs:\n  text: {value: 'Got ${{ steps.a.text }}', media_type: text/plain, description: It}\n  data: {value: {arrival: '${{ steps.a.data.arrival }}'}}\n  same: {value: '${{ steps.a.artifacts.ticket }}'}\n";
    let artifacts = evaluate_outputs(&workflow("", outputs), &scope_with(result())).unwrap();
    assert_eq!(
        serde_json::to_value(artifacts).unwrap(),
        json!([
            {"artifactId": "text", "name": "text", "description": "It", "parts": [{"text": "Got AY1", "mediaType": "text/plain"}]},
            {"artifactId": "data", "name": "data", "parts": [{"data": {"arrival": "2026-03-01"}}]},
            {"artifactId": "same", "name": "same", "parts": [
                {"text": "AY1", "metadata": {"artifactId": "1", "taskId": "t1", "step": "a", "agent": "x"}}
            ]}
        ])
    );
}

#[test]
fn an_output_of_a_skipped_step_suggests_a_default() {
    let workflow = workflow("", "outputs: {o: {value: '${{ steps.off.text }}'}}");
    insta::assert_snapshot!(evaluate_outputs(&workflow, &scope_with(result())).unwrap_err().to_string(), @r#"w.yaml:10:27: `steps.off.text` is undefined (step `off` was skipped: `when` was false; say what to use then: `steps.off.text | default("none")`)"#);
}

#[test]
fn without_outputs_the_artifacts_of_the_last_steps_are_given() {
    let workflow = workflow("    needs: [off]", "");
    let artifacts = evaluate_outputs(&workflow, &scope_with(result())).unwrap();
    let ids: Vec<&str> = artifacts.iter().map(|artifact| artifact.artifact_id.as_str()).collect();
    assert_eq!(ids, ["a/1", "a/2"]);
}

#[test]
fn text_and_data_come_from_artifacts_then_the_answer_then_the_status() {
    let said = |text: &str| {
        Some(v1::Message { parts: vec![text_part(text.to_owned())], ..Default::default() })
    };
    let mut result = StepResult {
        message: said("m"),
        status_message: said("s"),
        ..StepResult::new(StepState::Failed)
    };
    result.error = Some(StepError {
        step: "a".into(),
        class: ErrorClass::Failed,
        message: "no".into(),
        attempt: 1,
    });
    assert_eq!(result.text().as_deref(), Some("m"));
    result.message = None;
    assert_eq!(result.text().as_deref(), Some("s"));
    assert_eq!(result.data(), None);
    let chunks = ["one ", "text"].map(|chunk| text_part(chunk.to_owned())).to_vec();
    result.artifacts =
        vec![artifact("1", "", chunks), artifact("2", "", vec![text_part("two".to_owned())])];
    assert_eq!(
        result.text().as_deref(),
        Some("one text\ntwo"),
        "chunks of one artifact belong together"
    );
    let stored = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<StepResult>(&stored).unwrap(), result);
}

#[test]
fn the_trip_of_this_project_gives_an_itinerary_and_the_bookings() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workflows/helsinki-trip.yaml");
    let workflow =
        check(&Source::new("trip.yaml", &std::fs::read_to_string(path).unwrap())).unwrap();
    let served = |text: Option<&str>, data: Json| {
        let mut parts = vec![data_part(data)];
        parts.extend(text.map(|text| text_part(text.to_owned())));
        let artifacts = vec![artifact("1", "booking", parts)];
        Arc::new(StepResult { artifacts, ..StepResult::new(StepState::Completed) })
    };
    let flight = json!({"flight_number": "AY1", "arrival_date": "2027-03-06"});
    let mut scope = Scope {
        inputs: Arc::new(
            json!({"request": "In March", "travellers": 2}).as_object().unwrap().clone(),
        ),
        steps: BTreeMap::from([
            ("flight".to_owned(), served(Some("AY1, 6 March"), flight)),
            ("hotel".to_owned(), served(Some("Hotel Kämp"), json!({"reservation": "H1"}))),
            (
                "snowmobile".to_owned(),
                served(None, json!({"title": "Safari", "date": "2027-03-06"})),
            ),
            ("spa".to_owned(), served(Some("17:00"), json!({}))),
        ]),
        ..Scope::default()
    };
    let message = |step: &str, scope: &Scope| {
        let parts = render_message(&workflow, workflow.step(step).unwrap(), scope).unwrap();
        serde_json::to_value(&parts[0]).unwrap()["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(message("flight", &scope), "Book a flight to Helsinki for 2. In March");
    assert_eq!(message("snowmobile", &scope), "Book a snowmobile tour for 2 on 2027-03-06.");
    let itinerary = |scope: &Scope| {
        let artifacts = evaluate_outputs(&workflow, scope).unwrap();
        assert_eq!(artifacts[1].name, "bookings");
        crate::result::artifact_text(&artifacts[0]).unwrap()
    };
    insta::assert_snapshot!(itinerary(&scope), @r#"
    Flight: AY1, 6 March
    Hotel: Hotel Kämp
    Snowmobile: Safari on 2027-03-06
    Spa: 17:00
    "#);
    let failed = StepResult::new(StepState::Failed);
    scope.steps.insert("spa".to_owned(), Arc::new(failed));
    assert!(itinerary(&scope).ends_with("Spa: not booked\n"));
}

#[test]
fn what_is_flat_enough_in_parts_may_be_too_deep_to_be_sent_together() {
    let levels = wkt::MAX_DEPTH;
    let around = |levels: usize| {
        format!("{}\"${{{{ inputs.deep }}}}\"{}", "[".repeat(levels), "]".repeat(levels))
    };
    let step =
        |levels: usize| workflow(&format!("    message: [{{data: {}}}]", around(levels)), "");
    let mut scope = scope_with(result());
    Arc::make_mut(&mut scope.inputs).insert("deep".to_owned(), json!([["x"]]));
    let render = |levels: usize| render_message(&step(levels), 2, &scope);
    assert!(render(levels - 2).is_ok());
    assert_eq!(render(levels - 1).unwrap_err().diagnostic.code, "expression::too-deep");
}
