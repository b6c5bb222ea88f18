//! The keys that notifications are signed with, in a file of the data folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::{
    Json, Router,
    http::header,
    response::{IntoResponse as _, Response},
    routing::get,
};
use jiff::Timestamp;
use protocol::push::Keyring;

use crate::{ServeError, private};

const FILE: &str = "push-keys.json";

/// How long a public key stays published once another one signs.
const KEPT: Duration = Duration::from_hours(7 * 24);

/// How long receivers may use the public keys without asking again.
const CACHED: &str = "public, max-age=300";

/// A keyring and its file.
pub(crate) struct Keys {
    folder: PathBuf,
    max_age: Duration,
    ring: Arc<RwLock<Keyring>>,
}

impl Keys {
    /// Reads the keyring of a folder, which is made when there is none.
    ///
    /// # Errors
    /// [`ServeError::Keys`].
    pub(super) fn open(folder: &Path, max_age: Duration) -> Result<Self, ServeError> {
        let now = Timestamp::now();
        let unusable = |why: String| ServeError::Keys { path: folder.join(FILE), why };
        let ring = match fs::read(folder.join(FILE)) {
            Ok(bytes) => {
                Keyring::from_bytes(&bytes).map_err(|error| unusable(error.to_string()))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let ring = Keyring::generate(now).map_err(|error| unusable(error.to_string()))?;
                let written = private::write(folder, FILE, &ring.to_bytes());
                written.map_err(|error| unusable(error.to_string()))?;
                ring
            }
            Err(error) => return Err(unusable(error.to_string())),
        };
        let ring = Arc::new(RwLock::new(ring));
        let keys = Self { folder: folder.to_owned(), max_age, ring };
        keys.renew(now).map_err(unusable)?;
        Ok(keys)
    }

    pub(super) fn ring(&self) -> Arc<RwLock<Keyring>> {
        Arc::clone(&self.ring)
    }

    /// Replaces a key that has had its time. The new one signs once it is on disk.
    pub(super) fn renew(&self, now: Timestamp) -> Result<(), String> {
        let mut next = self.ring.read().unwrap_or_else(PoisonError::into_inner).clone();
        if next.renew(now, self.max_age, KEPT).map_err(|error| error.to_string())? {
            let written = private::write(&self.folder, FILE, &next.to_bytes());
            written.map_err(|error| error.to_string())?;
            *self.ring.write().unwrap_or_else(PoisonError::into_inner) = next;
        }
        Ok(())
    }

    /// `/.well-known/jwks.json`: the public keys (RFC 7517).
    pub(crate) fn router(&self) -> Router {
        let ring = self.ring();
        let answer = async move || -> Response {
            let keys = ring.read().unwrap_or_else(PoisonError::into_inner).public_keys();
            ([(header::CACHE_CONTROL, CACHED)], Json(keys)).into_response()
        };
        Router::new().route("/.well-known/jwks.json", get(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(keys: &Keys) -> Vec<String> {
        let set = serde_json::to_value(keys.ring.read().unwrap().public_keys()).unwrap();
        let keys = set["keys"].as_array().unwrap().iter();
        keys.map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    }

    #[cfg(unix)]
    #[test]
    fn the_keys_are_for_the_eyes_of_their_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        Keys::open(folder.path(), Duration::from_hours(1)).unwrap();
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_key_signs_for_its_time_and_stays_published_for_a_while_after() {
        let folder = tempfile::tempdir().unwrap();
        let hour = Duration::from_hours(1);
        let keys = Keys::open(folder.path(), hour).unwrap();
        let first = ids(&keys);
        assert_eq!(first.len(), 1);
        assert_eq!(ids(&Keys::open(folder.path(), hour).unwrap()), first, "after a restart");
        let now = Timestamp::now();
        keys.renew(now).unwrap();
        assert_eq!(ids(&keys), first);
        keys.renew(now + hour).unwrap();
        let second = ids(&keys);
        assert_eq!((second.len(), &second[1]), (2, &first[0]));
        assert_ne!(second[0], first[0]);
        assert_eq!(ids(&Keys::open(folder.path(), hour).unwrap()), second, "after a restart");
        keys.renew(now + hour + KEPT).unwrap();
        let third = ids(&keys);
        assert_eq!((third.len(), &third[1]), (2, &second[0]), "the first has had its time");
    }

    #[test]
    fn a_file_that_holds_no_keys_is_named_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{}").unwrap();
        let error = Keys::open(folder.path(), KEPT).err().expect("no keys").to_string();
        assert!(error.contains("push-keys.json cannot be used: "), "{error}");
        assert_eq!(fs::read(folder.path().join(FILE)).unwrap(), b"{}");
    }
}
