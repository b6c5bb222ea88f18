//! The rows of selectors: which agent does not fit, and which does.

use super::{Act, Row};

pub(super) static ROWS: [Row; 13] = [
    Row {
        field: "selector.name",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: nobody, tags: [acting]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.skill",
        act: Act::Plan,
        file: "steps: {a: {agent: {skill: sing, tags: [acting]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.tags",
        act: Act::Plan,
        file: "steps: {a: {agent: {skill: act, tags: [singing]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.any_tags",
        act: Act::Plan,
        file: "steps: {a: {agent: {skill: act, any_tags: [singing, dancing]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.provider",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: it, provider: nobody}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.input_modes",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: it, input_modes: [image/png]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.output_modes",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: it, output_modes: [image/png]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.requires",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: it, requires: [push_notifications]}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.signed",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: it, signed: true}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.min_evidence",
        act: Act::Plan,
        file: "steps: {a: {agent: {name: it, min_evidence: proven}}}",
        shows: |seen| seen.done.code == 1,
    },
    Row {
        field: "selector.prefer",
        act: Act::Plan,
        file: "steps: {a: {agent: {skill: act, prefer: latency}}}",
        shows: |seen| seen.step("a")["selected_by"] == "skill act, by latency",
    },
    Row {
        field: "selector.url",
        act: Act::Plan,
        file: "convoke: 1\nname: w\nsteps: {a: {agent: {url: \"URL\"}}}",
        shows: |seen| seen.step("a")["selected_by"] == "by url",
    },
    Row {
        field: "selector.same_as",
        act: Act::Plan,
        file: "steps: {a: {agent: it}, b: {agent: {same_as: a}}}",
        shows: |seen| seen.step("b")["selected_by"] == "same as a",
    },
];
