use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;

use super::{Limits, parse};
use crate::{Node, Source, Style, render};

fn tree(text: &str) -> Node {
    let source = Source::new("trip.yaml", text);
    parse(&source, &Limits::default()).unwrap_or_else(|problems| {
        panic!("{}", render(&source, &problems, Style::default()));
    })
}

fn refusal(text: &str) -> String {
    refusal_within(text, &Limits::default())
}

fn refusal_within(text: &str, limits: &Limits) -> String {
    let source = Source::new("trip.yaml", text);
    let problems = parse(&source, limits).expect_err("the text should be refused");
    render(&source, &problems, Style::default())
}

fn codes(text: &str, limits: &Limits) -> Vec<&'static str> {
    let source = Source::new("trip.yaml", text);
    let problems = parse(&source, limits).expect_err("the text should be refused");
    problems.iter().map(|problem| problem.code).collect()
}

#[test]
fn scalars_have_the_types_of_json_and_no_others() {
    let text = "[true, false, null, ~, '', 1, -2, 1.5, 1e3, 18446744073709551615,
        yes, no, on, off, True, NULL, 012, 1_000, +1, 0x1f, 0o17, .5, 1., .inf, .nan,
        18446744073709551616, 1e999, 2024-01-01, 12:30, 'true', \"1\", -0, 'null']";
    assert_eq!(
        tree(text).to_json(),
        json!([
            true,
            false,
            null,
            null,
            "",
            1,
            -2,
            1.5,
            1e3,
            18446744073709551615_u64,
            "yes",
            "no",
            "on",
            "off",
            "True",
            "NULL",
            "012",
            "1_000",
            "+1",
            "0x1f",
            "0o17",
            ".5",
            "1.",
            ".inf",
            ".nan",
            "18446744073709551616",
            "1e999",
            "2024-01-01",
            "12:30",
            "true",
            "1",
            -0.0,
            "null"
        ])
    );
}

#[test]
fn an_empty_document_is_null() {
    assert_eq!(tree("").to_json(), json!(null));
    assert_eq!(tree("# only a comment\n").to_json(), json!(null));
    assert_eq!(tree("a:\nb: \n").to_json(), json!({"a": null, "b": null}));
}

#[test]
fn json_is_read_as_it_is() {
    let text = "{\n\t\"name\": \"a\\/b\\ud834\\udd1e\",\n\t\"list\": [1, {\"deep\": null}],\"no space\":1\n}\n";
    assert_eq!(
        tree(text).to_json(),
        json!({"name": "a/b𝄞", "list": [1, {"deep": null}], "no space": 1})
    );
}

#[test]
fn core_tags_are_read_and_others_refused() {
    assert_eq!(
        tree("[!!str 1, !!int 2, !!float 3, !!bool true, !!null ~, !!seq [], !!map {}]").to_json(),
        json!(["1", 2, 3, true, null, [], {}])
    );
    assert_snapshot!(refusal("a: !!int x\nb: !secret y\n"), @"
    yaml::tag

      × the value is tagged `!!int` but is a string
       ╭─[trip.yaml:1:10]
     1 │ a: !!int x
       ·          ┬
       ·          ╰── a string, not `int`
     2 │ b: !secret y
       ╰────
      help: remove the tag or correct the value

    yaml::tag

      × tags have no meaning here
       ╭─[trip.yaml:2:4]
     1 │ a: !!int x
     2 │ b: !secret y
       ·    ───┬───
       ·       ╰── this tag is not known
       ╰────
      help: remove it; of YAML's tags only the core ones such as `!!str` are read
    ");
}

#[test]
fn spans_cover_what_was_written() {
    let text = "steps:\n  flight:\n    message: |\n      Book\n      it\n\n  # a comment\nparallel: 'é 2'\nlist:\n- a\n- b\n\n";
    let source = Source::new("trip.yaml", text);
    let node = tree(text);
    let at = |pointer: &str| source.slice(node.at_pointer(pointer).unwrap().span);
    assert_eq!(at("/steps"), "flight:\n    message: |\n      Book\n      it");
    assert_eq!(at("/steps/flight/message"), "|\n      Book\n      it");
    assert_eq!(node.at_pointer("/steps/flight/message").unwrap().as_str(), Some("Book\nit\n"));
    assert_eq!(at("/parallel"), "'é 2'");
    assert_eq!(at("/list"), "a\n- b");
    assert_eq!(source.slice(node.span_at_pointer("/steps/flight/agent")), "flight");
    assert_eq!(source.slice(node.span_at_pointer("/list/1")), "b");
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let plain = "a: 1\nb:\n  - |\n    x\n    y\n";
    let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    assert_eq!(tree(&windows).to_json(), tree(plain).to_json());
    assert_snapshot!(refusal("\u{feff}a: 1\r\nb: {\r\na: 2\r\n"), @"
    yaml::syntax

      × this is not valid YAML: a `[` or `{` is not closed, or a `,` is missing
       ╭─[trip.yaml:2:4]
     1 │ a: 1
     2 │ b: {
       ·    ┬
       ·    ╰── here
     3 │ a: 2
       ╰────
      help: close it with `]` or `}`, and put `,` between the items
    ");
}

#[test]
fn a_syntax_error_is_shown_where_it_is() {
    assert_snapshot!(refusal("name: trip\nsteps:\n  flight:\n    message: Book: a flight\n"), @"
    yaml::syntax

      × this is not valid YAML: a `:` stands where no mapping can begin
       ╭─[trip.yaml:4:18]
     3 │   flight:
     4 │     message: Book: a flight
       ·                  ┬
       ·                  ╰── here
       ╰────
      help: quote the text if the `:` belongs to it; otherwise check the indentation, and that a blank
            follows each `:` above
    ");
    assert_snapshot!(refusal("name: \"trip\nsteps: 1\n"), @r#"
    yaml::syntax

      × this is not valid YAML: a quoted text is never closed
       ╭─[trip.yaml:1:7]
     1 │ name: "trip
       ·       ┬
       ·       ╰── here
     2 │ steps: 1
       ╰────
      help: add the closing quote
    "#);
    assert_snapshot!(refusal("tags: [a, b\nsteps: 1\n"), @"
    yaml::syntax

      × this is not valid YAML: a `[` or `{` is not closed, or a `,` is missing
       ╭─[trip.yaml:2:6]
     1 │ tags: [a, b
     2 │ steps: 1
       ·      ┬
       ·      ╰── here
       ╰────
      help: close it with `]` or `}`, and put `,` between the items
    ");
}

#[test]
fn wrong_indentation_and_missing_marks_are_explained() {
    assert_snapshot!(refusal("steps:\n    a: 1\n  b: 2\n"), @"
    yaml::syntax

      × this is not valid YAML: the indentation fits nothing above
       ╭─[trip.yaml:3:3]
     2 │     a: 1
     3 │   b: 2
       ·   ┬
       ·   ╰── here
       ╰────
      help: give all keys of one mapping the same indentation
    ");
    assert_snapshot!(refusal("name: @home\n"), @"
    yaml::syntax

      × this is not valid YAML: an unquoted text cannot begin with `@`
       ╭─[trip.yaml:1:7]
     1 │ name: @home
       ·       ┬
       ·       ╰── here
       ╰────
      help: quote the text: YAML gives the character a meaning of its own
    ");
    assert_snapshot!(refusal("name: trip\nsteps\nparallel: 2\n"), @"
    yaml::syntax

      × this is not valid YAML: a key without `:`
       ╭─[trip.yaml:2:1]
     1 │ name: trip
     2 │ steps
       · ┬
       · ╰── here
     3 │ parallel: 2
       ╰────
      help: write `key: value`, or indent the line if it continues the one above
    ");
}

#[test]
fn every_duplicate_key_is_reported() {
    let text =
        "name: trip\nsteps:\n  flight: {when: a, when: b}\n  hotel: 1\n  flight: 2\nname: again\n";
    assert_snapshot!(refusal(text), @"
    yaml::duplicate-key

      × the key `when` is there twice
       ╭─[trip.yaml:3:21]
     2 │ steps:
     3 │   flight: {when: a, when: b}
       ·            ──┬─     ──┬─
       ·              │        ╰── again here
       ·              ╰── first here
     4 │   hotel: 1
       ╰────
      help: remove one of the two, or rename it

    yaml::duplicate-key

      × the key `flight` is there twice
       ╭─[trip.yaml:5:3]
     2 │ steps:
     3 │   flight: {when: a, when: b}
       ·   ───┬──
       ·      ╰── first here
     4 │   hotel: 1
     5 │   flight: 2
       ·   ───┬──
       ·      ╰── again here
     6 │ name: again
       ╰────
      help: remove one of the two, or rename it

    yaml::duplicate-key

      × the key `name` is there twice
       ╭─[trip.yaml:1:1]
     1 │ name: trip
       · ──┬─
       ·   ╰── first here
     2 │ steps:
       ╰────
       ╭─[trip.yaml:6:1]
     5 │   flight: 2
     6 │ name: again
       · ──┬─
       ·   ╰── again here
       ╰────
      help: remove one of the two, or rename it
    ");
    let many: String = (0..20).map(|n| format!("k{}: {n}\n", n % 15)).collect();
    assert_eq!(codes(&many, &Limits::default()), ["yaml::duplicate-key"; 5]);
}

#[test]
fn tabs_as_indentation_are_explained() {
    assert_snapshot!(refusal("steps:\n\tflight: 1\n"), @"
    yaml::tab

      × a tab is used as indentation
       ╭─[trip.yaml:2:1]
     1 │ steps:
     2 │     flight: 1
       · ──┬─
       ·   ╰── this is a tab
       ╰────
      help: YAML is indented with spaces only: replace the tab with spaces
    ");
    assert_snapshot!(refusal("steps:\n  flight:\n  \tmessage: 1\n"), @"
    yaml::tab

      × a tab is used as indentation
       ╭─[trip.yaml:3:3]
     2 │   flight:
     3 │     message: 1
       ·   ─┬
       ·    ╰── this is a tab
       ╰────
      help: YAML is indented with spaces only: replace the tab with spaces
    ");
}

#[test]
fn a_second_document_is_refused() {
    assert_eq!(tree("---\na: 1\n...\n").to_json(), json!({"a": 1}));
    assert_snapshot!(refusal("a: 1\n---\nb: 2\n"), @"
    yaml::several-documents

      × there is more than one document in this file
       ╭─[trip.yaml:2:1]
     1 │ a: 1
     2 │ ---
       · ─┬─
       ·  ╰── a second document starts here
     3 │ b: 2
       ╰────
      help: remove the `---` line, or put the second document into a file of its own
    ");
}

#[test]
fn merge_keys_are_refused_with_a_hint() {
    assert_snapshot!(refusal("base: &base {a: 1}\nstep:\n  <<: *base\n"), @"
    yaml::merge-key

      × merge keys (`<<`) are not supported
       ╭─[trip.yaml:3:3]
     2 │ step:
     3 │   <<: *base
       ·   ─┬
       ·    ╰── this would merge another mapping
       ╰────
      help: write the fields out, or use an alias for a whole value (`key: *name`)
    ");
    assert_eq!(tree("'<<': 1").to_json(), json!({"<<": 1}));
}

#[test]
fn keys_are_text() {
    assert_eq!(
        tree("1: a\ntrue: b\n&k x: c\n? y\n: d\n").to_json(),
        json!({"1": "a", "true": "b", "x": "c", "y": "d"})
    );
    assert_snapshot!(refusal("message: {{ inputs.x }}\n"), @"
    yaml::key-not-text

      × a key is a mapping or a list
       ╭─[trip.yaml:1:11]
     1 │ message: {{ inputs.x }}
       ·           ┬
       ·           ╰── this is used as a key
       ╰────
      help: use text as the key; a text that starts with `{` or `[` must be quoted
    ");
}

#[test]
fn aliases_stand_for_their_anchors() {
    let node = tree("a: &a {x: [1, two]}\nb: *a\nc: [*a, &t text, *t]\n*t : key\n");
    let a = json!({"x": [1, "two"]});
    assert_eq!(node.to_json(), json!({"a": a, "b": a, "c": [a, "text", "text"], "text": "key"}));
}

#[test]
fn an_alias_without_an_anchor_is_refused_with_the_nearest_name() {
    assert_snapshot!(refusal("a: &base 1\nb: *bsae\nc: *other\n"), @"
    yaml::unknown-anchor

      × the alias `*bsae` refers to an anchor that is not defined before it
       ╭─[trip.yaml:2:4]
     1 │ a: &base 1
     2 │ b: *bsae
       ·    ──┬──
       ·      ╰── not defined
     3 │ c: *other
       ╰────
      help: did you mean `*base`?

    yaml::unknown-anchor

      × the alias `*other` refers to an anchor that is not defined before it
       ╭─[trip.yaml:3:4]
     2 │ b: *bsae
     3 │ c: *other
       ·    ───┬──
       ·       ╰── not defined
       ╰────
      help: define it with `&other` on an earlier value, or quote the text if it is none
    ");
}

#[test]
fn an_alias_inside_its_own_anchor_is_refused() {
    assert_snapshot!(refusal("a: &a [1, *a]\n"), @"
    yaml::alias-of-itself

      × an alias stands inside the value it refers to
       ╭─[trip.yaml:1:11]
     1 │ a: &a [1, *a]
       ·           ─┬
       ·            ╰── this would never end
       ╰────
      help: write the value out
    ");
    assert_eq!(codes("a: &a {b: &b [*a]}\nc: *b\n", &Limits::default()), ["yaml::alias-of-itself"]);
}

fn bomb(levels: usize) -> String {
    let mut text = "a0: &a0 lol\n".to_owned();
    for level in 1..=levels {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    text
}

#[test]
fn an_alias_bomb_is_refused_at_once() {
    let started = Instant::now();
    assert_snapshot!(refusal(&bomb(30)), @"
    yaml::alias-budget

      × aliases repeat more than 50000 keys and values
       ╭─[trip.yaml:6:15]
     5 │ a4: &a4 [*a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3, *a3]
     6 │ a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]
       ·               ─┬─
       ·                ╰── the limit is reached in what this alias stands for
     7 │ a6: &a6 [*a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5, *a5]
       ╰────
      help: aliases that contain aliases multiply: write the values out, or use fewer of them
    ");
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn repeated_values_and_repeated_text_have_budgets() {
    let limits = Limits { max_alias_nodes: 3, max_alias_bytes: 10, ..Limits::default() };
    let fits = Source::new("a.yaml", "a: &a [1, 2]\nb: *a\n");
    assert!(parse(&fits, &limits).is_ok());
    assert_eq!(codes("a: &a [1, 2, 3]\nb: *a\n", &limits), ["yaml::alias-budget"]);
    assert_snapshot!(refusal_within("a: &a 0123456789abc\nb: *a\n", &limits), @"
    yaml::alias-budget

      × aliases repeat more than 10 bytes of text
       ╭─[trip.yaml:2:4]
     1 │ a: &a 0123456789abc
     2 │ b: *a
       ·    ─┬
       ·     ╰── the limit is reached in what this alias stands for
       ╰────
      help: aliases that contain aliases multiply: write the values out, or use fewer of them
    ");
}

#[test]
fn deep_nesting_is_refused() {
    let flow = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert_snapshot!(refusal(&format!("a: {flow}")), @"
    yaml::too-deep

      × values are nested deeper than 64 levels
      │ at trip.yaml:1:68 level 65 begins here
      help: flatten the structure
    ");
    let block: String = (0..100).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
    assert_eq!(codes(&block, &Limits::default()), ["yaml::too-deep"]);
    let limits = Limits { max_depth: 3, ..Limits::default() };
    assert!(parse(&Source::new("a", "a: [{b: 1}]"), &limits).is_ok());
    assert_eq!(codes("a: [{b: {c: 1}}]", &limits), ["yaml::too-deep"]);
    assert_eq!(codes("a: &a [[1]]\nb: [*a]", &limits), ["yaml::too-deep"]);
}

#[test]
fn too_many_values_are_refused() {
    let limits = Limits { max_nodes: 10, ..Limits::default() };
    assert_snapshot!(refusal_within("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", &limits), @"
    yaml::too-many-values

      × there are more than 10 keys and values in this file
       ╭─[trip.yaml:1:29]
     1 │ [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
       ·                             ─┬
       ·                              ╰── the limit is reached here
       ╰────
      help: split the file
    ");
}

#[test]
fn a_text_beyond_the_size_limit_is_refused() {
    let limits = Limits { max_bytes: 8, ..Limits::default() };
    assert_snapshot!(refusal_within("name: trip", &limits), @"
    file::too-large

      × `trip.yaml` is 10 bytes long; the limit for one file is 8 bytes
      help: split it, or keep large content in files of its own that are passed as input
    ");
}

#[test]
fn problems_come_in_the_order_of_the_text() {
    let text = "b: {x: 1, x: 2}\na: *none\nb: !t 1\nc:\n  <<: {}\n";
    assert_eq!(
        codes(text, &Limits::default()),
        [
            "yaml::duplicate-key",
            "yaml::unknown-anchor",
            "yaml::duplicate-key",
            "yaml::tag",
            "yaml::merge-key"
        ]
    );
}

#[test]
fn an_expression_without_quotes_in_braces_is_what_the_hint_speaks_of() {
    assert_snapshot!(refusal("a: {message: ${{ inputs.x }}}\n"), @r"
    yaml::syntax

      × this is not valid YAML: a `[` or `{` is not closed, or a `,` is missing
       ╭─[trip.yaml:1:15]
     1 │ a: {message: ${{ inputs.x }}}
       ·               ┬
       ·               ╰── here
       ╰────
      help: inside `{ }` and `[ ]`, put a text with `${{ … }}` in it in quotes
    ");
}

#[test]
fn a_character_that_cannot_be_seen_is_named() {
    let shown = refusal("a: \u{1b}[31m\n");
    assert!(shown.contains("the control character U+001B cannot stand here"), "{shown}");
    assert!(shown.contains("write it as an escape in double quotes"), "{shown}");
}

fn steps(count: usize) -> String {
    let mut text = "convoke: 1\nname: wide\nsteps:\n".to_owned();
    for n in 0..count {
        text += &format!(
            "  step_{n}:\n    agent: {{tags: [echo]}}\n    needs: [step_0]\n    message: Say ${{{{ inputs.word }}}} {n}\n"
        );
    }
    text
}

fn time_of(text: &str) -> Duration {
    let source = Source::new("wide.yaml", text);
    let runs = (0..3).map(|_| {
        let started = Instant::now();
        parse(&source, &Limits::default()).unwrap();
        started.elapsed()
    });
    runs.min().expect("there are runs")
}

#[test]
fn a_file_of_ten_thousand_steps_is_read_in_linear_time() {
    let (small, large) = (time_of(&steps(1_000)), time_of(&steps(10_000)));
    println!("1,000 steps {small:?}, 10,000 steps {large:?}");
    assert!(large < small * 40, "10,000 steps took {large:?}, 1,000 took {small:?}");
}
