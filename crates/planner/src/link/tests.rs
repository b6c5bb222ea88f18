use document::Source;

use super::*;

fn read(name: &str, rest: &str) -> Arc<Workflow> {
    let text = format!("convoke: 1\nname: {name}\n{rest}\n");
    Arc::new(crate::check(&Source::new(&format!("{name}.yaml"), &text)).unwrap())
}

fn shelf(workflows: &[&Arc<Workflow>]) -> BTreeMap<String, Arc<Workflow>> {
    workflows.iter().map(|it| (it.name.clone(), Arc::clone(it))).collect()
}

/// Each problem: its code, what it points at, and what it says.
fn problems(workflow: &Arc<Workflow>, others: &[&Arc<Workflow>]) -> Vec<String> {
    let problems = link(workflow, &shelf(others), DEFAULT_MAX_DEPTH).unwrap_err();
    let told = problems.iter().map(|problem| {
        let at = problem.span().map(|span| workflow.source.slice(span)).unwrap_or_default();
        let help = problem.help.as_deref().unwrap_or_default();
        format!("{} at `{at}`: {}; {help}", problem.code, problem.message)
    });
    told.collect()
}

const LEAF: &str = "steps: {a: {agent: x}}";

#[test]
fn a_workflow_carries_along_all_that_it_uses() {
    let leaf = read("leaf", LEAF);
    let middle = read("middle", "steps: {a: {workflow: leaf}, b: {workflow: leaf}}");
    let top = read("top", "steps: {a: {workflow: middle}}");
    let linked = link(&top, &shelf(&[&leaf, &middle, &top]), DEFAULT_MAX_DEPTH).unwrap();
    assert_eq!(linked.uses.keys().collect::<Vec<_>>(), ["leaf", "middle"]);
    assert!(Arc::ptr_eq(&link(&leaf, &BTreeMap::new(), 1).unwrap(), &leaf));
}

#[test]
fn a_workflow_that_is_not_there_is_named_with_the_nearest() {
    let (leaf, top) = (read("leaf", LEAF), read("top", "steps: {a: {workflow: leave}}"));
    assert_eq!(
        problems(&top, &[&leaf]),
        [
            "workflow::unknown-workflow at `leave`: there is no workflow `leave`; did you mean `leaf`?"
        ]
    );
}

#[test]
fn workflows_that_go_round_are_refused_with_their_way() {
    let own = read("own", "steps: {a: {workflow: own}}");
    assert_eq!(
        problems(&own, &[&own]),
        [
            "workflow::recursion at `own`: these workflows are steps of each other: own → own; take one of these steps away"
        ]
    );
    let (a, b) = (read("a", "steps: {a: {workflow: b}}"), read("b", "steps: {a: {workflow: a}}"));
    let told = problems(&a, &[&a, &b]);
    assert!(told[0].starts_with("workflow::recursion at `b`"), "{told:?}");
    assert!(told[0].contains("a → b → a"), "{told:?}");
    let outside = read("outside", "steps: {a: {workflow: a}}");
    let told = problems(&outside, &[&a, &b]);
    assert!(told[0].contains("a → b → a"), "{told:?}");
}

#[test]
fn workflows_are_inside_each_other_as_deep_as_may_be() {
    let (leaf, middle) = (read("leaf", LEAF), read("middle", "steps: {a: {workflow: leaf}}"));
    let top = read("top", "steps: {a: {workflow: middle}}");
    let all = shelf(&[&leaf, &middle]);
    assert!(link(&top, &all, 3).is_ok());
    let problems = link(&top, &all, 2).unwrap_err();
    assert_eq!(problems[0].code, "workflow::too-nested");
    assert_eq!(top.source.slice(problems[0].span().unwrap()), "middle");
}

#[test]
fn what_a_workflow_starts_with_is_held_against_its_inputs() {
    let leaf = read(
        "leaf",
        "inputs: {city: {type: string}, days: {type: integer, minimum: 1}, who: {default: me}}\nsteps: {a: {agent: x}}",
    );
    let right = "inputs: {q: {}}\nsteps: {a: {workflow: leaf, with: {city: Oulu, days: '${{ inputs.q }}'}}}";
    assert!(link(&read("top", right), &shelf(&[&leaf]), 8).is_ok());
    let wrong = "inputs: {q: {}}\nsteps: {a: {workflow: leaf, with: {cty: Oulu, days: 0}}, b: {workflow: leaf, with: {city: [a, '${{ inputs.q }}'], days: 'in ${{ inputs.q }}'}}}";
    assert_eq!(
        problems(&read("top", wrong), &[&leaf]),
        [
            "workflow::unknown-input at `cty`: workflow `leaf` has no input `cty`; did you mean `city`?",
            "workflow::invalid-value at `0`: the input `days` does not fit: 0 is less than the minimum of 1; change the value, or the schema of the input",
            "workflow::missing-input at `leaf`: workflow `leaf` needs its input `city`; give it: `with: {city: …}`",
            "workflow::invalid-value at `a`: the input `city` takes \"string\", and this is an array; a value that is nothing but one `${{ … }}` keeps its type",
            "workflow::invalid-value at `'in ${{ inputs.q }}'`: the input `days` takes \"integer\", and this is a string; a value that is nothing but one `${{ … }}` keeps its type",
        ]
    );
}

#[test]
fn a_workflow_with_problems_of_its_own_is_no_step() {
    let middle = read("middle", "steps: {a: {workflow: nope}}");
    let top = read("top", "steps: {a: {workflow: middle}}");
    assert_eq!(
        problems(&top, &[&middle]),
        [
            "workflow::broken-workflow at `middle`: workflow `middle` cannot be run: there is no workflow `nope`; `convoke validate` of middle.yaml shows all of it"
        ]
    );
}
