//! What every backend has to prove: a list of named cases, each run on an empty store.
//!
//! A backend's tests call [`run`] with a function that opens a new, empty store. Cases use several
//! leases, so one process plays many. None sleeps; what has to be over is ended with a `ttl` of zero.

mod account;
mod atomic;
mod blob;
mod claim;
mod fence;
mod fixture;
mod journal;
mod limit;
mod load;
mod page;
mod row;
mod wake;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::Store;

type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One law of the store and its proof.
#[derive(Clone, Copy)]
pub struct Case {
    /// The law, as a sentence.
    pub name: &'static str,
    run: fn(Arc<dyn Store>) -> Running,
}

impl Case {
    /// Runs the case on an empty store; panics when the store breaks the law.
    pub async fn run(&self, store: Arc<dyn Store>) {
        (self.run)(store).await;
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    [
        journal::CASES,
        atomic::CASES,
        row::CASES,
        page::CASES,
        blob::CASES,
        fence::CASES,
        claim::CASES,
        account::CASES,
        wake::CASES,
        limit::CASES,
        load::CASES,
    ]
    .concat()
}

/// Runs all cases, each on a store of its own, and returns how many there are.
///
/// # Panics
/// When cases fail: after the last one, with the names of all that did.
pub async fn run(open: impl AsyncFn() -> Arc<dyn Store>) -> usize {
    let cases = cases();
    let mut failed = Vec::new();
    for case in &cases {
        let store = open().await;
        let outcome = tokio::spawn((case.run)(store)).await;
        if outcome.is_err() {
            failed.push(case.name);
        }
    }
    assert!(failed.is_empty(), "{} of {} cases failed: {failed:#?}", failed.len(), cases.len());
    cases.len()
}
