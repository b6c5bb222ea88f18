//! Artifacts as they become files: whole, and here.

use protocol::{
    outbound::{FetchLimits, Outbound},
    v1::{Artifact, Part, part::Content},
};
use url::Url;

use crate::{agent::Agent, failure::Failure};

/// The largest file that is fetched for an agent, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Puts the pieces of an artifact together: texts to texts and bytes to bytes, of one name and media
/// type.
pub(super) fn joined(mut artifact: Artifact) -> Artifact {
    let mut whole: Vec<Part> = Vec::new();
    for piece in std::mem::take(&mut artifact.parts) {
        match whole.last_mut() {
            Some(last) if is_same_file(last, &piece) => extend(last, piece),
            _ => whole.push(piece),
        }
    }
    Artifact { parts: whole, ..artifact }
}

fn is_same_file(one: &Part, other: &Part) -> bool {
    let is_same_kind = matches!(
        (&one.content, &other.content),
        (Some(Content::Text(_)), Some(Content::Text(_)))
            | (Some(Content::Raw(_)), Some(Content::Raw(_)))
    );
    is_same_kind && (&one.filename, &one.media_type) == (&other.filename, &other.media_type)
}

fn extend(whole: &mut Part, piece: Part) {
    match (&mut whole.content, piece.content) {
        (Some(Content::Text(text)), Some(Content::Text(more))) => text.push_str(&more),
        (Some(Content::Raw(bytes)), Some(Content::Raw(more))) => bytes.extend(more),
        _ => (),
    }
}

/// Fetches the files that artifacts only name. What cannot be had is left out, and the first reason
/// comes back beside the rest.
pub(super) async fn fetched(
    agent: &Agent,
    mut artifacts: Vec<Artifact>,
) -> Result<(Vec<Artifact>, Option<Failure>), Failure> {
    let outbound = agent.outbound()?;
    let limits =
        FetchLimits { max_bytes: MAX_BYTES, timeout: agent.timeout, ..FetchLimits::default() };
    let mut missing = None;
    for artifact in &mut artifacts {
        let mut here = Vec::new();
        for part in std::mem::take(&mut artifact.parts) {
            match fetch(&outbound, part, limits).await {
                Ok(part) => here.push(part),
                Err(failure) => missing = missing.or(Some(failure)),
            }
        }
        artifact.parts = here;
    }
    Ok((artifacts, missing))
}

async fn fetch(outbound: &Outbound, part: Part, limits: FetchLimits) -> Result<Part, Failure> {
    let Some(Content::Url(url)) = &part.content else { return Ok(part) };
    let missing = |why: &dyn std::fmt::Display| {
        Failure::unavailable(format!("the agent names a file that cannot be had: {why}"))
    };
    let fetched = outbound.fetch(url, limits).await.map_err(|error| missing(&error))?;
    if !fetched.status.is_success() {
        return Err(missing(&format!("{url} answered with HTTP status {}", fetched.status)));
    }
    let content_type = fetched.headers.get(http::header::CONTENT_TYPE);
    let said = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = Some(part.media_type).filter(|it| !it.is_empty());
    let filename = Some(part.filename).filter(|it| !it.is_empty());
    Ok(Part {
        content: Some(Content::Raw(fetched.body.into())),
        media_type: media_type.unwrap_or_else(|| said.to_owned()),
        filename: filename.unwrap_or_else(|| last_segment(&fetched.url)),
        ..Part::default()
    })
}

fn last_segment(url: &Url) -> String {
    url.path_segments().and_then(|mut it| it.next_back()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_file_become_one_and_other_parts_stay() {
        let png = |bytes: &[u8]| Part::raw(bytes).with_media_type("image/png");
        let parts = vec![
            Part::text("a"),
            Part::text("b"),
            png(b"1"),
            png(b"2"),
            png(b"3").with_filename("other.png"),
            Part::data(1),
            Part::data(2),
        ];
        let joined = joined(Artifact::new("x", "x", parts));
        let expected = [
            Part::text("ab"),
            png(b"12"),
            png(b"3").with_filename("other.png"),
            Part::data(1),
            Part::data(2),
        ];
        assert_eq!(joined.parts, expected);
    }
}
