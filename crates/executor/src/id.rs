//! Ids that the executor makes.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use store::AccountId;
use uuid::Uuid;

use crate::run::split_item;

/// Names a run: a UUID as text, of version 7 but for a sub-run or a clean-up. Also the id of the A2A Task that the run is the inside of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Arc<str>);

/// A run among those of all accounts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RunKey {
    pub(crate) account: AccountId,
    pub(crate) id: RunId,
}

impl RunId {
    /// A new id; later ones sort after earlier ones.
    #[must_use]
    pub fn generate() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// The sub-run that is an attempt of a step of this run: always the same (UUIDv5).
    #[must_use]
    pub fn of_sub_run(&self, step: &str, attempt: u32) -> Self {
        let name = format!("{self}/{step}/{attempt}/sub_run");
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string().into())
    }

    /// The run that cleans up after this one: always the same (UUIDv5).
    #[must_use]
    pub fn of_clean_up(&self) -> Self {
        let name = format!("{self}/clean_up");
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string().into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no run id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a run id: expected a UUID such as 0198c0de-7a11-7000-8000-000000000000")]
pub struct NotARunId(String);

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        match text.parse::<Uuid>() {
            Ok(id) => Ok(Self(id.to_string().into())),
            Err(_) => Err(NotARunId(text.to_owned())),
        }
    }
}

/// Why a Message is sent: one of the things that its messageId is derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An attempt's first Message.
    Send,
    /// The same content once more, to an agent that refuses our contextId.
    SendWithoutContext,
    /// The same content once more, to an agent that takes none with a callback.
    SendWithoutCallback,
    /// The question of a step that asks a person: the first, and each that follows an answer that does not fit.
    Ask {
        /// Counted from 0.
        turn: u32,
    },
    /// The answer to a question: the attempt's first, second, …
    Answer {
        /// Counted from 1.
        turn: u32,
    },
}

/// Derives a messageId: equal for a re-send of the same thing, new for a retry (UUIDv5, RFC 9562 §5.5).
#[must_use]
pub(crate) fn message_id(run: &RunId, step: &str, attempt: u32, purpose: Purpose) -> String {
    let (purpose, turn) = match purpose {
        Purpose::Send => ("send", 0),
        Purpose::SendWithoutContext => ("send_without_context", 0),
        Purpose::SendWithoutCallback => ("send_without_callback", 0),
        Purpose::Ask { turn } => ("ask", turn),
        Purpose::Answer { turn } => ("answer", turn),
    };
    let (step, item) = split_item(step).unwrap_or((step, 0));
    let name = format!("{run}/{step}/{item}/{attempt}/{purpose}/{turn}");
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_id_is_new_for_a_retry_and_the_same_for_a_resend() {
        let run: RunId = "0198c0de-7a11-7000-8000-000000000000".parse().unwrap();
        let first = message_id(&run, "flight", 1, Purpose::Send);
        assert_eq!(first, message_id(&run, "flight", 1, Purpose::Send));
        assert_ne!(first, message_id(&run, "flight", 2, Purpose::Send));
        assert_ne!(first, message_id(&run, "hotel", 1, Purpose::Send));
        let item = |step| message_id(&run, step, 1, Purpose::Send);
        assert_ne!(item("flight[1]"), item("flight[2]"), "items are told apart");
        assert_ne!(first, message_id(&run, "flight", 1, Purpose::SendWithoutContext));
        let without_callback = message_id(&run, "flight", 1, Purpose::SendWithoutCallback);
        assert_ne!(first, without_callback);
        assert_ne!(without_callback, message_id(&run, "flight", 1, Purpose::SendWithoutContext));
        let answer = |turn| message_id(&run, "flight", 1, Purpose::Answer { turn });
        assert_eq!(answer(1), answer(1));
        assert_ne!(answer(1), answer(2));
    }

    #[test]
    fn what_is_no_uuid_is_no_run_id() {
        assert_eq!(
            "yesterday".parse::<RunId>().unwrap_err().to_string(),
            "`yesterday` is not a run id: expected a UUID such as \
             0198c0de-7a11-7000-8000-000000000000"
        );
    }
}
