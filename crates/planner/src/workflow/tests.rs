use std::time::Duration;

use document::{Source, Style, render};

use super::*;
use crate::criteria::{Criteria, Preference};
use crate::limits::OnConflict;
use crate::step::{ErrorClass, Jitter, Join, RunIf, Selector};

mod bad;
mod files;

fn source(text: &str) -> Source {
    Source::new("trip.yaml", text)
}

fn checked(text: &str) -> Workflow {
    let source = source(text);
    check(&source)
        .unwrap_or_else(|problems| panic!("{}", render(&source, &problems, Style::default())))
}

/// What a person sees of a bad file.
fn shown(text: &str) -> String {
    let source = source(text);
    let problems = check(&source).map(|_| ()).unwrap_err();
    render(&source, &problems, Style { color: false, width: 100 })
}

/// `CODE at TEXT` of every problem.
fn codes(text: &str) -> Vec<String> {
    let source = source(text);
    let problems = check(&source).map(|_| ()).unwrap_err();
    let place = |problem: &Diagnostic| {
        problem.span().map(|span| source.slice(span).to_owned()).unwrap_or_default()
    };
    problems.iter().map(|problem| format!("{} at {}", problem.code, place(problem))).collect()
}

/// `TEXT: MESSAGE; HELP` of every problem.
fn brief(text: &str) -> String {
    let source = source(text);
    let problems = check(&source).map(|_| ()).unwrap_err();
    let told = |problem: &Diagnostic| {
        let place = problem.span().map(|span| source.slice(span)).unwrap_or_default();
        format!("{place}: {}; {}", problem.message, problem.help.as_deref().unwrap_or_default())
    };
    problems.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// A workflow with one step, to which lines are added.
fn with(top: &str, step: &str) -> String {
    format!(
        "convoke: 1\nname: w\n{top}\nsteps:\n  a:\n    agent: x\n{step}\n  b: {{agent: y, needs: [a]}}\n"
    )
}

#[test]
fn every_top_level_field_is_read() {
    let workflow = checked(
        r#"
convoke: 1
name: my-trip
title: My trip
description: Books it.
tags: [travel]
examples: [A week away]
inputs:
  request: {type: string, from: text}
  people: {type: integer, default: 2}
agents:
  local: {url: "http://127.0.0.1:9103"}
defaults: {timeout: 5m, on_error: continue, retry: {attempts: 7}}
parallel: 3
timeout: 30m
steps:
  a: {agent: local}
  b: {agent: {url: "http://127.0.0.1:9104"}}
outputs:
  result: {value: "${{ steps.a.text }}", media_type: text/plain, description: What came of it}
"#,
    );
    assert_eq!(workflow.convoke, 1);
    assert_eq!(workflow.name, "my-trip");
    assert_eq!(workflow.title.as_deref(), Some("My trip"));
    assert_eq!(workflow.description.as_deref(), Some("Books it."));
    assert_eq!(workflow.tags, ["travel"]);
    assert_eq!(workflow.examples, ["A week away"]);
    assert_eq!(
        workflow.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(),
        ["request", "people"]
    );
    assert_eq!(workflow.agents[0].name, "local");
    assert_eq!(workflow.parallel, 3);
    assert_eq!(workflow.timeout, Duration::from_secs(1800));
    assert_eq!(workflow.steps[0].timeout, Duration::from_secs(300));
    assert_eq!(workflow.steps[0].on_error, OnError::Continue);
    assert_eq!(workflow.steps[0].retry.attempts, 7);
    assert_eq!(workflow.urls(), ["http://127.0.0.1:9103", "http://127.0.0.1:9104"]);
    let output = &workflow.outputs[0];
    assert_eq!(
        (output.name.as_str(), output.media_type.as_deref()),
        ("result", Some("text/plain"))
    );
    assert_eq!(output.description.as_deref(), Some("What came of it"));
    assert_eq!(workflow.outputs_read, [0]);
}

#[test]
fn what_holds_for_all_runs_of_a_workflow_is_read() {
    let workflow = checked(&with(
        r#"inputs: {request: {type: string}, people: {type: integer, default: 2}}
concurrency: {key: inputs.request, limit: 2, on_conflict: cancel_oldest}
budget: {calls: 20}
schedule:
  - {cron: "0 7 * * MON", timezone: Europe/Helsinki, inputs: {request: weekly}}
  - {cron: "*/5 * * * *", inputs: {request: often, people: 3}}
"#,
        "",
    ));
    let concurrency = workflow.concurrency.as_ref().unwrap();
    assert_eq!(concurrency.key.as_ref().unwrap().source(), "inputs.request");
    assert_eq!((concurrency.limit, concurrency.on_conflict), (2, OnConflict::CancelOldest));
    assert_eq!(workflow.budget, Some(Budget { calls: 20 }));
    let schedule = |schedule: &Schedule| {
        let inputs = serde_json::to_string(&schedule.inputs).unwrap();
        format!("{} in {} with {inputs}", schedule.cron, schedule.timezone)
    };
    assert_eq!(
        workflow.schedule.iter().map(schedule).collect::<Vec<_>>(),
        [
            r#"0 7 * * MON in Europe/Helsinki with {"request":"weekly"}"#,
            r#"*/5 * * * * in UTC with {"people":3,"request":"often"}"#,
        ]
    );
}

#[test]
fn a_workflow_that_says_little_gets_the_defaults() {
    let workflow =
        checked("convoke: 1\nname: w\nsteps: {a: {agent: x}, b: {agent: y, needs: [a]}}\n");
    assert_eq!(workflow.parallel, DEFAULT_PARALLEL);
    assert_eq!((workflow.concurrency, workflow.budget), (None, None));
    assert!(workflow.schedule.is_empty());
    assert_eq!(workflow.timeout, DEFAULT_RUN_TIMEOUT);
    assert_eq!(workflow.steps[0].timeout, DEFAULT_STEP_TIMEOUT);
    assert_eq!(workflow.steps[0].retry, Retry::default());
    assert_eq!(workflow.steps[0].on_error, OnError::Fail);
    assert_eq!(workflow.steps[0].message, None);
    assert_eq!(workflow.outputs_read, [1], "without outputs, the last steps are read");
}

#[test]
fn a_step_changes_the_defaults_field_by_field() {
    let workflow = checked(&with(
        "defaults: {retry: {attempts: 5, backoff: {initial: 1s, jitter: none}, on: [failed]}, on_error: continue}",
        "    timeout: 7s\n    on_error: skip_dependents\n    retry: {backoff: {max: 9s, factor: 3}, on: [timeout, rejected]}",
    ));
    let (step, other) = (&workflow.steps[0], &workflow.steps[1]);
    assert_eq!(step.timeout, Duration::from_secs(7));
    assert_eq!(step.on_error, OnError::SkipDependents);
    assert_eq!(step.retry.attempts, 5);
    assert_eq!(step.retry.initial, Duration::from_secs(1));
    assert_eq!(step.retry.max, Duration::from_secs(9));
    assert_eq!(step.retry.jitter, Jitter::None);
    assert!((step.retry.factor - 3.0).abs() < f64::EPSILON);
    assert_eq!(
        step.retry.on.iter().copied().collect::<Vec<_>>(),
        [ErrorClass::Timeout, ErrorClass::Rejected]
    );
    assert_eq!(other.retry.on.iter().copied().collect::<Vec<_>>(), [ErrorClass::Failed]);
    assert_eq!(other.on_error, OnError::Continue);
}

#[test]
fn delays_grow_by_the_factor_up_to_the_longest() {
    let retry = Retry { attempts: u32::MAX, ..Retry::default() };
    let delay = |attempt, jitter| {
        let delay = retry.delay_after(attempt, ErrorClass::Timeout, jitter);
        delay.map(|delay| delay.as_millis())
    };
    assert_eq!(
        [1, 2, 3, 7, 8, u32::MAX - 1].map(|attempt| delay(attempt, 1.0)),
        [Some(500), Some(1000), Some(2000), Some(30_000), Some(30_000), Some(30_000)]
    );
    assert_eq!([delay(2, 0.25), delay(2, 0.0), delay(2, 7.0)], [Some(250), Some(0), Some(1000)]);
    let exact = Retry { jitter: Jitter::None, ..retry.clone() };
    assert_eq!(
        exact.delay_after(2, ErrorClass::Timeout, 0.25),
        Some(Duration::from_secs(1)),
        "without jitter nothing is drawn"
    );
}

#[test]
fn there_is_no_delay_where_nothing_is_tried_again() {
    let retry = Retry::default();
    assert!(retry.delay_after(2, ErrorClass::Timeout, 1.0).is_some());
    assert_eq!(retry.delay_after(3, ErrorClass::Timeout, 1.0), None, "the attempts are used up");
    assert_eq!(retry.delay_after(1, ErrorClass::Rejected, 1.0), None, "`on` does not name it");
}

#[test]
fn every_kind_of_selector_is_read() {
    let agent = |yaml: &str| {
        checked(&format!(
            "convoke: 1\nname: w\nsteps:\n  z: {{agent: q}}\n  a: {{agent: {yaml}}}\n"
        ))
        .steps[1]
            .selector
            .clone()
            .expect("it has an agent")
    };
    let matching = |name: Option<&str>, skill: Option<&str>, tags: &[&str]| {
        Selector::Match(Criteria {
            name: name.map(str::to_owned),
            skill: skill.map(str::to_owned),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..Criteria::default()
        })
    };
    assert_eq!(agent("x"), matching(Some("x"), None, &[]));
    for tier in registry::Tier::ALL {
        let Selector::Match(asked) = agent(&format!("{{name: x, min_evidence: {tier}}}")) else {
            panic!("it is by name")
        };
        assert_eq!(asked.min_evidence, Some(tier));
    }
    assert_eq!(
        agent("{name: x, skill: s, tags: [t, u]}"),
        matching(Some("x"), Some("s"), &["t", "u"])
    );
    assert_eq!(
        agent("{url: \"https://x.example\"}"),
        Selector::Url("https://x.example".to_owned())
    );
    assert_eq!(agent("{same_as: z}"), Selector::SameAs(0));
    let all = "{any_tags: [a, b], provider: p, input_modes: [text/csv], output_modes: [image/png], \
               requires: [streaming, push_notifications, 'urn:x'], signed: true, prefer: latency}";
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = Criteria {
        any_tags: texts(&["a", "b"]),
        provider: Some("p".to_owned()),
        input_modes: texts(&["text/csv"]),
        output_modes: texts(&["image/png"]),
        requires: texts(&["streaming", "push_notifications", "urn:x"]),
        signed: true,
        prefer: Preference::Latency,
        ..Criteria::default()
    };
    assert_eq!(agent(all), Selector::Match(expected));
}

#[test]
fn a_selector_of_an_older_journal_is_read_as_it_was() {
    let older = r#"{"match":{"name":"n","skill":"s","tags":["t"],"min_evidence":"valid"}}"#;
    let read: Selector = serde_json::from_str(older).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), older);
    let Selector::Match(asked) = read else { panic!("it matches") };
    assert_eq!((asked.signed, asked.prefer), (false, Preference::Priority));
}

#[test]
fn edges_come_from_needs_expressions_artifacts_and_same_as() {
    let workflow = checked(
        r#"
convoke: 1
name: w
steps:
  a: {agent: x}
  b: {agent: {same_as: a}}
  c: {agent: x, needs: [a], when: steps.b.state == "completed"}
  d:
    agent: x
    message:
      - artifacts: a["ticket"]
      - text: ${{ steps.b.text }} and ${{ steps["c"].data.x }}
        filename: ${{ steps.a.text }}
      - data: {deep: ["${{ steps.c.text }}"]}
"#,
    );
    let edges: Vec<String> = workflow
        .edges
        .iter()
        .map(|edge| {
            let reasons: Vec<String> =
                edge.reasons.iter().map(|reason| reason.kind.to_string()).collect();
            format!(
                "{} -> {}: {}",
                workflow.steps[edge.from].id,
                workflow.steps[edge.to].id,
                reasons.join(", ")
            )
        })
        .collect();
    insta::assert_snapshot!(edges.join("\n"), @r#"
    a -> b: same_as
    a -> c: needs
    b -> c: steps.b in when
    a -> d: artifacts of a["ticket"], steps.a in message
    b -> d: steps.b in message
    c -> d: steps["c"] in message, steps.c in message
    "#);
    assert_eq!(workflow.steps[3].reads, [0, 1, 2]);
    assert_eq!(workflow.steps[2].reads, [1], "`needs` alone reads nothing");
    assert_eq!(workflow.step("d"), Some(3));
    assert_eq!(workflow.last_steps(), [3]);
}

#[test]
fn a_dynamic_reference_reads_what_needs_names() {
    let workflow = checked(
        "convoke: 1\nname: w\ninputs: {which: {type: string}}\nsteps:\n  a: {agent: x}\n  b: {agent: x}\n  c: {agent: x, needs: [a, b], message: '${{ steps[inputs.which].text }}'}\n",
    );
    assert_eq!(workflow.steps[2].reads, [0, 1]);
}

#[test]
fn a_workflow_is_read_back_from_a_journal_as_it_was() {
    let workflow = checked(&with(
        "outputs: {o: {value: {x: '${{ steps.a.data }}'}}}",
        "    message: Hi ${{ run.id }}\n    when: true",
    ));
    let stored = serde_json::to_string(&workflow).unwrap();
    assert_eq!(serde_json::from_str::<Workflow>(&stored).unwrap(), workflow);
}

#[test]
fn the_workflows_of_the_project_are_without_problems() {
    for (name, steps) in [
        ("helsinki-trip", 4),
        ("research", 4),
        ("translation", 1),
        ("nightly-report", 3),
        ("draft-and-refine", 2),
    ] {
        let path = format!("{}/../../workflows/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let workflow = checked(&text);
        assert_eq!((workflow.name.as_str(), workflow.steps.len()), (name, steps));
    }
}

#[test]
fn the_cost_of_checking_grows_with_the_number_of_steps() {
    let chain = |steps: usize| {
        let mut text = "convoke: 1\nname: w\nsteps:\n  s0: {agent: x}\n".to_owned();
        for step in 1..steps {
            let before = format!("${{{{ steps.s{}.text }}}}", step - 1);
            text.push_str(&format!("  s{step}: {{agent: x, message: 'after {before}'}}\n"));
        }
        assert_eq!(checked(&text).edges.len(), steps - 1);
    };
    crate::cost::assert_linear("check a chain of expressions", chain, 400);
}

#[test]
fn the_cost_of_a_join_grows_with_the_number_of_steps() {
    let join = |steps: usize| {
        let mut text = "convoke: 1\nname: w\nsteps:\n".to_owned();
        let names: Vec<String> = (0..steps).map(|step| format!("s{step}")).collect();
        names.iter().for_each(|name| text.push_str(&format!("  {name}: {{agent: x}}\n")));
        text.push_str(&format!("  join: {{agent: x, needs: [{}]}}\n", names.join(", ")));
        assert_eq!(checked(&text).edges.len(), steps);
    };
    crate::cost::assert_linear("check a join", join, 1_000);
}

#[test]
fn a_step_that_runs_for_items_says_for_which_and_how_many_at_once() {
    let each =
        |fields: &str| checked(&with("", &format!("    {fields}"))).steps[0].for_each.clone();
    assert_eq!(each("message: hi"), None);
    let for_each = each("for_each: run.id | lines").unwrap();
    assert_eq!(for_each.concurrency, None);
    assert!(matches!(for_each.list, Template::Expression(_)));
    let for_each = each("for_each: [1, 2]\n    concurrency: 3").unwrap();
    assert_eq!(for_each.concurrency, Some(3));
    assert!(matches!(for_each.list, Template::Literal(_)));
}

#[test]
fn item_and_index_are_known_where_a_step_has_items() {
    checked(&with(
        "",
        "    for_each: [1]\n    message: [{text: '${{ item }}', filename: 'f${{ index }}'}]",
    ));
    checked(&with(
        "",
        "    for_each: [1]\n    message: '${% for item in [1] %}${{ item }}${% endfor %}'",
    ));
    let unknown = "expression::unknown-name at item";
    assert_eq!(codes(&with("", "    message: '${{ item }}'")), [unknown]);
    assert_eq!(
        codes(&with("", "    for_each: [1]\n    when: item == 1")),
        [unknown],
        "once for all"
    );
    assert_eq!(codes(&with("", "    for_each: '${{ item }}'")), [unknown]);
    let other = "  c: {agent: x, message: '${{ item }}'}\n";
    let after = format!("{}{other}", with("", "    for_each: [1]"));
    assert_eq!(codes(&after), [unknown], "of another step");
}

#[test]
fn a_step_says_how_many_dependencies_it_waits_for_and_how_they_must_end() {
    let gate = |fields: &str| {
        let step = checked(&format!(
            "convoke: 1\nname: w\nsteps:\n  a: {{agent: x}}\n  b: {{agent: x}}\n  c: {{agent: x, {fields}}}\n"
        ))
        .steps
        .remove(2);
        (step.join, step.run_if, step.cancel_rest)
    };
    let (all, succeeded) = (Join::All, RunIf::Succeeded);
    assert_eq!(gate("needs: [a, b]"), (all, succeeded, false));
    assert_eq!(gate("needs: [a, b], join: all"), (all, succeeded, false));
    assert_eq!(gate("needs: [a, b], join: any"), (Join::AtLeast(1), succeeded, false));
    let both = "message: '${{ steps.a.text }} ${{ steps.b.text }}', join: 2, cancel_rest: true";
    assert_eq!(gate(both), (Join::AtLeast(2), succeeded, true));
    assert_eq!(gate("needs: [a], run_if: settled"), (all, RunIf::Settled, false));
    assert_eq!(gate("needs: [a], run_if: succeeded"), (all, succeeded, false));
}

#[test]
fn a_step_may_compute_values_and_make_outputs_of_an_answer() {
    let workflow = checked(
        "convoke: 1\nname: w\nsteps:\n  a: {agent: x, outputs: {n: '${{ this.data.n }}', m: '${{ steps.b.data.n }}'}}\n  b: {set: {n: 1}}\n  c: {for_each: [1], set: {n: '${{ item }} ${{ steps.a.outputs.n }}'}}\n",
    );
    let [a, b, c] = &workflow.steps[..] else { panic!("three steps") };
    assert!(a.outputs.is_some() && a.selector.is_some() && a.set.is_none());
    assert!(matches!(b.set, Some(Template::Literal(_))) && b.selector.is_none());
    assert!(matches!(c.set, Some(Template::Mapping(_))));
    let edges: Vec<(usize, usize)> = workflow.edges.iter().map(|it| (it.from, it.to)).collect();
    assert_eq!(edges, [(1, 0), (0, 2)], "what `set` and `outputs` read is waited for");
}
