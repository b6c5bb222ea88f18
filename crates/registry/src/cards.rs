use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;
use protocol::auth::Vault;
use protocol::card::{self, CardError, FetchedCard};
use protocol::outbound::Outbound;

use crate::{Access, Agent, CardDigest};

/// Fetches Agent Cards and remembers them for as long as their servers say (A2A §8.6.2).
///
/// Cheap to clone; clones share what is remembered. Several callers that want one card at the same
/// time cause one fetch. Failures are not remembered.
#[derive(Clone, Debug)]
pub struct Cards {
    outbound: Outbound,
    /// How long those are fresh whose servers do not say.
    freshness: Duration,
    /// Cards that may be used without asking.
    fresh: Cache<String, Arc<FetchedCard>>,
    /// The same cards and older ones, for conditional requests.
    known: Cache<String, Arc<FetchedCard>>,
}

impl Cards {
    /// How long a card is taken for fresh when its server does not say.
    pub const FRESHNESS: Duration = Duration::from_secs(5 * 60);

    /// How long a card is taken for fresh at most, whatever its server says: an operator who repairs
    /// a card should not wait for weeks.
    pub const LONGEST_FRESHNESS: Duration = Duration::from_secs(24 * 60 * 60);

    /// How long an unused card is kept for conditional requests.
    const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    /// All fresh cards together, and all known ones, in bytes of JSON. Most are the same in memory.
    const CAPACITY_BYTES: u64 = 48 << 20;

    /// Remembers cards whose servers do not say how long for [`Cards::FRESHNESS`].
    #[must_use]
    pub fn new(outbound: Outbound) -> Self {
        Self::with_freshness(outbound, Self::FRESHNESS)
    }

    /// Remembers cards whose servers do not say how long for this long.
    #[must_use]
    pub fn with_freshness(outbound: Outbound, freshness: Duration) -> Self {
        let cache = || {
            Cache::builder().max_capacity(Self::CAPACITY_BYTES).weigher(
                |url: &String, fetched: &Arc<FetchedCard>| {
                    u32::try_from(url.len() + fetched.text.len()).unwrap_or(u32::MAX)
                },
            )
        };
        let fresh = cache().expire_after(AsServersSay { otherwise: freshness }).build();
        let known = cache().time_to_idle(Self::KEPT).build();
        Self { outbound, freshness, fresh, known }
    }

    /// How long a card is taken for fresh when its server does not say.
    #[must_use]
    pub fn freshness(&self) -> Duration {
        self.freshness
    }

    /// The client they are fetched with.
    pub(crate) fn outbound(&self) -> &Outbound {
        &self.outbound
    }

    /// The card of the agent at a URL, from memory while it is fresh.
    ///
    /// # Errors
    /// Those of [`card::fetch`], shared by all who waited for the same fetch.
    pub async fn get(&self, url: &str) -> Result<Arc<FetchedCard>, Arc<CardError>> {
        self.fresh.try_get_with(url.to_owned(), self.fetch(url)).await
    }

    /// The card of the agent at a URL as it is now.
    ///
    /// # Errors
    /// Those of [`card::fetch`].
    pub async fn get_now(&self, url: &str) -> Result<Arc<FetchedCard>, Arc<CardError>> {
        self.fresh.invalidate(url).await;
        self.get(url).await
    }

    /// The card of the agent at a URL as it is now, behind authentication if need be. It is not
    /// remembered: who asks next may have no credentials.
    ///
    /// # Errors
    /// Those of [`card::fetch_with_keyring`].
    pub(crate) async fn get_with(
        &self,
        url: &str,
        access: &Access,
        name: &str,
    ) -> Result<Arc<FetchedCard>, Arc<CardError>> {
        let keyring = access.keyring(&self.outbound, name, None, Vault::none());
        Ok(Arc::new(card::fetch_with_keyring(&keyring, url).await?))
    }

    /// The agent at a URL, as a workflow's own `agents` and `url` selectors name one: approved
    /// because the operator's file says so, under the name the file gives it.
    ///
    /// # Errors
    /// Those of [`card::fetch`].
    pub async fn agent(&self, url: &str, name: &str) -> Result<Agent, Arc<CardError>> {
        self.get(url).await.map(|fetched| agent_of(&fetched, name))
    }

    async fn fetch(&self, url: &str) -> Result<Arc<FetchedCard>, CardError> {
        let fetched = match self.known.get(url).await {
            Some(known) => card::fetch_again(&self.outbound, url, &known).await?,
            None => card::fetch(&self.outbound, url).await?,
        };
        let fetched = Arc::new(fetched);
        if fetched.freshness.has_validators() {
            self.known.insert(url.to_owned(), fetched.clone()).await;
        } else {
            self.known.invalidate(url).await;
        }
        Ok(fetched)
    }
}

/// How long each card is fresh.
struct AsServersSay {
    otherwise: Duration,
}

impl AsServersSay {
    fn lifetime(&self, fetched: &FetchedCard) -> Duration {
        fetched.freshness.max_age.unwrap_or(self.otherwise).min(Cards::LONGEST_FRESHNESS)
    }
}

impl Expiry<String, Arc<FetchedCard>> for AsServersSay {
    fn expire_after_create(
        &self,
        _: &String,
        fetched: &Arc<FetchedCard>,
        _: Instant,
    ) -> Option<Duration> {
        Some(self.lifetime(fetched))
    }

    fn expire_after_update(
        &self,
        _: &String,
        fetched: &Arc<FetchedCard>,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(self.lifetime(fetched))
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

#[cfg(test)]
mod tests;
