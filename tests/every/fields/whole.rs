//! The rows of what holds for all runs of a workflow: `concurrency`, `budget`, `schedule`.

use protocol::v1::TaskState::{Rejected, Working};

use super::{Act, Row};

/// A time that a test would have to wait for: the plan says when it is.
const SCHEDULED: &str = "
inputs: {q: {default: none}}
schedule: [{cron: 0 7 * * MON, timezone: Europe/Helsinki, inputs: {q: weekly}}]
steps: {a: {agent: it}}
";

pub(super) static ROWS: [Row; 10] = [
    Row {
        field: "workflow.concurrency",
        act: Act::Two,
        file: "concurrency: {on_conflict: reject}\nsteps: {a: {agent: it, message: never}}",
        shows: |seen| seen.states == [Working, Rejected],
    },
    Row {
        field: "concurrency.key",
        act: Act::Two,
        file: "inputs: {q: {from: text}}\nconcurrency: {key: inputs.q, on_conflict: reject}\nsteps: {a: {agent: it, message: never}}",
        shows: |seen| seen.states == [Working, Working],
    },
    Row {
        field: "concurrency.limit",
        act: Act::Two,
        file: "concurrency: {limit: 2, on_conflict: reject}\nsteps: {a: {agent: it, message: never}}",
        shows: |seen| seen.states == [Working, Working],
    },
    Row {
        field: "concurrency.on_conflict",
        act: Act::Two,
        file: "concurrency: {on_conflict: reject}\nsteps: {a: {agent: it, message: never}}",
        shows: |seen| seen.states == [Working, Rejected],
    },
    Row {
        field: "workflow.budget",
        act: Act::Run(&[]),
        file: "budget: {calls: 1}\nsteps: {a: {agent: it, message: hi}, b: {agent: it, message: hi, needs: [a]}}",
        shows: |seen| seen.json["state"] == "failed" && seen.sent.len() == 1,
    },
    Row {
        field: "budget.calls",
        act: Act::Run(&[]),
        file: "budget: {calls: 1}\nsteps: {a: {agent: it, message: hi}, b: {agent: it, message: hi, needs: [a]}}",
        shows: |seen| seen.json["state"] == "failed" && seen.sent.len() == 1,
    },
    Row {
        field: "workflow.schedule",
        act: Act::Plan,
        file: SCHEDULED,
        shows: |seen| seen.json["schedule"].as_array().is_some_and(|all| all.len() == 1),
    },
    Row {
        field: "schedule.cron",
        act: Act::Plan,
        file: SCHEDULED,
        shows: |seen| seen.json["schedule"][0]["cron"] == "0 7 * * MON",
    },
    Row {
        field: "schedule.timezone",
        act: Act::Plan,
        file: SCHEDULED,
        shows: |seen| seen.json["schedule"][0]["timezone"] == "Europe/Helsinki",
    },
    Row {
        field: "schedule.inputs",
        act: Act::Plan,
        file: SCHEDULED,
        shows: |seen| seen.json["schedule"][0]["inputs"]["q"] == "weekly",
    },
];
