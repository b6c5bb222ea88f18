//! What a step asks of its agent's answer, as a plan shows it.

use serde_json::{Value as Json, json};

use super::shown;
use crate::step::Step;

/// One line for each thing that is asked.
pub(super) fn lines(step: &Step) -> Vec<String> {
    let expects = step.expect.iter();
    expects.map(|expected| format!("  expects    {}", shown(&expected.json.to_string()))).collect()
}

/// The same for programs.
pub(super) fn add(step: &Step, to: &mut Json) {
    if let Some(expected) = &step.expect {
        to["expect"] = json!(expected.json);
    }
}
