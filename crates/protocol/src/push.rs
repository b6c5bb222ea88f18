//! Push notifications, as the agent that sends them (A2A §4.3.3, §13.2): one event to one webhook.
//!
//! Here is how one attempt is made and what its outcome means. When and in which order there are
//! attempts, and what is kept until an event arrived, is for whoever holds the configurations; the
//! body of an event and its configuration are all that has to be kept.

mod backoff;
mod body;
mod challenge;
mod error;
mod headers;
mod keys;
mod receive;
mod sign;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::{HeaderMap, HeaderName, StatusCode, header};
use reqwest::Method;

pub use backoff::Backoff;
pub use body::{Body, body, older_body};
pub use challenge::answer as challenge_answer;
pub use error::PushError;
pub use keys::Keyring;
pub use receive::{Proof, PublicKeys, Rejection, Verifier, check_token};
pub use sign::{SIGNATURE_HEADER, Signer};

use crate::{
    client::retry_after,
    error::FieldViolation,
    outbound::{Outbound, OutboundError},
    v1::TaskPushNotificationConfig,
};

/// The header that carries the `token` of a configuration back to the client that chose it.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-a2a-notification-token");

/// How long a webhook may take to answer, unless told otherwise; A2A §4.3.3 recommends 10 to 30 s.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Sends notifications through the guarded client: a webhook is an address that a stranger wrote.
#[derive(Clone, Debug)]
pub struct PushSender {
    outbound: Outbound,
    timeout: Duration,
    signer: Option<Signer>,
}

/// What became of one attempt.
#[derive(Debug)]
pub enum Attempt {
    /// The webhook answered with a 2xx status.
    Delivered,
    /// It did not arrive, or nobody can tell; the same event may be sent again.
    Failed {
        /// Why.
        error: PushError,
        /// What the webhook asked to be left alone for (`Retry-After`).
        after: Option<Duration>,
    },
    /// The webhook does not take this event, and sending it again cannot help.
    Refused(PushError),
    /// The webhook wants nothing more (410).
    Gone(PushError),
}

impl PushSender {
    /// Creates a sender that gives a webhook 15 s to answer.
    #[must_use]
    pub fn new(outbound: Outbound) -> PushSender {
        PushSender { outbound, timeout: TIMEOUT, signer: None }
    }

    /// Signs every notification, each attempt anew.
    #[must_use]
    pub fn with_signer(self, signer: Signer) -> PushSender {
        PushSender { signer: Some(signer), ..self }
    }

    /// Sets how long a webhook may take to answer.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> PushSender {
        PushSender { timeout, ..self }
    }

    /// Lists what is wrong with a configuration before it is kept, by the fields of
    /// TaskPushNotificationConfig: a URL that may not be called, and credentials or a token that
    /// cannot stand in a header. No name is looked up; where it leads is judged at each attempt.
    #[must_use]
    pub fn violations(&self, config: &TaskPushNotificationConfig) -> Vec<FieldViolation> {
        let url = self.outbound.check(&config.url).err().map(PushError::Outbound);
        let headers = headers::each(config).into_iter().filter_map(Result::err);
        url.into_iter().chain(headers).map(|error| error.violation()).collect()
    }

    /// Makes one attempt: a POST of a [`Body`] to the configuration's URL, `authentication` as
    /// Authorization and `token` as [`TOKEN_HEADER`]. With a [`Signer`] its JWT is in
    /// [`SIGNATURE_HEADER`], and in Authorization as well where the configuration has no
    /// credentials of its own for that. A redirect is not followed, because the credentials are for
    /// the URL that was registered.
    ///
    /// Dropping the future gives the attempt up; the webhook may have received it all the same.
    pub async fn send(&self, config: &TaskPushNotificationConfig, body: Body) -> Attempt {
        let signed = self.signed(config, &body).transpose();
        let headers = signed.and_then(|jwt| headers::of(config, jwt.as_deref()));
        let headers = match headers {
            Ok(headers) => headers,
            Err(error) => return Attempt::Refused(error),
        };
        let answered = tokio::time::timeout(self.timeout, self.post(config, headers, body)).await;
        answered.unwrap_or_else(|_| {
            let (url, after) = (config.url.clone(), self.timeout);
            failed(OutboundError::Timeout { url, after })
        })
    }

    /// Signs a body, for the Task as its receiver calls it.
    fn signed(
        &self,
        config: &TaskPushNotificationConfig,
        body: &Body,
    ) -> Option<Result<String, PushError>> {
        let signer = self.signer.as_ref()?;
        Some(match &body.task_id {
            None => signer.sign(config, &body.bytes),
            Some(task_id) => {
                let config =
                    TaskPushNotificationConfig { task_id: task_id.clone(), ..config.clone() };
                signer.sign(&config, &body.bytes)
            }
        })
    }

    async fn post(
        &self,
        config: &TaskPushNotificationConfig,
        headers: HeaderMap,
        body: Body,
    ) -> Attempt {
        let sent = async {
            let url = self.outbound.check(&config.url)?;
            let request = self.outbound.request(Method::POST, &url)?;
            let request = request.header(header::CONTENT_TYPE, body.media_type).headers(headers);
            self.outbound.send(&url, request.body(body.bytes)).await
        };
        match sent.await {
            Ok(response) => judged(&config.url, response.status(), response.headers()),
            Err(error) => failed(error),
        }
    }
}

/// Judges an answer by its status.
fn judged(url: &str, status: StatusCode, headers: &HeaderMap) -> Attempt {
    if status.is_success() {
        return Attempt::Delivered;
    }
    let error = PushError::Status { url: url.to_owned(), status };
    if status == StatusCode::GONE {
        return Attempt::Gone(error);
    }
    let may_pass = status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429);
    if may_pass {
        Attempt::Failed { error, after: retry_after(headers) }
    } else {
        Attempt::Refused(error)
    }
}

/// Judges a call that was not answered. An address that may not be called stays so.
fn failed(error: OutboundError) -> Attempt {
    match error {
        OutboundError::Url { .. } | OutboundError::Refused { .. } => Attempt::Refused(error.into()),
        error => Attempt::Failed { error: error.into(), after: None },
    }
}
