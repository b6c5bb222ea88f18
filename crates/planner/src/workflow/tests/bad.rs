//! What is wrong in a way that no file of `tests/bad` can show: too large for the tree, or right after all.

use super::{brief, codes, shown, with};

#[test]
fn a_file_of_ten_megabytes_is_refused() {
    let path = std::env::temp_dir().join(format!("convoke-planner-{}.yaml", std::process::id()));
    std::fs::write(&path, " ".repeat(10 << 20)).unwrap();
    let problems = document::Source::read(&path, &document::Limits::default()).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    let text = problems.to_string().replace(&path.display().to_string(), "large.yaml");
    insta::assert_snapshot!(text, @r#"
    file::too-large

      × `large.yaml` is 10 MiB long; the limit for one file is 4 MiB
      help: split it, or keep large content in files of its own that are passed as input
    "#);
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "convoke: 1\nname: w\nsteps:\n  a: {agent: x}\ntags:\n  - &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        text.push_str(&format!("  - &a{level} [{}]\n", vec![before; 9].join(", ")));
    }
    insta::assert_snapshot!(shown(&text), @r#"
    yaml::alias-budget

      × aliases repeat more than 50000 keys and values
        ╭─[trip.yaml:10:30]
      9 │   - &a3 [*a2, *a2, *a2, *a2, *a2, *a2, *a2, *a2, *a2]
     10 │   - &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
        ·                              ─┬─
        ·                               ╰── the limit is reached in what this alias stands for
     11 │   - &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]
        ╰────
      help: aliases that contain aliases multiply: write the values out, or use fewer of them
    "#);
}

#[test]
fn what_is_sent_nests_no_deeper_than_it_can_travel() {
    let nested = |levels: usize| {
        let data = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        with("", &format!("    message: [{{data: {data}}}]"))
    };
    super::checked(&nested(protocol::wkt::MAX_DEPTH));
    assert_eq!(codes(&nested(protocol::wkt::MAX_DEPTH + 1)), ["workflow::too-deep at []"]);
}

#[test]
fn a_step_is_not_written_for_more_items_than_it_can_run_for() {
    let list = |items: usize| with("", &format!("    for_each: [{}]", vec!["1"; items].join(", ")));
    super::checked(&list(crate::turn::MAX_ITEMS));
    assert_eq!(codes(&list(crate::turn::MAX_ITEMS + 1)), ["workflow::invalid-value at 1"]);
}

#[test]
fn what_looks_wrong_and_is_right_is_taken() {
    let file = |top: &str, agent: &str| {
        super::checked(&format!("convoke: 1\nname: w\n{top}\nsteps:\n  a: {{agent: {agent}}}\n"));
    };
    file("", "{url: 'HTTP://[::1]:80/x'}");
    // A `$ref` among values refers to nothing.
    file(
        "inputs: {i: {type: object, default: {$ref: elsewhere}, $defs: {s: {type: string}}}}",
        "x",
    );
    file("inputs:\nagents:\noutputs:", "x");
}

#[test]
fn what_a_schema_leaves_room_for_may_be_read() {
    let read = |schema: &str, path: &str| {
        super::checked(&format!(
            "convoke: 1\nname: w\nsteps:\n  a: {{agent: x, expect: {schema}}}\n  b: {{agent: x, message: '${{{{ steps.a.data{path} }}}}'}}\n"
        ));
    };
    read("{properties: {n: {}}}", ".m");
    read("{additionalProperties: {type: number}}", ".m");
    read("{additionalProperties: false, patternProperties: {^m: {}}}", ".m");
    read("{additionalProperties: false, properties: {n: {}}}", ".n.m");
    read("{anyOf: [{additionalProperties: false}, {properties: {n: {}}}]}", ".m");
    read("{$ref: '#/$defs/it', $defs: {it: {$ref: '#/$defs/it'}}}", ".m");
    read(
        "{unevaluatedProperties: false, $ref: '#/$defs/it', $defs: {it: {properties: {m: {}}}}}",
        ".m",
    );
    read("{additionalProperties: false}", "[0]");
    read("{additionalProperties: false}", ".get(''m'')");
    read("{items: {additionalProperties: false, properties: {n: {}}}}", "[0].n");
}

#[test]
fn what_is_wrong_with_computed_values_is_said_where_it_is() {
    let told = |step: &str| brief(&format!("convoke: 1\nname: w\nsteps:\n  a: {step}\n"));
    let all = [
        told("{set: {n: 1}, agent: x}"),
        told("{set: {n: 1}, message: hi, timeout: 1s}"),
        told("{set: {n: 1}, retry: {attempts: 2}, outputs: {n: 1}}"),
        told("{set: {}}"),
        told("{set: [1]}"),
        told("{agent: x, outputs: '${{ this.text }}'}"),
        told("{agent: x, message: '${{ this.text }}'}"),
        told("{set: {n: '${{ this.text }}'}}"),
        told("{set: {n: '${{ item }}'}}"),
        told("{set: {n: 1}}\n  b: {agent: {same_as: a}}"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    agent: step `a` has both `agent` and `set`; a step does one thing: make two of it
    message: `message` of step `a` is of no use: `set` asks no agent; take it away, or give the step an `agent` instead of `set`
    timeout: `timeout` of step `a` is of no use: `set` asks no agent; take it away, or give the step an `agent` instead of `set`
    retry: `retry` of step `a` is of no use: `set` asks no agent; take it away, or give the step an `agent` instead of `set`
    outputs: `outputs` of step `a` is of no use: `set` asks no agent; put all values into `set`
    {}: `set` of step `a` names no values; name a value, as in `{title: "${{ inputs.title }}"}`
    1: `set` of step `a` must be a mapping from names to values, not a list; name the values, as in `{title: "${{ inputs.title }}"}`
    '${{ this.text }}': `outputs` of step `a` must be a mapping from names to values, not a string; name the values, as in `{title: "${{ inputs.title }}"}`
    this: `this` is not a known name; `this` is there in `outputs`, and with `repeat` in `until` and `message`
    this: `this` is not a known name; `this` is there in `outputs`, and with `repeat` in `until` and `message`
    item: `item` is not a known name; `item` is there in a step with `for_each`, but not in its `for_each` and `when`
    a: step `a` is served by no agent; name a step that has an `agent`
    "#);
}
