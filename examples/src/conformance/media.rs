//! Which Messages the agent takes, by the media types of their Parts.

use protocol::{
    error::{Error, ErrorKind},
    v1::{AgentCard, Message, Part, part::Content},
};

/// Refuses Parts of media types that the card does not name (A2A §3.3.2).
///
/// # Errors
/// `ContentTypeNotSupported`.
pub(super) fn check(card: &AgentCard, message: &Message) -> Result<(), Error> {
    let taken = &card.default_input_modes;
    let types = message.parts.iter().filter_map(media_type);
    let strange: Vec<&str> =
        types.filter(|one| !taken.iter().any(|taken| taken.eq_ignore_ascii_case(one))).collect();
    if strange.is_empty() {
        return Ok(());
    }
    let (strange, taken) = (strange.join(", "), taken.join(" and "));
    let message = format!("this agent takes {taken}, not {strange}");
    Err(Error::new(ErrorKind::ContentTypeNotSupported, message))
}

/// What a Part is of, without parameters; nothing for a file that does not say so.
fn media_type(part: &Part) -> Option<&str> {
    let named = part.media_type.split(';').next().map(str::trim).filter(|name| !name.is_empty());
    named.or(match part.content {
        Some(Content::Text(_)) => Some("text/plain"),
        Some(Content::Data(_)) => Some("application/json"),
        Some(Content::Raw(_) | Content::Url(_)) | None => None,
    })
}
