//! The file that says where the holder of a data folder listens.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

use crate::private;

const FILE: &str = "endpoint";

/// Where the holder of a data folder listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Address {
    /// Version of what it speaks.
    pub version: u32,
    /// Its URL, on loopback.
    pub url: String,
    /// What every request has to bring.
    pub key: Key,
}

/// A secret that whoever can read the folder knows. It is not shown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// Draws a new one, of 244 random bits.
    pub(super) fn draw() -> Self {
        Self(format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple()))
    }

    /// The secret itself, to be sent.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether it is this one. How long that takes tells nothing of how much is right.
    pub(super) fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Address {
    /// Reads the file of a folder; `None` when there is none, or none that is understood.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }
}

/// A file that is taken away when this is dropped.
#[derive(Debug)]
pub(super) struct Written(PathBuf);

/// Writes the file, whole and for its owner's eyes only, in place of one that was left behind.
pub(super) fn write(folder: &Path, address: &Address) -> io::Result<Written> {
    private::write(folder, FILE, &serde_json::to_vec(address)?).map(Written)
}

impl Written {
    /// Takes the file away. Doing it twice is no harm while the folder is ours.
    pub(super) fn remove(&self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                // It leads nowhere by then, so that it does no harm.
                tracing::debug!(%error, "the endpoint's file was left behind");
            }
            _ => (),
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_new_each_time_equals_itself_alone_and_is_not_shown() {
        let (one, other) = (Key::draw(), Key::draw());
        assert!(one.is(one.reveal()));
        for wrong in [other.reveal(), "", &one.reveal()[1..], &format!("{}0", one.reveal())] {
            assert!(!one.is(wrong), "{wrong}");
        }
        let address = Address { version: 1, url: "http://x/".to_owned(), key: one.clone() };
        assert!(!format!("{address:?}").contains(one.reveal()));
    }

    #[test]
    fn a_file_replaces_one_that_was_left_behind_and_goes_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Address::read(folder.path()).is_none());
        fs::write(folder.path().join(FILE), "half a fi").unwrap();
        assert!(Address::read(folder.path()).is_none());
        let address = Address { version: 7, url: "http://x/".to_owned(), key: Key::draw() };
        let written = write(folder.path(), &address).unwrap();
        let read = Address::read(folder.path()).unwrap();
        assert_eq!((read.version, &read.url), (7, &address.url));
        assert!(address.key.is(read.key.reveal()));
        drop(written);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
