//! Secrets that were shown to others, so that what these say is searched for them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Secret;

/// How many are remembered: an agent is shown few at a time, and each new token is one more.
const MOST: usize = 64;

/// The newest secrets that were shown.
#[derive(Default)]
pub(super) struct Shown(Mutex<Newest>);

#[derive(Default)]
struct Newest {
    secrets: Vec<Secret>,
    /// How many there were ever: tells whether there are others than before.
    count: u64,
}

impl Shown {
    /// Remembers a secret that is about to be shown.
    pub(super) fn note(&self, secret: &Secret) {
        let mut newest = self.newest();
        if newest.secrets.last() == Some(secret) {
            return;
        }
        match newest.secrets.iter().position(|it| it == secret) {
            // What is in use is the last to be forgotten.
            Some(at) => newest.secrets[at..].rotate_left(1),
            None => {
                if newest.secrets.len() == MOST {
                    newest.secrets.remove(0);
                }
                newest.secrets.push(secret.clone());
                newest.count += 1;
            }
        }
    }

    pub(super) fn secrets(&self) -> Vec<Secret> {
        self.newest().secrets.clone()
    }

    /// A number that is another one once there are other secrets.
    pub(super) fn count(&self) -> u64 {
        self.newest().count
    }

    fn newest(&self) -> MutexGuard<'_, Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
