//! The echo agent of the benches on another project's server: `peers a2a-server-lf`, and so on. Prints the
//! URL of its JSON-RPC interface once it listens, and ends when standard input does.
//!
//! Each is set up as its own documentation begins: its default request handler over its in-memory
//! store. All run on the same kind of runtime, with TCP_NODELAY.

mod asked;
mod listening;
mod official;
mod protocol;

use anyhow::{Result, bail};

#[tokio::main]
async fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let served = async {
        match name.as_str() {
            "a2a-server-lf" => official::serve().await,
            "a2a-protocol-server" => protocol::serve().await,
            other => {
                bail!("{other:?} is no peer: there are a2a-server-lf and a2a-protocol-server")
            }
        }
    };
    tokio::select! {
        served = served => served,
        () = listening::orphaned() => Ok(()),
    }
}
