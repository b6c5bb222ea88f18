//! A Task as the stream of events that a client gets.

use std::collections::VecDeque;

use executor::ExecutorError;
use futures_util::{StreamExt as _, stream};
use protocol::{
    error::Error,
    service::EventStream,
    v1::{StreamResponse, Task},
};

use crate::{
    error::wire,
    tail::Tail,
    view::{self, Extent},
};

/// The Task as a tail has it now.
pub(crate) async fn shown(tail: &Tail, extent: Extent) -> Result<Task, Error> {
    view::task(tail.runs(), &tail.record, extent).await.map_err(wire)
}

/// The Task as it is, then what changes, until it ends. Dropping the stream stops nothing but itself.
pub(crate) async fn events(tail: Tail, extent: Extent) -> Result<EventStream, Error> {
    let first: StreamResponse = shown(&tail, extent).await?.into();
    let state = (Some(tail), VecDeque::from([first]));
    let events = stream::unfold(state, async |(tail, mut ready)| {
        let mut tail = tail;
        loop {
            if let Some(next) = ready.pop_front() {
                return Some((Ok(next), (tail, ready)));
            }
            let mut following = tail.take().filter(|tail| !tail.is_over())?;
            match advance(&mut following).await {
                Ok(updates) => {
                    ready = updates.into();
                    tail = Some(following);
                }
                Err(error) => return Some((Err(wire(error)), (None, ready))),
            }
        }
    });
    Ok(events.boxed())
}

async fn advance(tail: &mut Tail) -> Result<Vec<StreamResponse>, ExecutorError> {
    let event = tail.next().await?;
    view::updates(tail.runs(), &tail.record, &event).await
}
