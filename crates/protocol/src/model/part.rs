//! Parts and the Artifacts made of them.

use serde_json::Value as Json;

use crate::v1::{Artifact, Part, part::Content};
use crate::wkt::Value;

impl Part {
    fn of(content: Content) -> Self {
        Self { content: Some(content), ..Self::default() }
    }

    /// Creates a Part of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }

    /// Creates a Part of structured data. JSON deeper than
    /// [`MAX_DEPTH`](crate::wkt::MAX_DEPTH) will be refused by whoever reads it;
    /// [`check_depth`](crate::wkt::check_depth) tells beforehand.
    pub fn data(json: impl Into<Json>) -> Self {
        Self::of(Content::Data(Value(json.into())))
    }

    /// Creates a Part of a file's bytes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::of(Content::Raw(bytes.into()))
    }

    /// Creates a Part that links to a file.
    pub fn url(url: impl Into<String>) -> Self {
        Self::of(Content::Url(url.into()))
    }

    /// Sets the media type, such as `application/json`.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = media_type.into();
        self
    }

    /// Sets the file name.
    #[must_use]
    pub fn with_filename(mut self, filename: impl Into<String>) -> Self {
        self.filename = filename.into();
        self
    }

    /// Returns the text, if that is what the Part holds.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Some(Content::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the structured data, if that is what the Part holds.
    pub fn as_data(&self) -> Option<&Json> {
        match &self.content {
            Some(Content::Data(Value(json))) => Some(json),
            _ => None,
        }
    }
}

impl Artifact {
    /// Creates an Artifact; `id` names it within its Task, `name` is for people.
    pub fn new(id: impl Into<String>, name: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { artifact_id: id.into(), name: name.into(), parts, ..Self::default() }
    }

    /// Returns its text Parts put together without anything between them, as the
    /// chunks of a stream have to be. Empty when there are none.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Returns its first structured data.
    pub fn data(&self) -> Option<&Json> {
        self.parts.iter().find_map(Part::as_data)
    }
}
