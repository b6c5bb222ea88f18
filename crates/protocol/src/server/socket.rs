//! The socket loop: HTTP/1.1 and HTTP/2 without TLS on one port, and an orderly end.

use std::{io, time::Duration};

use axum::{Extension, Router};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

/// How long calls under way may take to end once the shutdown began.
const DRAIN: Duration = Duration::from_secs(10);

/// How long a client may take to send a request's head, which is also how long a connection without
/// requests is kept: longer than proxies and clients keep theirs (mostly 60 s), so that none of them
/// sends on a connection that is being closed here.
const HEADERS: Duration = Duration::from_secs(75);

/// How long to wait before accepting again when the process has no sockets left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Tells the event streams of a router that the server is about to end.
#[derive(Clone)]
pub(super) struct Shutdown(pub(super) CancellationToken);

/// Lets a token end the open event streams of a router. [`serve`] does this itself; it is for
/// routers that something else serves.
pub fn with_shutdown(router: Router, shutdown: CancellationToken) -> Router {
    router.layer(Extension(Shutdown(shutdown)))
}

/// Serves a router until the token is cancelled, then drains: no new connections, event streams
/// end, calls under way get ten seconds, and what is left is cut.
///
/// Dropping the future cuts all connections at once.
///
/// # Errors
/// None today: a failed accept is logged and tried again.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    serve_with_drain(listener, router, shutdown, DRAIN).await
}

pub(super) async fn serve_with_drain(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
    drain: Duration,
) -> io::Result<()> {
    let router = with_shutdown(router, shutdown.clone());
    let mut connections = JoinSet::new();
    while let Some(stream) = next_connection(&listener, &shutdown, &mut connections).await {
        connections.spawn(serve_connection(stream, router.clone(), shutdown.clone()));
    }
    drop(listener);
    let drained =
        tokio::time::timeout(drain, async { while connections.join_next().await.is_some() {} })
            .await;
    if drained.is_err() {
        tracing::warn!(left = connections.len(), "connections were cut at the end of the shutdown");
        connections.shutdown().await;
    }
    Ok(())
}

/// Waits for the next connection; none comes after the shutdown began.
async fn next_connection(
    listener: &TcpListener,
    shutdown: &CancellationToken,
    connections: &mut JoinSet<()>,
) -> Option<TcpStream> {
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return None,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => return Some(stream),
                Err(error) => pause(&error).await,
            },
            Some(_ended) = connections.join_next() => {}
        }
    }
}

/// A peer that went away while waiting is no trouble; anything else (no sockets left) is, and
/// trying again at once would only burn the processor.
async fn pause(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "a connection could not be accepted");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

async fn serve_connection(stream: TcpStream, router: Router, shutdown: CancellationToken) {
    // Events are small and must not wait for more of them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(30)));
    let service = TowerToHyperService::new(router);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
