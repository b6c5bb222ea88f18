//! Names that clients choose and that are kept as they are.

use protocol::error::{Error, FieldViolation};
use store::MAX_TAG_BYTES;

/// What is wrong with a name that cannot be kept; nothing with most.
pub(crate) fn violation(field: &str, name: &str) -> Option<FieldViolation> {
    let description = if name.contains('\0') {
        "holds a NUL character, which cannot be kept in a name".to_owned()
    } else if name.len() > MAX_TAG_BYTES {
        format!("is {} bytes long; {MAX_TAG_BYTES} are the limit", name.len())
    } else {
        return None;
    };
    Some(FieldViolation { field: field.to_owned(), description })
}

/// Refuses a contextId that cannot be kept.
///
/// # Errors
/// InvalidParams, naming the field.
pub(crate) fn check_context(context_id: &str) -> Result<(), Error> {
    match violation("message.contextId", context_id) {
        Some(violation) => Err(Error::invalid_fields(vec![violation])),
        None => Ok(()),
    }
}
