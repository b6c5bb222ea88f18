//! Answering what other commands ask.

use std::{future::Future, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::post,
};
use executor::{Executor, ExecutorError};
use serde::Serialize;
use serde_json::value::RawValue;
use store::{PageQuery, Store};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Ask, EntryOut, Key, LONGEST_WAIT, Octets, PageOut, Refusal, RowOut, wire::table};
use crate::{access::ApiKeys, drive, retry_deliveries};

/// What the holder of a folder answers from.
pub(super) struct Holding {
    pub(super) key: Key,
    pub(super) store: Arc<dyn Store>,
    pub(super) executor: Arc<Executor>,
    /// Ends waits.
    pub(super) stop: CancellationToken,
    pub(super) tasks: TaskTracker,
}

/// The one route. Without the key nothing is read of a request but its head.
pub(super) fn router(holding: Arc<Holding>) -> Router {
    let check = middleware::from_fn_with_state(Arc::clone(&holding), check);
    Router::new().route("/", post(answer)).layer(check).with_state(holding)
}

async fn check(State(holding): State<Arc<Holding>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION);
    let given = given.and_then(|given| given.to_str().ok()?.strip_prefix("Bearer "));
    if given.is_some_and(|given| holding.key.is(given)) {
        next.run(request).await
    } else {
        StatusCode::UNAUTHORIZED.into_response()
    }
}

async fn answer(State(holding): State<Arc<Holding>>, Json(ask): Json<Ask>) -> Response {
    match holding.answer(ask).await {
        Ok(answer) => Json(answer).into_response(),
        Err(refusal) => (StatusCode::UNPROCESSABLE_ENTITY, Json(refusal)).into_response(),
    }
}

type Answer = Result<Box<RawValue>, Refusal>;

impl Holding {
    async fn answer(&self, ask: Ask) -> Answer {
        match ask {
            Ask::Hello => said(&()),
            Ask::Entries { account, journal, after, limit } => {
                let entries = self.store.entries(&account, &journal, after, limit).await?;
                said(&entries.into_iter().map(EntryOut::from).collect::<Vec<_>>())
            }
            Ask::Appended { account, journal, after, at_most_ms } => {
                let at_most = Duration::from_millis(at_most_ms).min(LONGEST_WAIT);
                let waited = self.store.appended(&account, &journal, after, at_most);
                match self.stop.run_until_cancelled(waited).await {
                    Some(last) => said(&last?),
                    None => said(&after),
                }
            }
            Ask::Row { account, table: name, key } => {
                let row = self.store.row(&account, table(&name)?, &key).await?;
                said(&row.map(RowOut::from))
            }
            Ask::Page(query) => {
                said(&PageOut::from(self.store.page(&PageQuery::try_from(query)?).await?))
            }
            Ask::Blob { account, id } => said(&self.store.blob(&account, &id).await?.map(Octets)),
            Ask::IsDriven { account, run } => said(&self.executor.of(&account).is_driving(&run)),
            Ask::Reply { account, run, step, message } => {
                let executor = self.executor.of(&account);
                self.to_its_end(async move {
                    drive::reply(&executor, &run, step, &(*message).into()).await
                })
                .await
            }
            Ask::Cancel { account, run } => {
                let executor = self.executor.of(&account);
                self.to_its_end(async move { drive::cancel(&executor, &run).await }).await
            }
            Ask::RetryDeliveries { account, task, id } => {
                let store = Arc::clone(&self.store);
                let retried =
                    async move { retry_deliveries(store, account, &task, id.as_deref()).await };
                self.to_its_end(retried).await
            }
            Ask::AddKey { account, record } => {
                let keys = ApiKeys::new(Arc::clone(&self.store), account);
                self.to_its_end(async move { Ok(keys.add(&record).await?) }).await
            }
            Ask::RevokeKey { account, id } => {
                let keys = ApiKeys::new(Arc::clone(&self.store), account);
                self.to_its_end(async move { Ok(keys.revoke(&id).await?) }).await
            }
        }
    }

    /// Does something to its end, also when the caller goes away meanwhile.
    async fn to_its_end<T: Serialize + Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ExecutorError>> + Send + 'static,
    ) -> Answer {
        match self.tasks.spawn(work).await {
            Ok(done) => said(&done?),
            Err(broken) => {
                tracing::error!(%broken, "a call of another command broke down");
                Err(Refusal { message: broken.to_string(), is_of_the_question: false })
            }
        }
    }
}

fn said<T: Serialize>(value: &T) -> Answer {
    serde_json::value::to_raw_value(value).map_err(|error| ExecutorError::from(error).into())
}
