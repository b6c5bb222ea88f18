//! Files for their owner's eyes only.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Writes a file into a folder, whole and with the mode 0600, in place of one that is there. It is on disk when this
/// returns.
pub(crate) fn write(folder: &Path, name: &str, content: &[u8]) -> io::Result<PathBuf> {
    // A temporary file of this library is made with the mode 0600.
    let mut file = NamedTempFile::with_prefix_in(name, folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    let path = folder.join(name);
    file.persist(&path)?;
    Ok(path)
}
