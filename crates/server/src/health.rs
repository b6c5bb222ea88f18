//! Whether the process lives, and whether it can do its work.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use executor::{Executor, RunQuery};
use serde_json::json;

use crate::{Orchestrator, offer::Offer, push::Push};

/// What to do about dead letters.
const DEAD: &str = "webhooks missed notifications that are not sent again by themselves: `convoke deliveries list --dead` \
                    shows why, `convoke deliveries retry TASK` sends them";

/// What readiness depends on.
struct Health {
    executor: Arc<Executor>,
    offer: Arc<Offer>,
    push: Arc<Push>,
}

/// `/healthz`: it answers. `/readyz`: it can take Messages in, else 503 and why; what is wrong with workflow files
/// stands there as well, as do notifications that could not be delivered, and takes nobody out of service.
pub(crate) fn router(orchestrator: &Orchestrator) -> Router {
    let executor = Arc::clone(orchestrator.executor());
    let (offer, push) = (Arc::clone(orchestrator.offer()), Arc::clone(orchestrator.push()));
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready).with_state(Arc::new(Health { executor, offer, push })))
}

async fn ready(State(health): State<Arc<Health>>) -> Response {
    let counted = health.executor.runs().list(RunQuery::default()).await;
    let dead = health.push.dead_letters().await;
    let (dead, uncounted) = match dead {
        Ok(dead) => (dead, None),
        Err(error) => (0, Some(error)),
    };
    let failed = counted.err().or(uncounted).map(|error| error.to_string());
    let trouble = health.executor.trouble().or(failed);
    let advice = (dead > 0).then_some(DEAD);
    let workflows = &health.offer.now().workflows;
    let broken: Vec<_> = workflows
        .broken
        .iter()
        .map(|it| {
            let problems = document::to_json(&it.source_file, &it.diagnostics);
            json!({ "file": it.source_file.name(), "problems": problems })
        })
        .collect();
    let body = json!({
        "ready": trouble.is_none(),
        "trouble": trouble,
        "deliveries": { "dead": dead, "advice": advice },
        "workflows": { "count": workflows.len(), "broken": broken, "unreadable": workflows.unreadable },
    });
    let status = if trouble.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(body)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use protocol::outbound::{Outbound, Policy};
    use store::{AccountId, OpenOptions, SqliteStore, Store};

    use super::*;
    use crate::{Declared, PushParts, PushSettings, Workflows, access::Showing, skills::OwnSkills};

    async fn answered(health: &Arc<Health>) -> (StatusCode, serde_json::Value) {
        let (head, body) = ready(State(Arc::clone(health))).await.into_parts();
        let body = to_bytes(body, 10_000).await.unwrap();
        (head.status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_server_that_may_drive_no_runs_is_not_ready_and_says_why() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = SqliteStore::open(folder.path(), OpenOptions::default()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let outbound = Outbound::new(Policy::loopback()).unwrap();
        let account = AccountId::new("local");
        let executor = Executor::open(Arc::clone(&store), outbound.clone(), account).await;
        let executor = Arc::new(executor.unwrap());
        let parts = PushParts { store, outbound, folder: folder.path().to_owned() };
        let settings = PushSettings::default();
        let push = Push::open(parts, executor.runs(), "http://localhost", settings).unwrap();
        let offer = Arc::new(Offer::new(
            Workflows::default(),
            OwnSkills::default(),
            Declared::default(),
            "http://localhost".to_owned(),
            Showing::default(),
        ));
        let health =
            Arc::new(Health { executor: Arc::clone(&executor), offer, push: Arc::new(push) });
        let (status, body) = answered(&health).await;
        assert_eq!((status, &body["trouble"]), (StatusCode::OK, &serde_json::Value::Null));
        executor.stop().await.unwrap();
        let (status, body) = answered(&health).await;
        assert_eq!((status, &body["ready"]), (StatusCode::SERVICE_UNAVAILABLE, &json!(false)));
        assert!(body["trouble"].as_str().unwrap().contains("lost its lease"), "{body}");
    }
}
