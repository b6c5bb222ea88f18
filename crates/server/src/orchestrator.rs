//! Convoke as an A2A agent: what each operation does.

use std::{collections::VecDeque, convert::Infallible, future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::Router;
use executor::{Executor, ExecutorError, RunId, TaskRecord};
use futures_util::{StreamExt as _, stream};
use protocol::{
    error::Error,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Message, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use registry::Registry;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Folder, PushParts, ServeError, Settings, Workflows, callbacks,
    error::{ended, wire},
    folder::LOOK,
    listing,
    offer::Offer,
    push::Push,
    receive::Receiver,
    relay,
    tail::Tail,
    view::{self, Extent},
};

/// How long CancelTask waits for the end: the grace that remote Tasks have to confirm it, and some more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(15);

/// What an orchestrator is made of.
pub struct Parts {
    /// Drives the runs.
    pub executor: Arc<Executor>,
    /// Knows the agents.
    pub registry: Arc<Registry>,
    /// What can be run.
    pub offering: Offering,
    /// The URL under which clients reach it: decides every URL on the card.
    pub public_url: String,
    /// What delivers notifications.
    pub push: PushParts,
    /// What its operator decides.
    pub settings: Settings,
    /// Ends calls that wait.
    pub stop: CancellationToken,
}

/// Where workflows come from.
pub enum Offering {
    /// These, for as long as it serves.
    Fixed(Workflows),
    /// The files of a folder, as they are at each moment.
    Folder(Folder),
}

/// Runs workflows for whoever sends it a Message.
pub struct Orchestrator {
    receiver: Arc<Receiver>,
    push: Arc<Push>,
    /// Where the offer comes from, while nobody watches it.
    folder: Option<Folder>,
    /// Where agents tell of their Tasks, while nobody serves it.
    callbacks: Option<Router>,
    settings: Settings,
    /// What goes on when its caller has hung up: a run that begins, an answer, a cancel. Each ends by itself, and
    /// tells its error to the caller if there still is one.
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Orchestrator {
    /// Puts an orchestrator together.
    ///
    /// # Errors
    /// [`ServeError::Keys`] when there is no key to sign notifications with.
    pub fn new(parts: Parts) -> Result<Self, ServeError> {
        let Parts { executor, registry, offering, public_url, push, mut settings, stop } = parts;
        let secret = settings.callback_secret.take();
        let callbacks = executor.callbacks().map(|callbacks| {
            let outbound = push.outbound.clone();
            callbacks::router(callbacks.clone(), outbound, secret, settings.limits)
        });
        let push = Push::open(push, executor.runs(), &public_url, settings.push)?;
        settings.hosts = settings.hosts.with_url(&public_url);
        let (workflows, folder) = match offering {
            Offering::Fixed(workflows) => (workflows, None),
            Offering::Folder(folder) => (folder.workflows(), Some(folder)),
        };
        let delegation = std::mem::take(&mut settings.delegation);
        let offer = Arc::new(Offer::new(workflows, delegation, public_url));
        let remember = settings.remember;
        let receiver = Arc::new(Receiver { executor, registry, offer, remember });
        let (push, tasks) = (Arc::new(push), TaskTracker::new());
        Ok(Self { receiver, push, folder, callbacks, settings, tasks, stop })
    }

    /// Follows the folder of workflows for as long as it is polled; without one, waits for ever.
    pub(crate) fn watch(&mut self) -> impl Future<Output = Infallible> + use<> {
        let (folder, offer) = (self.folder.take(), Arc::clone(self.offer()));
        async move {
            let Some(mut folder) = folder else { return std::future::pending().await };
            loop {
                tokio::time::sleep(LOOK).await;
                let looked = tokio::task::spawn_blocking(move || {
                    let has_changed = folder.look();
                    (folder, has_changed)
                });
                match looked.await {
                    Ok((looked, has_changed)) => {
                        folder = looked;
                        if has_changed {
                            change(&offer, &folder);
                        }
                    }
                    Err(broken) => {
                        tracing::error!(%broken, "the folder of workflows is followed no more");
                        return std::future::pending().await;
                    }
                }
            }
        }
    }

    /// Takes the routes of callbacks out; none where agents are only asked.
    pub(crate) fn callbacks(&mut self) -> Router {
        self.callbacks.take().unwrap_or_default()
    }

    pub(crate) fn offer(&self) -> &Arc<Offer> {
        &self.receiver.offer
    }

    pub(crate) fn push(&self) -> &Arc<Push> {
        &self.push
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Waits for what calls have begun and nobody waits for any more. To be called once no call comes any more.
    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub(crate) fn executor(&self) -> &Arc<Executor> {
        &self.receiver.executor
    }

    /// Does something to its end, also when the caller goes away meanwhile.
    async fn to_its_end<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.tasks.spawn(work).await;
        done.unwrap_or_else(|broken| {
            tracing::error!(%broken, "a call broke down");
            Err(Error::internal("this call broke down; the log of this agent says why"))
        })
    }

    async fn receive(&self, call: &Call, request: SendMessageRequest) -> Result<Tail, Error> {
        let (receiver, tenant) = (Arc::clone(&self.receiver), call.tenant.clone());
        let (push, wanted) = (Arc::clone(&self.push), self.push.wanted(&request).await?);
        let received = async move {
            let id = receiver.receive(&tenant, request).await?;
            // Nobody is told of the Task before its webhook is known. A crash in between leaves the client without
            // an answer, and its Message, sent again, finds the Task and registers the webhook.
            if let Some(wanted) = wanted {
                push.register_for(&id, wanted).await?;
            }
            Ok(id)
        };
        let id = self.to_its_end(received).await?;
        self.tail(&id).await
    }

    /// Withholds a relay until its agent has said something, and returns that when it is a Message of its own.
    async fn answered(&self, tail: &mut Tail) -> Result<Option<Message>, Error> {
        self.waited(tail.heard()).await?;
        match &tail.record {
            TaskRecord::Run(recorded) => relay::direct(tail.runs(), recorded).await,
            TaskRecord::Opening(_) => Ok(None),
        }
    }

    async fn tail(&self, id: &RunId) -> Result<Tail, Error> {
        Tail::of(self.receiver.executor.runs(), id).await.map_err(wire)
    }

    /// The Task of an id from outside.
    async fn named(&self, id: &str) -> Result<Tail, Error> {
        let run: RunId = id.parse().map_err(|_| Error::task_not_found(id))?;
        self.tail(&run).await
    }

    /// Waits as long as this process serves.
    async fn waited(
        &self,
        wait: impl Future<Output = Result<(), ExecutorError>>,
    ) -> Result<(), Error> {
        match self.stop.run_until_cancelled(wait).await {
            Some(waited) => waited.map_err(wire),
            None => {
                Err(Error::unavailable("this agent is shutting down; the task goes on later", None))
            }
        }
    }
}

#[async_trait]
impl A2aService for Orchestrator {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.offer().now().card)
    }

    async fn send_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let configuration = request.configuration.clone().unwrap_or_default();
        let mut tail = self.receive(call, request).await?;
        if let Some(message) = self.answered(&mut tail).await? {
            return Ok(message.into());
        }
        if !configuration.return_immediately {
            self.waited(tail.settled()).await?;
        }
        Ok(shown(&tail, Extent::with_history(configuration.history_length)).await?.into())
    }

    async fn send_streaming_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        let configuration = request.configuration.clone().unwrap_or_default();
        let mut tail = self.receive(call, request).await?;
        if let Some(message) = self.answered(&mut tail).await? {
            return Ok(stream::once(async { Ok(message.into()) }).boxed());
        }
        events(tail, Extent::with_history(configuration.history_length)).await
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        let tail = self.named(&request.id).await?;
        shown(&tail, Extent::with_history(request.history_length)).await
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        listing::page(&self.receiver.executor.runs(), request).await
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        let mut tail = self.named(&request.id).await?;
        if tail.is_over() {
            return Err(not_cancelable(&tail.record));
        }
        let (receiver, id) = (Arc::clone(&self.receiver), tail.record.id().clone());
        self.to_its_end(async move { receiver.cancel(&id).await }).await?;
        let end = async {
            match tokio::time::timeout(CANCEL_PATIENCE, tail.over()).await {
                Ok(over) => over,
                // The Task is on its way there; it is answered as it is.
                Err(_) => Ok(()),
            }
        };
        self.waited(end).await?;
        match tail.record.state() {
            // It was faster.
            executor::RunState::Completed | executor::RunState::Failed => {
                Err(not_cancelable(&tail.record))
            }
            _ => shown(&tail, Extent::with_history(None)).await,
        }
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        let tail = self.named(&request.id).await?;
        if tail.is_over() {
            return Err(ended(tail.record.id(), tail.record.state()));
        }
        events(tail, Extent::with_history(None)).await
    }

    async fn create_task_push_notification_config(
        &self,
        _call: &Call,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let tail = self.named(&request.task_id).await?;
        self.push.register(&tail.record, request).await
    }

    async fn get_task_push_notification_config(
        &self,
        _call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let tail = self.named(&request.task_id).await?;
        self.push.get(tail.record.id(), &request.id).await
    }

    async fn list_task_push_notification_configs(
        &self,
        _call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let tail = self.named(&request.task_id).await?;
        self.push.page(tail.record.id(), request).await
    }

    async fn delete_task_push_notification_config(
        &self,
        _call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        let tail = self.named(&request.task_id).await?;
        self.push.remove(tail.record.id(), &request.id).await
    }
}

/// Offers what a folder holds now, and says what is wrong with it.
fn change(offer: &Offer, folder: &Folder) {
    let workflows = folder.workflows();
    tracing::info!(count = workflows.len(), "the folder of workflows has changed");
    for problems in &workflows.broken {
        tracing::warn!("a workflow file is not used as it is now:\n{problems}");
    }
    if let Some(why) = &workflows.unreadable {
        tracing::warn!("{why}; the workflows stay as they were");
    }
    offer.change(workflows);
}

fn not_cancelable(record: &TaskRecord) -> Error {
    Error::task_not_cancelable(record.id().as_str(), record.state().task_state().word())
}

async fn shown(tail: &Tail, extent: Extent) -> Result<Task, Error> {
    view::task(tail.runs(), &tail.record, extent).await.map_err(wire)
}

/// The Task as it is, then what changes, until it ends. Dropping the stream stops nothing but itself.
async fn events(tail: Tail, extent: Extent) -> Result<EventStream, Error> {
    let first: StreamResponse = shown(&tail, extent).await?.into();
    let state = (Some(tail), VecDeque::from([first]));
    let events = stream::unfold(state, async |(tail, mut ready)| {
        let mut tail = tail;
        loop {
            if let Some(next) = ready.pop_front() {
                return Some((Ok(next), (tail, ready)));
            }
            let mut following = tail.take().filter(|tail| !tail.is_over())?;
            match advance(&mut following).await {
                Ok(updates) => {
                    ready = updates.into();
                    tail = Some(following);
                }
                Err(error) => return Some((Err(wire(error)), (None, ready))),
            }
        }
    });
    Ok(events.boxed())
}

async fn advance(tail: &mut Tail) -> Result<Vec<StreamResponse>, ExecutorError> {
    let event = tail.next().await?;
    view::updates(tail.runs(), &tail.record, &event).await
}
