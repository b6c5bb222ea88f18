//! Convoke as an A2A agent: what it is made of, and what its operations have in common.

mod operations;

use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};

use axum::Router;
use executor::{Executor, ExecutorError, RunId, Runs, TaskRecord};
use protocol::{
    error::Error,
    outbound::Outbound,
    service::{Call, EventStream},
    v1::{Message, SendMessageRequest},
};
use registry::{Prober, Registry};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Access, Folder, PushParts, ServeError, Settings, Workflows,
    access::{Principal, Showing, gate},
    callbacks,
    directory::{Accounts, Directory},
    error::{refused, wire},
    find_agents,
    folder::LOOK,
    follow::events,
    names,
    offer::Offer,
    push::Push,
    receive::Receiver,
    relay,
    schedules::Schedules,
    skills::OwnSkills,
    tail::Tail,
    view::Extent,
};

/// How long an answer in a relay is waited for to reach the agent, before the Task is shown as it is.
const TAKE_PATIENCE: Duration = Duration::from_secs(30);

/// What an orchestrator is made of.
pub struct Parts {
    /// Drives the runs.
    pub executor: Arc<Executor>,
    /// Knows the agents.
    pub registry: Arc<Registry>,
    /// Probes the agents it knows, of its own account and the others.
    pub prober: Prober,
    /// What can be run.
    pub offering: Offering,
    /// The URL under which clients reach it: decides every URL on the card.
    pub public_url: String,
    /// What delivers notifications.
    pub push: PushParts,
    /// What cards, catalogs and keys are fetched with for the directories of other accounts than the server's own.
    pub for_accounts: Outbound,
    /// Which credentials callers need.
    pub access: Access,
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
    directory: Arc<Directory>,
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
        let Parts { executor, registry, prober, offering, public_url, push, access, .. } = parts;
        let (for_accounts, stop, mut settings) = (parts.for_accounts, parts.stop, parts.settings);
        let secret = settings.callback_secret.take();
        let callbacks = executor.callbacks().map(|callbacks| {
            let outbound = push.outbound.clone();
            callbacks::router(callbacks.clone(), outbound, secret, settings.limits)
        });
        let accounts = Accounts::new(Arc::clone(&push.store), for_accounts, Arc::clone(&registry));
        let directory =
            Directory::new((accounts, prober), access.clone(), settings.limits, stop.clone());
        let push = Push::open(push, executor.runs(), &public_url, settings.push)?;
        settings.hosts = settings.hosts.with_url(&public_url);
        let (workflows, folder) = match offering {
            Offering::Fixed(workflows) => (workflows, None),
            Offering::Folder(folder) => (folder.workflows(), Some(folder)),
        };
        let delegation = std::mem::take(&mut settings.delegation);
        let own = OwnSkills { delegation, finds_agents: settings.find_agents };
        let declared = std::mem::take(&mut settings.declared);
        let public_skills = std::mem::take(&mut settings.public_skills);
        let showing = Showing { access, public_skills };
        let offer = Arc::new(Offer::new(workflows, own, declared, public_url, showing));
        let remember = settings.remember;
        let receiver = Arc::new(Receiver { executor, registry, offer, remember });
        let (push, tasks) = (Arc::new(push), TaskTracker::new());
        let directory = Arc::new(directory);
        Ok(Self { receiver, push, directory, folder, callbacks, settings, tasks, stop })
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
                            offer.follow(&folder);
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

    /// What starts workflows by the clock.
    pub(crate) fn schedules(&self) -> Schedules {
        Schedules::new(Arc::clone(&self.receiver), self.settings.schedule_account.as_ref())
    }

    /// Takes the routes of callbacks out; none where agents are only asked.
    pub(crate) fn callbacks(&mut self) -> Router {
        self.callbacks.take().unwrap_or_default()
    }

    pub(crate) fn offer(&self) -> &Arc<Offer> {
        &self.receiver.offer
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.receiver.registry
    }

    pub(crate) fn push(&self) -> &Arc<Push> {
        &self.push
    }

    pub(crate) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Waits for what calls have begun and nobody waits for any more. To be called once no call comes any more.
    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.directory.finish().await;
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

    /// Who has made a call.
    fn caller(&self, call: &Call) -> Result<Arc<Principal>, Error> {
        self.offer().access().caller(call, self.executor().account())
    }

    /// The runs of somebody's account.
    fn runs(&self, caller: &Principal) -> Runs {
        self.executor().runs().of(&caller.account)
    }

    /// Takes a Message, with the webhook that it brings.
    async fn receive(
        &self,
        caller: &Arc<Principal>,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<RunId, Error> {
        if let Some(message) = &request.message {
            names::check_context(&message.context_id)?;
        }
        let (receiver, call) = (Arc::clone(&self.receiver), call.clone());
        let wanted = self.push.wanted(&caller.account, call.version, &request).await?;
        let (push, by) = (Arc::clone(&self.push), Arc::clone(caller));
        let received = async move {
            let id = receiver.receive(&by, &call.tenant, &call.extensions, request).await?;
            // Nobody is told of the Task before its webhook is known. A crash in between leaves the client without
            // an answer, and its Message, sent again, finds the Task and registers the webhook.
            if let Some(wanted) = wanted {
                push.register_for(&by.account, &id, wanted).await?;
            }
            Ok(id)
        };
        self.to_its_end(received).await
    }

    /// What the directory answers to a Message that is for it.
    async fn found(
        &self,
        caller: &Principal,
        call: &Call,
        request: &SendMessageRequest,
    ) -> Result<Option<Message>, Error> {
        let offered = self.offer().own();
        let own = offered.for_scopes(&caller.scopes);
        let workflows = self.offer().now().workflows.of_names(|name| caller.scopes.start(name));
        let startable = (offered.finds_agents, &workflows, &own);
        if !find_agents::is_meant(startable, &call.tenant, request) {
            return Ok(None);
        }
        caller.check_read_agents().map_err(|why| refused(&why))?;
        let view = self.directory.view(&caller.account).await.map_err(|error| {
            tracing::warn!(%error, "a question to the directory could not be answered");
            Error::unavailable("this cannot be done just now; try again", None)
        })?;
        find_agents::answer(&view, request).map(Some)
    }

    /// Waits a while for the word of a relay's agent on an answer.
    async fn taken(&self, tail: &mut Tail, message_id: &str) -> Result<(), Error> {
        let taken = tokio::time::timeout(TAKE_PATIENCE, relay::taken(tail, message_id));
        match self.stop.run_until_cancelled(taken).await {
            Some(Ok(taken)) => taken,
            // It is kept, and goes on to the agent; the Task is answered as it is.
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Withholds a relay until its agent has said something of a Message, and returns that when it is a Message of its
    /// own.
    async fn answered(&self, tail: &mut Tail, said: &Said) -> Result<Option<Message>, Error> {
        if said.is_answer {
            self.taken(tail, &said.message_id).await?;
        }
        self.waited(tail.heard()).await?;
        match &tail.record {
            TaskRecord::Run(recorded) => relay::direct(tail.runs(), recorded).await,
            TaskRecord::Opening(_) => Ok(None),
        }
    }

    async fn tail(&self, caller: &Principal, id: &RunId) -> Result<Tail, Error> {
        Tail::of(self.runs(caller), id).await.map_err(wire)
    }

    /// The Task of an id from outside, if it is one of the caller's.
    async fn named(&self, caller: &Principal, id: &str) -> Result<Tail, Error> {
        let run: RunId = id.parse().map_err(|_| Error::task_not_found(id))?;
        self.tail(caller, &run).await
    }

    /// Events for whoever made a call, for as long as they may have them.
    async fn events(
        &self,
        caller: Arc<Principal>,
        tail: Tail,
        extent: Extent,
    ) -> Result<EventStream, Error> {
        let access = self.offer().access().clone();
        Ok(gate::while_it_holds(access, caller, events(tail, extent).await?))
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

/// A Message that is being taken.
struct Said {
    message_id: String,
    /// Whether it goes to a Task that is there.
    is_answer: bool,
}

impl Said {
    fn of(request: &SendMessageRequest) -> Self {
        let message = request.message.as_ref();
        Self {
            message_id: message.map(|it| it.message_id.clone()).unwrap_or_default(),
            is_answer: message.is_some_and(|it| !it.task_id.is_empty()),
        }
    }
}
