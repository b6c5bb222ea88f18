//! Media types that nothing here takes or yields: said before anything is begun.

use std::sync::Arc;

use planner::{Workflow, media_type};
use protocol::{
    error::{Error, ErrorKind},
    v1::{Message, Part},
};

use crate::Workflows;

/// Refuses a Message with a Part that its workflow, or while that is not clear every workflow, has no use for, and one
/// whose sender accepts nothing that could come of it (A2A §3.1.1).
///
/// # Errors
/// ContentTypeNotSupported, naming the Part or the outputs.
pub(crate) fn check(
    workflows: &Workflows,
    known: Option<&Arc<Workflow>>,
    message: &Message,
    accepts: &[String],
) -> Result<(), Error> {
    let meant: Vec<&Arc<Workflow>> = match known.or_else(|| workflows.only()) {
        Some(known) => vec![known],
        None => workflows.iter().collect(),
    };
    if meant.is_empty() {
        // Nothing can be started, and that is said by a Task.
        return Ok(());
    }
    for (at, part) in message.parts.iter().enumerate() {
        if !meant.iter().any(|workflow| workflow.takes(part)) {
            return Err(not_taken(at, part, &meant));
        }
    }
    if !meant.iter().any(|workflow| workflow.may_yield(accepts)) {
        return Err(not_yielded(accepts, &meant));
    }
    Ok(())
}

fn not_taken(at: usize, part: &Part, meant: &[&Arc<Workflow>]) -> Error {
    let media_type = media_type(part);
    let message = format!(
        "message.parts[{at}] is {media_type}, and no input of {} takes that; they take: {}",
        names(meant),
        list(meant.iter().flat_map(|it| it.input_modes()))
    );
    Error::new(ErrorKind::ContentTypeNotSupported, message).with_metadata("mediaType", media_type)
}

fn not_yielded(accepts: &[String], meant: &[&Arc<Workflow>]) -> Error {
    let message = format!(
        "configuration.acceptedOutputModes takes {}, and {} yields: {}",
        list(accepts.iter().cloned()),
        names(meant),
        list(meant.iter().flat_map(|it| it.output_modes()))
    );
    Error::new(ErrorKind::ContentTypeNotSupported, message)
}

fn names(meant: &[&Arc<Workflow>]) -> String {
    match meant {
        [only] => format!("workflow {}", only.name),
        _ => "any workflow".to_owned(),
    }
}

fn list(modes: impl Iterator<Item = String>) -> String {
    let modes: std::collections::BTreeSet<String> = modes.collect();
    modes.into_iter().collect::<Vec<_>>().join(", ")
}
