//! The public keys of an issuer: found, kept for a while, and fetched again when it has new ones.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, Jwk, PublicKeyUse},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::{TokenError, TokenRules};
use crate::{
    auth::well_known,
    outbound::{FetchLimits, Outbound},
};

/// How long fetched keys are used without asking again.
const FRESH: Duration = Duration::from_mins(10);

/// How long they are used when the issuer cannot be asked.
const STALE: Duration = Duration::from_hours(24);

/// How soon after one fetch the next may begin: strangers choose the key ids in their tokens.
const PAUSE: Duration = Duration::from_secs(5);

/// What one document may cost.
const LIMITS: FetchLimits =
    FetchLimits { max_bytes: 256 * 1024, timeout: Duration::from_secs(5), max_redirects: 3 };

/// How long keys are used, and how soon they are asked for again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) fresh: Duration,
    pub(super) stale: Duration,
    pub(super) pause: Duration,
}

/// Where the keys are found, and those that were.
#[derive(Debug)]
pub(super) struct IssuerKeys {
    outbound: Outbound,
    issuer: String,
    jwks_url: Option<Url>,
    pub(super) pace: Pace,
    known: RwLock<Option<Arc<Known>>>,
    /// When the last fetch began. Held while one is under way: others wait for it.
    fetching: tokio::sync::Mutex<Option<Instant>>,
}

/// Keys as they were fetched.
#[derive(Debug)]
struct Known {
    keys: Vec<Jwk>,
    at: Instant,
}

/// What an issuer says of itself.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

/// A JWK set whose keys are read one by one: one that nobody here understands spoils no other.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl IssuerKeys {
    pub(super) fn new(outbound: Outbound, rules: &TokenRules) -> IssuerKeys {
        IssuerKeys {
            outbound,
            issuer: rules.issuer.clone(),
            jwks_url: rules.jwks_url.clone(),
            pace: Pace { fresh: FRESH, stale: STALE, pause: PAUSE },
            known: RwLock::default(),
            fetching: tokio::sync::Mutex::default(),
        }
    }

    /// The key of an id that may be used with an algorithm; the only one when no id is named.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, TokenError> {
        let known = self.known();
        let found = |known: &Option<Arc<Known>>, age: Duration| {
            let known = known.as_ref().filter(|known| known.at.elapsed() < age)?;
            known.find(id, algorithm)
        };
        if let Some(key) = found(&known, self.pace.fresh) {
            return Ok(key);
        }
        let fetched = self.fetch_after(known.as_ref()).await;
        match (found(&self.known(), self.pace.stale), fetched) {
            (Some(key), _) => Ok(key),
            (None, Ok(())) => Err(TokenError::UnknownKey),
            (None, Err(why)) => Err(TokenError::NoKeys(why)),
        }
    }

    fn known(&self) -> Option<Arc<Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Fetches the keys, unless somebody has since these were looked at, or tried a moment ago.
    async fn fetch_after(&self, seen: Option<&Arc<Known>>) -> Result<(), String> {
        let mut last = self.fetching.lock().await;
        let now = self.known();
        let is_newer = now.as_ref().map(Arc::as_ptr) != seen.map(Arc::as_ptr);
        if is_newer {
            return Ok(());
        }
        if last.is_some_and(|last| last.elapsed() < self.pace.pause) {
            return match now {
                Some(_) => Ok(()),
                None => Err(format!("the keys of {} could not be read a moment ago", self.issuer)),
            };
        }
        *last = Some(Instant::now());
        match self.fetch().await {
            Ok(keys) => {
                let known = Known { keys, at: Instant::now() };
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known.into());
                Ok(())
            }
            Err(why) => {
                tracing::warn!(issuer = self.issuer, why, "the keys of an issuer cannot be read");
                Err(why)
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Jwk>, String> {
        let url = match &self.jwks_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let set: KeySet = self.document(&url).await?;
        let keys = set.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        Ok(keys.filter(is_for_signatures).collect())
    }

    /// Asks the issuer where its keys are.
    async fn discover(&self) -> Result<Url, String> {
        let issuer = &self.issuer;
        let base: Url = issuer.parse().map_err(|error| format!("{issuer} is no URL: {error}"))?;
        let mut why = String::new();
        for place in well_known(&base) {
            let metadata = match place.parse() {
                Ok(place) => self.document::<Metadata>(&place).await,
                Err(error) => Err(format!("{place} is no URL: {error}")),
            };
            match metadata {
                Ok(metadata) if metadata.issuer != *issuer => {
                    return Err(format!("{place} is about another issuer, {}", metadata.issuer));
                }
                Ok(metadata) => return keys_of(&base, &metadata.jwks_uri),
                Err(error) if why.is_empty() => why = error,
                Err(_) => (),
            }
        }
        Err(why)
    }

    async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<T, String> {
        let fetched = self.outbound.fetch(url.as_str(), LIMITS).await;
        let fetched = fetched.map_err(|error| error.to_string())?;
        if fetched.url.origin() != url.origin() {
            return Err(format!("{url} is redirected to {}", fetched.url));
        }
        if !fetched.status.is_success() {
            return Err(format!("{url} answered HTTP {}", fetched.status));
        }
        serde_json::from_slice(&fetched.body)
            .map_err(|error| format!("{url} cannot be understood: {error}"))
    }
}

impl Known {
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<DecodingKey> {
        let named = || self.keys.iter().filter(|key| key.common.key_id.as_deref() == id);
        let found = match (id, &self.keys[..]) {
            (Some(_), _) => named().find(|key| fits(key, algorithm)),
            (None, [only]) => Some(only).filter(|key| fits(key, algorithm)),
            (None, _) => None,
        };
        found.and_then(|key| DecodingKey::from_jwk(key).ok())
    }
}

/// The address of the keys as the issuer tells it: no less protected than the issuer is.
fn keys_of(issuer: &Url, jwks_uri: &str) -> Result<Url, String> {
    let url: Url = jwks_uri.parse().map_err(|error| format!("`jwks_uri` is no URL: {error}"))?;
    if issuer.scheme() == "https" && url.scheme() != "https" {
        return Err(format!("`jwks_uri` is {url}, which is not protected"));
    }
    Ok(url)
}

fn is_for_signatures(key: &Jwk) -> bool {
    let is_shared = matches!(key.algorithm, AlgorithmParameters::OctetKey(_));
    let used = key.common.public_key_use.as_ref();
    !is_shared && used.is_none_or(|used| *used == PublicKeyUse::Signature)
}

/// Whether the owner of a key lets it be used with an algorithm.
fn fits(key: &Jwk, algorithm: Algorithm) -> bool {
    let named = key.common.key_algorithm;
    named.is_none_or(|named| named.to_string() == format!("{algorithm:?}"))
}
