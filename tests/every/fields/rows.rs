//! The rows of the file, of its steps, and of what stands in these.

use protocol::v1::TaskState;
use serde_json::{Value, json};

use super::{Act, Row};

/// Four failures with waits of 40, 120, 150 and 150 ms between the attempts.
const BACKOFF: &str = "
steps:
  a:
    agent: it
    message: fail 4
    retry:
      attempts: 5
      backoff: {initial: 40ms, max: 150ms, factor: 3, jitter: none}
      on: [failed]
";

/// Two rounds; then a step that waits for them.
const REPEATED: &str = "
steps:
  a:
    agent: it
    message: \"${{ 'again' if this is defined else 'once' }}\"
    repeat: {until: this.text == 'did again', max: 5}
  b: {agent: it, message: b, needs: [a]}
";

/// Sends another Message in each run.
const CACHED: &str =
    "steps: {a: {agent: it, message: '${{ run.id }}', cache: {ttl: 1h, key: run.workflow}}}";

const SERVED: &str = "
title: The title
description: What it does.
tags: [one-tag]
examples: [An example]
steps: {a: {agent: it}}
";

pub(super) static ROWS: [Row; 74] = [
    Row {
        field: "workflow.convoke",
        act: Act::Plan,
        file: "steps: {a: {agent: it}}",
        shows: |seen| seen.done.code == 0,
    },
    Row {
        field: "workflow.name",
        act: Act::Plan,
        file: "steps: {a: {agent: it}}",
        shows: |seen| seen.json["workflow"] == "w",
    },
    Row {
        field: "workflow.title",
        act: Act::Serve,
        file: SERVED,
        shows: |seen| seen.json["skills"][0]["name"] == "The title",
    },
    Row {
        field: "workflow.description",
        act: Act::Serve,
        file: SERVED,
        shows: |seen| seen.done.stdout.contains("What it does."),
    },
    Row {
        field: "workflow.tags",
        act: Act::Serve,
        file: SERVED,
        shows: |seen| seen.done.stdout.contains("one-tag"),
    },
    Row {
        field: "workflow.examples",
        act: Act::Serve,
        file: SERVED,
        shows: |seen| seen.done.stdout.contains("An example"),
    },
    Row {
        field: "workflow.inputs",
        act: Act::Run(&["-i", "q=1"]),
        file: "inputs: {q: {}}\nsteps: {a: {agent: it, message: hi}}",
        shows: |seen| seen.done.code == 0,
    },
    Row {
        field: "workflow.agents",
        act: Act::Plan,
        file: "steps: {a: {agent: it}}",
        shows: |seen| seen.step("a")["agent"] == "it",
    },
    Row {
        field: "workflow.defaults",
        act: Act::Run(&[]),
        file: "defaults: {on_error: continue}\nsteps: {a: {agent: it, message: fail 9}}",
        shows: |seen| seen.json["state"] == "completed",
    },
    Row {
        field: "workflow.parallel",
        act: Act::Plan,
        file: "parallel: 3\nsteps: {a: {agent: it}}",
        shows: |seen| seen.json["parallel"] == 3,
    },
    Row {
        field: "workflow.timeout",
        act: Act::Run(&[]),
        file: "timeout: 300ms\nsteps: {a: {agent: it, message: never, timeout: 2s, retry: {attempts: 1}}}",
        shows: |seen| seen.json["error"].as_str().is_some_and(|it| it.contains("0.3 s")),
    },
    Row {
        field: "workflow.steps",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}",
        shows: |seen| seen.step("a")["state"] == "completed",
    },
    Row {
        field: "workflow.outputs",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}\noutputs: {o: {value: 1}}",
        shows: |seen| seen.output()["name"] == "o",
    },
    Row {
        field: "agent.url",
        act: Act::Plan,
        file: "steps: {a: {agent: it}}",
        shows: |seen| seen.step("a")["agent"] == "it",
    },
    Row {
        field: "defaults.timeout",
        act: Act::Run(&[]),
        file: "timeout: 2s\ndefaults: {timeout: 300ms}\nsteps: {a: {agent: it, message: never, retry: {attempts: 1}}}",
        shows: |seen| seen.step("a")["error"].as_str().is_some_and(|it| it.contains("0.3 s")),
    },
    Row {
        field: "defaults.retry",
        act: Act::Run(&[]),
        file: "defaults: {retry: {on: [failed], backoff: {initial: 1ms}}}\nsteps: {a: {agent: it, message: fail 1}}",
        shows: |seen| seen.step("a")["attempts"] == 2,
    },
    Row {
        field: "defaults.on_error",
        act: Act::Run(&[]),
        file: "defaults: {on_error: continue}\nsteps: {a: {agent: it, message: fail 9}}",
        shows: |seen| seen.json["state"] == "completed",
    },
    Row {
        field: "defaults.pause_timeout",
        act: Act::One,
        file: "defaults: {pause_timeout: 10ms}\nsteps: {a: {ask: Really?}}",
        shows: |seen| seen.states == [TaskState::Failed],
    },
    Row {
        field: "step.agent",
        act: Act::Plan,
        file: "steps: {a: {agent: it}}",
        shows: |seen| seen.step("a")["agent"] == "it",
    },
    Row {
        field: "step.message",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}",
        shows: |seen| seen.part()["text"] == "hi",
    },
    Row {
        field: "step.needs",
        act: Act::Plan,
        file: "steps: {a: {agent: it}, b: {agent: it, needs: [a]}}",
        shows: |seen| seen.step("b")["after"][0]["step"] == "a",
    },
    Row {
        field: "step.join",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: fail 9, on_error: skip_dependents}, b: {agent: it, message: hi}, c: {agent: it, message: hi, needs: [a, b], join: any}}",
        shows: |seen| seen.step("c")["state"] == "completed",
    },
    Row {
        field: "step.run_if",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: fail 9, on_error: skip_dependents}, b: {agent: it, message: hi, needs: [a], run_if: settled}}",
        shows: |seen| seen.step("b")["state"] == "completed",
    },
    Row {
        field: "step.cancel_rest",
        act: Act::Run(&[]),
        file: "timeout: 5s\nsteps: {a: {agent: it, message: never}, b: {agent: it, message: hi}, c: {agent: it, message: hi, needs: [a, b], join: any, cancel_rest: true}}",
        shows: |seen| seen.step("a")["state"] == "canceled" && seen.json["state"] == "completed",
    },
    Row {
        field: "step.when",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, when: 1 == 2}}",
        shows: |seen| seen.step("a")["state"] == "skipped",
    },
    Row {
        field: "step.ask",
        act: Act::Run(&[]),
        file: "steps: {a: {ask: Really?}}",
        shows: |seen| seen.done.code == 4 && seen.done.stderr.contains("Really?"),
    },
    Row {
        field: "step.schema",
        act: Act::Reply("perhaps"),
        file: "steps: {a: {ask: Really?, schema: {type: boolean}}}",
        shows: |seen| seen.done.code == 2 && seen.done.stderr.contains("must be a boolean"),
    },
    Row {
        field: "step.pause_timeout",
        act: Act::One,
        file: "steps: {a: {ask: Really?, pause_timeout: 10ms}}",
        shows: |seen| seen.states == [TaskState::Failed],
    },
    Row {
        field: "step.workflow",
        act: Act::Run(&[]),
        file: "steps: {a: {workflow: other}}",
        shows: |seen| seen.done.stdout.contains("other said"),
    },
    Row {
        field: "step.with",
        act: Act::Run(&[]),
        file: "steps: {a: {workflow: other, with: {q: that}}}",
        shows: |seen| seen.done.stdout.contains("other said that"),
    },
    Row {
        field: "step.undo",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, undo: bye}, b: {agent: it, message: fail 9, needs: [a]}}",
        shows: |seen| seen.part()["text"] == "bye",
    },
    Row {
        field: "workflow.on_failure",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: fail 9}}\non_failure: {b: {agent: it, message: bye}}",
        shows: |seen| seen.part()["text"] == "bye",
    },
    Row {
        field: "workflow.finally",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}\nfinally: {b: {agent: it, message: bye}}",
        shows: |seen| seen.part()["text"] == "bye",
    },
    Row {
        field: "step.set",
        act: Act::Run(&[]),
        file: "steps: {a: {set: {n: 7}}, b: {agent: it, message: 'n is ${{ steps.a.data.n }}'}}",
        shows: |seen| seen.done.stdout.contains("n is 7"),
    },
    Row {
        field: "step.outputs",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, outputs: {n: '${{ this.text | length }}'}}, b: {agent: it, message: 'n is ${{ steps.a.outputs.n }}'}}",
        shows: |seen| seen.done.stdout.contains("n is "),
    },
    Row {
        field: "step.expect",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, expect: {type: object}}}",
        shows: |seen| {
            seen.step("a")["error"].as_str().is_some_and(|it| it.contains("no data Part"))
        },
    },
    Row {
        field: "step.accept",
        act: Act::Plan,
        file: "steps: {a: {agent: it, accept: [image/png]}}",
        shows: |seen| seen.done.stderr.contains("gives none of `image/png`, only `text/plain`"),
    },
    Row {
        field: "step.metadata",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, metadata: {k: \"${{ run.workflow }}\"}}}",
        shows: |seen| seen.sent.last().is_some_and(|sent| sent["metadata"]["k"] == "w"),
    },
    Row {
        field: "step.references",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}, b: {agent: it, message: hi, needs: [a]}, c: {agent: it, message: hi, needs: [b], references: [a]}}",
        shows: |seen| {
            seen.sent.last().is_some_and(|sent| sent["referenceTaskIds"] == json!(["t0"]))
        },
    },
    Row {
        field: "step.push",
        act: Act::One,
        file: "steps: {a: {agent: it, message: hi, push: never}, b: {agent: it, message: hi, needs: [a]}}",
        shows: |seen| {
            let calls_back = |asked: &Value| asked["taskPushNotificationConfig"].is_object();
            seen.configured.iter().map(calls_back).eq([false, true])
        },
    },
    Row { field: "step.cache", act: Act::Twice, file: CACHED, shows: |seen| seen.sent.len() == 1 },
    Row {
        field: "cache.ttl",
        act: Act::Twice,
        file: "steps: {a: {agent: it, message: hi, cache: {ttl: 1ms}}}",
        shows: |seen| seen.sent.len() == 2,
    },
    Row { field: "cache.key", act: Act::Twice, file: CACHED, shows: |seen| seen.sent.len() == 1 },
    Row {
        field: "step.for_each",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, for_each: [x, y, z]}}",
        shows: |seen| seen.sent.len() == 3,
    },
    Row {
        field: "step.concurrency",
        act: Act::Run(&[]),
        file: "timeout: 2s\nsteps: {a: {agent: it, message: never, for_each: [x, y, z], concurrency: 2}}",
        shows: |seen| seen.sent.len() == 2,
    },
    Row {
        field: "step.on_error",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: fail 9, on_error: continue}}",
        shows: |seen| seen.json["state"] == "completed",
    },
    Row {
        field: "step.retry",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: fail 1, retry: {on: [failed], backoff: {initial: 1ms}}}}",
        shows: |seen| seen.step("a")["attempts"] == 2,
    },
    Row {
        field: "step.timeout",
        act: Act::Run(&[]),
        file: "timeout: 2s\nsteps: {a: {agent: it, message: never, timeout: 300ms, retry: {attempts: 1}}}",
        shows: |seen| seen.step("a")["error"].as_str().is_some_and(|it| it.contains("0.3 s")),
    },
    Row {
        field: "step.fallback",
        act: Act::Plan,
        file: "steps: {a: {agent: it, fallback: [it]}}",
        shows: |seen| seen.done.stderr.contains("`it` is tried before"),
    },
    Row {
        field: "step.deadline",
        act: Act::Run(&[]),
        file: "timeout: 5s\nsteps: {a: {agent: it, message: never, deadline: 300ms}}",
        shows: |seen| {
            seen.step("a")["error"].as_str().is_some_and(|it| it.contains("deadline of 0.3 s"))
        },
    },
    Row {
        field: "step.effect",
        act: Act::Run(&[]),
        file: "timeout: 5s\nsteps: {a: {agent: it, message: silence, timeout: 300ms, effect: at_most_once, retry: {attempts: 1}}}",
        shows: |seen| seen.done.code == 4 && seen.done.stderr.contains("--resend"),
    },
    Row {
        field: "step.repeat",
        act: Act::Run(&[]),
        file: REPEATED,
        shows: |seen| seen.sent.len() == 3,
    },
    Row {
        field: "repeat.until",
        act: Act::Run(&[]),
        file: REPEATED,
        shows: |seen| seen.part()["text"] == "b" && seen.json["state"] == "completed",
    },
    Row {
        field: "repeat.max",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi, repeat: {until: this.text == 'no', max: 2}}}",
        shows: |seen| seen.sent.len() == 2,
    },
    Row {
        field: "retry.attempts",
        act: Act::Watch,
        file: BACKOFF,
        shows: |seen| seen.waits.len() == 4,
    },
    Row {
        field: "retry.backoff",
        act: Act::Watch,
        file: BACKOFF,
        shows: |seen| seen.waits == [40, 120, 150, 150],
    },
    Row { field: "retry.on", act: Act::Watch, file: BACKOFF, shows: |seen| seen.waits.len() == 4 },
    Row {
        field: "backoff.initial",
        act: Act::Watch,
        file: BACKOFF,
        shows: |seen| seen.waits.first() == Some(&40),
    },
    Row {
        field: "backoff.max",
        act: Act::Watch,
        file: BACKOFF,
        shows: |seen| seen.waits.last() == Some(&150),
    },
    Row {
        field: "backoff.factor",
        act: Act::Watch,
        file: BACKOFF,
        shows: |seen| seen.waits.get(1) == Some(&120),
    },
    Row {
        field: "backoff.jitter",
        act: Act::Watch,
        file: BACKOFF,
        shows: |seen| seen.waits == [40, 120, 150, 150],
    },
    Row {
        field: "part.text",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: [{text: hi}]}}",
        shows: |seen| seen.part()["text"] == "hi",
    },
    Row {
        field: "part.data",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: [{data: {k: [1]}}]}}",
        shows: |seen| seen.part()["data"] == json!({"k": [1]}),
    },
    Row {
        field: "part.file",
        act: Act::Run(&["--file", "doc=@workflows/w.yaml"]),
        file: "inputs: {doc: {from: file}}\nsteps: {a: {agent: it, message: [{file: doc}]}}",
        shows: |seen| seen.part()["raw"].is_string() && seen.part()["filename"] == "w.yaml",
    },
    Row {
        field: "part.url",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: [{url: \"https://a.example/x\"}]}}",
        shows: |seen| seen.part()["url"] == "https://a.example/x",
    },
    Row {
        field: "part.artifacts",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}, b: {agent: it, message: [{artifacts: a}]}}",
        shows: |seen| seen.part()["text"] == "did hi" && seen.part()["metadata"]["step"] == "a",
    },
    Row {
        field: "part.input",
        act: Act::Run(&["-i", "q=5"]),
        file: "inputs: {q: {}}\nsteps: {a: {agent: it, message: [{input: q}]}}",
        shows: |seen| seen.part()["data"] == 5,
    },
    Row {
        field: "part.media_type",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: [{text: hi, media_type: text/markdown}]}}",
        shows: |seen| seen.part()["mediaType"] == "text/markdown",
    },
    Row {
        field: "part.filename",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: [{text: hi, filename: notes.md}]}}",
        shows: |seen| seen.part()["filename"] == "notes.md",
    },
    Row {
        field: "part.metadata",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: [{text: hi, metadata: {k: 1}}]}}",
        shows: |seen| seen.part()["metadata"]["k"] == 1,
    },
    Row {
        field: "output.value",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}\noutputs: {o: {value: \"${{ steps.a.text }}!\"}}",
        shows: |seen| seen.output()["parts"][0]["text"] == "did hi!",
    },
    Row {
        field: "output.media_type",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}\noutputs: {o: {value: hi, media_type: text/markdown}}",
        shows: |seen| seen.output()["parts"][0]["mediaType"] == "text/markdown",
    },
    Row {
        field: "output.description",
        act: Act::Run(&[]),
        file: "steps: {a: {agent: it, message: hi}}\noutputs: {o: {value: hi, description: For people}}",
        shows: |seen| seen.output()["description"] == "For people",
    },
    Row {
        field: "input.from",
        act: Act::Run(&["-m", "hello"]),
        file: "inputs: {q: {from: text}}\nsteps: {a: {agent: it, message: \"${{ inputs.q }}\"}}",
        shows: |seen| seen.part()["text"] == "hello",
    },
];
