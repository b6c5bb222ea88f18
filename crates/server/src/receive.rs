//! What a Message does: begins a Task, says more about one that has not started, or answers a pause.

use std::{sync::Arc, time::Duration};

use executor::{
    Exchange, Executor, ExecutorError, NewRun, Once, Opening, ReplyError, RunId, RunState, Said,
    TaskRecord,
    run::{RunEvent, StepId},
};
use planner::Workflow;
use protocol::{
    error::Error,
    model::metadata,
    v1::{Message, Part, SendMessageRequest},
};
use registry::Registry;
use serde_json::Value;

use crate::{
    BindError, Workflows,
    access::Principal,
    bind, delegate,
    drive::{self, has_moved},
    error::{ended, wire},
    intake::{self, Decision},
    media,
    offer::Offer,
    relay, skills,
};

/// How often a Message is looked at again because others have moved its Task meanwhile.
const TRIES: usize = 5;

/// Takes Messages in.
pub(crate) struct Receiver {
    /// Of the account of the process.
    pub(crate) executor: Arc<Executor>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) offer: Arc<Offer>,
    /// For how long an equal Message is the same one.
    pub(crate) remember: Option<Duration>,
}

/// A Message, with all that is known of it.
#[derive(Clone, Copy)]
struct Received<'a> {
    tenant: &'a str,
    /// Protocol extensions that its sender asks for.
    extensions: &'a [String],
    request: &'a SendMessageRequest,
    message: &'a Message,
    /// Media types that its sender accepts; empty accepts any.
    accepts: &'a [String],
    /// What its sender can start.
    workflows: &'a Workflows,
    once: Option<&'a Once>,
    caller: &'a Principal,
    /// Of the caller's account.
    executor: &'a Executor,
}

impl Received<'_> {
    /// Has the run answer the Message.
    fn run(&self, new: NewRun) -> NewRun {
        let context_id = Some(self.message.context_id.clone());
        NewRun {
            message: Some(self.message.clone()),
            context_id: context_id.filter(|context| !context.is_empty()),
            accepts: self.accepts.to_vec(),
            caller: self.caller.token.clone(),
            once: self.once.cloned(),
            ..new
        }
    }
}

impl Receiver {
    /// The executor of somebody's account.
    pub(crate) fn executor_of(&self, caller: &Principal) -> Executor {
        self.executor.of(&caller.account)
    }

    /// Takes a Message in and returns its Task, which exists durably then.
    pub(crate) async fn receive(
        &self,
        caller: &Principal,
        tenant: &str,
        extensions: &[String],
        request: SendMessageRequest,
    ) -> Result<RunId, Error> {
        let offered = self.offer.now();
        let executor = self.executor_of(caller);
        // What somebody may not start is not among the choices, and never chosen for them.
        caller.check_start_something("this Message")?;
        let startable = offered.workflows.of_names(|name| caller.scopes.start(name));
        let Some(message) = &request.message else {
            return Err(Error::invalid_field("message", "is required"));
        };
        let configuration = request.configuration.as_ref();
        let accepts = configuration.map_or(&[][..], |it| &it.accepted_output_modes);
        let mut once = self.once(tenant, &request).map_err(wire)?;
        for tried in 1.. {
            if let Some(once) = &mut once
                && let Some(id) = executor.runs().taken(once).await.map_err(wire)?
            {
                if !is_to_be_tried_again(&executor, caller, &id).await? {
                    go_on_driving(&executor, &id).await;
                    bring(&executor, caller, &id);
                    return Ok(id);
                }
                once.anew();
            }
            let received = Received {
                tenant,
                extensions,
                request: &request,
                message,
                accepts,
                workflows: &startable,
                once: once.as_ref(),
                caller,
                executor: &executor,
            };
            match self.take(received).await {
                Err(NotTaken::Inside(error)) if has_moved(&error) && tried < TRIES => (),
                done => return done.map_err(NotTaken::told),
            }
        }
        unreachable!("the last try returns")
    }

    /// What makes a Message the same as an earlier one: its id and all that it says, and to whom.
    fn once(
        &self,
        tenant: &str,
        request: &SendMessageRequest,
    ) -> Result<Option<Once>, ExecutorError> {
        let content = (&request.message, &request.metadata, tenant);
        self.remember.map(|window| Once::of(&content, window)).transpose()
    }

    /// What a Message is meant for is asked of the first one of a Task alone: a follow-up goes to its Task, whatever
    /// it repeats, and whether that is still offered or not.
    async fn take(&self, received: Received<'_>) -> Result<RunId, NotTaken> {
        let Received { tenant, request, message, .. } = received;
        let task_id = &message.task_id;
        if task_id.is_empty() {
            let index = self.registry.index();
            let meant = self.offer.own().delegation.meant(&index, tenant, request);
            // Before anything is said of the directory.
            if !matches!(meant, Ok(None)) {
                received.caller.check_start(delegate::NAME)?;
            }
            return match meant? {
                Some(workflow) => self.relay(&workflow, received).await,
                None => self.begin(None, received).await,
            };
        }
        let id: RunId = task_id.parse().map_err(|_| Error::task_not_found(task_id))?;
        self.go_on(&id, received).await
    }

    async fn go_on(&self, id: &RunId, received: Received<'_>) -> Result<RunId, NotTaken> {
        let record = received.executor.runs().task(id).await?;
        if let Some(workflow) = record.workflow() {
            received.caller.check_start(workflow)?;
        }
        let named = &received.message.context_id;
        if !named.is_empty() && named != record.context_id() {
            let text = format!("is not the context of task {id}");
            return Err(Error::invalid_field("message.contextId", text).into());
        }
        match record {
            TaskRecord::Opening(opening) if opening.state == RunState::InputRequired => {
                self.begin(Some(*opening), received).await
            }
            TaskRecord::Opening(opening) => Err(ended(id, opening.state).into()),
            TaskRecord::Run(run) if run.run.outcome().is_some() => {
                Err(ended(id, RunState::of(&run.run)).into())
            }
            TaskRecord::Run(_) => self.reply(id, received).await,
        }
    }

    /// Answers the pause that the Message is addressed to, else the only one. Where that is not clear, nothing is
    /// kept, and the status of the Task says what there is to answer; so it does where the answer does not fit.
    async fn reply(&self, id: &RunId, received: Received<'_>) -> Result<RunId, NotTaken> {
        let Received { message, once, executor, caller, .. } = received;
        let step = match message.metadata(metadata::STEP) {
            None => None,
            Some(Value::String(step)) => Some(StepId::new(step)),
            Some(_) => {
                let field = format!("message.metadata[{}]", metadata::STEP);
                return Err(
                    Error::invalid_field(field, "must be the address of a step, a string").into()
                );
            }
        };
        let token = caller.token.clone();
        let said = Said { message: message.clone(), once: once.cloned(), token };
        match drive::reply(executor, id, step, &said).await {
            Ok(_)
            | Err(ExecutorError::Reply(
                ReplyError::Ambiguous { .. } | ReplyError::Repeated | ReplyError::Unfit { .. },
            )) => Ok(id.clone()),
            Err(error) => Err(error.into()),
        }
    }

    /// Starts a run with all that was said about it, or asks for what is missing.
    async fn begin(
        &self,
        opening: Option<Opening>,
        received: Received<'_>,
    ) -> Result<RunId, NotTaken> {
        let mut messages = match &opening {
            Some(opening) => said(received.executor, opening).await?,
            None => Vec::new(),
        };
        messages.push(received.message.clone());
        let known = opening.as_ref().and_then(|opening| opening.workflow.as_deref());
        let (workflows, executor) = (received.workflows, received.executor);
        let named = named(workflows, received.caller, received.tenant, received.request)?;
        let known = named.or_else(|| known.and_then(|name| workflows.get(name)));
        media::check(workflows, known, received.message, received.accepts)?;
        let exchange = |workflow: Option<String>, answer: Vec<Part>| Exchange {
            task: opening.as_ref().map(|opening| opening.id.clone()),
            workflow,
            message: received.message.clone(),
            answer,
            accepts: received.accepts.to_vec(),
            once: received.once.cloned(),
        };
        match intake::decide(workflows, known, &messages) {
            Decision::Ask { workflow, question } => {
                Ok(executor.defer(exchange(workflow, question)).await?)
            }
            Decision::Reject { why } => {
                Ok(executor.reject(exchange(None, vec![Part::text(why)])).await?)
            }
            Decision::Start { workflow, inputs, start } => {
                let plan = match bind(&self.registry, &workflow).await {
                    Ok(plan) => Arc::new(plan),
                    Err(why @ BindError::Unreachable(_)) => {
                        return Err(Error::unavailable(why.to_string(), None).into());
                    }
                    Err(why @ BindError::NoAgent(_)) => {
                        let answer = vec![Part::text(self.told(&why, received))];
                        let exchange = exchange(Some(workflow.name.clone()), answer);
                        return Ok(executor.reject(exchange).await?);
                    }
                };
                let new = received.run(NewRun::of(plan, inputs, start));
                match executor.start(NewRun { opening: opening.clone(), ..new }).await {
                    Err(why @ (ExecutorError::Crowded { .. } | ExecutorError::Key(_))) => {
                        let answer = vec![Part::text(why.to_string())];
                        let exchange = exchange(Some(workflow.name.clone()), answer);
                        Ok(executor.reject(exchange).await?)
                    }
                    started => Ok(started?),
                }
            }
        }
    }

    /// What the sender of a Message is told of why it cannot be run.
    fn told(&self, why: &BindError, received: Received<'_>) -> String {
        why.told(&self.registry, &received.caller.account)
    }

    /// Passes a Message on to an agent.
    async fn relay(
        &self,
        workflow: &Arc<Workflow>,
        received: Received<'_>,
    ) -> Result<RunId, NotTaken> {
        let plan = bind(&self.registry, workflow).await.map_err(|why| match why {
            BindError::Unreachable(_) => Error::unavailable(why.to_string(), None),
            BindError::NoAgent(_) => Error::unsupported(self.told(&why, received)),
        })?;
        let start = received.message.parts.clone();
        let new = received.run(NewRun::of(Arc::new(plan), serde_json::Map::new(), start));
        let extensions = received.extensions.to_vec();
        Ok(received.executor.start(NewRun { relay: true, extensions, ..new }).await?)
    }

    /// Cancels a Task of somebody's account: before its run, or through its run. Returns when that is under way.
    pub(crate) async fn cancel(&self, caller: &Principal, id: &RunId) -> Result<(), Error> {
        drive::cancel(&self.executor_of(caller), id).await.map_err(wire)
    }
}

/// Whether all that came of a Message was an error that may pass: whoever sends it again wants more than that.
///
/// # Errors
/// When its sender could not start that, whoever of the account has.
async fn is_to_be_tried_again(
    executor: &Executor,
    caller: &Principal,
    id: &RunId,
) -> Result<bool, Error> {
    let record = executor.runs().task(id).await.map_err(wire)?;
    if let Some(workflow) = record.workflow() {
        caller.check_start(workflow)?;
    }
    Ok(matches!(record, TaskRecord::Run(run) if relay::has_passing_error(&run)))
}

/// Makes sure that the run of a Message that came again is driven: the answer to the first may have been that nobody
/// knows whether it was kept.
async fn go_on_driving(executor: &Executor, id: &RunId) {
    match executor.resume(id).await {
        Ok(()) | Err(ExecutorError::NotStarted { .. }) => (),
        // Its Task is shown as it stands.
        Err(error) => tracing::warn!(task = %id, %error, "a run cannot be taken up"),
    }
}

/// Leaves the token that somebody has brought with their run: agents may be called with others in exchange for it.
fn bring(executor: &Executor, caller: &Principal, id: &RunId) {
    if let Some(token) = &caller.token {
        executor.bring(id, token);
    }
}

/// What was said about a Task that has no run yet.
async fn said(executor: &Executor, opening: &Opening) -> Result<Vec<Message>, ExecutorError> {
    let runs = executor.runs();
    let mut messages = Vec::new();
    for body in opening.events.iter().filter_map(RunEvent::said) {
        messages.push(runs.load(&opening.id, body).await?);
    }
    Ok(messages)
}

/// The workflow that the Message names in its metadata, else the request, else the tenant.
fn named<'a>(
    workflows: &'a Workflows,
    caller: &Principal,
    tenant: &str,
    request: &SendMessageRequest,
) -> Result<Option<&'a Arc<Workflow>>, Error> {
    let Some((field, name)) = skills::named(request, tenant) else { return Ok(None) };
    let Some(name) = name else {
        return Err(Error::invalid_field(field, "must be the name of a workflow, a string"));
    };
    caller.check_start(name)?;
    let found = workflows.get(name);
    found.map(Some).ok_or_else(|| Error::invalid_field(field, workflows.unknown(name)))
}

/// Why a Message was not taken in.
enum NotTaken {
    /// Its sender has to do something.
    Refused(Error),
    /// Something in here.
    Inside(ExecutorError),
}

impl NotTaken {
    fn told(self) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Inside(error) => wire(error),
        }
    }
}

impl From<Error> for NotTaken {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<ExecutorError> for NotTaken {
    fn from(error: ExecutorError) -> Self {
        Self::Inside(error)
    }
}
