use std::collections::BTreeMap;
use std::sync::Arc;

use document::Source;
use protocol::v1::{Artifact, Part};

use super::*;
use crate::result::{StepResult, StepState};
use crate::scope::Scope;
use crate::{check, evaluate_outputs};

/// A workflow of the steps `a`, and `b` after it.
fn workflow(outputs: &str) -> Workflow {
    let text = format!(
        "convoke: 1\nname: w\nsteps:\n  a: {{agent: x}}\n  b: {{agent: x, needs: [a]}}\n{outputs}\n"
    );
    let source = Source::new("w.yaml", &text);
    check(&source).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn artifact(id: &str, name: &str, text: &str) -> Artifact {
    let artifact = Artifact::new(id, name, vec![Part::text(text)]);
    Artifact { description: format!("About {text}"), ..artifact }
}

fn result() -> StepResult {
    StepResult {
        agent: Some("x".to_owned()),
        task_id: Some("t".to_owned()),
        artifacts: vec![
            artifact("1f", "draft", "first"),
            artifact("2e", "log", "log"),
            artifact("3d", "draft", "second"),
            artifact("4c", "", "unnamed"),
        ],
        ..StepResult::new(StepState::Completed)
    }
}

/// What passes through of a step when all its artifacts come whole.
fn passed(workflow: &Workflow, step: &str) -> Vec<Artifact> {
    let through = &PassThrough::of(workflow)[workflow.step(step).unwrap()];
    let result = result();
    let origin = Origin { step, agent: Some("x"), task_id: Some("t") };
    let pieces = |index| {
        let whole = &result.artifacts[index];
        through.pieces(workflow, origin, &result.artifacts, index, whole)
    };
    (0..result.artifacts.len()).flat_map(pieces).collect()
}

fn concluded(workflow: &Workflow) -> Vec<Artifact> {
    let steps = ["a", "b"].map(|step| (step.to_owned(), Arc::new(result())));
    let scope = Scope { steps: BTreeMap::from(steps), ..Scope::default() };
    evaluate_outputs(workflow, &scope).unwrap()
}

#[test]
fn what_passes_through_is_what_the_run_gives_in_the_end() {
    let workflow = workflow("");
    let passed = passed(&workflow, "b");
    assert_eq!(passed, concluded(&workflow));
    let ids: Vec<&str> = passed.iter().map(|artifact| artifact.artifact_id.as_str()).collect();
    assert_eq!(ids, ["b/1", "b/2", "b/3", "b/4"], "whatever the agent calls them");
    assert_eq!(passed[0].description, "About first");
}

#[test]
fn an_output_that_is_one_artifact_passes_through_its_newest_version() {
    for value in [
        "steps.a.artifacts[\"draft\"]",
        "steps[\"a\"].artifacts.draft",
        " steps.a[\"artifacts\"]['draft'] ",
    ] {
        let value = value.replace('\'', "''");
        let workflow = workflow(&format!(
            "outputs: {{o: {{value: '${{{{{value}}}}}', media_type: text/x, description: D}}}}"
        ));
        let passed = passed(&workflow, "a");
        assert_eq!(passed, concluded(&workflow), "{value}");
        assert_eq!((passed.len(), passed[0].text()), (1, "second".to_owned()), "{value}");
        assert_eq!(passed[0].parts[0].media_type, "text/x");
    }
}

#[test]
fn one_artifact_may_be_several_outputs_and_an_unnamed_one_goes_by_its_id() {
    let workflow = workflow(
        "outputs:\n  o: {value: '${{ steps.a.artifacts.log }}'}\n  \
         p: {value: '${{ steps.a.artifacts.log }}'}\n  q: {value: '${{ steps.a.artifacts[\"4c\"] }}'}",
    );
    let passed = passed(&workflow, "a");
    assert_eq!((passed.len(), passed), (3, concluded(&workflow)));
}

#[test]
fn nothing_else_passes_through() {
    let last = PassThrough::of(&workflow(""));
    assert!(last[0].is_nothing() && !last[1].is_nothing(), "only of the step that comes last");
    for value in [
        "${{ steps.a.text }}",
        "${{ steps.a.artifacts }}",
        "${{ steps.a.artifacts.log.text }}",
        "${{ steps.a.artifacts.log | default(\"none\") }}",
        "${{ steps.a.artifacts.log if true }}",
        "${{ steps.a.message.text }}",
        "See ${{ steps.a.artifacts.log }}",
        "${{ steps.a.artifacts.log }}${{ steps.a.artifacts.log }}",
        "log",
    ] {
        let workflow = workflow(&format!("outputs: {{o: {{value: '{value}'}}}}"));
        let through = PassThrough::of(&workflow);
        assert!(through.iter().all(PassThrough::is_nothing), "{value}");
    }
}

#[test]
fn which_item_has_the_newest_artifact_of_a_name_is_not_known_before_the_end() {
    let text = |outputs: &str| {
        format!("convoke: 1\nname: w\nsteps: {{a: {{agent: x, for_each: [1, 2]}}}}\n{outputs}")
    };
    let through = |outputs: &str| {
        let source = Source::new("w.yaml", &text(outputs));
        PassThrough::of(&check(&source).unwrap()).remove(0)
    };
    assert!(through("outputs: {o: {value: '${{ steps.a.artifacts.log }}'}}").is_nothing());
    assert!(!through("").is_nothing(), "all artifacts of all items are the run's");
}
