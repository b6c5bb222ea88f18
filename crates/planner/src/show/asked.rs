//! What a step asks of its agent's answer, as a plan shows it.

use serde_json::{Value as Json, json};

use super::{names, shown};
use crate::expression::Expression;
use crate::step::{Push, Step};
use crate::workflow::duration;

/// One line for each thing that is asked.
pub(super) fn lines(step: &Step) -> Vec<String> {
    let mut lines = Vec::new();
    if !step.asks.accept.is_empty() {
        lines.push(format!("  accepts    {}", step.asks.accept.join(", ")));
    }
    if let Some(expected) = &step.asks.expect {
        lines.push(format!("  expects    {}", shown(&expected.json.to_string())));
    }
    if let Some(metadata) = &step.asks.metadata {
        let names = names(Some(&metadata.values)).unwrap_or_default();
        let names = if names.is_empty() { "computed".to_owned() } else { names.join(", ") };
        lines.push(format!("  metadata   {names}"));
    }
    if let Some(cache) = &step.cache {
        let key = cache.key.as_ref().map(|key| format!(" of the same {}", shown(key.source())));
        let ttl = duration::show(cache.ttl);
        lines.push(format!("  reuses     results{}, for {ttl}", key.unwrap_or_default()));
    }
    if step.asks.push == Push::Never {
        lines.push("  push       never".to_owned());
    }
    lines
}

/// The same for programs.
pub(super) fn add(step: &Step, to: &mut Json) {
    if let Some(expected) = &step.asks.expect {
        to["expect"] = json!(expected.json);
    }
    if !step.asks.accept.is_empty() {
        to["accept"] = json!(step.asks.accept);
    }
    if let Some(metadata) = &step.asks.metadata {
        to["metadata"] = json!(names(Some(&metadata.values)).unwrap_or_default());
    }
    if let Some(cache) = &step.cache {
        to["cache"] = json!({
            "ttl_seconds": cache.ttl.as_secs_f64(),
            "key": cache.key.as_ref().map(Expression::source),
        });
    }
    if step.asks.push == Push::Never {
        to["push"] = "never".into();
    }
}
