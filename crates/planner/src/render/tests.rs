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

/// The result of a step that ran for three items, the second of which failed.
fn of_three() -> StepResult {
    let one = |text: &str| StepResult {
        agent: Some("x".to_owned()),
        task_id: Some(format!("task {text}")),
        artifacts: vec![
            artifact("1", "report", vec![text_part(text.to_owned())]),
            artifact("2", "facts", vec![data_part(json!({"about": text}))]),
        ],
        ..StepResult::new(StepState::Completed)
    };
    let error = StepError {
        step: "a[1]".to_owned(),
        class: ErrorClass::Failed,
        message: "no luck".to_owned(),
        attempt: 2,
    };
    let failed = StepResult { error: Some(error), ..StepResult::new(StepState::Failed) };
    let items = [one("ice"), failed, one("snow")];
    StepResult::of_items(StepState::Failed, items.into_iter().map(Arc::new).collect())
}

fn of_items(yaml: &str) -> Json {
    let parts =
        render_message(&workflow(&format!("    message: {yaml}"), ""), 2, &scope_with(of_three()));
    serde_json::to_value(parts.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

#[test]
fn the_items_of_a_step_are_read_one_by_one_and_together() {
    let text = |expression: &str| {
        let parts = of_items(&format!("'${{{{ {expression} }}}}'"));
        parts[0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(text("steps.a.text"), "ice\nsnow");
    assert_eq!(text("steps.a.data"), r#"[{"about":"ice"},null,{"about":"snow"}]"#);
    assert_eq!(text("steps.a.items | length"), "3");
    assert_eq!(text("steps.a.items[2].data.about"), "snow");
    assert_eq!(
        text("steps.a.items | map(attribute=\"state\") | join(\" \")"),
        "completed failed completed"
    );
    assert_eq!(text("steps.a.items[1].error.message"), "no luck");
    assert_eq!(text("steps.a.error.step"), "a[1]");
    assert_eq!(text("steps.a.items[0].artifacts.report.text"), "ice");
    assert_eq!(text("steps.a.artifacts.report.text"), "snow", "the newest of that name");
    assert_eq!(
        text("steps.a.artifacts.report.versions | map(attribute=\"text\") | list"),
        r#"["ice","snow"]"#
    );
    assert_eq!(text("steps.a.artifacts | list"), r#"["report","facts"]"#);
    assert_eq!(text("steps.a.items[0].task.id"), "task ice");
}

#[test]
fn a_list_without_items_yields_nothing_and_is_no_error() {
    let none = StepResult::of_items(StepState::Completed, Vec::new());
    let text = "    message: ${{ steps.a.text }}|${{ steps.a.data }}|${{ steps.a.items }}";
    let parts = render_message(&workflow(text, ""), 2, &scope_with(none)).unwrap();
    assert_eq!(serde_json::to_value(parts).unwrap()[0]["text"], "|[]|[]");
}

#[test]
fn artifacts_of_items_say_of_which_item_they_are() {
    let parts = of_items("[{artifacts: a}]");
    let told: Vec<String> = parts
        .as_array()
        .unwrap()
        .iter()
        .map(|part| format!("{} {}", part["metadata"]["step"], part["metadata"]["taskId"]))
        .collect();
    let (first, third) = (r#""a[0]" "task ice""#, r#""a[2]" "task snow""#);
    assert_eq!(told, [first, first, third, third]);
    let named = of_items("[{artifacts: 'a[\"report\"]'}]");
    let texts: Vec<&Json> = named.as_array().unwrap().iter().map(|part| &part["text"]).collect();
    assert_eq!(texts, ["ice", "snow"], "the newest of each item");
}

#[test]
fn an_artifact_that_no_item_has_is_an_error() {
    let message = workflow("    message: [{artifacts: 'a[\"none\"]'}]", "");
    let error = render_message(&message, 2, &scope_with(of_three())).unwrap_err();
    assert_eq!(error.diagnostic.code, "workflow::no-artifact");
}

#[test]
fn without_outputs_a_run_has_the_artifacts_of_all_items() {
    let text = "convoke: 1\nname: w\nsteps:\n  a: {agent: x, for_each: [1, 2, 3]}\n";
    let workflow = check(&Source::new("w.yaml", text)).unwrap();
    let artifacts = evaluate_outputs(&workflow, &scope_with(of_three())).unwrap();
    let ids: Vec<&str> = artifacts.iter().map(|artifact| &*artifact.artifact_id).collect();
    assert_eq!(ids, ["a[0]/1", "a[0]/2", "a[2]/1", "a[2]/2"]);
    assert_eq!(artifacts[2].parts[0].metadata.as_ref().unwrap().0["step"], "a[2]");
}

#[test]
fn an_output_may_be_an_artifact_of_an_item() {
    let workflow = workflow(
        "",
        "outputs: {o: {value: '${{ steps.a.items[0].artifacts.report }}'}, p: {value: '${{ steps.a.artifacts.report }}'}}",
    );
    let outputs = evaluate_outputs(&workflow, &scope_with(of_three())).unwrap();
    let about = |output: usize| {
        let part = &outputs[output].parts[0];
        (part.as_text().unwrap().to_owned(), part.metadata.as_ref().map(|it| it.0["step"].clone()))
    };
    assert_eq!(about(1), ("snow".to_owned(), Some(json!("a[2]"))));
    assert_eq!(about(0).0, "ice");
}
