//! From a listener to an orderly end.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use executor::ExecutorError;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{Orchestrator, access::gate, ard, health, hosts};

/// How long what calls have begun may take once none comes any more.
const FINISH: Duration = Duration::from_secs(10);

/// Why serving ended before it was told to, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The socket.
    #[error("the server failed: {0}")]
    Socket(#[from] io::Error),
    /// The runs.
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    /// The file with the keys that notifications are signed with.
    #[error(
        "{} cannot be used: {why}; bring it back as it was, or move it away for a new key, which receivers of \
         notifications learn of by themselves",
        .path.display()
    )]
    Keys {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// Serves an orchestrator until it is told to stop, or may drive runs no more. Then nothing new is accepted, event
/// streams end, calls get their answers, drivers stop where their journals stand, and the lease is released.
///
/// # Errors
/// When the lease was lost, or the store or the socket failed.
pub async fn serve(
    listener: TcpListener,
    mut orchestrator: Orchestrator,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let mut watching = std::pin::pin!(orchestrator.watch());
    let mut starting = Box::pin(orchestrator.schedules().keep());
    let callbacks = orchestrator.callbacks();
    let orchestrator = Arc::new(orchestrator);
    let executor = Arc::clone(orchestrator.executor());
    let settings = orchestrator.settings();
    let routes = match settings.older_versions {
        true => protocol::server::router_with_older_versions,
        false => protocol::server::router_with_limits,
    };
    let access = orchestrator.offer().access();
    // What comes after the guard is open to everybody: cards, keys and health, and callbacks, which have tokens of
    // their own.
    let guarded =
        routes(orchestrator.clone(), settings.limits).merge(orchestrator.directory().router());
    let router = gate::guard(guarded, access)
        .merge(protocol::server::tenant_cards(orchestrator.clone(), settings.limits))
        .merge(ard::router(&orchestrator))
        .merge(health::router(&orchestrator))
        .merge(orchestrator.push().keys().router())
        .merge(callbacks);
    let router = hosts::guard(router, settings.hosts.clone());
    let keeper = tokio::spawn(Arc::clone(orchestrator.directory()).keep());
    let probing = tokio::spawn(Arc::clone(orchestrator.directory()).probe());
    let courier = tokio::spawn(Arc::clone(orchestrator.push()).deliver(stop.clone()));
    let mut serving = std::pin::pin!(protocol::server::serve(listener, router, stop.clone()));
    let (served, is_lost) = tokio::select! {
        served = &mut serving => (served, false),
        () = executor.stopped() => {
            stop.cancel();
            (serving.await, true)
        }
        never = &mut watching => match never {},
        never = &mut starting => match never {},
    };
    // It ends with the server, also when that ended by itself.
    stop.cancel();
    // It may wait for what the executor needs for its own end.
    drop(starting);
    if keeper.await.is_err() {
        tracing::error!("reviewing approvals broke down; it goes on after the next start");
    }
    if probing.await.is_err() {
        tracing::error!("probing agents broke down; it goes on after the next start");
    }
    if courier.await.is_err() {
        tracing::error!("delivering notifications broke down; it goes on after the next start");
    }
    if tokio::time::timeout(FINISH, orchestrator.finish()).await.is_err() {
        tracing::warn!(
            "what some calls have begun is not done yet; it goes on after the next start"
        );
    }
    if is_lost {
        return Err(ExecutorError::LeaseLost.into());
    }
    executor.stop().await?;
    Ok(served?)
}
