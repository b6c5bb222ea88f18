//! One process at a time in a data folder.
//!
//! The operating system's lock on the file `lock` is what counts: it goes when its holder dies, in
//! whatever way. What the file says is only for people.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use jiff::Timestamp;

use crate::error::{Holder, StoreError};

const FILE: &str = "lock";
/// More than any command line we would want to show.
const MAX_HOLDER_BYTES: u64 = 64 << 10;

/// The folder is ours until this is dropped.
#[derive(Debug)]
pub(super) struct FolderLock {
    file: File,
}

impl FolderLock {
    /// Makes the folder if needed and locks it, or says who has it.
    pub(super) fn take(folder: &Path) -> Result<Self, StoreError> {
        let failed = |error| {
            StoreError::unavailable(format!("opening the data folder {}", folder.display()), error)
        };
        create(folder).map_err(failed)?;
        let mut file = open(&folder.join(FILE)).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                sign(&mut file).map_err(failed)?;
                Ok(Self { file })
            }
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::Locked { folder: folder.to_owned(), holder: read(file) })
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // The name goes first, so that nobody reads it in a folder that is free again. Should this
        // fail, the lock is given back all the same.
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "could not empty the lock file");
        }
        // Closing is not enough: a process that was just forked off holds a copy of the file until it
        // runs its own program, and the lock with it.
        if let Err(error) = self.file.unlock() {
            tracing::debug!(%error, "could not unlock the lock file");
        }
    }
}

/// Makes the folder; what it will hold is for its owner's eyes only.
fn create(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens the lock file without emptying it: it may name a living holder.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn sign(file: &mut File) -> io::Result<()> {
    let holder = Holder {
        pid: std::process::id(),
        command: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" "),
        started_at: Timestamp::now(),
    };
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&serde_json::to_vec(&holder)?)
}

/// Reads who holds the lock; `None` while a holder has not signed yet.
fn read(file: File) -> Option<Holder> {
    let mut text = Vec::new();
    file.take(MAX_HOLDER_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
