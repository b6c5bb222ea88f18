//! A few connections that only read, used by blocking tasks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::schema;
use crate::error::StoreError;

/// Connections that wait for a read, and how many reads may run.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    /// Opens all connections, so that a folder that cannot be read is noticed at once.
    pub(super) fn open(path: &Path, count: usize) -> Result<Arc<Self>, StoreError> {
        let count = count.max(1);
        let idle = (0..count).map(|_| schema::open_reader(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Self {
            path: path.to_owned(),
            idle: Mutex::new(idle),
            permits: Arc::new(Semaphore::new(count)),
        }))
    }

    /// Runs a read on a connection of its own. When the future is dropped the read ends by itself.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        query: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .expect("the semaphore of the readers is never closed");
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let connection = readers.take()?;
            let result = query(&connection);
            readers.lock().push(connection);
            drop(permit);
            result
        });
        reading.await.map_err(|error| StoreError::unavailable("reading from the store", error))?
    }

    /// Counts the reads that could start now.
    #[cfg(test)]
    pub(super) fn free(&self) -> usize {
        self.permits.available_permits()
    }

    /// Takes an idle connection, or opens one in place of one that a panic has lost.
    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.lock().pop();
        idle.map_or_else(|| schema::open_reader(&self.path), Ok)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
