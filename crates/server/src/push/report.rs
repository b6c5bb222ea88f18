//! Deliveries as their operator sees them: what is told, what failed, and once more.

use std::sync::Arc;

use executor::ExecutorError;
use jiff::Timestamp;
use serde::Serialize;
use store::{AccountId, Store};

use super::{
    TRIES,
    registration::{DeliveryState, Position, Registration},
    rows::{Address, Known, Rows},
};

/// A webhook of a Task, without the secrets of the client.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryReport {
    /// Whose Task it is.
    pub account: AccountId,
    /// The Task.
    pub task: String,
    /// The configuration.
    pub id: String,
    /// Where notifications go, without the query.
    pub url: String,
    /// Whether they do.
    pub state: DeliveryState,
    /// How far they got.
    pub at: Position,
    /// How often the next one was tried in vain.
    pub failed_attempts: u32,
    /// When it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// How many were refused and left out.
    pub refused: u32,
    /// Why the last attempt failed, or the last one was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// Lists the webhooks of all accounts, the oldest first; only those with something that is not tried any more, if so
/// wanted.
///
/// # Errors
/// When the store fails.
pub async fn deliveries(
    store: Arc<dyn Store>,
    only_dead: bool,
) -> Result<Vec<DeliveryReport>, ExecutorError> {
    let rows = Rows { store };
    let (mut reports, mut cursor) = (Vec::new(), None);
    loop {
        let page = rows.in_state(None, cursor).await?;
        let wanted = page.registrations.into_iter();
        let wanted = wanted.filter(|(_, it)| !only_dead || it.has_dead_letters());
        reports.extend(wanted.map(DeliveryReport::from));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(reports);
        }
    }
}

/// Has the webhooks of a Task, or one of them, told anew what they did not take: from the first such notification on,
/// with all that followed. Whoever serves begins within seconds. Returns the ids of the configurations that this
/// concerns.
///
/// # Errors
/// When the store fails, or cannot be written from here.
pub async fn retry_deliveries(
    store: Arc<dyn Store>,
    account: AccountId,
    task: &str,
    id: Option<&str>,
) -> Result<Vec<String>, ExecutorError> {
    let rows = Rows { store };
    let mut retried = Vec::new();
    let page = rows.of_task(&account, task, 500, None).await?;
    let registrations = page.registrations.into_iter().map(|(_, it)| it);
    let dead = registrations.filter(Registration::has_dead_letters);
    for registration in dead.filter(|it| id.is_none_or(|id| it.config.id == id)) {
        let id = registration.config.id;
        if retry(&rows, &Address::new(&account, task, &id)).await? {
            retried.push(id);
        }
    }
    Ok(retried)
}

async fn retry(rows: &Rows, at: &Address) -> Result<bool, ExecutorError> {
    for _ in 0..TRIES {
        match rows.read(at).await? {
            Some(Known { registration, version }) if registration.has_dead_letters() => {
                if rows.write(&at.account, &registration.retried(), Some(version)).await? {
                    return Ok(true);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(false)
}

impl From<(AccountId, Registration)> for DeliveryReport {
    fn from((account, registration): (AccountId, Registration)) -> Self {
        let Registration { config, created_at, state, at, failing, refused, .. } = registration;
        let next = failing.as_ref().map(|failing| failing.next);
        let error = failing.as_ref().map(|failing| failing.why.clone());
        Self {
            account,
            task: config.task_id,
            id: config.id,
            url: config.url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            state,
            at,
            failed_attempts: failing.map_or(0, |failing| failing.attempts),
            next_attempt_at: next.filter(|_| state == DeliveryState::Open),
            refused: refused.as_ref().map_or(0, |refused| refused.count),
            error: error.or_else(|| refused.map(|refused| refused.why)),
            created_at,
        }
    }
}
