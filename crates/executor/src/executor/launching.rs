//! A run that begins: opened in one commit with its first decision, and driven from then on.

use std::sync::Arc;

use planner::Plan;
use protocol::{auth::Caller, v1::Part};
use serde_json::{Map, Value};
use store::{Seq, Write};

use super::{Executor, Held};
use crate::{
    ExecutorError, RunId,
    context::Contexts,
    driver::{Driver, Standing},
    run::{Header, Run, Shape},
    seats::Seat,
    streamed::Streamed,
};

/// A run, and the right to write its journal.
pub(super) struct Launching {
    pub(super) held: Held,
    pub(super) seat: Arc<Seat>,
    /// On whose behalf it runs.
    pub(super) caller: Caller,
    pub(super) id: RunId,
    pub(super) plan: Arc<Plan>,
    /// Where its journal stands.
    pub(super) seq: Seq,
    pub(super) contexts: Contexts,
    pub(super) header: Box<Header>,
    /// What is committed with it.
    pub(super) writes: Vec<Write>,
    pub(super) inputs: Map<String, Value>,
    pub(super) start: Vec<Part>,
}

impl Executor {
    /// Opens a run and begins to drive it.
    pub(super) async fn launch_new(&self, new: Launching) -> Result<(), ExecutorError> {
        let above = new.header.parent.as_deref();
        let owned = new.held.owned.clone();
        let run = self.supervised(&new.id, owned.clone(), new.seat, &new.plan, above, new.caller);
        let standing = Standing {
            id: new.id,
            owned,
            run: Run::new(Arc::new(Shape::of(&new.plan))),
            plan: new.plan,
            seq: new.seq,
            contexts: new.contexts,
            streamed: Streamed::default(),
            cancel: run.cancel.clone(),
            mailbox: run.mailbox.clone(),
            caller: run.caller.clone(),
            seat: Arc::clone(&run.seat),
            sub_runs: Some(Arc::clone(&run.sub_runs)),
            tally: Arc::clone(&run.tally),
        };
        let mut driver = Driver::new(Arc::clone(&self.shared), standing);
        let opened =
            driver.open(new.header, new.writes, Arc::new(new.inputs), new.start.into()).await;
        new.held.settle(opened, false)?;
        self.launch(run, driver).await;
        Ok(())
    }
}
