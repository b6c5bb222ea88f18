//! Reading a document: redirects by hand, a cap on its size, one deadline over everything.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use reqwest::{Method, Response};
use url::Url;

use super::{Outbound, OutboundError};

/// How much one fetch may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// The largest body, in bytes after decompression. Default 1 MiB.
    pub max_bytes: usize,
    /// The deadline over all hops and the body. Default 15 s.
    pub timeout: Duration,
    /// How many redirects are followed. Default 5.
    pub max_redirects: usize,
}

impl Default for FetchLimits {
    fn default() -> FetchLimits {
        FetchLimits { max_bytes: 1024 * 1024, timeout: Duration::from_secs(15), max_redirects: 5 }
    }
}

/// What a fetch brought; any status, also one that tells of failure.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where the document was found, after all redirects.
    pub url: Url,
    /// The answer's status.
    pub status: StatusCode,
    /// The answer's headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Outbound {
    /// Reads a document by GET. Every redirect is judged like a first URL; one from https to http
    /// is not followed. Dropping the future gives the fetch up.
    ///
    /// # Errors
    /// Every variant of [`OutboundError`] but `Setup`. A status that tells of failure is no error.
    pub async fn fetch(&self, url: &str, limits: FetchLimits) -> Result<Fetched, OutboundError> {
        self.fetch_with(url, &HeaderMap::new(), limits).await
    }

    /// Reads a document as [`Outbound::fetch`] does, with further headers, such as conditions
    /// (RFC 9110 §13): then the answer may be 304 without a body. They go to the URL's own
    /// origin alone: where a redirect leads elsewhere, they stay behind.
    ///
    /// # Errors
    /// As [`Outbound::fetch`].
    pub async fn fetch_with(
        &self,
        url: &str,
        headers: &HeaderMap,
        limits: FetchLimits,
    ) -> Result<Fetched, OutboundError> {
        let late = |_| OutboundError::Timeout { url: url.to_owned(), after: limits.timeout };
        let follow = self.follow(url, headers, limits);
        tokio::time::timeout(limits.timeout, follow).await.map_err(late)?
    }

    async fn follow(
        &self,
        first: &str,
        headers: &HeaderMap,
        limits: FetchLimits,
    ) -> Result<Fetched, OutboundError> {
        let mut url = self.check(first)?;
        let origin = url.origin();
        for _ in 0..=limits.max_redirects {
            let mut request = self.request(Method::GET, &url)?;
            if url.origin() == origin {
                request = request.headers(headers.clone());
            }
            let response = self.send(&url, request).await?;
            let Some(next) = self.next_hop(&url, &response)? else {
                return read(url, response, limits.max_bytes).await;
            };
            url = next;
        }
        let (url, last) = (first.to_owned(), url.to_string());
        Err(OutboundError::TooManyRedirects { url, limit: limits.max_redirects, last })
    }

    /// Tells where an answer redirects to; `None` when it does not.
    pub(crate) fn next_hop(
        &self,
        url: &Url,
        response: &Response,
    ) -> Result<Option<Url>, OutboundError> {
        if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let bad = |why: String| OutboundError::Redirect { url: url.to_string(), why };
        let target = response
            .headers()
            .get(header::LOCATION)
            .ok_or_else(|| bad("it names no target".to_owned()))?;
        let target = target.to_str().map_err(|_| bad("its target is not text".to_owned()))?;
        let next = url
            .join(target)
            .map_err(|error| bad(format!("its target {target:?} is no URL: {error}")))?;
        if url.scheme() == "https" && next.scheme() == "http" {
            return Err(bad(format!("it leads from https to {next}, which is not protected")));
        }
        // Where it leads is judged when the next request is begun.
        Ok(Some(next))
    }
}

/// Reads the body that belongs to an answer's head.
pub(crate) async fn read(
    url: Url,
    response: Response,
    limit_bytes: usize,
) -> Result<Fetched, OutboundError> {
    let (status, headers) = (response.status(), response.headers().clone());
    let body = read_capped(&url, response, limit_bytes).await?;
    Ok(Fetched { url, status, headers, body })
}

/// Reads a body up to a cap. A body that came in one piece is handed on without a copy.
pub(crate) async fn read_capped(
    url: &Url,
    mut response: Response,
    limit_bytes: usize,
) -> Result<Bytes, OutboundError> {
    let too_large = || OutboundError::TooLarge { url: url.to_string(), limit_bytes };
    if response.content_length().is_some_and(|length| length > limit_bytes as u64) {
        return Err(too_large());
    }
    let mut chunk = async || response.chunk().await.map_err(|error| broken(url, &error));
    let Some(first) = chunk().await? else { return Ok(Bytes::new()) };
    let Some(second) = chunk().await? else {
        return if first.len() > limit_bytes { Err(too_large()) } else { Ok(first) };
    };
    let mut body = BytesMut::from(first);
    let mut next = Some(second);
    while let Some(piece) = next {
        if body.len() + piece.len() > limit_bytes {
            return Err(too_large());
        }
        body.extend_from_slice(&piece);
        next = chunk().await?;
    }
    Ok(body.freeze())
}

fn broken(url: &Url, error: &reqwest::Error) -> OutboundError {
    OutboundError::Broken { url: url.to_string(), why: super::deepest(error) }
}
