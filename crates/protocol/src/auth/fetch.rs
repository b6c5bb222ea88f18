//! Reading a document that may be behind authentication, such as an Agent Card.

use http::{HeaderMap, StatusCode};
use reqwest::Method;
use url::Url;

use super::{AuthError, Keyring, Proof};
use crate::outbound::{FetchLimits, Fetched, OutboundError, read_fetched};

/// Why a document cannot be had.
#[derive(Debug)]
pub(crate) enum FetchError {
    Auth(AuthError),
    Outbound(OutboundError),
}

impl From<AuthError> for FetchError {
    fn from(error: AuthError) -> FetchError {
        FetchError::Auth(error)
    }
}

impl From<OutboundError> for FetchError {
    fn from(error: OutboundError) -> FetchError {
        FetchError::Outbound(error)
    }
}

impl Keyring {
    /// Reads a document as [`crate::outbound::Outbound::fetch`] does. A proof is shown only when the
    /// document is refused without, and only to approved origins: a redirect elsewhere gets none.
    pub(crate) async fn fetch(
        &self,
        url: &str,
        limits: FetchLimits,
    ) -> Result<Fetched, FetchError> {
        let late = |_| OutboundError::Timeout { url: url.to_owned(), after: limits.timeout };
        let follow = self.follow(url, limits);
        let mut fetched = tokio::time::timeout(limits.timeout, follow).await.map_err(late)??;
        fetched.body = self.hidden().body(fetched.body);
        Ok(fetched)
    }

    async fn follow(&self, first: &str, limits: FetchLimits) -> Result<Fetched, FetchError> {
        let outbound = &self.inner.outbound;
        let mut url = outbound.check(first)?;
        let mut proof = self.certificate_for(&url).await?;
        for _ in 0..=limits.max_redirects {
            let response = self.get(&url, &proof).await?;
            if wants_proof(response.status()) && self.inner.is_approved(&url) {
                let shown = self.proof(&url).await?;
                if !shown.is_same(&proof) {
                    let response = self.get(&url, &shown).await?;
                    return Ok(read_fetched(url, response, limits.max_bytes).await?);
                }
            }
            let Some(next) = outbound.next_hop(&url, &response)? else {
                return Ok(read_fetched(url, response, limits.max_bytes).await?);
            };
            url = next;
            proof = self.certificate_for(&url).await?;
        }
        let (url, last) = (first.to_owned(), url.to_string());
        Err(OutboundError::TooManyRedirects { url, limit: limits.max_redirects, last }.into())
    }

    async fn get(&self, url: &Url, proof: &Proof) -> Result<reqwest::Response, OutboundError> {
        let outbound = proof.outbound(&self.inner.outbound);
        let mut headers = HeaderMap::new();
        proof.apply_headers(&mut headers);
        let request = proof.apply_query(outbound.request(Method::GET, url)?).headers(headers);
        outbound.send(url, request).await
    }

    /// Without its certificate no connection may come about at all, so that is shown at once.
    async fn certificate_for(&self, url: &Url) -> Result<Proof, AuthError> {
        if url.scheme() == "https" && self.inner.is_approved(url) {
            return self.inner.certificates(url).await;
        }
        Ok(Proof::default())
    }
}

fn wants_proof(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}
