use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;
use protocol::card::{self, CardError, FetchedCard};
use protocol::outbound::Outbound;

use crate::{Agent, CardDigest};

/// Fetches Agent Cards and remembers them for a while.
///
/// Cheap to clone; clones share what is remembered. Several callers that want one card at the same
/// time cause one fetch. Failures are not remembered.
#[derive(Clone, Debug)]
pub struct Cards {
    outbound: Outbound,
    cache: Cache<String, Arc<FetchedCard>>,
}

impl Cards {
    /// How long a card is taken for fresh.
    pub const FRESHNESS: Duration = Duration::from_secs(5 * 60);

    /// All remembered cards together, in bytes of JSON.
    const CAPACITY_BYTES: u64 = 64 << 20;

    /// Remembers cards for [`Cards::FRESHNESS`].
    #[must_use]
    pub fn new(outbound: Outbound) -> Self {
        Self::with_freshness(outbound, Self::FRESHNESS)
    }

    /// Remembers cards for this long.
    #[must_use]
    pub fn with_freshness(outbound: Outbound, freshness: Duration) -> Self {
        let cache = Cache::builder()
            .max_capacity(Self::CAPACITY_BYTES)
            .weigher(|url: &String, fetched: &Arc<FetchedCard>| {
                let bytes = url.len() + fetched.raw.to_string().len();
                u32::try_from(bytes).unwrap_or(u32::MAX)
            })
            .time_to_live(freshness)
            .build();
        Self { outbound, cache }
    }

    /// The card of the agent at a URL, from memory while it is fresh.
    ///
    /// # Errors
    /// Those of [`card::fetch`], shared by all who waited for the same fetch.
    pub async fn get(&self, url: &str) -> Result<Arc<FetchedCard>, Arc<CardError>> {
        let fetch = async { card::fetch(&self.outbound, url).await.map(Arc::new) };
        self.cache.try_get_with(url.to_owned(), fetch).await
    }

    /// The card of the agent at a URL as it is now.
    ///
    /// # Errors
    /// Those of [`card::fetch`].
    pub async fn get_now(&self, url: &str) -> Result<Arc<FetchedCard>, Arc<CardError>> {
        self.cache.invalidate(url).await;
        self.get(url).await
    }

    /// The agent at a URL, as a workflow's own `agents` and `url` selectors name one: approved
    /// because the operator's file says so, under the name the file gives it.
    ///
    /// # Errors
    /// Those of [`card::fetch`].
    pub async fn agent(&self, url: &str, name: &str) -> Result<Agent, Arc<CardError>> {
        self.get(url).await.map(|fetched| agent_of(&fetched, name))
    }
}

/// Fetches the agent at a URL without remembering its card; see [`Cards::agent`].
///
/// # Errors
/// Those of [`card::fetch`].
pub async fn fetch_agent(outbound: &Outbound, url: &str, name: &str) -> Result<Agent, CardError> {
    let fetched = card::fetch(outbound, url).await?;
    Ok(agent_of(&fetched, name))
}

fn agent_of(fetched: &FetchedCard, name: &str) -> Agent {
    Agent::new(name, &fetched.url, fetched.card.clone(), CardDigest::of(&fetched.raw))
}
