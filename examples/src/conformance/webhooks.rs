//! The webhooks of one tenant's Tasks: their configurations, and the deliveries to them.

mod delivery;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use protocol::{
    error::{Error, ErrorKind},
    push::PushSender,
    v1::{
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        TaskPushNotificationConfig,
    },
    version::Version,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use self::delivery::Delivery;
use crate::harness::record::Record;

/// How many configurations a page holds when the caller does not say.
const DEFAULT_PAGE: usize = 50;

/// All configurations, by Task. They are kept until they are removed, also when the Task ended.
pub(super) struct Webhooks {
    sender: PushSender,
    stop: CancellationToken,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The hooks of a Task, in the order in which they were first made.
    by_task: HashMap<String, Vec<Hook>>,
    next_number: u64,
}

/// One configuration. Dropping it stops its deliveries.
struct Hook {
    config: TaskPushNotificationConfig,
    /// Its place in the order; not given twice, so that a page token stays true.
    number: u64,
    _delivery: DropGuard,
}

impl Webhooks {
    pub(super) fn new(sender: PushSender, stop: CancellationToken) -> Self {
        Self { sender, stop, inner: Mutex::default() }
    }

    /// Keeps a configuration and begins to deliver the events of its Task, from an index on, as the
    /// version wants it in which it was made. One with the same id is replaced; one without an id
    /// gets one.
    pub(super) fn put(
        &self,
        version: Version,
        record: &Arc<Record>,
        since: usize,
        mut config: TaskPushNotificationConfig,
    ) -> TaskPushNotificationConfig {
        config.task_id = record.read(|task| task.id.clone());
        if config.id.is_empty() {
            config.id = Uuid::new_v4().to_string();
        }
        let stop = self.stop.child_token();
        let delivery = Delivery {
            sender: self.sender.clone(),
            config: config.clone(),
            version,
            record: Arc::clone(record),
        };
        tokio::spawn(delivery.run(since, stop.clone()));
        self.lock().put(config.clone(), stop.drop_guard());
        config
    }

    /// # Errors
    /// `TaskNotFound`, which is A2A's answer for a configuration that does not exist (§3.1.8).
    pub(super) fn get(&self, task_id: &str, id: &str) -> Result<TaskPushNotificationConfig, Error> {
        let inner = self.lock();
        let found = inner.of(task_id).iter().find(|hook| hook.config.id == id);
        found.map(|hook| hook.config.clone()).ok_or_else(|| {
            let message = format!("task {task_id:?} has no push notification configuration {id:?}");
            Error::new(ErrorKind::TaskNotFound, message).with_metadata("taskId", task_id)
        })
    }

    /// # Errors
    /// Invalid parameters for a page token that was not made here.
    pub(super) fn page(
        &self,
        request: &ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let first: u64 = match request.page_token.as_str() {
            "" => 0,
            token => token.parse().map_err(|_| {
                Error::invalid_field("pageToken", "is not one that this agent gave")
            })?,
        };
        let size = match usize::try_from(request.page_size) {
            Ok(0) | Err(_) => DEFAULT_PAGE,
            Ok(size) => size,
        };
        let inner = self.lock();
        let mut rest = inner.of(&request.task_id).iter().filter(|hook| hook.number >= first);
        let configs = rest.by_ref().take(size).map(|hook| hook.config.clone()).collect();
        let next = rest.next().map(|hook| hook.number.to_string());
        Ok(ListTaskPushNotificationConfigsResponse {
            configs,
            next_page_token: next.unwrap_or_default(),
        })
    }

    /// Forgets a configuration, if there is one of that id, and stops its deliveries.
    pub(super) fn remove(&self, task_id: &str, id: &str) {
        if let Some(hooks) = self.lock().by_task.get_mut(task_id) {
            hooks.retain(|hook| hook.config.id != id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn of(&self, task_id: &str) -> &[Hook] {
        self.by_task.get(task_id).map_or(&[], Vec::as_slice)
    }

    fn put(&mut self, config: TaskPushNotificationConfig, delivery: DropGuard) {
        let hooks = self.by_task.entry(config.task_id.clone()).or_default();
        match hooks.iter_mut().find(|hook| hook.config.id == config.id) {
            Some(known) => *known = Hook { config, number: known.number, _delivery: delivery },
            None => {
                hooks.push(Hook { config, number: self.next_number, _delivery: delivery });
                self.next_number += 1;
            }
        }
    }
}
