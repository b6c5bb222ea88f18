//! Where a run goes on: in this process, or in the one that holds the data folder.

use std::sync::Arc;

use executor::{Executor, ExecutorError, Recorded, RunId, Runs, run::StepId};
use protocol::v1::{Message, Part};
use server::local::{Ask, Local};
use store::AccountId;

use crate::{
    failure::Failure,
    place::{HandedOver, Place},
};

/// Who drives a run.
pub(crate) enum Drive {
    /// This process.
    Here(Here),
    /// The process that holds the data folder.
    There(Place),
}

/// Drives runs, and lets other commands on the folder ask it.
pub(crate) struct Here {
    pub(crate) executor: Arc<Executor>,
    local: Local,
}

impl Here {
    /// Begins in a folder that is ours. Nothing is driven yet.
    pub(crate) async fn open(place: &Place) -> Result<Self, Failure> {
        Self::over(place, Arc::new(place.executor().await?)).await
    }

    /// Begins with a run of the folder.
    async fn resume(place: &Place, id: &RunId) -> Result<Self, Failure> {
        let executor = Arc::new(place.executor().await?);
        // Before anybody asks: who answers a run takes it up as well, and one of the two would find it taken.
        executor.resume(id).await?;
        Self::over(place, executor).await
    }

    /// Lets other commands ask an executor that has taken up what there was.
    pub(crate) async fn over(place: &Place, executor: Arc<Executor>) -> Result<Self, Failure> {
        let local = place.listen(&executor).await?;
        Ok(Self { executor, local })
    }

    /// Lets other commands get their answers, and then no more of them in.
    pub(crate) async fn close(self) -> Arc<Executor> {
        self.local.close().await;
        self.executor
    }
}

impl Drive {
    /// Takes a run up here, unless another process holds the folder.
    pub(crate) async fn take_up(place: Place, id: &RunId) -> Result<Self, Failure> {
        if place.occupant().is_some() {
            return Ok(Self::There(place));
        }
        Ok(Self::Here(Here::resume(&place, id).await?))
    }

    /// Reads runs.
    pub(crate) fn runs(&self) -> Runs {
        match self {
            Self::Here(here) => here.executor.runs(),
            Self::There(place) => place.runs(),
        }
    }

    /// Whose runs.
    fn account(&self) -> AccountId {
        match self {
            Self::Here(here) => here.executor.account().clone(),
            Self::There(place) => place.account.clone(),
        }
    }

    /// The process that drives, when it is another one.
    pub(crate) fn elsewhere(&self) -> Option<String> {
        match self {
            Self::Here(_) => None,
            Self::There(place) => place.occupant(),
        }
    }

    /// Answers a pause. When this returns, the answer is durable.
    pub(crate) async fn reply(
        &mut self,
        id: &RunId,
        step: Option<StepId>,
        answer: Part,
    ) -> Result<(), Failure> {
        let message = Message::user(vec![answer]);
        let ask = Ask::Reply {
            account: self.account(),
            run: id.clone(),
            step: step.clone(),
            message: Box::new(message.clone()),
        };
        if let Some(executor) = self.hand_over(id, &ask).await? {
            executor.reply(id, step, message).await?;
        }
        Ok(())
    }

    /// Asks for the end of the run.
    pub(crate) async fn cancel(&mut self, id: &RunId) -> Result<(), Failure> {
        let ask = Ask::Cancel { account: self.account(), run: id.clone() };
        if let Some(executor) = self.hand_over(id, &ask).await? {
            executor.cancel(id).await?;
        }
        Ok(())
    }

    /// Goes on with a run here when the process that drove it is gone. Returns whether that was so.
    pub(crate) async fn keep_going(&mut self, recorded: &Recorded) -> Result<bool, Failure> {
        let Self::There(place) = self else { return Ok(false) };
        if !place.stands_still(recorded).await? {
            return Ok(false);
        }
        if place.occupant().is_some() {
            return Err(stands_still(&recorded.id, place.occupant()));
        }
        self.come_here(&recorded.id).await?;
        Ok(true)
    }

    /// Waits for the end of driving; an error when that comes before the end of the run. Never returns for a run that
    /// is driven elsewhere. Cancel safe.
    pub(crate) async fn stopped(&self, id: &RunId) -> Result<(), ExecutorError> {
        match self {
            Self::Here(here) => here.executor.finished(id).await.map(drop),
            Self::There(_) => std::future::pending().await,
        }
    }

    /// Waits for what is done after a run that has ended, where it is driven here.
    pub(crate) async fn clean_up(&self, id: &RunId) -> Result<(), Failure> {
        match self {
            Self::Here(here) => Ok(here.executor.cleaned_up(id).await?),
            Self::There(_) => Ok(()),
        }
    }

    /// Lets go of the run, in good order: other commands get their answers.
    pub(crate) async fn leave(self) {
        if let Self::Here(here) = self {
            here.close().await;
        }
    }

    /// Lets go of a run that has ended.
    pub(crate) async fn finish(self) -> Result<(), Failure> {
        if let Self::Here(here) = self {
            here.close().await.stop().await?;
        }
        Ok(())
    }

    /// Has the holder of the folder do something. The executor that has to do it instead, when that is ours.
    async fn hand_over(&mut self, id: &RunId, ask: &Ask) -> Result<Option<Arc<Executor>>, Failure> {
        if let Self::There(place) = self
            && let Some(borrowed) = place.borrowed()
        {
            match borrowed.hand_over(ask).await? {
                HandedOver::Taken => return Ok(None),
                HandedOver::Alone => self.come_here(id).await?,
            }
        }
        match self {
            Self::Here(here) => Ok(Some(Arc::clone(&here.executor))),
            Self::There(_) => Ok(None),
        }
    }

    /// Drives a run here whose folder has become ours.
    async fn come_here(&mut self, id: &RunId) -> Result<(), Failure> {
        if let Self::There(place) = self {
            *self = Self::Here(Here::resume(place, id).await?);
        }
        Ok(())
    }
}

/// Says that nobody drives a run, and what to do.
pub(crate) fn stands_still(id: &RunId, occupant: Option<String>) -> Failure {
    Failure::unavailable(match occupant {
        None => format!(
            "run {id} stands still: no process drives it; `convoke run --resume {id}` goes on with it"
        ),
        Some(occupant) => format!(
            "run {id} stands still: the data folder is in use by {occupant}, which does not drive it; once that \
             process has ended, `convoke run --resume {id}` goes on with it"
        ),
    })
}
