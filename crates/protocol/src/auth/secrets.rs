//! The secrets of a keyring: read where they are kept, used for a while, and remembered once they were shown.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{AuthError, Secret, SecretSource, keyring::Inner};

/// How long a secret is used before it is read again, so that one that was exchanged is noticed.
const SECRETS_LAST: Duration = Duration::from_secs(5 * 60);

/// Secrets that were read, and when.
#[derive(Default)]
pub(super) struct Secrets(Mutex<HashMap<(usize, Role), (Secret, Instant)>>);

impl Secrets {
    /// Has all of them read again.
    pub(super) fn clear(&self) {
        self.held().clear();
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(usize, Role), (Secret, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which of a credential's secrets is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    ApiKey,
    Header,
    Password,
    Bearer,
    ClientSecret,
    Certificate,
    CertificateKey,
    Authorities,
}

impl Role {
    fn words(self) -> &'static str {
        match self {
            Role::ApiKey => "API key",
            Role::Header => "value of the header",
            Role::Password => "password",
            Role::Bearer => "bearer token",
            Role::ClientSecret => "client secret",
            Role::Certificate => "certificate",
            Role::CertificateKey => "key of the certificate",
            Role::Authorities => "certificates of the authorities",
        }
    }
}

impl Inner {
    /// A secret, read where it is kept unless that was done just now.
    pub(super) async fn secret(
        &self,
        index: usize,
        role: Role,
        source: &SecretSource,
    ) -> Result<Secret, AuthError> {
        let known = self.secrets.held().get(&(index, role)).cloned();
        if let Some((secret, since)) = known
            && since.elapsed() < SECRETS_LAST
        {
            return Ok(secret);
        }
        let secret = source.read().await.map_err(|why| AuthError::Secret {
            agent: self.agent.clone(),
            what: role.words(),
            why,
        })?;
        if !matches!(role, Role::Certificate | Role::Authorities) {
            self.shown.note(&secret);
        }
        self.secrets.held().insert((index, role), (secret.clone(), Instant::now()));
        Ok(secret)
    }

    /// Lets what was read be older than it is.
    #[cfg(test)]
    pub(super) fn age_secrets(&self, by: Duration) {
        for (_, since) in self.secrets.held().values_mut() {
            *since = since.checked_sub(by).expect("the clock has run for so long");
        }
    }
}
