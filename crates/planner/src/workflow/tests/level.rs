//! What is wrong with the fields of a workflow as a whole: `concurrency`, `budget`, `schedule`.

use super::shown;

/// A workflow with an input, to which lines are added.
fn with(lines: &str) -> String {
    format!(
        "convoke: 1\nname: w\ninputs: {{topic: {{type: string}}, size: {{type: integer, default: 1}}}}\n\
         {lines}\nsteps: {{a: {{agent: x}}}}\n"
    )
}

#[test]
fn concurrency_says_all_that_is_wrong_with_it() {
    insta::assert_snapshot!(shown(&with(
        "concurrency: {key: inputs.topik ~ steps.a.text, limit: 0, on_conflict: cancel_old, keys: 1}"
    )), @r##"
    workflow::unknown-input

      × there is no input `topik`
       ╭─[trip.yaml:4:20]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ concurrency: {key: inputs.topik ~ steps.a.text, limit: 0, on_conflict: cancel_old, keys: 1}
       ·                    ──────┬─────
       ·                          ╰── unknown input
     5 │ steps: {a: {agent: x}}
       ╰────
      help: did you mean `topic`?

    workflow::early-key

      × the key is evaluated before any step has run
       ╭─[trip.yaml:4:35]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ concurrency: {key: inputs.topik ~ steps.a.text, limit: 0, on_conflict: cancel_old, keys: 1}
       ·                                   ───┬───
       ·                                      ╰── reads a step
     5 │ steps: {a: {agent: x}}
       ╰────
      help: make it of inputs, as in `key: inputs.NAME`

    workflow::invalid-value

      × `limit` of `concurrency` must be a whole number from 1 to 10000, not 0
       ╭─[trip.yaml:4:56]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ concurrency: {key: inputs.topik ~ steps.a.text, limit: 0, on_conflict: cancel_old, keys: 1}
       ·                                                        ─
     5 │ steps: {a: {agent: x}}
       ╰────
      help: change the number

    workflow::invalid-value

      × `cancel_old` is no value of `on_conflict` of `concurrency`
       ╭─[trip.yaml:4:72]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ concurrency: {key: inputs.topik ~ steps.a.text, limit: 0, on_conflict: cancel_old, keys: 1}
       ·                                                                        ──────────
     5 │ steps: {a: {agent: x}}
       ╰────
      help: did you mean `cancel_oldest`?

    workflow::unknown-key

      × `keys` is not a key of `concurrency`
       ╭─[trip.yaml:4:84]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ concurrency: {key: inputs.topik ~ steps.a.text, limit: 0, on_conflict: cancel_old, keys: 1}
       ·                                                                                    ──┬─
       ·                                                                                      ╰── unknown key
     5 │ steps: {a: {agent: x}}
       ╰────
      help: did you mean `key`?
    "##);
}

#[test]
fn a_budget_is_a_number_of_calls() {
    insta::assert_snapshot!(shown(&with("budget: {call: 3}")), @r##"
    workflow::missing-key

      × `budget` has no `calls`
       ╭─[trip.yaml:4:1]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ budget: {call: 3}
       · ───┬──
       ·    ╰── `calls` is missing
     5 │ steps: {a: {agent: x}}
       ╰────
      help: say how many calls a run may make, as in `budget: {calls: 200}`

    workflow::unknown-key

      × `call` is not a key of `budget`
       ╭─[trip.yaml:4:10]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ budget: {call: 3}
       ·          ──┬─
       ·            ╰── unknown key
     5 │ steps: {a: {agent: x}}
       ╰────
      help: did you mean `calls`?
    "##);
    insta::assert_snapshot!(shown(&with("budget: 200")), @r##"
    workflow::wrong-type

      × `budget` must be a mapping, not a number
       ╭─[trip.yaml:4:9]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ budget: 200
       ·         ─┬─
       ·          ╰── a mapping goes here
     5 │ steps: {a: {agent: x}}
       ╰────
      help: write `KEY: VALUE` with keys of these: calls
    "##);
}

#[test]
#[expect(clippy::too_many_lines, reason = "what is said of one file")]
fn schedules_say_all_that_is_wrong_with_them() {
    insta::assert_snapshot!(shown(&with(
        "schedule:\n  - {cron: \"0 25 * * *\", timezone: Europe/Helsinky, inputs: {topic: 7, sizes: 2}}\n  \
         - {cron: 0 0 30 2 *, inputs: {topic: x}}\n  - {timezone: UTC}\n  - {cron: \"* * * * *\"}\n  - weekly"
    )), @r##"
    workflow::invalid-value

      × `0 25 * * *` is no cron expression: number out of bounds
       ╭─[trip.yaml:5:12]
     4 │ schedule:
     5 │   - {cron: "0 25 * * *", timezone: Europe/Helsinky, inputs: {topic: 7, sizes: 2}}
       ·            ────────────
     6 │   - {cron: 0 0 30 2 *, inputs: {topic: x}}
       ╰────
      help: write minute, hour, day of month, month and day of week, as in `0 7 * * MON`

    workflow::invalid-value

      × there is no time zone `Europe/Helsinky`
       ╭─[trip.yaml:5:36]
     4 │ schedule:
     5 │   - {cron: "0 25 * * *", timezone: Europe/Helsinky, inputs: {topic: 7, sizes: 2}}
       ·                                    ───────────────
     6 │   - {cron: 0 0 30 2 *, inputs: {topic: x}}
       ╰────
      help: did you mean `Europe/Helsinki`?

    workflow::invalid-value

      × the input `topic` must be a string, not the number 7
       ╭─[trip.yaml:5:69]
     4 │ schedule:
     5 │   - {cron: "0 25 * * *", timezone: Europe/Helsinky, inputs: {topic: 7, sizes: 2}}
       ·                                                                     ─
     6 │   - {cron: 0 0 30 2 *, inputs: {topic: x}}
       ╰────
      help: change the value, or the schema of the input

    workflow::unknown-input

      × there is no input `sizes`
       ╭─[trip.yaml:5:72]
     4 │ schedule:
     5 │   - {cron: "0 25 * * *", timezone: Europe/Helsinky, inputs: {topic: 7, sizes: 2}}
       ·                                                                        ──┬──
       ·                                                                          ╰── unknown input
     6 │   - {cron: 0 0 30 2 *, inputs: {topic: x}}
       ╰────
      help: did you mean `size`?

    workflow::invalid-value

      × `0 0 30 2 *` names no day that ever comes
       ╭─[trip.yaml:6:12]
     5 │   - {cron: "0 25 * * *", timezone: Europe/Helsinky, inputs: {topic: 7, sizes: 2}}
     6 │   - {cron: 0 0 30 2 *, inputs: {topic: x}}
       ·            ──────────
     7 │   - {timezone: UTC}
       ╰────
      help: change the day or the month

    workflow::missing-key

      × a schedule has no `cron`
       ╭─[trip.yaml:7:6]
     6 │   - {cron: 0 0 30 2 *, inputs: {topic: x}}
     7 │   - {timezone: UTC}
       ·      ────┬───
       ·          ╰── `cron` is missing
     8 │   - {cron: "* * * * *"}
       ╰────
      help: say when, as in `cron: "0 7 * * MON"`: minute, hour, day, month, week day

    workflow::invalid-value

      × a schedule gives no value for the input `topic`
       ╭─[trip.yaml:8:6]
     7 │   - {timezone: UTC}
     8 │   - {cron: "* * * * *"}
       ·      ────
     9 │   - weekly
       ╰────
      help: add it, as in `inputs: {topic: …}`, or give it a default

    workflow::wrong-type

      × a schedule must be a mapping, not a string
        ╭─[trip.yaml:9:5]
      8 │   - {cron: "* * * * *"}
      9 │   - weekly
        ·     ───┬──
        ·        ╰── a mapping goes here
     10 │ steps: {a: {agent: x}}
        ╰────
      help: write `KEY: VALUE` with keys of these: cron, timezone, inputs
    "##);
}

#[test]
fn a_schedule_alone_is_a_list_of_one() {
    insta::assert_snapshot!(shown(&with("schedule: {cron: \"0 7 * * MON\"}")), @r##"
    workflow::wrong-type

      × `schedule` must be a list of schedules, not a mapping
       ╭─[trip.yaml:4:12]
     3 │ inputs: {topic: {type: string}, size: {type: integer, default: 1}}
     4 │ schedule: {cron: "0 7 * * MON"}
       ·            ──┬─
       ·              ╰── a list of schedules goes here
     5 │ steps: {a: {agent: x}}
       ╰────
      help: write it as a list: `- {cron: "0 7 * * MON", timezone: Europe/Helsinki}`
    "##);
}
