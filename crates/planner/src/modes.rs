//! Media types: what a client may say to a workflow, and what it gets of the outputs.

use std::collections::BTreeSet;

use protocol::v1::{Artifact, Part, part::Content};
use protocol::wkt;
use serde_json::Value as Json;

use crate::inputs::{InputFrom, text_part};
use crate::workflow::Workflow;

const TEXT: &str = "text/plain";
const JSON: &str = "application/json";
const FILE: &str = "application/octet-stream";

/// The media type of a Part: the one it states, else what its content is by itself.
#[must_use]
pub fn media_type(part: &Part) -> &str {
    match (&part.content, part.media_type.as_str()) {
        (_, stated) if !stated.is_empty() => stated,
        (Some(Content::Text(_)) | None, _) => TEXT,
        (Some(Content::Data(_)), _) => JSON,
        (Some(Content::Raw(_) | Content::Url(_)), _) => FILE,
    }
}

/// Chooses of the artifacts what a client accepts, in the form in which it does (A2A §3.2.2,
/// `acceptedOutputModes`).
///
/// `accepts` holds media types, ranges (`text/*`) and, as some clients write them, main types alone
/// (`text`); empty accepts anything. Text and data become each other where only the other is
/// accepted. When nothing at all would be left, everything stays as it is: the work is done, and a
/// client can do more with a surprising artifact than with none.
#[must_use]
pub fn accepted(artifacts: Vec<Artifact>, accepts: &[String]) -> Vec<Artifact> {
    if accepts.is_empty() {
        return artifacts;
    }
    let chosen: Vec<Artifact> = artifacts.iter().filter_map(|it| chosen(it, accepts)).collect();
    if chosen.is_empty() { artifacts } else { chosen }
}

fn chosen(artifact: &Artifact, accepts: &[String]) -> Option<Artifact> {
    let parts: Vec<Part> =
        artifact.parts.iter().filter_map(|part| adapted(part, accepts)).collect();
    (!parts.is_empty()).then(|| Artifact { parts, ..artifact.clone() })
}

/// A Part in a form that is accepted.
fn adapted(part: &Part, accepts: &[String]) -> Option<Part> {
    if is_accepted(part, accepts) {
        return Some(part.clone());
    }
    let (content, media_type) = match &part.content {
        Some(Content::Text(text)) if is_in(TEXT, accepts) => (Content::Text(text.clone()), TEXT),
        Some(Content::Text(text)) if is_in(JSON, accepts) => {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str()));
            (Content::Data(wkt::Value(value)), JSON)
        }
        Some(Content::Data(data)) if is_in(JSON, accepts) => (Content::Data(data.clone()), JSON),
        Some(Content::Data(data)) if is_in(TEXT, accepts) => {
            (text_part(data.0.to_string()).content?, TEXT)
        }
        _ => return None,
    };
    Some(Part { content: Some(content), media_type: media_type.to_owned(), ..part.clone() })
}

/// Whether a client takes a Part as it is; `accepts` as in [`accepted`].
#[must_use]
pub fn is_accepted(part: &Part, accepts: &[String]) -> bool {
    accepts.is_empty() || is_in(media_type(part), accepts)
}

/// Whether one of the accepted media types or ranges holds a media type. Parameters are not looked
/// at.
fn is_in(media_type: &str, accepts: &[String]) -> bool {
    let essence =
        |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let wanted = essence(media_type);
    let kind = wanted.split('/').next().unwrap_or_default();
    accepts.iter().map(|range| essence(range)).any(|range| match range.strip_suffix("/*") {
        Some("*") => true,
        Some(main) => main == kind,
        None if range == "*" => true,
        None if range.contains('/') => range == wanted,
        None => range == kind,
    })
}

/// Whether what has a media type may be text or data, which become each other.
fn may_be_told(media_type: &str) -> bool {
    let media_type = media_type.to_ascii_lowercase();
    let is_sight_or_sound = ["image/", "audio/", "video/", "font/", "model/"]
        .iter()
        .any(|kind| media_type.starts_with(kind));
    !is_sight_or_sound || media_type.ends_with("+xml")
}

impl Workflow {
    /// Whether some of the outputs may have a form that is accepted. Only of declared outputs whose
    /// media types are all stated this is known before the run.
    #[must_use]
    pub fn may_yield(&self, accepts: &[String]) -> bool {
        let could = |stated: &str| {
            let is_told = is_in(TEXT, accepts) || is_in(JSON, accepts);
            is_in(stated, accepts) || (is_told && may_be_told(stated))
        };
        accepts.is_empty()
            || self.outputs.is_empty()
            || self.outputs.iter().any(|output| output.media_type.as_deref().is_none_or(could))
    }

    /// The media types of its outputs, sorted; none when not all of them are stated.
    #[must_use]
    pub fn output_modes(&self) -> Vec<String> {
        let modes: Option<BTreeSet<&str>> =
            self.outputs.iter().map(|output| output.media_type.as_deref()).collect();
        modes.into_iter().flatten().map(str::to_owned).collect()
    }

    /// The media types of what fills its inputs, sorted; text, which starts it, when it has none.
    /// Empty when a step sends on whatever is said.
    #[must_use]
    pub fn input_modes(&self) -> Vec<String> {
        if self.sends_on() && self.inputs.is_empty() {
            return Vec::new();
        }
        let modes: BTreeSet<&str> = match self.inputs.is_empty() {
            true => BTreeSet::from([TEXT]),
            false => self
                .inputs
                .iter()
                .map(|input| match input.from {
                    Some(InputFrom::Text) => TEXT,
                    Some(InputFrom::File) => FILE,
                    Some(InputFrom::Data) | None => JSON,
                })
                .collect(),
        };
        modes.into_iter().map(str::to_owned).collect()
    }

    /// Whether a Part of a Message can be of any use to it: fills an input, is sent on by a step, or
    /// is text, which names workflows and answers questions.
    #[must_use]
    pub fn takes(&self, part: &Part) -> bool {
        let fills =
            |from: &[Option<InputFrom>]| self.inputs.iter().any(|input| from.contains(&input.from));
        match &part.content {
            Some(Content::Text(_)) | None => true,
            _ if self.sends_on() => true,
            Some(Content::Data(_)) => fills(&[None, Some(InputFrom::Data)]),
            Some(Content::Raw(_) | Content::Url(_)) => fills(&[Some(InputFrom::File)]),
        }
    }

    /// Whether a step sends on the Message that started the run.
    fn sends_on(&self) -> bool {
        self.steps.iter().any(|step| step.message.is_none())
    }
}

#[cfg(test)]
mod tests;
