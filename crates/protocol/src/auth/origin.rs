//! What credentials are bound to.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

/// Scheme, host and port of a URL (RFC 6454): what an operator approves to receive credentials.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Origin(String);

impl Origin {
    /// Returns the origin of a URL of http or https.
    ///
    /// # Errors
    /// For another URL, which has none.
    pub fn of(url: &Url) -> Result<Origin, NotAnOrigin> {
        let is_http = matches!(url.scheme(), "http" | "https");
        let origin = url.origin();
        if is_http && origin.is_tuple() {
            return Ok(Origin(origin.ascii_serialization()));
        }
        Err(NotAnOrigin(url.to_string()))
    }

    /// Tells whether a URL is of this origin.
    #[must_use]
    pub fn holds(&self, url: &Url) -> bool {
        Origin::of(url).is_ok_and(|origin| origin == *self)
    }

    /// Tells whether what goes there is encrypted.
    pub(crate) fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }
}

/// A text that names no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no origin; write scheme, host and port, as in `https://api.example.com:8443`")]
pub struct NotAnOrigin(pub(super) String);

impl FromStr for Origin {
    type Err = NotAnOrigin;

    /// Reads the origin of a URL, whose path counts for nothing.
    fn from_str(text: &str) -> Result<Origin, NotAnOrigin> {
        let url = Url::parse(text).map_err(|_| NotAnOrigin(text.to_owned()))?;
        Origin::of(&url)
    }
}

impl TryFrom<String> for Origin {
    type Error = NotAnOrigin;

    fn try_from(text: String) -> Result<Origin, NotAnOrigin> {
        text.parse()
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> String {
        origin.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
