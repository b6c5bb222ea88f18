//! Files that are wrong, and exactly what their authors are told.

use super::{brief, codes, shown, with};

#[test]
fn a_yaml_syntax_error_is_shown_where_it_is() {
    insta::assert_snapshot!(shown("convoke: 1\nname: w\nsteps:\n  a: {agent: x\n  b: {agent: y}\n"), @r#"
    yaml::syntax

      × this is not valid YAML: a `[` or `{` is not closed, or a `,` is missing
       ╭─[trip.yaml:5:4]
     4 │   a: {agent: x
     5 │   b: {agent: y}
       ·    ┬
       ·    ╰── here
       ╰────
      help: close it with `]` or `}`, and put `,` between the items
    "#);
}

#[test]
fn an_unknown_key_comes_with_the_nearest_known_one() {
    insta::assert_snapshot!(shown(&with("paralel: 4", "    mesage: Hello\n    nobody: [1]")), @r#"
    workflow::unknown-key

      × `paralel` is not a key of a workflow
       ╭─[trip.yaml:3:1]
     2 │ name: w
     3 │ paralel: 4
       · ───┬───
       ·    ╰── unknown key
     4 │ steps:
       ╰────
      help: did you mean `parallel`?

    workflow::unknown-key

      × `mesage` is not a key of step `a`
       ╭─[trip.yaml:7:5]
     6 │     agent: x
     7 │     mesage: Hello
       ·     ───┬──
       ·        ╰── unknown key
     8 │     nobody: [1]
       ╰────
      help: did you mean `message`?

    workflow::unknown-key

      × `nobody` is not a key of step `a`
       ╭─[trip.yaml:8:5]
     7 │     mesage: Hello
     8 │     nobody: [1]
       ·     ───┬──
       ·        ╰── unknown key
     9 │   b: {agent: y, needs: [a]}
       ╰────
      help: known keys: agent, message, set, outputs, needs, join, run_if, cancel_rest, when,
            for_each, concurrency, on_error, retry, timeout
    "#);
}

#[test]
fn a_duplicate_key_shows_both_places() {
    insta::assert_snapshot!(shown(&with("", "    timeout: 1s\n    timeout: 2s")), @r#"
    yaml::duplicate-key

      × the key `timeout` is there twice
       ╭─[trip.yaml:8:5]
     6 │     agent: x
     7 │     timeout: 1s
       ·     ───┬───
       ·        ╰── first here
     8 │     timeout: 2s
       ·     ───┬───
       ·        ╰── again here
     9 │   b: {agent: y, needs: [a]}
       ╰────
      help: remove one of the two, or rename it
    "#);
}

#[test]
fn a_duplicate_step_shows_both_places() {
    insta::assert_snapshot!(shown("convoke: 1\nname: w\nsteps:\n  a: {agent: x}\n  b: {agent: x}\n  a: {agent: y}\n"), @r#"
    yaml::duplicate-key

      × the key `a` is there twice
       ╭─[trip.yaml:6:3]
     3 │ steps:
     4 │   a: {agent: x}
       ·   ┬
       ·   ╰── first here
     5 │   b: {agent: x}
     6 │   a: {agent: y}
       ·   ┬
       ·   ╰── again here
       ╰────
      help: remove one of the two, or rename it
    "#);
}

#[test]
fn a_cycle_is_shown_whole_with_every_line_that_closes_it() {
    insta::assert_snapshot!(
        shown("convoke: 1\nname: w\nsteps:\n  a: {agent: x, needs: [c]}\n  b: {agent: x, message: '${{ steps.a.text }}'}\n  c:\n    agent: {same_as: b}\n  d: {agent: x, needs: [c]}\n  e: {agent: x, needs: [e]}\n"),
        @r#"
    workflow::cycle

      × these steps wait for each other: a → c → b → a
       ╭─[trip.yaml:4:25]
     3 │ steps:
     4 │   a: {agent: x, needs: [c]}
       ·                         ┬
       ·                         ╰── a waits for c
     5 │   b: {agent: x, message: '${{ steps.a.text }}'}
       ·                               ───┬───
       ·                                  ╰── b waits for a
     6 │   c:
     7 │     agent: {same_as: b}
       ·                      ┬
       ·                      ╰── c waits for b
     8 │   d: {agent: x, needs: [c]}
       ╰────
      help: take one of these references away

    workflow::cycle

      × these steps wait for each other: e → e
       ╭─[trip.yaml:9:25]
     8 │   d: {agent: x, needs: [c]}
     9 │   e: {agent: x, needs: [e]}
       ·                         ┬
       ·                         ╰── e waits for e
       ╰────
      help: take one of these references away
    "#
    );
}

#[test]
fn an_unknown_step_comes_with_the_nearest_name() {
    insta::assert_snapshot!(
        shown("convoke: 1\nname: w\nsteps:\n  flight: {agent: x}\n  hotel:\n    agent: x\n    needs: [fligth]\n    message:\n      - artifacts: flights[\"ticket\"]\n      - text: |\n          For the flight\n          ${{ steps.flihgt.text }}\n"),
        @r#"
    workflow::unknown-step

      × there is no step `fligth`
       ╭─[trip.yaml:7:13]
     6 │     agent: x
     7 │     needs: [fligth]
       ·             ───┬──
       ·                ╰── unknown step
     8 │     message:
       ╰────
      help: did you mean `flight`?

    workflow::unknown-step

      × there is no step `flights`
        ╭─[trip.yaml:9:20]
      8 │     message:
      9 │       - artifacts: flights["ticket"]
        ·                    ───┬───
        ·                       ╰── unknown step
     10 │       - text: |
        ╰────
      help: did you mean `flight`?

    workflow::unknown-step

      × there is no step `flihgt`
        ╭─[trip.yaml:12:15]
     11 │           For the flight
     12 │           ${{ steps.flihgt.text }}
        ·               ──────┬─────
        ·                     ╰── unknown step
        ╰────
      help: did you mean `flight`?
    "#
    );
}

#[test]
fn a_reference_to_a_missing_input_comes_with_the_nearest_name() {
    insta::assert_snapshot!(
        shown(&with("inputs: {travellers: {type: integer}}", "    message: For ${{ inputs.travelers }} to ${{ inputs.city }}")),
        @r#"
    workflow::unknown-input

      × there is no input `travelers`
       ╭─[trip.yaml:7:22]
     6 │     agent: x
     7 │     message: For ${{ inputs.travelers }} to ${{ inputs.city }}
       ·                      ────────┬───────
       ·                              ╰── unknown input
     8 │   b: {agent: y, needs: [a]}
       ╰────
      help: did you mean `travellers`?

    workflow::unknown-input

      × there is no input `city`
       ╭─[trip.yaml:7:49]
     6 │     agent: x
     7 │     message: For ${{ inputs.travelers }} to ${{ inputs.city }}
       ·                                                 ─────┬─────
       ·                                                      ╰── unknown input
     8 │   b: {agent: y, needs: [a]}
       ╰────
      help: declare it under `inputs`, as in `city: {type: string}`
    "#
    );
}

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
fn an_expression_that_cannot_be_right_is_shown_where_it_is() {
    insta::assert_snapshot!(
        shown(&with("", "    when: steps.b.state == 'x' && true\n    message: |\n      Dear ${{ run.nme }},\n      ${{ steps.a.text | uppr }}")),
        @r#"
    expression::operator

      × `&&` is not an operator of expressions
       ╭─[trip.yaml:7:32]
     6 │     agent: x
     7 │     when: steps.b.state == 'x' && true
       ·                                ──
     8 │     message: |
       ╰────
      help: write `and`

    expression::unknown-field

      × there is no `nme` here
        ╭─[trip.yaml:9:20]
      8 │     message: |
      9 │       Dear ${{ run.nme }},
        ·                    ───
     10 │       ${{ steps.a.text | uppr }}
        ╰────
      help: `run` has id, context_id, workflow, error, started_at, scheduled_at

    expression::unknown-name

      × there is no filter `uppr`
        ╭─[trip.yaml:10:26]
      9 │       Dear ${{ run.nme }},
     10 │       ${{ steps.a.text | uppr }}
        ·                          ────
     11 │   b: {agent: y, needs: [a]}
        ╰────
      help: did you mean `upper`?
    "#
    );
}

#[test]
fn a_step_chosen_at_run_time_must_be_named_in_needs() {
    insta::assert_snapshot!(shown(&with("inputs: {w: {type: string}}", "    message: ${{ steps[inputs.w].text }}")), @r#"
    workflow::dynamic-step

      × which step is read here shows only when the expression is evaluated
       ╭─[trip.yaml:7:18]
     6 │     agent: x
     7 │     message: ${{ steps[inputs.w].text }}
       ·                  ──┬──
       ·                    ╰── reads a step not named here
     8 │   b: {agent: y, needs: [a]}
       ╰────
      help: name the step, as in `steps.NAME`, or list all that may be meant in the step's `needs`
    "#);
}

#[test]
fn wrong_types_say_what_is_expected() {
    insta::assert_snapshot!(
        shown("convoke: 1\nname: w\ntitle: 7\ntags: travel\nparallel: many\ntimeout: 30\nsteps: {a: {agent: x}}\n"),
        @r#"
    workflow::wrong-type

      × `title` must be a string, not a number
       ╭─[trip.yaml:3:8]
     2 │ name: w
     3 │ title: 7
       ·        ┬
       ·        ╰── a string goes here
     4 │ tags: travel
       ╰────
      help: put it in quotes

    workflow::wrong-type

      × `tags` must be a list of strings, not a string
       ╭─[trip.yaml:4:7]
     3 │ title: 7
     4 │ tags: travel
       ·       ───┬──
       ·          ╰── a list of strings goes here
     5 │ parallel: many
       ╰────
      help: write it as a list: `[travel]`

    workflow::wrong-type

      × `parallel` must be a whole number from 1 to 10000, not a string
       ╭─[trip.yaml:5:11]
     4 │ tags: travel
     5 │ parallel: many
       ·           ──┬─
       ·             ╰── a whole number from 1 to 10000 goes here
     6 │ timeout: 30
       ╰────

    workflow::wrong-type

      × `timeout` must be a duration, not a number
       ╭─[trip.yaml:6:10]
     5 │ parallel: many
     6 │ timeout: 30
       ·          ─┬
       ·           ╰── a duration goes here
     7 │ steps: {a: {agent: x}}
       ╰────
      help: write a number with its unit: ms, s, m, h or d, as in 500ms, 30s, 5m or 1h30m
    "#
    );
}

#[test]
fn wrong_types_in_a_step_say_what_is_expected() {
    insta::assert_snapshot!(
        shown("convoke: 1\nname: w\nsteps:\n  a: {agent: [x], message: 5, needs: b, timeout: 5 minutes}\n"),
        @r#"
    workflow::wrong-type

      × `agent` of step `a` must be a name or a mapping, not a list
       ╭─[trip.yaml:4:15]
     3 │ steps:
     4 │   a: {agent: [x], message: 5, needs: b, timeout: 5 minutes}
       ·               ┬
       ·               ╰── a name or a mapping goes here
       ╰────

    workflow::wrong-type

      × `message` of step `a` must be a string or a list of Parts, not a number
       ╭─[trip.yaml:4:28]
     3 │ steps:
     4 │   a: {agent: [x], message: 5, needs: b, timeout: 5 minutes}
       ·                            ┬
       ·                            ╰── a string or a list of Parts goes here
       ╰────
      help: write text in quotes, or a list such as `[{text: …}]`

    workflow::wrong-type

      × `needs` of step `a` must be a list of strings, not a string
       ╭─[trip.yaml:4:38]
     3 │ steps:
     4 │   a: {agent: [x], message: 5, needs: b, timeout: 5 minutes}
       ·                                      ┬
       ·                                      ╰── a list of strings goes here
       ╰────
      help: write it as a list: `[b]`

    workflow::invalid-value

      × `timeout` of step `a` is no duration: `5` has no unit
       ╭─[trip.yaml:4:50]
     3 │ steps:
     4 │   a: {agent: [x], message: 5, needs: b, timeout: 5 minutes}
       ·                                                  ─────────
       ╰────
      help: write a number with its unit: ms, s, m, h or d, as in 500ms, 30s, 5m or 1h30m
    "#
    );
}

#[test]
fn a_file_of_another_shape_says_what_a_workflow_is() {
    insta::assert_snapshot!([shown(""), shown("- a\n"), shown("{}\n")].join("\n"), @r##"
    workflow::invalid-value

      × there is no workflow in this file
      │ at trip.yaml:1:1
      help: begin with `convoke: 1`, then `name: …` and `steps:`

    workflow::wrong-type

      × a workflow must be a mapping, not a list
       ╭─[trip.yaml:1:3]
     1 │ - a
       ·   ┬
       ·   ╰── a mapping goes here
       ╰────
      help: write `KEY: VALUE` with keys of these: convoke, name, title, description, tags, examples,
            inputs, agents, defaults, parallel, concurrency, timeout, budget, schedule, steps, outputs

    workflow::missing-key

      × the workflow has no `convoke`
       ╭─[trip.yaml:1:1]
     1 │ {}
       · ▲
       · ╰── `convoke` is missing
       ╰────
      help: start the file with `convoke: 1`, the language version

    workflow::missing-key

      × the workflow has no `name`
       ╭─[trip.yaml:1:1]
     1 │ {}
       · ▲
       · ╰── `name` is missing
       ╰────
      help: add a name of letters a-z, digits and `-`, as in `name: my-trip`

    workflow::missing-key

      × the workflow has no `steps`
       ╭─[trip.yaml:1:1]
     1 │ {}
       · ▲
       · ╰── `steps` is missing
       ╰────
      help: add at least one step under `steps`
    "##);
}

#[test]
fn a_version_a_name_and_steps_that_cannot_be_are_refused() {
    insta::assert_snapshot!(shown("convoke: 2\nname: A b\nsteps: {}\n"), @r#"
    workflow::invalid-value

      × this language version is not known here
       ╭─[trip.yaml:1:10]
     1 │ convoke: 2
       ·          ─
     2 │ name: A b
       ╰────
      help: write `convoke: 1`, or use a newer Convoke

    workflow::invalid-value

      × `A b` cannot be the name of a workflow
       ╭─[trip.yaml:2:7]
     1 │ convoke: 2
     2 │ name: A b
       ·       ───
     3 │ steps: {}
       ╰────
      help: use 1 to 63 of the letters a-z, the digits and `-`

    workflow::invalid-value

      × a workflow needs at least one step
       ╭─[trip.yaml:3:1]
     2 │ name: A b
     3 │ steps: {}
       · ─────
       ╰────
      help: add a step, as in `greet: {agent: NAME, message: Hello}`
    "#);
}

#[test]
fn values_out_of_range_are_refused() {
    let all = [
        codes(&with("parallel: 0", "")),
        codes(&with("parallel: 1.5", "")),
        codes(&with("timeout: 0s", "")),
        codes(&with("", "    retry: {attempts: 0}")),
        codes(&with("", "    retry: {backoff: {factor: 0.5}}")),
        codes(&with("", "    retry: {backoff: {initial: 2m}}")),
        codes(&with("", "    retry: {backoff: {jitter: half}}")),
        codes(&with("", "    retry: {on: [unavailabel]}")),
        codes(&with("", "    on_error: ignore")),
        codes(&with("agents: {x: {url: 'ftp://a'}}", "")),
        codes(&with("agents: {x: {}}", "")),
        codes(&with("inputs: {Q: {type: string}}", "")),
        codes(&with("inputs: {q: {type: strin}}", "")),
        codes(&with("inputs: {q: {tpye: string}}", "")),
        codes(&with("inputs: {q: {type: integer, default: two}}", "")),
        codes(&with("inputs: {q: {type: string, from: file}}", "")),
        codes(&with("inputs: {q: {type: string, from: form}}", "")),
        codes(&with("outputs: {o: {media_type: text/plain}}", "")),
        codes("convoke: 1\nname: w\nsteps: {A-b: {agent: x}}\n"),
        codes("convoke: 1\nname: w\nsteps: {a: {message: x}}\n"),
        codes("convoke: 1\nname: w\nsteps: {a: {agent: {}}}\n"),
        codes("convoke: 1\nname: w\nsteps: {a: {agent: {same_as: b, tags: [x]}}, b: {agent: x}}\n"),
    ];
    insta::assert_snapshot!(all.concat().join("\n"), @r#"
    workflow::invalid-value at 0
    workflow::invalid-value at 1.5
    workflow::invalid-value at 0s
    workflow::invalid-value at 0
    workflow::invalid-value at 0.5
    workflow::invalid-value at 2m
    workflow::invalid-value at half
    workflow::invalid-value at unavailabel
    workflow::invalid-value at ignore
    workflow::invalid-value at 'ftp://a'
    workflow::missing-key at x
    workflow::invalid-value at Q
    workflow::invalid-schema at type
    workflow::unknown-key at tpye
    workflow::invalid-value at default
    workflow::invalid-value at type
    workflow::invalid-value at form
    workflow::missing-key at o
    workflow::invalid-value at A-b
    workflow::missing-key at a
    workflow::empty-selector at {}
    workflow::invalid-value at same_as
    "#);
}

#[test]
fn parts_that_cannot_be_right_are_refused() {
    let part = |part: &str| {
        codes(&with(
            "inputs: {doc: {from: file}, q: {type: string}}",
            &format!("    message: {part}"),
        ))
    };
    let all = [
        part("[]"),
        part("[hello]"),
        part("[{media_type: text/plain}]"),
        part("[{text: a, data: b}]"),
        part("[{text: 5}]"),
        part("[{file: q}]"),
        part("[{file: nope}]"),
        part("[{input: nope}]"),
        part("[{artifacts: 'b.c'}]"),
        part("[{text: a, metadata: 5}]"),
        part("[{data: {'${{ run.id }}': 1}}]"),
        part("[{txt: a}]"),
        part("[{text: a, media_type: ''}]"),
        part("[{text: a, media_type: text}]"),
        part("[{url: hotel.pdf}]"),
    ];
    insta::assert_snapshot!(all.concat().join("\n"), @r#"
    workflow::invalid-value at []
    workflow::invalid-value at hello
    workflow::invalid-value at media_type
    workflow::invalid-value at data
    workflow::wrong-type at 5
    workflow::unknown-input at q
    workflow::unknown-input at nope
    workflow::unknown-input at nope
    workflow::invalid-value at 'b.c'
    workflow::wrong-type at 5
    workflow::invalid-value at '${{ run.id }}'
    workflow::unknown-key at txt
    workflow::invalid-value at ''
    workflow::invalid-value at text
    workflow::invalid-value at hotel.pdf
    "#);
}

/// `MESSAGE; HELP` of every problem.
fn told(text: &str) -> Vec<String> {
    let problems = super::check(&super::source(text)).map(|_| ()).unwrap_err();
    let words =
        |it: document::Diagnostic| format!("{}; {}", it.message, it.help.unwrap_or_default());
    problems.into_iter().map(words).collect()
}

#[test]
fn a_selector_names_something_and_takes_no_expression() {
    let agent = |agent: &str| {
        told(&format!("convoke: 1\nname: w\nsteps:\n  a: {{agent: {agent}}}\n")).join(" / ")
    };
    let all = [
        agent("''"),
        agent("'${{ inputs.x }}'"),
        agent("{skill: ' '}"),
        agent("{tags: [a, '']}"),
        agent("{tags: ['${{ inputs.x }}']}"),
        agent("{tags: travel}"),
        agent("{any_tag: [a]}"),
        agent("{prefer: latency, signed: true}"),
        agent("{tags: [a], signed: yes, prefer: speed, input_modes: [csv]}"),
        agent("{tags: [a], requires: [streamin, x]}"),
        agent("{url: 'http://u:secret@x'}"),
        agent("{url: 'http://x:99999'}"),
        agent("{url: 'http://[::1'}"),
        agent("{url: 'http://${{ inputs.x }}'}"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    `agent` of step `a` is empty; give a name, or take the key away
    `agent` of step `a` takes no expression; write the text itself
    `skill` of the agent of step `a` is empty; give a name, or take the key away
    a tag of the agent of step `a` is empty; give a name, or take the key away
    a tag of the agent of step `a` takes no expression; write the text itself
    `tags` of the agent of step `a` must be a list of strings, not a string; write it as a list: `[travel]`
    `any_tag` is not a key of `agent` of step `a`; did you mean `any_tags`?
    `agent` of step `a` selects no agent; give a name, a skill, tags, a provider, a url or `same_as: STEP`
    `signed` of the agent of step `a` must be true or false, not a string;  / `speed` is no value of `prefer` of the agent of step `a`; one of: priority, evidence, latency / `csv` is no media type; write it as in `text/plain` or `application/json`
    `streamin` is nothing that a card can declare; did you mean `streaming`? / `x` is nothing that a card can declare; write streaming, push_notifications, or the URI of an extension
    the URL of step `a` holds credentials; take `user:password@` out of it
    `http://x:99999` is not the URL of an agent; write it in full, as in `https://agents.example.com`
    `http://[::1` is not the URL of an agent; write it in full, as in `https://agents.example.com`
    the URL of step `a` takes no expression; write the text itself
    ");
    super::checked("convoke: 1\nname: w\nsteps:\n  a: {agent: {url: 'HTTP://[::1]:80/x'}}\n");
}

#[test]
fn what_an_alias_repeats_is_reported_once() {
    let text =
        "convoke: 1\nname: w\nsteps:\n  a: &a {agent: x, message: '${{ inputs.q }}'}\n  b: *a\n";
    assert_eq!(codes(text), ["workflow::unknown-input at inputs.q"]);
}

#[test]
fn a_schema_is_explained_in_words_of_its_author() {
    let input = |schema: &str| {
        told(&format!("convoke: 1\nname: w\ninputs: {{i: {schema}}}\nsteps: {{a: {{agent: x}}}}\n"))
            .join(" / ")
    };
    let all = [
        input("{type: strin}"),
        input("{items: {type: text}}"),
        input("{$ref: 'http://example.com/s.json'}"),
        input("{$ref: '#/$defs/none'}"),
        input("{pattern: '('}"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r##"
    input `i` has no valid JSON Schema: `strin` is no type; did you mean `string`?
    input `i` has no valid JSON Schema: `text` is no type; the types are: string, integer, number, boolean, object, array, null
    input `i` refers to a schema outside this input, and none is fetched; put the schema under `$defs` of the input: `$ref: "#/$defs/NAME"`
    input `i` has no valid JSON Schema: Pointer '/$defs/none' does not exist; correct the keyword, or take it away
    input `i` has no valid JSON Schema: "(" is not a "regex"; correct the keyword, or take it away
    "##);
    let value = "{type: object, default: {$ref: elsewhere}, $defs: {s: {type: string}}}";
    super::checked(&format!(
        "convoke: 1\nname: w\ninputs: {{i: {value}}}\nsteps: {{a: {{agent: x}}}}\n"
    ));
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
fn the_shape_that_was_meant_is_shown() {
    let all = [
        told("convoke: 1\nname: w\nsteps: [{id: a, agent: x}]\n"),
        told(&with("", "    message: {text: hi}")),
        told(&with("parallel: 010", "")),
        told(&with("", "    retry: 3")),
        told(&with("outputs: {o: {value: 1, media_type: json}}", "")),
    ];
    insta::assert_snapshot!(all.concat().join("\n"), @r"
    `steps` must be a mapping, not a list; write `NAME: …` for each, without `-`
    `message` of step `a` must be a string or a list of Parts, not a mapping; put `-` before its keys: a message is a list of Parts
    `parallel` must be a whole number from 1 to 10000, not a string; write digits only, without quotes, `_`, a sign or zeros before them
    `retry` of step `a` must be a mapping, not a number; write `KEY: VALUE` with keys of these: attempts, backoff, on
    `json` is no media type; write it as in `text/plain` or `application/json`
    ");
}

#[test]
fn what_is_wrong_with_a_for_each_is_said_where_it_is() {
    insta::assert_snapshot!(shown(&with("", "    for_each: 3\n    concurrency: 0")), @r#"
    workflow::wrong-type

      × `for_each` of step `a` must be an expression or a list, not a number
       ╭─[trip.yaml:7:15]
     6 │     agent: x
     7 │     for_each: 3
       ·               ┬
       ·               ╰── an expression or a list goes here
     8 │     concurrency: 0
       ╰────

    workflow::invalid-value

      × `concurrency` of step `a` must be a whole number from 1 to 10000, not 0
       ╭─[trip.yaml:8:18]
     7 │     for_each: 3
     8 │     concurrency: 0
       ·                  ─
     9 │   b: {agent: y, needs: [a]}
       ╰────
      help: change the number
    "#);
    insta::assert_snapshot!(shown(&with("", "    concurrency: 2")), @r#"
    workflow::invalid-value

      × `concurrency` of step `a` limits nothing
       ╭─[trip.yaml:7:5]
     6 │     agent: x
     7 │     concurrency: 2
       ·     ───────────
     8 │   b: {agent: y, needs: [a]}
       ╰────
      help: give the step a `for_each`, or take `concurrency` away; `parallel` at the top limits the
            steps of a run
    "#);
    let long = format!("    for_each: [{}]", vec!["1"; 10_001].join(", "));
    assert_eq!(codes(&with("", &long)), ["workflow::invalid-value at 1"]);
}

#[test]
fn what_a_step_can_never_wait_for_is_said() {
    let gate = |fields: &str| {
        brief(&format!(
            "convoke: 1\nname: w\nsteps:\n  a: {{agent: x}}\n  b: {{agent: x}}\n  c: {{agent: x, {fields}}}\n"
        ))
    };
    let all = [
        gate("needs: [a, b], join: 3"),
        gate("needs: [a], join: 0"),
        gate("needs: [a], join: some"),
        gate("join: any"),
        gate("run_if: settled"),
        gate("needs: [a, b], join: 1, run_if: settled"),
        gate("needs: [a, b], cancel_rest: true"),
        gate("needs: [a, b], join: any, cancel_rest: 1"),
        gate("needs: [a], run_if: setled"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    3: `join` of step `c` can never be reached; the step has 2 dependencies
    0: `join` of step `c` must be a whole number from 1 to 10000, not 0; change the number
    some: `join` of step `c` must be `all`, `any` or a number; `any` waits for the first dependency that completes, 2 for the second
    join: `join` of step `c` is of no use: the step waits for no other; name the steps that it is about in `needs`
    run_if: `run_if` of step `c` is of no use: the step waits for no other; name the steps that it is about in `needs`
    run_if: `run_if` of step `c` is of no use: `join` says already how they must end; a number of completed dependencies is waited for: take `join` or `run_if` away
    cancel_rest: `cancel_rest` of step `c` is of no use: all dependencies are waited for; add `join: any`, or the number that is enough
    1: `cancel_rest` of step `c` must be true or false, not a number; 
    setled: `setled` is no value of `run_if` of step `c`; did you mean `settled`?
    "#);
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
    1: `set` of step `a` must be a mapping from names to values, not a list; 
    '${{ this.text }}': `outputs` of step `a` must be a mapping from names to values, not a string; 
    this: `this` is not a known name; `this` is not in scope here
    this: `this` is not a known name; `this` is not in scope here
    item: `item` is not a known name; `item` is not in scope here
    a: step `a` is served by no agent; name a step that has an `agent`
    "#);
}
