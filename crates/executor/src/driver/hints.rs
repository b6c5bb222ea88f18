//! Callbacks of a run's attempts: open from before the Message leaves until the attempt has ended.

use super::Driver;
use crate::{callback::Hints, run::StepIndex};

impl Driver {
    /// Opens the callbacks of all attempts that go on, also of those that wait for somebody.
    pub(super) fn listen_all(&mut self) {
        let indices = self.run.indices();
        for at in indices {
            self.listen(at);
        }
    }

    /// Opens the callback of a step's attempt, if it has one, and returns what there is to hear.
    pub(super) fn listen(&mut self, at: StepIndex) -> Option<Hints> {
        let callbacks = self.shared.callbacks.as_ref()?;
        let flight = self.run.at(at).flight()?;
        let callback = flight.intent.callback.as_ref()?;
        let listening = self
            .listening
            .entry((at, flight.attempt))
            .or_insert_with(|| callbacks.open(callback, &flight.intent.interface.address()));
        Some(listening.hints())
    }

    /// Closes the callback of an attempt that has ended, or goes on without one.
    pub(super) fn stop_listening(&mut self, at: StepIndex, attempt: u32) {
        let flight = self.run.at(at).flight().filter(|flight| flight.attempt == attempt);
        if flight.is_none_or(|flight| flight.intent.callback.is_none()) {
            self.listening.remove(&(at, attempt));
        }
    }
}
