//! Sockets and the end.

use std::net::Ipv4Addr;

use anyhow::Result;
use axum::{Router, serve::ListenerExt};
use tokio::net::TcpListener;

/// Listens on a free port.
pub(crate) async fn listen() -> Result<(TcpListener, String)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    Ok((listener, url))
}

/// Serves a router whose JSON-RPC interface is at this URL.
pub(crate) async fn serve(listener: TcpListener, router: Router, url: &str) -> Result<()> {
    println!("{url}");
    let listener = listener.tap_io(|socket| {
        // A socket that cannot be set so is slower, not wrong.
        let _ = socket.set_nodelay(true);
    });
    Ok(axum::serve(listener, router).await?)
}

/// Waits until standard input ends, as it does with the parent.
pub(crate) async fn orphaned() {
    let (tell, orphaned) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        // Whether it ends well or not, there is no parent any more.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(tell);
    });
    let _ = orphaned.await;
}
