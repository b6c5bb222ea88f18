//! The data folder and what is opened in it.

use std::{path::PathBuf, sync::Arc};

use executor::{Executor, Runs};
use protocol::outbound::{Outbound, Policy};
use registry::Registry;
use store::{AccountId, OpenOptions, SqliteStore, Store};

use crate::{args::Args, failure::Failure};

/// The account of everything that the command line does on its own data folder.
pub(crate) const ACCOUNT: &str = "local";

/// An open data folder. Holds its lock until dropped.
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) outbound: Outbound,
    pub(crate) account: AccountId,
}

impl Place {
    /// Opens the data folder, which is made when it is not there.
    pub(crate) async fn open(args: &Args) -> Result<Self, Failure> {
        let folder = folder(args)?;
        let store = SqliteStore::open(&folder, OpenOptions::default())?;
        Ok(Self { store: Arc::new(store), outbound: outbound()?, account: AccountId::new(ACCOUNT) })
    }

    /// An executor that drives runs in it.
    pub(crate) async fn executor(&self) -> Result<Executor, Failure> {
        let store = Arc::clone(&self.store);
        Ok(Executor::open(store, self.outbound.clone(), self.account.clone()).await?)
    }

    /// Reads runs in it.
    pub(crate) fn runs(&self) -> Runs {
        Runs::new(Arc::clone(&self.store), self.account.clone())
    }

    /// The agent directory in it.
    pub(crate) async fn registry(&self) -> Result<Registry, Failure> {
        Registry::open(Arc::clone(&self.store), self.outbound.clone(), self.account.clone())
            .await
            .map_err(Failure::unavailable)
    }
}

/// The guarded client. Convoke on the command line serves loopback at most, so it may call loopback.
pub(crate) fn outbound() -> Result<Outbound, Failure> {
    Outbound::new(Policy::loopback()).map_err(Failure::unavailable)
}

/// `--data`, else the user's state folder (XDG base directories).
fn folder(args: &Args) -> Result<PathBuf, Failure> {
    if let Some(folder) = &args.data {
        return Ok(folder.clone());
    }
    let under = |variable: &str| {
        std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    under("XDG_STATE_HOME")
        .or_else(|| under("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("convoke"))
        .ok_or_else(|| {
            Failure::usage("no place for data: set --data, CONVOKE_DATA, XDG_STATE_HOME or HOME")
        })
}
