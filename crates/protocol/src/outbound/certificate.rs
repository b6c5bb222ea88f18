//! Showing a client certificate.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use reqwest::{Certificate, ClientBuilder, Identity};

use super::{Outbound, Shared, deepest};

/// A certificate to be shown, and who vouches for the other side.
pub(super) struct Shown {
    identity: Identity,
    /// Empty for the machine's own.
    authorities: Vec<Certificate>,
}

impl Shown {
    pub(super) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = builder.identity(self.identity.clone());
        if self.authorities.is_empty() {
            return builder;
        }
        builder.tls_certs_only(self.authorities.iter().cloned())
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Shown")
    }
}

impl Outbound {
    /// Makes a client under the same policy that shows a certificate to every https server it calls,
    /// so it has to be kept to one. It shares no connections with this one. `pair` is the certificate
    /// and its key, `authorities` who vouches for the server (empty for the machine's), both PEM.
    ///
    /// # Errors
    /// What is wrong with them; nothing of their content.
    pub(crate) fn with_certificate(
        &self,
        pair: &[u8],
        authorities: &[u8],
    ) -> Result<Outbound, String> {
        let identity = Identity::from_pem(pair).map_err(|error| deepest(&error))?;
        let authorities =
            Certificate::from_pem_bundle(authorities).map_err(|error| deepest(&error))?;
        let Shared { policy, guard, plain, .. } = &*self.shared;
        let shared = Shared {
            policy: policy.clone(),
            guard: guard.clone(),
            plain: plain.clone(),
            certificate: Some(Shown { identity, authorities }),
            secure: OnceLock::new(),
            plain_http2: OnceLock::new(),
            secure_http2: OnceLock::new(),
        };
        Ok(Outbound { shared: Arc::new(shared) })
    }
}
