//! A webhook of a Task, and how far it has been told.

use jiff::Timestamp;
use protocol::{push::PushError, v1::TaskPushNotificationConfig, version};
use serde::{Deserialize, Serialize};
use store::Seq;

/// Version of what is written.
pub(super) const VERSION: u32 = 1;

/// Whether notifications go to a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// They do.
    Open,
    /// It could not be reached for so long that it counts as gone: what is left waits for somebody to say `retry`.
    Parked,
    /// The Task has ended and everything was sent.
    Done,
}

impl DeliveryState {
    /// As it stands in rows and lists.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Parked => "parked",
            Self::Done => "done",
        }
    }
}

/// A place between two notifications: after all of the event `seq`, and after the first `told` of the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The last event of the Task's journal that is dealt with.
    pub seq: Seq,
    /// How many notifications of the event after it are.
    pub told: usize,
}

/// Notifications that a webhook has refused, so that they were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refused {
    /// The place before the first of them.
    pub(super) first: Position,
    pub(super) count: u32,
    /// What it said to the last of them.
    pub(super) why: String,
}

/// A notification that has failed and is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failing {
    /// How often.
    pub(super) attempts: u32,
    pub(super) since: Timestamp,
    /// When it is sent again.
    pub(super) next: Timestamp,
    pub(super) why: String,
}

/// A version of A2A, as rows have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Spoken(pub(super) version::Version);

impl Default for Spoken {
    fn default() -> Self {
        Self(version::Version::V1_0)
    }
}

impl Spoken {
    pub(super) fn is_current(&self) -> bool {
        self.0 >= version::Version::V1_0
    }
}

impl TryFrom<String> for Spoken {
    type Error = version::NotAVersion;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl From<Spoken> for String {
    fn from(Spoken(version): Spoken) -> Self {
        version.to_string()
    }
}

/// A row. It holds secrets of the client and has no Debug.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) v: u32,
    /// With its id and its Task.
    pub(super) config: TaskPushNotificationConfig,
    /// Of A2A, in which it was registered, and so is told.
    #[serde(default, skip_serializing_if = "Spoken::is_current")]
    pub(super) spoken: Spoken,
    pub(super) created_at: Timestamp,
    pub(super) state: DeliveryState,
    /// Since when it is in that state.
    pub(super) since: Timestamp,
    pub(super) at: Position,
    /// Grows when somebody else than its delivery changes the row.
    #[serde(default)]
    pub(super) turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failing: Option<Failing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<Refused>,
}

impl Registration {
    /// A webhook that is told what comes after an event.
    pub(super) fn new(config: TaskPushNotificationConfig, spoken: Spoken, after: Seq) -> Self {
        let now = Timestamp::now();
        Self {
            v: VERSION,
            config,
            spoken,
            created_at: now,
            state: DeliveryState::Open,
            since: now,
            at: Position { seq: after, told: 0 },
            turn: 0,
            failing: None,
            refused: None,
        }
    }

    /// Whether a configuration asks for nothing else than what holds.
    pub(super) fn is_as_asked(&self, config: &TaskPushNotificationConfig, spoken: Spoken) -> bool {
        self.config == *config && self.spoken == spoken && self.state != DeliveryState::Parked
    }

    /// The same place in the Task with another configuration, which may be what it takes to get through.
    pub(super) fn replaced(self, config: TaskPushNotificationConfig, spoken: Spoken) -> Self {
        Self { config, spoken, ..self }.anew()
    }

    /// From the first notification on that was not taken: what came after it comes again.
    pub(super) fn retried(self) -> Self {
        let at = self.refused.as_ref().map_or(self.at, |refused| refused.first);
        Self { at, refused: None, ..self }.anew()
    }

    fn anew(self) -> Self {
        let turn = self.turn.wrapping_add(1);
        Self { turn, failing: None, ..self }.with_state(DeliveryState::Open)
    }

    pub(super) fn with_state(self, state: DeliveryState) -> Self {
        Self { state, since: Timestamp::now(), ..self }
    }

    /// Whether there is something that was not delivered and is not tried any more.
    pub(super) fn has_dead_letters(&self) -> bool {
        self.state == DeliveryState::Parked || self.refused.is_some()
    }

    /// What is said of an error in lists and logs: a query may hold secrets.
    pub(super) fn words(&self, error: &PushError) -> String {
        let said = error.to_string();
        match self.config.url.split_once('?') {
            Some((_, query)) if !query.is_empty() => said.replace(query, "…"),
            _ => said,
        }
    }

    /// Notes that the webhook refuses what comes at its place.
    pub(super) fn refuse(&mut self, why: String) {
        let refused =
            self.refused.get_or_insert(Refused { first: self.at, count: 0, why: String::new() });
        refused.count = refused.count.saturating_add(1);
        refused.why = why;
    }
}
