//! What of a plan holds for all runs of its workflow.

use serde_json::{Value as Json, json};

use super::shown;
use crate::expression::Expression;
use crate::limits::{Concurrency, OnConflict};
use crate::workflow::Workflow;

/// A line for each of `concurrency`, `budget`, the items of `schedule`, and the lock.
pub(super) fn lines(workflow: &Workflow) -> Vec<String> {
    let mut lines: Vec<String> = workflow.concurrency.iter().map(at_once).collect();
    lines.extend(
        workflow.budget.iter().map(|budget| format!("at most {} calls in one run", budget.calls)),
    );
    lines.extend(
        workflow.schedule.iter().map(|schedule| {
            format!("starts at {} in {}", shown(&schedule.cron), schedule.timezone)
        }),
    );
    lines.extend(workflow.lock.iter().map(|lock| format!("locked by {}", lock.file())));
    let ids = |steps: &[crate::step::Step]| {
        steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (on_failure, finally) = workflow.clean_up.steps.split_at(workflow.clean_up.on_failure);
    if !on_failure.is_empty() {
        lines.push(format!("after a failure: {}", ids(on_failure)));
    }
    if !finally.is_empty() {
        lines.push(format!("in the end: {}", ids(finally)));
    }
    lines
}

fn at_once(concurrency: &Concurrency) -> String {
    let runs = match concurrency.limit {
        1 => "1 run".to_owned(),
        limit => format!("{limit} runs"),
    };
    let key = concurrency.key.as_ref();
    let each = key.map(|key| format!(" for each {}", shown(key.source()))).unwrap_or_default();
    let more = match concurrency.on_conflict {
        OnConflict::Queue => "waits",
        OnConflict::Reject => "is rejected",
        OnConflict::CancelOldest => "cancels the oldest",
        OnConflict::CancelNewest => "is canceled",
    };
    format!("at most {runs} at once{each}; one more {more}")
}

/// Adds the same to a plan as JSON, as far as the workflow has it.
pub(super) fn add(workflow: &Workflow, shown: &mut Json) {
    if let Some(concurrency) = &workflow.concurrency {
        shown["concurrency"] = json!({
            "key": concurrency.key.as_ref().map(Expression::source),
            "limit": concurrency.limit,
            "on_conflict": concurrency.on_conflict,
        });
    }
    if let Some(lock) = &workflow.lock {
        shown["lock"] = json!(lock.file());
    }
    if let Some(budget) = &workflow.budget {
        shown["budget"] = json!({"calls": budget.calls});
    }
    let ids =
        |steps: &[crate::step::Step]| steps.iter().map(|step| step.id.clone()).collect::<Json>();
    let (on_failure, finally) = workflow.clean_up.steps.split_at(workflow.clean_up.on_failure);
    if !workflow.clean_up.steps.is_empty() {
        shown["on_failure"] = ids(on_failure);
        shown["finally"] = ids(finally);
    }
    if !workflow.schedule.is_empty() {
        let schedule = workflow.schedule.iter().map(|schedule| {
            json!({
                "cron": schedule.cron,
                "timezone": schedule.timezone,
                "inputs": schedule.inputs,
            })
        });
        shown["schedule"] = schedule.collect();
    }
}
