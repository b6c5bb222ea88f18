//! The agent directory over HTTP, below `/v1`. `openapi.json` is the contract, answered at `/v1/openapi.json`.
//!
//! | route | scope |
//! |---|---|
//! | `GET /agents`, `/agents/{name}`, `…/versions`, `…/diff`, `…/lint`, `/agents:export`, `/agents:watch`, `/policy` | `agents:read` |
//! | `POST /agents`, `/agents:refresh`, `/agents:probe`, `/agents:lint`, `/agents/{name}:DECISION`, `:tag`, `:publish`; `DELETE`; `PUT /policy`; `GET /agents/{name}/extended` | `agents:curate` |
//!
//! `agents:curate` stands for `agents:read` as well, `admin` for both. A caller works on the directory of its account,
//! and sees the public agents of the server's own one beside it. Everything else of other accounts is not there: not
//! found, not listed, not counted, not told.

mod accounts;
mod body;
mod change;
mod look;
mod pages;
mod problem;
mod query;
mod visit;
mod watch;
pub mod wire;

use std::{sync::Arc, time::Instant};

use axum::{
    Json, Router,
    http::{Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::Timestamp;
use protocol::limits::ServerLimits;
use registry::{Prober, RegistryError};
use store::AccountId;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::problem::Problem;
pub(crate) use self::{
    accounts::{Accounts, View},
    query::{Find, Parameters, Wrong},
};
use crate::Access;

/// The contract.
const OPENAPI: &str = include_str!("directory/openapi.json");

/// How often approvals are looked at whose review may be due.
const REVIEW: std::time::Duration = std::time::Duration::from_secs(60);

/// What the routes answer from.
pub(crate) struct Directory {
    accounts: Accounts,
    /// That of the server's own directory.
    prober: Prober,
    access: Access,
    limits: ServerLimits,
    /// Changes go to their end when the caller hangs up.
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Directory {
    pub(crate) fn new(
        (accounts, prober): (Accounts, Prober),
        access: Access,
        limits: ServerLimits,
        stop: CancellationToken,
    ) -> Self {
        Self { accounts, prober, access, limits, tasks: TaskTracker::new(), stop }
    }

    /// What an account sees now.
    pub(crate) async fn view(&self, account: &AccountId) -> Result<View, RegistryError> {
        self.accounts.view(account).await
    }

    /// Its routes, below `/v1`.
    pub(crate) fn router(self: &Arc<Self>) -> Router {
        let router = Router::new()
            .route("/openapi.json", get(openapi))
            .route("/agents", get(look::list).post(change::add))
            .route("/agents:export", get(look::export))
            .route("/agents:watch", get(watch::watch))
            .route("/agents:refresh", post(change::refresh))
            .route("/agents:probe", post(change::probe))
            .route("/agents:lint", post(change::lint))
            .route("/agents/{name}", get(look::show).post(change::decide).delete(change::remove))
            .route("/agents/{name}/versions", get(look::versions))
            .route("/agents/{name}/diff", get(look::diff))
            .route("/agents/{name}/lint", get(look::lint))
            .route("/agents/{name}/extended", get(look::extended))
            .route("/policy", get(look::policy).put(change::set_policy))
            .fallback(nothing)
            .method_not_allowed_fallback(not_so)
            .with_state(Arc::clone(self));
        Router::new().nest("/v1", router)
    }

    /// Does what is due from time to time, until it is told to stop.
    pub(crate) async fn keep(self: Arc<Self>) {
        let mut are_all_open = false;
        loop {
            if !are_all_open {
                are_all_open = self.accounts.open_all(Instant::now()).await;
            }
            self.accounts.review(Timestamp::now()).await;
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(REVIEW) => {}
            }
        }
    }

    /// Probes the agents of all accounts, until it is told to stop: those under way are given up.
    pub(crate) async fn probe(self: Arc<Self>) {
        let directory = Arc::clone(&self);
        let others = move || {
            let directory = Arc::clone(&directory);
            async move { directory.accounts.others() }
        };
        tokio::select! {
            // Where nothing is probed by itself.
            () = self.prober.clone().run(others) => self.stop.cancelled().await,
            () = self.stop.cancelled() => {}
        }
    }

    /// What probes the agents that somebody may change.
    fn prober_of(&self, view: &View) -> Prober {
        match view.own.account() == self.accounts.home() {
            true => self.prober.clone(),
            false => self.prober.of(Arc::clone(&view.own)),
        }
    }

    /// Waits for changes that nobody waits for any more. To be called once no call comes any more.
    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Does something to its end, also when the caller goes away meanwhile.
    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) -> Result<T, Problem> {
        let done = self.tasks.spawn(work).await;
        done.unwrap_or_else(|broken| {
            tracing::error!(%broken, "a change of the directory broke down");
            let detail = "something is wrong on this side; the log of this server says what";
            Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail))
        })
    }
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn nothing(uri: Uri) -> Problem {
    let detail =
        format!("there is nothing at /v1{}; /v1/openapi.json lists what there is", uri.path());
    Problem::new(StatusCode::NOT_FOUND, "no-route", detail)
}

async fn not_so(method: Method, uri: Uri) -> Problem {
    let detail = format!("{method} is not for /v1{}; /v1/openapi.json lists what is", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-method", detail)
}

/// An answer in JSON.
type Answer<T> = Result<Json<T>, Problem>;
