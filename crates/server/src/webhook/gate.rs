//! Checks notifications of one sender, whose public keys are fetched when they are needed.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use protocol::{
    outbound::{FetchLimits, Outbound},
    push::{PublicKeys, Rejection, Verifier},
};

/// How soon the public keys of a sender are fetched again, when a notification names one that is not among them.
const FETCH_AGAIN: Duration = Duration::from_secs(10);

/// Where the public keys of the sender are published.
pub struct KeySource {
    /// The URL of a JWK set.
    pub url: String,
    /// The client that fetches it.
    pub outbound: Outbound,
    /// What a fetch may cost, and where it may be sent on to.
    pub limits: FetchLimits,
}

/// What notifications have to pass.
pub(crate) struct Gate {
    verifier: Mutex<Verifier>,
    source: Option<KeySource>,
    /// The last fetch. One at a time: whoever waits for it finds what it brought.
    fetched: tokio::sync::Mutex<Option<Fetched>>,
}

/// A fetch of keys: when, and whether that went well.
struct Fetched {
    at: Instant,
    outcome: Result<(), String>,
}

impl Gate {
    pub(crate) fn new(verifier: Verifier, source: Option<KeySource>) -> Self {
        Self { verifier: Mutex::new(verifier), source, fetched: tokio::sync::Mutex::default() }
    }

    /// Checks a notification; when it is by a key that is not known, once more after the keys were fetched.
    pub(crate) async fn check<T>(
        &self,
        mut check: impl FnMut(&mut Verifier) -> Result<T, Rejection>,
    ) -> Result<T, Rejection> {
        let checked = check(&mut self.verifier());
        let (Some(source), Err(Rejection::UnknownKey(_))) = (&self.source, &checked) else {
            return checked;
        };
        let mut fetched = self.fetched.lock().await;
        // Others may have fetched keys meanwhile.
        let checked = check(&mut self.verifier());
        if !matches!(checked, Err(Rejection::UnknownKey(_))) {
            return checked;
        }
        match &*fetched {
            Some(Fetched { at, outcome }) if at.elapsed() < FETCH_AGAIN => {
                let again = |why: &String| Err(Rejection::NoKeys(why.clone()));
                return outcome.as_ref().err().map_or(checked, again);
            }
            _ => (),
        }
        let outcome = source.fetch().await.map(|keys| self.verifier().replace_keys(keys));
        *fetched = Some(Fetched { at: Instant::now(), outcome: outcome.clone() });
        outcome.map_err(Rejection::NoKeys)?;
        check(&mut self.verifier())
    }

    fn verifier(&self) -> MutexGuard<'_, Verifier> {
        self.verifier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeySource {
    async fn fetch(&self) -> Result<PublicKeys, String> {
        let fetched = self.outbound.fetch(&self.url, self.limits).await;
        let fetched = fetched.map_err(|error| error.to_string())?;
        if !fetched.status.is_success() {
            return Err(format!("{} answers {}", self.url, fetched.status));
        }
        PublicKeys::read(&fetched.body).map_err(|why| format!("{} holds none: {why}", self.url))
    }
}
