//! Tokens of people who logged in, kept over restarts.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{AuthError, token::Tokens};

/// A folder of tokens, each in a file that only its owner can read. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Vault {
    folder: Option<PathBuf>,
}

impl Vault {
    /// Keeps nothing.
    #[must_use]
    pub fn none() -> Vault {
        Vault::default()
    }

    /// Keeps tokens in a folder, which is made when the first is kept.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Vault {
        Vault { folder: Some(folder) }
    }

    /// The tokens of a name, if some are kept.
    pub(super) fn load(&self, name: &Name) -> Result<Option<Tokens>, AuthError> {
        let Some(path) = self.path(name) else { return Ok(None) };
        match fs::read(&path) {
            Ok(json) => Ok(Tokens::of_json(&json)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot(&path, &error)),
        }
    }

    /// Keeps tokens in the place of earlier ones: a crash leaves the one or the other.
    pub(super) fn save(&self, name: &Name, tokens: &Tokens) -> Result<(), AuthError> {
        let Some(path) = self.path(name) else { return Ok(()) };
        write(&path, &tokens.to_json()).map_err(|error| cannot(&path, &error))
    }

    fn path(&self, name: &Name) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.json", name.0)))
    }
}

/// What tokens are filed under: the agent and its origins, the client, and who issued them. Tokens for
/// another place are never found.
pub(super) struct Name(String);

impl Name {
    pub(super) fn of(parts: [&str; 3]) -> Name {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        Name(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn write(path: &Path, json: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let new = path.with_extension("new");
    // One that a crash left keeps whatever rights it was given.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(json)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

fn cannot(path: &Path, error: &io::Error) -> AuthError {
    AuthError::Vault { path: path.to_owned(), why: error.to_string() }
}
