//! Protocol versions, as service parameters carry them.

use std::{fmt, str::FromStr};

use http::HeaderName;

/// The header, and query parameter, that names the caller's version (A2A §3.2.6).
pub const VERSION_HEADER: HeaderName = HeaderName::from_static("a2a-version");

/// The header that lists the extensions a caller asks for and an agent grants (A2A §3.2.6).
pub const EXTENSIONS_HEADER: HeaderName = HeaderName::from_static("a2a-extensions");

/// A version of the protocol; patch numbers do not count (A2A §3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Before the dot.
    pub major: u16,
    /// After it.
    pub minor: u16,
}

impl Version {
    /// The first version that was published.
    pub const V0_1: Version = Version { major: 0, minor: 1 };
    /// The version that 0.3 continues.
    pub const V0_2: Version = Version { major: 0, minor: 2 };
    /// What an absent or empty version means (A2A §3.6.2).
    pub const V0_3: Version = Version { major: 0, minor: 3 };
    /// The version this crate is written for.
    pub const V1_0: Version = Version { major: 1, minor: 0 };
}

impl FromStr for Version {
    type Err = NotAVersion;

    /// Reads `Major.Minor`, passing over a patch number; nothing at all is 0.3.
    fn from_str(text: &str) -> Result<Version, NotAVersion> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Version::V0_3);
        }
        let mut numbers =
            text.split('.').map(|number| number.parse::<u16>().map_err(|_| NotAVersion));
        let (major, minor) =
            (numbers.next().ok_or(NotAVersion)??, numbers.next().ok_or(NotAVersion)??);
        let _patch = numbers.next().transpose()?;
        if numbers.next().is_some() { Err(NotAVersion) } else { Ok(Version { major, minor }) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}

/// A text that is not of the form `Major.Minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a version reads Major.Minor, such as 1.0")]
pub struct NotAVersion;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_read_as_major_and_minor_and_nothing_is_0_3() {
        let table = [
            ("1.0", "1.0"),
            (" 1.0 ", "1.0"),
            ("1.0.1", "1.0"),
            ("0.3", "0.3"),
            ("", "0.3"),
            ("12.34", "12.34"),
        ];
        for (text, version) in table {
            assert_eq!(
                text.parse::<Version>().expect("a version").to_string(),
                version,
                "{text:?}"
            );
        }
        for text in ["1", "v1.0", "1.0.1.2", "1.x", "1.0.x", "one", "-1.0", "1.", "1,0"] {
            assert_eq!(text.parse::<Version>(), Err(NotAVersion), "{text:?}");
        }
    }
}
