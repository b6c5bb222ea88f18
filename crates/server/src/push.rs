//! Push notifications of our Tasks: which webhooks there are, and what each has been told.
//!
//! A webhook is a row: its configuration, and how far into the journal of its Task it has been told. There is no queue
//! of notifications beside the journal: whoever delivers follows it as the followers of a stream do, and writes the
//! row after each delivery. So what a webhook gets is what a stream would tell, in that order, at least once, over
//! crashes; a notification is sent again when nobody knows whether it arrived.

mod courier;
mod delivery;
mod gates;
mod keys;
mod registration;
mod report;
mod rows;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use executor::{ExecutorError, RunId, Runs, TaskRecord};
use protocol::{
    error::{Error, ErrorKind},
    outbound::Outbound,
    push::{Backoff, PushSender, Signer},
    v1::{
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        SendMessageRequest, TaskPushNotificationConfig,
    },
    version::Version,
};
use store::{AccountId, Cursor, Seq, Store};
use tokio::sync::Notify;
use uuid::Uuid;

use self::{
    gates::Gates,
    registration::{Registration, Spoken},
    rows::{Address, Known, Rows},
};
pub(crate) use self::{keys::Keys, rows::PUSH};
pub use self::{
    registration::{DeliveryState, Position},
    report::{DeliveryReport, deliveries, retry_deliveries},
};
use crate::{PushSettings, ServeError, error::wire, names};

/// Webhooks that one Task can have.
const MOST: u64 = 32;

/// Configurations on a page when nobody says how many, and at most.
const PAGE: (usize, usize) = (50, 100);

/// How often a row is written anew because somebody else has written it meanwhile.
const TRIES: usize = 5;

/// Where webhooks are kept, and how they are reached.
pub struct PushParts {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The client through which webhooks are called.
    pub outbound: Outbound,
    /// The folder for the keys that sign notifications.
    pub folder: PathBuf,
}

/// The webhooks of all Tasks of all accounts.
pub(crate) struct Push {
    rows: Rows,
    runs: Runs,
    sender: PushSender,
    keys: Keys,
    settings: PushSettings,
    backoff: Backoff,
    gates: Gates,
    /// What is being delivered now, by its row.
    under_way: Mutex<HashMap<Address, courier::Place>>,
    /// There may be something to deliver.
    news: Notify,
}

/// A configuration that came with a Message, found to be good.
pub(crate) struct Wanted {
    config: TaskPushNotificationConfig,
    spoken: Spoken,
    /// What was known of the Task before the Message.
    from: Seq,
}

impl Push {
    /// # Errors
    /// [`ServeError::Keys`].
    pub(crate) fn open(
        parts: PushParts,
        runs: Runs,
        public_url: &str,
        settings: PushSettings,
    ) -> Result<Self, ServeError> {
        let keys = Keys::open(&parts.folder, settings.key_max_age)?;
        let signer = Signer::new(public_url.to_owned(), keys.ring());
        Ok(Self {
            rows: Rows { store: parts.store },
            runs,
            sender: PushSender::new(parts.outbound).with_signer(signer),
            keys,
            settings,
            backoff: Backoff {
                attempts: settings.attempts,
                longest: delivery::LONGEST_WAIT,
                ..Backoff::default()
            },
            gates: Gates::new(settings.at_once),
            under_way: Mutex::default(),
            news: Notify::new(),
        })
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Counts the webhooks that missed something which is not sent again by itself.
    pub(crate) async fn dead_letters(&self) -> Result<u64, ExecutorError> {
        self.rows.count_dead().await
    }

    /// Reads the configuration of a request, if it has one, and refuses one that could not be used, before anything
    /// comes of the Message.
    pub(crate) async fn wanted(
        &self,
        account: &AccountId,
        spoken: Version,
        request: &SendMessageRequest,
    ) -> Result<Option<Wanted>, Error> {
        let configuration = request.configuration.as_ref();
        let Some(config) = configuration.and_then(|it| it.task_push_notification_config.clone())
        else {
            return Ok(None);
        };
        self.check(&config, "configuration.taskPushNotificationConfig.").await?;
        let task = request.message.as_ref().map_or("", |message| message.task_id.as_str());
        let from = match task.parse::<RunId>() {
            Ok(task) => self.runs.of(account).task(&task).await.map_err(wire)?.seq(),
            // A new Task, of which everything is told; or one that the Message will be refused for.
            Err(_) => Seq::ZERO,
        };
        Ok(Some(Wanted { config, spoken: Spoken(spoken), from }))
    }

    /// Registers what came with the Message of a Task. When the same comes again, it is the same registration.
    pub(crate) async fn register_for(
        &self,
        account: &AccountId,
        task: &RunId,
        wanted: Wanted,
    ) -> Result<(), Error> {
        let Wanted { mut config, spoken, from } = wanted;
        config.task_id = task.to_string();
        if config.id.is_empty() {
            let json = serde_json::to_vec(&config).map_err(|error| wire(error.into()))?;
            config.id = Uuid::new_v5(&Uuid::NAMESPACE_URL, &json).to_string();
        }
        self.keep(account, config, spoken, from).await.map(drop)
    }

    /// Registers a webhook from now on. One with the same id is replaced, and goes on where that one was.
    pub(crate) async fn register(
        &self,
        account: &AccountId,
        spoken: Version,
        record: &TaskRecord,
        mut config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        self.check(&config, "").await?;
        config.task_id = record.id().to_string();
        if config.id.is_empty() {
            config.id = Uuid::new_v4().to_string();
        }
        self.keep(account, config, Spoken(spoken), record.seq()).await
    }

    /// # Errors
    /// `TaskNotFound`, which is A2A's answer for a configuration that does not exist (§3.1.8).
    pub(crate) async fn get(
        &self,
        account: &AccountId,
        task: &RunId,
        id: &str,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let known =
            self.rows.read(&Address::new(account, task.as_str(), id)).await.map_err(wire)?;
        known.map(|it| it.registration.config).ok_or_else(|| {
            let message = format!("task {task} has no push notification configuration {id:?}");
            Error::new(ErrorKind::TaskNotFound, message).with_metadata("taskId", task.as_str())
        })
    }

    pub(crate) async fn page(
        &self,
        account: &AccountId,
        task: &RunId,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let limit = match usize::try_from(request.page_size) {
            Ok(0) => PAGE.0,
            Ok(size) => size.min(PAGE.1),
            Err(_) => return Err(Error::invalid_field("pageSize", "must not be negative")),
        };
        let cursor = Some(request.page_token).filter(|it| !it.is_empty()).map(Cursor::new);
        let page = self.rows.of_task(account, task.as_str(), limit, cursor).await.map_err(wire)?;
        Ok(ListTaskPushNotificationConfigsResponse {
            configs: page.registrations.into_iter().map(|(_, it)| it.config).collect(),
            next_page_token: page.next.map(|next| next.to_string()).unwrap_or_default(),
        })
    }

    /// Forgets a webhook, if there is one of that id. Nothing more is sent to it.
    pub(crate) async fn remove(
        &self,
        account: &AccountId,
        task: &RunId,
        id: &str,
    ) -> Result<(), Error> {
        let at = Address::new(account, task.as_str(), id);
        self.rows.delete(&at).await.map_err(wire)?;
        self.interrupt(&at);
        Ok(())
    }

    async fn check(&self, config: &TaskPushNotificationConfig, field: &str) -> Result<(), Error> {
        let mut violations = self.sender.violations(config);
        violations.extend(names::violation("id", &config.id));
        if violations.is_empty() && self.settings.verify_url {
            let answered = self.sender.challenge(&config.url).await;
            violations.extend(answered.err().map(|error| error.violation()));
        }
        if violations.is_empty() {
            return Ok(());
        }
        for violation in &mut violations {
            violation.field.insert_str(0, field);
        }
        Err(Error::invalid_fields(violations))
    }

    async fn keep(
        &self,
        account: &AccountId,
        config: TaskPushNotificationConfig,
        spoken: Spoken,
        from: Seq,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let at = Address::new(account, &config.task_id, &config.id);
        for _ in 0..TRIES {
            let known = self.rows.read(&at).await.map_err(wire)?;
            let (next, version) = match known {
                Some(Known { registration, .. }) if registration.is_as_asked(&config, spoken) => {
                    return Ok(config);
                }
                Some(Known { registration, version }) => {
                    (registration.replaced(config.clone(), spoken), Some(version))
                }
                None => {
                    self.check_number(account, &config.task_id).await?;
                    (Registration::new(config.clone(), spoken, from), None)
                }
            };
            if self.rows.write(account, &next, version).await.map_err(wire)? {
                self.interrupt(&at);
                return Ok(config);
            }
        }
        Err(Error::unavailable("others change this configuration all the time; try again", None))
    }

    async fn check_number(&self, account: &AccountId, task: &str) -> Result<(), Error> {
        let page = self.rows.of_task(account, task, 0, None).await.map_err(wire)?;
        if page.total < MOST {
            return Ok(());
        }
        let text = format!("task {task} has {MOST} webhooks, and no task can have more");
        Err(Error::resource_exhausted(text, None))
    }

    /// Ends the delivery that is under way for a row which has changed, and has the rows looked at.
    fn interrupt(&self, at: &Address) {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(delivery) = under_way.get(at) {
            delivery.stop.cancel();
        }
        self.news.notify_one();
    }
}
