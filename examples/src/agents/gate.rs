//! Waits for authorization that is given elsewhere.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use axum::{Router, extract::Path, http::StatusCode, routing};
use protocol::v1::Part;
use tokio_util::sync::CancellationToken;

use crate::harness::{
    Agent, Profile, skill,
    work::{Ending, Work},
};

/// Opens when somebody posts to `/authorize/TASK`, or says so in the Task.
#[derive(Clone, Default)]
pub(super) struct Gate {
    closed: Arc<Mutex<HashMap<String, CancellationToken>>>,
}

impl Gate {
    /// `POST /authorize/TASK`: 204, or 404 for a Task that does not wait.
    pub(super) fn router(&self) -> Router {
        let gate = self.clone();
        let authorize = async move |Path(task): Path<String>| match gate.take(&task) {
            Some(token) => {
                token.cancel();
                StatusCode::NO_CONTENT
            }
            None => StatusCode::NOT_FOUND,
        };
        Router::new().route("/authorize/{task}", routing::post(authorize))
    }

    fn take(&self, task: &str) -> Option<CancellationToken> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).remove(task)
    }

    fn close(&self, task: String) -> CancellationToken {
        let token = CancellationToken::new();
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.insert(task, token.clone());
        token
    }
}

#[async_trait]
impl Agent for Gate {
    fn profile(&self) -> Profile {
        Profile {
            name: "gate",
            description: "Opens the vault once somebody has authorized it.",
            skills: vec![skill(
                "open_vault",
                "Open the vault",
                "Waits until it is authorized at its own address, then opens.",
                &["vault", "authorization"],
            )],
        }
    }

    async fn work(&self, work: &Work) -> Ending {
        let task = work.task_id();
        let granted = self.close(task.clone());
        let text = format!("Authorize this at /authorize/{task} of the agent's address.");
        work.await_authorization(&text, granted.cancelled_owned()).await;
        let _ = self.take(&task);
        work.artifact("vault", vec![Part::text("The vault is open.")]);
        Ending::Completed
    }
}
