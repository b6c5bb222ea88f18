//! What only SQLite has to prove; the laws of every store are in [`crate::suite`].

use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use super::{OpenOptions, SqliteStore};
use crate::Store;

mod faults;
mod folder;
mod group;
mod process;

/// Opens a store in a folder.
fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(folder.path(), OpenOptions::default()).unwrap()
}

/// Makes an empty folder that is removed in the end.
fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_passes_the_suite() {
    let folders = Mutex::new(Vec::new());
    let count = crate::suite::run(async || {
        let folder = folder();
        let store: Arc<dyn Store> = Arc::new(open(&folder));
        folders.lock().unwrap().push(folder);
        store
    })
    .await;
    assert_eq!(count, crate::suite::cases().len());
    assert!(count > 40, "{count} cases");
}
