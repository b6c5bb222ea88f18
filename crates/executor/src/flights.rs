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
    /// Sleeps until a pause has lasted as long as it may.
    Expire(StepIndex),
    /// Tells the agent to cancel.
    Cancel(StepIndex, u32),
    /// Waits for an un-bound attempt that is no longer wanted.
    GiveUp(StepIndex, u32),
    /// Hands an answer down to a sub-run.
    Pass(StepIndex, u64),
    /// Sleeps until a step's deadline.
    StepDeadline(StepIndex),
    /// Sleeps until the run's timeout.
    Deadline,
}

impl Slot {
    /// The slot in which an effect is done; `None` for what the driver does itself.
    pub(crate) fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Render(_) | Effect::Conclude => None,
            Effect::Send(at, attempt)
            | Effect::Answer(at, attempt, _)
            | Effect::Watch(at, attempt) => Some(Self::Flight(at, attempt)),
            Effect::Expire(at) => Some(Self::Expire(at)),
            Effect::Sleep(at, attempt) => Some(Self::Sleep(at, attempt)),
            Effect::Cancel(at, attempt) => Some(Self::Cancel(at, attempt)),
            Effect::GiveUp(at, attempt) => Some(Self::GiveUp(at, attempt)),
            Effect::StepDeadline(at) => Some(Self::StepDeadline(at)),
            Effect::Deadline => Some(Self::Deadline),
        }
    }

    /// The attempt that it is about; none for the run as a whole.
    pub(crate) fn attempt(self) -> Option<(StepIndex, u32)> {
        match self {
            Self::Flight(at, attempt)
            | Self::Sleep(at, attempt)
            | Self::Cancel(at, attempt)
            | Self::GiveUp(at, attempt) => Some((at, attempt)),
            Self::Expire(_) | Self::Pass(..) | Self::StepDeadline(_) | Self::Deadline => None,
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
    /// Whether a slot has its task. One that has ended still has it: its report is on its way, and until it was
    /// taken the effect is wanted. Only [`Flights::stop`] frees a slot.
    pub(crate) fn holds(&self, slot: Slot) -> bool {
        self.by_slot.contains_key(&slot)
    }

    /// Starts the task of a slot.
    pub(crate) fn start(&mut self, slot: Slot, work: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(work);
        self.by_id.insert(task.id(), slot);
        if let Some(old) = self.by_slot.insert(slot, task) {
            old.abort();
        }
    }

    /// Aborts the task of a slot, if there is one, and frees the slot.
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
                    self.by_id.remove(&id);
                }
                Err(error) => {
                    let slot = self.by_id.remove(&error.id());
                    if let Some(slot) = slot.filter(|slot| self.is_of(*slot, error.id()))
                        && error.is_panic()
                    {
                        self.by_slot.remove(&slot);
                        return (slot, error.to_string());
                    }
                }
            }
        }
    }

    /// Whether the slot belongs to this task still, and not to a later one.
    fn is_of(&self, slot: Slot, id: Id) -> bool {
        self.by_slot.get(&slot).is_some_and(|task| task.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_is_named_and_frees_its_slot() {
        let mut flights = Flights::default();
        let slot = Slot::Sleep(StepIndex(3), 1);
        flights.start(Slot::Deadline, async {});
        flights.start(slot, async { panic!("as the test wants it") });
        let (broken, why) = flights.broken().await;
        assert_eq!(broken, slot);
        assert!(why.contains("panicked"), "{why}");
        assert!(!flights.holds(slot));
    }

    #[tokio::test]
    async fn a_task_that_has_ended_holds_its_slot_until_it_is_freed() {
        let mut flights = Flights::default();
        let (slot, other) = (Slot::Deadline, Slot::Sleep(StepIndex(0), 1));
        flights.start(slot, async {});
        flights.start(other, async { panic!("so that there is something to wait for") });
        flights.broken().await;
        assert!(flights.holds(slot));
        flights.stop(slot);
        assert!(!flights.holds(slot));
    }

    #[tokio::test]
    async fn a_task_that_was_replaced_breaks_nothing() {
        let mut flights = Flights::default();
        let slot = Slot::Flight(StepIndex(0), 1);
        flights.start(slot, async { panic!("replaced before anybody looked") });
        tokio::task::yield_now().await;
        flights.start(slot, std::future::pending());
        let waited = std::time::Duration::from_millis(50);
        assert!(tokio::time::timeout(waited, flights.broken()).await.is_err());
        assert!(flights.holds(slot));
    }
}
