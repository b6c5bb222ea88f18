//! JSON that travels through the journal without being looked at: inline when small, a blob otherwise.

use std::sync::Arc;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use store::BlobId;

/// Bodies of more bytes than this become blobs.
pub(crate) const INLINE_BYTES: usize = 8 * 1024;

/// A JSON text, or where to find it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The text itself.
    Inline(Json),
    /// Its content hash; the blob is committed together with the event that names it.
    Blob(BlobId),
}

/// A JSON text, kept as it is. Cheap to clone: journal, state and driver share one copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<RawValue>);

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Json {
    /// Writes a value as JSON.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(|text| Self(text.into()))
    }

    /// Takes a text that was written as JSON.
    ///
    /// # Errors
    /// When it is not JSON.
    pub fn from_text(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(|text| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads the value back.
    ///
    /// # Errors
    /// When the text is not a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.text())
    }
}
