//! Asking a webhook whether it wants notifications, before it gets any.
//!
//! A GET with a `validationToken` in the query is answered with exactly that token: whoever answers so
//! expects to be a webhook, and somebody else's server is not made to take POSTs.

use uuid::Uuid;

use super::{PushError, PushSender};
use crate::outbound::FetchLimits;

const PARAMETER: &str = "validationToken";

/// The longest token that is echoed.
const LONGEST: usize = 512;

impl PushSender {
    /// Asks the webhook at a URL to repeat a token. Nothing secret is sent, and no redirect followed.
    ///
    /// # Errors
    /// [`PushError::Outbound`] when it cannot be called, [`PushError::Challenge`] when it answers
    /// anything else.
    pub async fn challenge(&self, url: &str) -> Result<(), PushError> {
        let token = Uuid::new_v4().to_string();
        let mut target = self.outbound.check(url)?;
        target.query_pairs_mut().append_pair(PARAMETER, &token);
        let limits =
            FetchLimits { max_bytes: LONGEST * 2, timeout: self.timeout, max_redirects: 0 };
        let answer = self.outbound.fetch(target.as_str(), limits).await?;
        let why = if !answer.status.is_success() {
            format!("it answered {}", answer.status)
        } else if answer.body.trim_ascii() != token.as_bytes() {
            format!("it did not answer with the value of {PARAMETER}")
        } else {
            return Ok(());
        };
        Err(PushError::Challenge { url: url.to_owned(), why })
    }
}

/// What a webhook answers to a challenge: the token out of the query of the request, to be sent as plain
/// text. `None` when there is none, or one that is not a plain word.
#[must_use]
pub fn answer(query: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, token) = pairs.find(|(name, _)| name == PARAMETER)?;
    let is_plain = !token.is_empty()
        && token.len() <= LONGEST
        && token.chars().all(|it| it.is_ascii_graphic() && !matches!(it, '<' | '>' | '&'));
    is_plain.then(|| token.into_owned())
}
