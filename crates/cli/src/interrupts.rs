//! Ctrl-C and the wish to stop, listened to from one instant on: none is lost between two looks.

use std::io;

use crate::failure::{Exit, Failure};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC as Signal, ctrl_c as listen};

#[cfg(unix)]
fn listen() -> io::Result<Signal> {
    signal(SignalKind::interrupt())
}

/// Every Ctrl-C since it was made; from then on none ends the process by itself.
pub(crate) struct Interrupts(Signal);

impl Interrupts {
    /// Begins to listen.
    pub(crate) fn new() -> io::Result<Self> {
        listen().map(Self)
    }

    /// Waits for the next one. Cancel safe.
    pub(crate) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            // No more signals can come.
            std::future::pending::<()>().await;
        }
    }
}

/// Does something until Ctrl-C, which drops it.
pub(crate) async fn until_interrupted(
    what: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    let mut interrupts = Interrupts::new().map_err(Failure::unavailable)?;
    tokio::select! {
        ended = what => ended,
        () = interrupts.next() => Ok(Exit::Interrupted),
    }
}

/// What asks a server to stop: Ctrl-C, or SIGTERM where there is that.
pub(crate) struct Stops {
    interrupts: Interrupts,
    #[cfg(unix)]
    terminate: Signal,
}

impl Stops {
    /// Begins to listen.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupts: Interrupts::new()?,
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one. Cancel safe.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            () = self.interrupts.next() => (),
            Some(()) = self.terminate.recv() => (),
        }
    }

    /// Waits for the next one. Cancel safe.
    #[cfg(windows)]
    pub(crate) async fn next(&mut self) {
        self.interrupts.next().await;
    }
}
