use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;
use protocol::outbound::Outbound;
use protocol::signature::{self, Keys};
use serde_json::Value;

use crate::{Pinned, Policy, Signed, Trust};

/// Checks cards against the keys that a policy pins.
#[derive(Clone, Debug)]
pub(crate) struct Signers {
    outbound: Outbound,
    /// Key sets by their addresses.
    sets: Cache<String, Arc<Keys>>,
}

impl Signers {
    /// How long a key set is used without asking for it again. A signature by a key that is not in
    /// it asks at once, because that is how a rotated key shows.
    const FRESHNESS: Duration = Duration::from_secs(60 * 60);

    /// How many key sets are remembered; a policy has a handful.
    const SETS: u64 = 1_000;

    pub(crate) fn new(outbound: Outbound) -> Self {
        let sets = Cache::builder().max_capacity(Self::SETS).time_to_live(Self::FRESHNESS).build();
        Self { outbound, sets }
    }

    /// What the signatures of a card are worth; `url` is where it was fetched.
    pub(crate) async fn check(&self, policy: &Policy, text: &[u8], url: Option<&str>) -> Trust {
        let trust = self.check_once(policy, text, url).await;
        let is_unknown = trust.signed < Signed::Trusted && trust.signed != Signed::Unsigned;
        if !is_unknown || !self.forget(policy).await {
            return trust;
        }
        self.check_once(policy, text, url).await
    }

    /// The same of a card that was read before.
    pub(crate) async fn check_again(
        &self,
        policy: &Policy,
        card: &Value,
        url: Option<&str>,
    ) -> Trust {
        if card.get("signatures").is_none() {
            return Trust::default();
        }
        self.check(policy, card.to_string().as_bytes(), url).await
    }

    async fn check_once(&self, policy: &Policy, text: &[u8], url: Option<&str>) -> Trust {
        let keys = self.keys(policy).await;
        let checked = match url {
            Some(url) => signature::check(&self.outbound, text, url, &keys).await,
            None => signature::verify(text, &keys),
        };
        match checked {
            Ok(verification) => Trust::of(&verification),
            Err(error) => {
                Trust { signed: Signed::Invalid, signer: None, flaws: vec![error.to_string()] }
            }
        }
    }

    /// Forgets the key sets that were fetched before; false when there are none.
    async fn forget(&self, policy: &Policy) -> bool {
        let mut had = false;
        for pinned in policy.keys.values() {
            if let Pinned::Url(url) = pinned {
                had |= self.sets.remove(url).await.is_some();
            }
        }
        had
    }

    /// All pinned keys. A set that cannot be had is left out, and signatures by its keys prove
    /// nothing meanwhile.
    async fn keys(&self, policy: &Policy) -> Keys {
        let mut keys = Keys::default();
        for (name, pinned) in &policy.keys {
            match self.pinned(name, pinned).await {
                Ok(of_one) => keys.join(of_one),
                Err(why) => tracing::warn!(signer = name, why, "pinned keys are left out"),
            }
        }
        keys
    }

    async fn pinned(&self, name: &str, pinned: &Pinned) -> Result<Keys, String> {
        let keys = match pinned {
            Pinned::Text(text) => {
                Keys::read(text.as_bytes(), name).map_err(|error| error.to_string())?
            }
            Pinned::Url(url) => {
                let fetched = self.sets.try_get_with_by_ref(url, async {
                    signature::fetch_keys(&self.outbound, url).await.map(Arc::new)
                });
                (*fetched.await.map_err(|error| error.to_string())?).clone()
            }
        };
        Ok(keys.held_by(name))
    }
}
