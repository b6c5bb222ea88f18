//! The running tasks of one driver: at most one for each slot, each owned, each aborted when unwanted.

use std::{collections::HashMap, future::Future};

use tokio::task::{AbortHandle, Id, JoinSet};

use crate::run::{Effect, StepIndex};

/// What a task is for. Sending and watching share a slot: the stream that a Message opens goes on as its watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// Sends an attempt's Message and follows it.
    Flight(StepIndex, u32),
    /// Sleeps through a back-off.
    Sleep(StepIndex, u32),
    /// Tells the agent to cancel.
    Cancel(StepIndex, u32),
    /// Waits for an un-bound attempt that is no longer wanted.
    GiveUp(StepIndex, u32),
    /// Sleeps until the run's timeout.
    Deadline,
}

impl Slot {
    /// The slot in which an effect is done; `None` for what the driver does itself.
    pub(crate) fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Render(_) | Effect::Conclude => None,
            Effect::Send(at, attempt) | Effect::Watch(at, attempt) => {
                Some(Self::Flight(at, attempt))
            }
            Effect::Sleep(at, attempt) => Some(Self::Sleep(at, attempt)),
            Effect::Cancel(at, attempt) => Some(Self::Cancel(at, attempt)),
            Effect::GiveUp(at, attempt) => Some(Self::GiveUp(at, attempt)),
            Effect::Deadline => Some(Self::Deadline),
        }
    }
}

/// Tasks by slot. Dropping it aborts them all.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    tasks: JoinSet<()>,
    by_slot: HashMap<Slot, AbortHandle>,
    by_id: HashMap<Id, Slot>,
}

impl Flights {
    /// Whether a task for this slot is running.
    pub(crate) fn is_running(&self, slot: Slot) -> bool {
        self.by_slot.get(&slot).is_some_and(|task| !task.is_finished())
    }

    /// Starts the task of a slot.
    pub(crate) fn start(&mut self, slot: Slot, work: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(work);
        self.by_id.insert(task.id(), slot);
        if let Some(old) = self.by_slot.insert(slot, task) {
            old.abort();
        }
    }

    /// Aborts the task of a slot, if there is one.
    pub(crate) fn stop(&mut self, slot: Slot) {
        if let Some(task) = self.by_slot.remove(&slot) {
            task.abort();
        }
    }

    /// Waits until a task breaks down and returns its slot and why; never returns while none does.
    /// Cancel safe.
    pub(crate) async fn broken(&mut self) -> (Slot, String) {
        loop {
            let Some(joined) = self.tasks.join_next_with_id().await else {
                return std::future::pending().await;
            };
            match joined {
                Ok((id, ())) => {
                    self.forget(id);
                }
                Err(error) => {
                    let slot = self.forget(error.id());
                    if let Some(slot) = slot
                        && error.is_panic()
                    {
                        return (slot, error.to_string());
                    }
                }
            }
        }
    }

    fn forget(&mut self, id: Id) -> Option<Slot> {
        let slot = self.by_id.remove(&id)?;
        if self.by_slot.get(&slot).is_some_and(|task| task.id() == id) {
            self.by_slot.remove(&slot);
        }
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_named_and_one_that_ends_is_not() {
        let mut flights = Flights::default();
        flights.start(Slot::Deadline, async {});
        flights.start(Slot::Sleep(StepIndex(3), 1), async { panic!("as the test wants it") });
        let (slot, why) = flights.broken().await;
        assert_eq!(slot, Slot::Sleep(StepIndex(3), 1));
        assert!(why.contains("panicked"), "{why}");
        assert!(!flights.is_running(slot));
    }

    #[tokio::test]
    async fn a_stopped_task_does_not_run() {
        let mut flights = Flights::default();
        flights.start(Slot::Deadline, std::future::pending());
        assert!(flights.is_running(Slot::Deadline));
        flights.stop(Slot::Deadline);
        assert!(!flights.is_running(Slot::Deadline));
    }
}
