//! The endpoint of the process that holds a data folder, for other commands on the same folder.
//!
//! One process at a time works on a data folder. It listens on a loopback port of its own and writes where, and
//! under which key, into the file `endpoint` of the folder: whoever can read that file can read the folder. A
//! command that finds the folder in use asks there instead. It reads what is stored as if it had opened the folder
//! ([`Ask::Entries`] to [`Ask::Blob`]), and what has to be done to a run that is being driven it hands over
//! ([`Ask::Reply`], [`Ask::Cancel`]), as what concerns webhooks and API keys. Nothing else can be written.
//!
//! Every request is a POST to `/` with an [`Ask`] as JSON and the key as a bearer token:
//!
//! | status | body |
//! |---|---|
//! | 200 | what the [`Ask`] says |
//! | 401 | nothing: the key is another one |
//! | 422 | a [`Refusal`] |
//!
//! The file goes with its process; one that a crash left behind leads nowhere, and the next holder replaces it.

mod answer;
mod file;
mod wire;

use std::{io, net::Ipv4Addr, path::Path, sync::Arc, time::Duration};

use executor::Executor;
use store::Store;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::answer::Holding;
pub use self::{
    file::{Address, Key},
    wire::{Ask, EntryOut, Octets, PageIn, PageOut, Refusal, RowOut},
};

/// Version of what is spoken here. Another one is not understood.
pub const VERSION: u32 = 2;

/// How long a wait for news lasts at most; who wants to wait longer asks again.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long calls under way may take to end.
const FINISH: Duration = Duration::from_secs(2);

/// A listening endpoint. Dropping it takes the file away and cuts calls; [`Local::close`] lets them end.
pub struct Local {
    stop: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
    /// Answers and cancels that are being handed over: they go to their end when the caller hangs up.
    tasks: TaskTracker,
    // Dropped before the store, and with it before the folder is free for somebody else's file.
    file: file::Written,
    _store: Arc<dyn Store>,
}

impl Local {
    /// Listens on a free loopback port, and says so in the folder, which this process holds.
    ///
    /// # Errors
    /// When there is no port, or the file cannot be written.
    pub async fn listen(
        folder: &Path,
        store: Arc<dyn Store>,
        executor: Arc<Executor>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let (key, stop, tasks) = (Key::draw(), CancellationToken::new(), TaskTracker::new());
        let holding = Holding {
            key: key.clone(),
            store: Arc::clone(&store),
            executor,
            stop: stop.clone(),
            tasks: tasks.clone(),
        };
        let router = answer::router(Arc::new(holding));
        let serving = protocol::server::serve(listener, router, stop.clone());
        let file = file::write(folder, &Address { version: VERSION, url, key })?;
        Ok(Self { stop, serving: tokio::spawn(serving), tasks, file, _store: store })
    }

    /// Ends it in good order: nobody finds it any more, waits end, and calls under way get their answers.
    pub async fn close(mut self) {
        self.file.remove();
        self.stop.cancel();
        self.tasks.close();
        let ended = async {
            self.tasks.wait().await;
            (&mut self.serving).await
        };
        if tokio::time::timeout(FINISH, ended).await.is_err() {
            tracing::warn!("calls of other commands were cut");
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
