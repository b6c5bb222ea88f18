//! Those on whose behalf agents are called.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use tokio::sync::watch;

use super::{Secret, shown::Shown};

/// The token by which somebody was let in here, which is kept in memory and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerToken {
    /// The token.
    pub token: Secret,
    /// When it ends, if that is known.
    pub until: Option<Timestamp>,
}

/// Somebody on whose behalf agents are called, with the token that they brought last (RFC 8693 §1.1). Cheap to clone;
/// clones are the same caller.
#[derive(Clone, Default)]
pub struct Caller {
    /// `None` for nobody, who never brings a token.
    brought: Option<watch::Sender<Option<CallerToken>>>,
    shown: Arc<Shown>,
}

impl Caller {
    /// Nobody: what is called for on behalf of somebody fails.
    #[must_use]
    pub fn nobody() -> Caller {
        Caller::default()
    }

    /// Somebody who has brought this token, or whose token was not kept.
    #[must_use]
    pub fn with_token(token: Option<CallerToken>) -> Caller {
        Caller { brought: Some(watch::Sender::new(token)), shown: Arc::default() }
    }

    /// Takes a newer token; those of nobody are not taken.
    pub fn bring(&self, token: CallerToken) {
        if let Some(brought) = &self.brought {
            brought.send_replace(Some(token));
        }
    }

    /// Waits until there is a token that has not ended; for ever for nobody. Cancel safe.
    pub async fn back(&self) {
        let Some(brought) = &self.brought else { return std::future::pending().await };
        let mut heard = brought.subscribe();
        // It is this caller that holds the sender.
        let _ = heard.wait_for(|token| token.as_ref().is_some_and(CallerToken::is_good)).await;
    }

    /// Tells whether it is nobody.
    #[must_use]
    pub fn is_nobody(&self) -> bool {
        self.brought.is_none()
    }

    /// Tells whether there is somebody, and no token that is good now.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.brought.is_some() && !self.token().is_some_and(|token| token.is_good())
    }

    /// The token that was brought last, also one that has ended.
    pub(super) fn token(&self) -> Option<CallerToken> {
        self.brought.as_ref()?.borrow().clone()
    }

    /// Remembers a secret that is shown to others on behalf of this caller.
    pub(super) fn note(&self, secret: &Secret) {
        self.shown.note(secret);
    }

    pub(super) fn shown(&self) -> Vec<Secret> {
        self.shown.secrets()
    }

    pub(super) fn shown_count(&self) -> u64 {
        self.shown.count()
    }
}

impl CallerToken {
    /// Whether it has not ended.
    pub(super) fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Timestamp::now() < until)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Caller")
            .field("is_nobody", &self.is_nobody())
            .finish_non_exhaustive()
    }
}
