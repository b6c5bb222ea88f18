use std::collections::BTreeMap;
use std::sync::Arc;

use document::{Source, Span, Style, render};
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::result::{StepResult, StepState};

/// A source that is one quoted-free scalar.
fn source(text: &str) -> (Source, Span) {
    (Source::new("w.yaml", text), Span::new(0, text.len()))
}

fn compiled(text: &str) -> Compiled {
    let (source, span) = source(text);
    Expression::text(text, span, &source, &[])
        .unwrap_or_else(|problems| panic!("{}", shown(&source, &problems)))
}

fn shown(source: &Source, problems: &[Diagnostic]) -> String {
    render(source, problems, Style { color: false, width: 100 })
}

fn problems(text: &str) -> Vec<(&'static str, String, String)> {
    let (source, span) = source(text);
    let problems = Expression::text(text, span, &source, &[]).map(|_| ()).unwrap_err();
    let with_place = |problem: Diagnostic| {
        let place = problem.span().map(|span| source.slice(span).to_owned()).unwrap_or_default();
        (problem.code, place, problem.help.unwrap_or_default())
    };
    problems.into_iter().map(with_place).collect()
}

fn scope() -> Scope {
    let inputs: Map<String, Json> = [
        ("topic".to_owned(), json!("rust")),
        ("big".to_owned(), json!(9_007_199_254_740_993_u64)),
        ("list".to_owned(), json!([1, {"a": null}])),
        ("yes".to_owned(), json!(true)),
    ]
    .into_iter()
    .collect();
    let mut done = StepResult::new(StepState::Completed);
    done.task_id = Some("t1".to_owned());
    done.artifacts = vec![
        artifact("1", "note", "old"),
        artifact("2", "note", "new"),
        data("3", "facts", json!({"n": 1})),
    ];
    let steps = BTreeMap::from([
        ("done".to_owned(), Arc::new(done)),
        ("off".to_owned(), Arc::new(StepResult::skipped("`when` was false"))),
    ]);
    Scope { inputs: Arc::new(inputs), steps, ..Scope::default() }
}

fn artifact(id: &str, name: &str, text: &str) -> protocol::v1::Artifact {
    protocol::v1::Artifact {
        artifact_id: id.to_owned(),
        name: name.to_owned(),
        parts: vec![crate::inputs::text_part(text.to_owned())],
        ..Default::default()
    }
}

fn data(id: &str, name: &str, value: Json) -> protocol::v1::Artifact {
    protocol::v1::Artifact {
        parts: vec![crate::inputs::data_part(value)],
        ..artifact(id, name, "")
    }
}

fn evaluate(text: &str) -> Result<Json, ExpressionError> {
    let scope = scope();
    let (source, _) = source(text);
    compiled(text).0.evaluate(&scope, &Context::new(&scope), &source)
}

fn value(text: &str) -> Json {
    evaluate(text).unwrap_or_else(|error| panic!("{error}"))
}

fn failure(text: &str) -> (&'static str, String) {
    let error = evaluate(text).unwrap_err();
    (error.diagnostic.code, error.to_string())
}

#[test]
fn a_scalar_that_is_one_expression_keeps_its_type() {
    assert_eq!(value("${{ inputs.list }}"), json!([1, {"a": null}]));
    assert_eq!(value(" ${{inputs.yes}}\n"), json!(true));
    assert_eq!(value("${{ steps.done.data }}"), json!({"n": 1}));
    assert_eq!(value("${{ {'a': [1, 2]} }}"), json!({"a": [1, 2]}));
    assert_eq!(value("${{ none }}"), json!(null));
}

#[test]
fn integers_stay_exact() {
    assert_eq!(value("${{ inputs.big }}"), json!(9_007_199_254_740_993_u64));
    assert_eq!(value("n=${{ inputs.big + 1 }}"), json!("n=9007199254740994"));
}

#[test]
fn mixed_text_writes_lists_and_mappings_as_json() {
    assert_eq!(value("a ${{ inputs.topic | upper }} b"), json!("a RUST b"));
    assert_eq!(value("l=${{ inputs.list }}!"), json!("l=[1,{\"a\":null}]!"));
    assert_eq!(value("${{ inputs.yes }}${{ none }}"), json!("truenull"));
}

#[test]
fn text_around_expressions_stays_as_it_is() {
    assert_eq!(value("$5 {x} {{x}} ${x} ${{ inputs.topic }}\n"), json!("$5 {x} {{x}} ${x} rust\n"));
    assert_eq!(value("<a & b> ${{ '<&>' }}."), json!("<a & b> <&>."));
    assert_eq!(
        value("${% raw %}${{ nothing && }}${% endraw %}${# gone && #}."),
        json!("${{ nothing && }}.")
    );
}

#[test]
fn blocks_loop_and_choose() {
    assert_eq!(
        value("${% for x in inputs.list %}[${{ loop.index }}]${% endfor %}"),
        json!("[1][2]")
    );
    assert_eq!(value("${% if steps.done.error %}bad${% else %}good${% endif %}"), json!("good"));
}

#[test]
fn a_step_yields_state_text_data_artifacts_and_task() {
    assert_eq!(value("${{ steps.done.state }}"), json!("completed"));
    assert_eq!(value("${{ steps.done.text }}"), json!("new"));
    assert_eq!(value("${{ steps.done.task.id }}"), json!("t1"));
    assert_eq!(value("${{ steps['done'].artifacts['note'].text }}"), json!("new"));
    assert_eq!(
        value("${{ steps.done.artifacts.note.versions | map(attribute='text') | list }}"),
        json!(["old", "new"])
    );
    assert_eq!(value("${{ steps.done.artifacts.facts.data.n }}"), json!(1));
    assert_eq!(value("${{ steps.done.artifacts | list }}"), json!(["note", "facts"]));
    assert_eq!(value("${{ steps.done.artifacts.note.parts }}"), json!([{"text": "new"}]));
    assert_eq!(value("${{ steps.done.error is none }}"), json!(true));
    assert_eq!(
        value("${{ steps.off.state }}: ${{ steps.off.reason }}"),
        json!("skipped: `when` was false")
    );
}

#[test]
fn an_undefined_value_is_an_error_wherever_it_appears() {
    for text in [
        "${{ inputs.list[7] }}",
        "x ${{ inputs.list[7] }}",
        "${{ [inputs.list[7]] }}",
        "${{ {'a': inputs.nothing_of_it} }}",
        "${% if inputs.list[7] %}${% endif %}",
        "${{ steps.done.message }}",
    ] {
        let scope = scope();
        let (source, span) = source(text);
        let error = Expression::text(text, span, &source, &[])
            .unwrap()
            .0
            .evaluate(&scope, &Context::new(&scope), &source)
            .unwrap_err();
        assert_eq!(error.diagnostic.code, "expression::undefined", "{text}");
    }
    assert_eq!(value("${{ inputs.list[7] | default('none') }}"), json!("none"));
}

#[test]
fn reading_a_skipped_step_suggests_a_default() {
    insta::assert_snapshot!(failure("so: ${{ steps.off.text }}").1, @r#"w.yaml:1:9: `steps.off.text` is undefined (step `off` was skipped: `when` was false; say what to use then: `steps.off.text | default("none")`)"#);
    assert_eq!(value("${{ steps.off.text | default(\"none\") }}"), json!("none"));
    assert!(failure("${{ steps.done.message }}").1.contains("where a value may be missing"));
}

#[test]
fn c_operators_are_refused_outside_of_strings() {
    let help = |text| {
        problems(text)
            .into_iter()
            .map(|(code, place, help)| format!("{code} {place} {help}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(help("${{ inputs.yes && inputs.yes }}"), ["expression::operator && write `and`"]);
    assert_eq!(help("${{ inputs.yes || 'a' }}"), ["expression::operator || write `or`"]);
    assert_eq!(
        help("${{ 'ok' == 'ok' && !inputs.yes }}"),
        ["expression::operator && write `and`", "expression::operator ! write `not`"]
    );
    assert_eq!(value("${{ 'a && b || !c' if 1 != 2 else 'x' }}"), json!("a && b || !c"));
}

#[test]
fn operators_of_other_languages_are_named_with_what_stands_for_them_here() {
    let help = |text| {
        let (code, place, help) = problems(text).remove(0);
        format!("{code} {place} {help}")
    };
    assert_eq!(help("${{ run.id = 'x' }}"), "expression::operator = write `==`");
    assert_eq!(help("${{ run.id === 'x' }}"), "expression::operator = write `==`");
    assert_eq!(
        help("${{ inputs.yes ? 1 : 2 }}"),
        "expression::operator ? write `A if CONDITION else B`"
    );
    assert_eq!(value("${{ inputs.list | join(d='=') | length > 0 }}"), json!(true));
    assert_eq!(value("${% set x = 'y' %}${{ x }}"), json!("y"));
}

#[test]
fn characters_the_engine_would_drop_are_refused() {
    for text in ["${{ 'a' ; 'b' }}", "${{ 1 & 2 }}", "${{ a\u{a0}b }}", "${{ `x` }}"] {
        assert_eq!(problems(text)[0].0, "expression::character", "{text}");
    }
}

#[test]
fn an_expression_that_is_not_closed_is_an_error() {
    assert_eq!(
        problems("a ${{ inputs.topic ")[0],
        ("expression::unclosed", "${{".into(), "end it with `}}`".into())
    );
    assert_eq!(problems("${{ 'abc }}")[0].0, "expression::unclosed");
    assert_eq!(problems("${% for x in inputs.list")[0].0, "expression::unclosed");
    assert_eq!(problems("${# never")[0].0, "expression::unclosed");
    assert_eq!(problems("${% for x in inputs.list %}")[0].0, "expression::syntax");
    assert_eq!(problems("${{ 1 + }}")[0].0, "expression::syntax");
}

#[test]
fn a_bracket_that_is_not_closed_is_shown_and_ends_with_its_expression() {
    assert_eq!(
        problems("${{ (inputs.topic }} ${{ inputs.list[0 }} ${{ {'a': [1} }}"),
        [
            ("expression::unclosed", "(".into(), "end it with `)`".into()),
            ("expression::unclosed", "[".into(), "end it with `]`".into()),
            ("expression::unclosed", "[".into(), "end it with `]`".into()),
        ]
    );
    assert_eq!(value("${{ [{'a': {'b': 1}}][0].a }}"), json!({"b": 1}));
}

#[test]
fn an_expression_that_is_none_says_how_one_is_written() {
    let help = |text| problems(text).remove(0).2;
    assert!(help("${{ }}").starts_with("write it as in"), "{}", help("${{ }}"));
    assert!(help("${% for x in [1] %}").contains("endfor"));
    assert!(help("${% include 'x' %}").starts_with("blocks are"));
    assert!(help("${% endfor %}").starts_with("blocks are"));
}

#[test]
fn the_cost_of_a_text_grows_with_its_expressions() {
    let compile = |count: usize| {
        let text = "${{ inputs.topic }} ".repeat(count);
        assert_eq!(compiled(&text).1.len(), count);
    };
    if !crate::cost::is_measured() {
        return compile(300);
    }
    // A walk from the start for each place would make it ninety times; so short a time varies more
    // than what `assert_linear` allows for.
    let (small, large) = (crate::cost::least(compile, 300), crate::cost::least(compile, 3_000));
    assert!(large < small * 50, "3,000 expressions took {large:?}, 300 took {small:?}");
}

#[test]
fn names_that_lead_nowhere_are_found_before_anything_runs() {
    let all = |text| {
        problems(text)
            .into_iter()
            .map(|(code, place, help)| format!("{code} {place} {help}"))
            .collect::<Vec<_>>()
    };
    insta::assert_snapshot!(
        [
            all("${{ input.topic }}"),
            all("${{ item.x }}"),
            all("${{ inputs.topic | uper }}"),
            all("${{ inputs.topic is strin }}"),
            all("${{ steps.done.txt }}"),
            all("${{ run.contextid }}"),
            all("${{ run.error.clas }}"),
            all("${{ steps.done.error.mesage }}"),
            all("${{ steps.done['task'].state }}"),
            all("${{ steps.done.message.txt }}"),
            all("${{ steps.done.artifacts['note'].txt }}"),
            all("${{ colour }}"),
            all("${% for steps in inputs.list %}${% endfor %}"),
            all("${% set inputs = 1 %}"),
            all("${{ debug() }}"),
        ]
        .concat()
        .join("\n"),
        @r#"
    expression::unknown-name input did you mean `inputs`?
    expression::unknown-name item `item` is there in a step with `for_each`, but not in its `for_each` and `when`
    expression::unknown-name uper did you mean `upper`?
    expression::unknown-name strin did you mean `string`?
    expression::unknown-field txt did you mean `text`?
    expression::unknown-field contextid did you mean `context_id`?
    expression::unknown-field clas did you mean `class`?
    expression::unknown-field mesage did you mean `message`?
    expression::unknown-field state a task has id, context_id
    expression::unknown-field txt did you mean `text`?
    expression::unknown-field txt did you mean `text`?
    expression::unknown-name colour an expression reads `inputs`, `steps` and `run`; text belongs in quotes
    expression::reserved-name steps choose another name
    expression::reserved-name inputs choose another name
    expression::unknown-name debug an expression reads `inputs`, `steps` and `run`; text belongs in quotes
    "#
    );
}

#[test]
fn loop_exists_in_loops_only() {
    assert_eq!(problems("${{ loop.index }}")[0].0, "expression::unknown-name");
}

#[test]
fn includes_and_macros_do_not_exist() {
    for text in [
        "${% include 'x' %}",
        "${% extends 'x' %}",
        "${% import 'x' as y %}",
        "${% macro m() %}${% endmacro %}",
    ] {
        assert_eq!(problems(text)[0].0, "expression::syntax", "{text}");
    }
}

#[test]
fn references_are_found_however_they_are_written() {
    let reads = |text: &str| {
        let reads = compiled(text).1;
        reads
            .into_iter()
            .map(|read| match read.what {
                ReadWhat::Step(name, members) => {
                    let name_of = |it: &Member| it.name.clone().unwrap_or_else(|| "[]".to_owned());
                    let members: Vec<String> = members.iter().map(name_of).collect();
                    format!("Step({name:?}) {:?} {}", members.join("."), read.text)
                }
                what => format!("{what:?} {}", read.text),
            })
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(
        reads("${{ steps.a.text ~ steps['b'].data[0]['x'].keys() }}"),
        "Step(\"a\") \"text\" steps.a; Step(\"b\") \"data.[].x\" steps['b']"
    );
    assert_eq!(reads("${{ steps [ \"b\" ] }}"), "Step(\"b\") \"\" steps [ \"b\" ]");
    assert_eq!(
        reads("${{ steps[inputs.topic].text }}"),
        "AnyStep steps; Input(\"topic\") inputs.topic"
    );
    assert_eq!(reads("${{ steps['a' ~ 'b'] }}"), "AnyStep steps");
    assert_eq!(
        reads("${% filter upper %}${{ steps.a.text[1:] }}${% endfilter %}"),
        "Step(\"a\") \"text\" steps.a"
    );
    assert_eq!(
        reads("${{ 'steps.a' }} steps.b ${{ inputs.list | attr('steps') }}"),
        "Input(\"list\") inputs.list"
    );
    assert_eq!(reads("${{ {'x': 1}.steps }}"), "");
}

#[test]
fn each_limit_has_an_error_of_its_own() {
    let long = format!("${{{{ 1 }}}}{}", "x".repeat(MAX_SOURCE_BYTES));
    assert_eq!(problems(&long)[0].0, "expression::too-long");
    let forever =
        "${% for a in range(99999) %}${% for b in range(99999) %}${% endfor %}${% endfor %}";
    assert_eq!(failure(forever).0, "expression::out-of-fuel");
    assert_eq!(failure("${{ 'x' * 1000000000 }}").0, "expression::out-of-fuel");
    let large = "${% set x = 'y' * 1000000 %}${% for a in range(9) %}${{ x }}${% endfor %}";
    assert_eq!(failure(large).0, "expression::result-too-large");
    assert_eq!(failure("${{ ['x' * 1000000] * 9 }}").0, "expression::result-too-large");
}

/// Test threads have the smallest stack in use, 2 MiB, and debug builds the largest frames.
#[test]
fn what_would_overflow_the_stack_is_refused_and_what_is_just_allowed_does_not() {
    let most = depth::MAX_DEPTH;
    let forms: [fn(usize) -> String; 10] = [
        |count| format!("${{{{ 1{} }}}}", " + 1".repeat(count)),
        |count| format!("${{{{ inputs.topic{} }}}}", " ~ 'x'".repeat(count - 1)),
        |count| format!("${{{{ 'a'{} }}}}", " | upper".repeat(count)),
        |count| format!("${{{{ inputs{} }}}}", ".topic".repeat(count)),
        |count| format!("${{{{ inputs{} }}}}", "[0]".repeat(count)),
        |count| format!("${{{{ {}1 }}}}", "not ".repeat(count)),
        |count| format!("${{{{ {}1 }}}}", "-".repeat(count)),
        |count| format!("${{{{ {}1{} }}}}", "(".repeat(count), ")".repeat(count)),
        |count| format!("${{{{ 1{} }}}}", " if 1 else 1".repeat(count / 2)),
        |count| format!("${{% if 1 %}}{}${{% endif %}}", "${% elif 1 %}".repeat(count)),
    ];
    for form in forms {
        let _ = Expression::text(&form(most), Span::default(), &Source::new("w.yaml", ""), &[]);
        for far_too_many in [most + 2, 4_000] {
            let (code, _, _) = problems(&form(far_too_many)).remove(0);
            assert_eq!(code, "expression::too-deep", "{}", &form(2));
        }
    }
    assert_eq!(value(&forms[0](most)), json!(1 + most));
    // Blocks are limited by the engine itself.
    let nested = |levels: usize| {
        let (start, end) = ("${% if 1 %}".repeat(levels), "${% endif %}".repeat(levels));
        Expression::text(
            &format!("{start}x{end}"),
            Span::default(),
            &Source::new("w.yaml", ""),
            &[],
        )
    };
    assert!(nested(140).is_ok());
    assert!(nested(200).is_err());
}

#[test]
fn what_stands_side_by_side_is_not_deep() {
    let terms = vec!["steps.done.text | default('x')"; 100].join(" ~ ");
    compiled(&format!("${{{{ {terms} }}}}"));
    let entries = vec!["'k': [1 + 2, (3 + 4) * 5]"; 1_000].join(", ");
    compiled(&format!("${{{{ {{{entries}}} }}}}"));
}

#[test]
fn a_failure_points_at_the_place_in_the_file() {
    let text = "steps:\n  a:\n    message: |\n      Hello,\n      ${{ inputs.topic }} and ${{ inputs.topic + 1 }}\n";
    let file = Source::new("w.yaml", text);
    let node = document::parse(&file, &document::Limits::default()).unwrap();
    let message = node.at_pointer("/steps/a/message").unwrap();
    let (expression, reads) =
        Expression::text(message.as_str().unwrap(), message.span, &file, &[]).unwrap();
    assert_eq!(
        reads.iter().map(|read| file.slice(read.span)).collect::<Vec<_>>(),
        ["inputs.topic", "inputs.topic"]
    );
    let scope = scope();
    let error = expression.evaluate(&scope, &Context::new(&scope), &file).unwrap_err();
    insta::assert_snapshot!(shown(&file, std::slice::from_ref(&error.diagnostic)), @r#"
    expression::failed

      × invalid operation: tried to use + operator on unsupported types string and number
       ╭─[w.yaml:5:35]
     4 │       Hello,
     5 │       ${{ inputs.topic }} and ${{ inputs.topic + 1 }}
       ·                                   ────────────────
       ╰────
    "#);
    assert_eq!(error.place, "w.yaml:5:35");
}

#[test]
fn an_expression_is_stored_as_source_and_span_and_compiled_again() {
    let (expression, _) = compiled("${{ inputs.topic }}!");
    let stored = serde_json::to_value(&expression).unwrap();
    assert_eq!(
        stored,
        json!({"source": "${{ inputs.topic }}!", "span": {"start": 0, "end": 20}, "form": "mixed"})
    );
    let read: Expression = serde_json::from_value(stored).unwrap();
    let scope = scope();
    let (source, _) = source(read.source());
    assert_eq!(read.evaluate(&scope, &Context::new(&scope), &source).unwrap(), json!("rust!"));
    assert_eq!(read, expression);
}

#[test]
fn a_bare_position_takes_one_expression() {
    let bare = |text: &str| {
        let (source, span) = source(text);
        Expression::bare(text, span, &source, &[]).map(|(expression, _)| {
            let scope = scope();
            expression.evaluate(&scope, &Context::new(&scope), &source).unwrap()
        })
    };
    assert_eq!(bare("inputs.topic == 'rust'").unwrap(), json!(true));
    assert_eq!(bare("${{ inputs.topic == 'rust' }}").unwrap(), json!(true));
    assert_eq!(bare("not ${{ inputs.yes }}").unwrap_err()[0].code, "expression::not-one");
    assert_eq!(bare("inputs.yes && true").unwrap_err()[0].code, "expression::operator");
}

#[test]
fn expressions_can_be_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Expression>();
    check::<crate::Workflow>();
}

proptest::proptest! {
    #[test]
    fn no_text_brings_the_expressions_down(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = pieces.concat();
        let (source, span) = source(&text);
        if let Ok((expression, _)) = Expression::text(&text, span, &source, &[]) {
            let scope = scope();
            let _ = expression.evaluate(&scope, &Context::new(&scope), &source);
        }
        let _ = Expression::bare(&text, span, &source, &[]);
    }

    #[test]
    fn whatever_a_step_reads_is_among_its_references(pieces in proptest::collection::vec(piece(), 0..12)) {
        let text = format!("${{{{ {} }}}}", pieces.concat());
        let (source, span) = source(&text);
        if let Ok((expression, reads)) = Expression::text(&text, span, &source, &[]) {
            // The engine's own analysis knows the root only, and not in every position.
            let uses_steps = expression.program().unwrap().free_names().iter().any(|name| name == "steps");
            let is_found = reads.iter().any(|read| matches!(read.what, ReadWhat::Step(..) | ReadWhat::AnyStep));
            proptest::prop_assert!(is_found || !uses_steps, "{text}");
        }
    }
}

fn piece() -> impl proptest::strategy::Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "${{",
        "}}",
        "${%",
        "%}",
        "${#",
        "#}",
        "steps",
        ".",
        "done",
        "off",
        "text",
        "['done']",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        " ",
        "\"",
        "'",
        "\\",
        "inputs",
        ".topic",
        " for x in ",
        " endfor ",
        " if ",
        " set x = ",
        "|",
        "upper",
        "~",
        "1",
        "+",
        "-",
        "é",
        "\n",
        "&&",
        "!",
        " is defined",
        "==",
        ",",
        ":",
        "$",
        "raw",
        "endraw",
        " filter ",
        "not ",
    ])
}
