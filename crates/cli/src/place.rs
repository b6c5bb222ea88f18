//! The data folder and what is opened in it.

mod borrowed;
mod occupant;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use executor::{Executor, Recorded, RunId, Runs};
use protocol::{
    auth::Vault,
    outbound::{Outbound, Policy},
};
use registry::{Cards, EvidenceSettings, Keyrings, Outcomes, Prober, Registry};
use server::{
    PushParts,
    access::ApiKeys,
    local::{Ask, Local},
};
use store::{AccountId, OpenOptions, SqliteStore, Store, StoreError};
use tokio::sync::OnceCell;

pub(crate) use self::borrowed::HandedOver;
use self::{borrowed::Borrowed, occupant::Occupant};
use crate::{args::Args, failure::Failure};

/// The account of everything that the command line does on its own data folder, unless told otherwise.
const ACCOUNT: &str = "local";

/// Where tokens of people who logged in are kept, below the data folder.
const TOKENS: &str = "tokens";
/// How long a folder may be in use by a process that does not listen: it starts, ends, or is about to be done.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked at meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// A data folder. Holds its lock until dropped, unless another process does.
pub(crate) struct Place {
    folder: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    /// The same store, when another process holds the folder.
    borrowed: Option<Arc<Borrowed>>,
    pub(crate) outbound: Outbound,
    pub(crate) account: AccountId,
    /// How long cards are fresh whose servers do not say.
    card_freshness: Duration,
    registry: OnceCell<Arc<Registry>>,
}

/// How to come at what a folder holds.
#[derive(Clone)]
enum Way {
    /// It is open here.
    Ours(Arc<SqliteStore>),
    /// Another process has it open, and answers.
    Theirs(Arc<Occupant>),
}

impl Place {
    /// Opens the data folder for this process alone. It is made when it is not there.
    pub(crate) async fn open(args: &Args) -> Result<Self, Failure> {
        let place = Self::look(args).await?;
        match &place.borrowed {
            Some(borrowed) => Err(borrowed.locked().into()),
            None => Ok(place),
        }
    }

    /// Opens the data folder, or reads it through the process that has it open; then nothing can be written.
    pub(crate) async fn look(args: &Args) -> Result<Self, Failure> {
        let (folder, outbound) = (folder(args)?, outbound()?);
        let account = args.account.clone().unwrap_or_else(home);
        let (store, borrowed): (Arc<dyn Store>, _) = match find(&folder, &outbound).await? {
            Way::Ours(store) => (store, None),
            Way::Theirs(occupant) => {
                let borrowed = Arc::new(Borrowed::new(&folder, &outbound, occupant));
                (Arc::clone(&borrowed) as _, Some(borrowed))
            }
        };
        let card_freshness = Cards::FRESHNESS;
        let registry = OnceCell::new();
        Ok(Self { folder, store, borrowed, outbound, account, card_freshness, registry })
    }

    /// Opens the data folder as [`Place::look`] does, but only one that is there.
    pub(crate) async fn look_if_there(args: &Args) -> Result<Option<Self>, Failure> {
        if folder(args)?.exists() { Self::look(args).await.map(Some) } else { Ok(None) }
    }

    /// An executor that drives runs in it, which has to be ours, and calls agents with the credentials of the
    /// directory.
    pub(crate) async fn executor(&self) -> Result<Executor, Failure> {
        let store = self.ours()?;
        let executor = Executor::open(store, self.outbound.clone(), self.home()).await?;
        let outcomes = self.outcomes(EvidenceSettings::default()).await?;
        let executor = executor.with_keyrings(self.keyrings().await?).with_outcomes(outcomes);
        Ok(executor.of(&self.account))
    }

    /// What the agents of the directory are called with.
    pub(crate) async fn keyrings(&self) -> Result<Keyrings, Failure> {
        let vault = Vault::in_folder(self.folder.join(TOKENS));
        Ok(Keyrings::new(self.registry().await?, self.outbound.clone(), vault))
    }

    /// What takes down how agents of the directory do in runs.
    pub(crate) async fn outcomes(&self, settings: EvidenceSettings) -> Result<Outcomes, Failure> {
        Ok(Outcomes::new(self.registry().await?, settings))
    }

    /// What probes the agents of the directory.
    pub(crate) async fn prober(&self, settings: EvidenceSettings) -> Result<Prober, Failure> {
        let (registry, keyrings) = (self.registry().await?, self.keyrings().await?);
        Ok(Prober::new(registry, keyrings, self.outbound.clone(), settings))
    }

    /// What delivers notifications from it; it has to be ours.
    pub(crate) fn push(&self) -> Result<PushParts, Failure> {
        Ok(PushParts {
            store: self.ours()?,
            outbound: self.outbound.clone(),
            folder: self.folder.clone(),
        })
    }

    /// Lets other commands on the folder ask this process.
    pub(crate) async fn listen(&self, executor: &Arc<Executor>) -> Result<Local, Failure> {
        let local = Local::listen(&self.folder, self.ours()?, Arc::clone(executor)).await;
        local.map_err(|error| {
            Failure::unavailable(format!(
                "cannot let other commands reach this process through {}: {error}; check that the data folder is \
                 writable",
                self.folder.display()
            ))
        })
    }

    /// Reads runs in it.
    pub(crate) fn runs(&self) -> Runs {
        Runs::new(Arc::clone(&self.store), self.account.clone())
    }

    /// The agent directory in it, read once.
    pub(crate) async fn registry(&self) -> Result<Arc<Registry>, Failure> {
        let open = async || {
            let store = Arc::clone(&self.store);
            let registry = Registry::open(store, self.outbound.clone(), self.home()).await;
            registry.map(|it| Arc::new(it.with_card_freshness(self.card_freshness)))
        };
        self.registry.get_or_try_init(open).await.cloned().map_err(Failure::unavailable)
    }

    /// The process that holds it, when that is another one.
    pub(crate) fn occupant(&self) -> Option<String> {
        self.borrowed.as_ref()?.occupant()
    }

    /// Whether another process drives a run.
    pub(crate) async fn is_driven(&self, run: &RunId) -> Result<bool, Failure> {
        match &self.borrowed {
            Some(borrowed) => Ok(borrowed.is_driven(&self.account, run).await?),
            None => Ok(false),
        }
    }

    /// Whether no other process drives a run, and nothing has happened in it since it was looked at.
    pub(crate) async fn stands_still(&self, recorded: &Recorded) -> Result<bool, Failure> {
        if self.is_driven(&recorded.id).await? {
            return Ok(false);
        }
        // Its driver may just have finished.
        let news = self.runs().news(&recorded.id, recorded.seq, Duration::ZERO).await?;
        Ok(news.is_empty())
    }

    /// The account that the folder itself belongs to: that of its directory and of its keys.
    pub(crate) fn home(&self) -> AccountId {
        home()
    }

    /// The API keys in it.
    pub(crate) fn keys(&self) -> ApiKeys {
        ApiKeys::new(Arc::clone(&self.store), self.home())
    }

    /// Has the process that holds it do something, when that is another one.
    pub(crate) async fn hand_over(&self, ask: &Ask) -> Result<HandedOver, Failure> {
        match &self.borrowed {
            Some(borrowed) => borrowed.hand_over(ask).await,
            None => Ok(HandedOver::Alone),
        }
    }

    /// Connects only where a policy allows from now on.
    pub(crate) fn with_policy(self, policy: Policy) -> Result<Self, Failure> {
        let outbound = Outbound::new(policy).map_err(Failure::unavailable)?;
        Ok(Self { outbound, ..self })
    }

    /// Takes cards for fresh for this long when their servers do not say; to be said before the directory is read.
    pub(crate) fn with_card_freshness(self, card_freshness: Duration) -> Self {
        Self { card_freshness, ..self }
    }

    /// What hands things over to the process that holds it, when that is another one.
    pub(crate) fn borrowed(&self) -> Option<&Borrowed> {
        self.borrowed.as_deref()
    }

    fn ours(&self) -> Result<Arc<dyn Store>, StoreError> {
        match &self.borrowed {
            Some(borrowed) => Ok(borrowed.ours()?),
            None => Ok(Arc::clone(&self.store)),
        }
    }
}

fn home() -> AccountId {
    AccountId::new(ACCOUNT)
}

/// Opens a folder, or finds the process that has it open. Waits a little for one that does not listen.
async fn find(folder: &Path, outbound: &Outbound) -> Result<Way, StoreError> {
    let since = Instant::now();
    loop {
        let locked = match SqliteStore::open(folder, OpenOptions::default()) {
            Ok(store) => return Ok(Way::Ours(Arc::new(store))),
            Err(error @ StoreError::Locked { .. }) => error,
            Err(error) => return Err(error),
        };
        if let Some(occupant) = Occupant::find(folder, outbound, &locked).await {
            return Ok(Way::Theirs(Arc::new(occupant)));
        }
        if since.elapsed() > PATIENCE {
            return Err(locked);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
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
