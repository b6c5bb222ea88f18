//! The A2A service of an example agent.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use protocol::{
    card::Binding,
    error::Error,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCapabilities, AgentCard, AgentProvider, CancelTaskRequest, GetTaskRequest,
        ListTasksRequest, ListTasksResponse, Message, SendMessageConfiguration, SendMessageRequest,
        SendMessageResponse, SubscribeToTaskRequest, Task, TaskState,
    },
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Options;

use super::{
    Agent,
    calls::{CallLog, CallOutcome},
    holds::Holds,
    listing,
    record::{self, Record},
    tasks::{Answer, Tasks},
    work::Work,
};

/// One agent behind A2A. Work goes on whoever disconnects, until it ends, is canceled, or `stop`.
pub(crate) struct Service {
    agent: Arc<dyn Agent>,
    card: Arc<AgentCard>,
    calls: CallLog,
    tasks: Arc<Tasks>,
    pace: Duration,
    holds: Holds,
    stop: CancellationToken,
}

impl Service {
    pub(crate) fn new(
        agent: Arc<dyn Agent>,
        url: &str,
        options: &Options,
        pace: Duration,
        calls: CallLog,
        stop: CancellationToken,
    ) -> Self {
        Self {
            card: Arc::new(card(&*agent, url, options)),
            tasks: Arc::new(Tasks::new(agent.deduplicates())),
            agent,
            calls,
            pace,
            holds: options.holds.clone(),
            stop,
        }
    }

    /// Takes a Message in: begins work on it, unless it came before or cannot be taken.
    pub(crate) fn receive(
        &self,
        request: SendMessageRequest,
        streaming: bool,
    ) -> Result<Answer, Error> {
        let Some(message) = request.message else {
            return Err(Error::invalid_field("message", "is missing"));
        };
        if !message.task_id.is_empty() {
            return self.continue_task(&message, streaming);
        }
        let (answer, is_repeated) = self.tasks.receive(&message, || self.answer(&message));
        let outcome = if is_repeated { CallOutcome::Repeated } else { CallOutcome::Accepted };
        self.calls.record(&message, streaming, outcome);
        Ok(answer)
    }

    /// A Message with a taskId continues a Task that waits for one (A2A §3.4.3).
    fn continue_task(&self, message: &Message, streaming: bool) -> Result<Answer, Error> {
        let (answer, is_repeated) = match self.tasks.repeated(message) {
            Some(answer) => (Ok(answer), true),
            None => (self.follow_up(message), false),
        };
        let outcome = match (&answer, is_repeated) {
            (_, true) => CallOutcome::Repeated,
            (Ok(_), false) => CallOutcome::Accepted,
            (Err(_), false) => CallOutcome::Refused,
        };
        self.calls.record(message, streaming, outcome);
        answer
    }

    fn follow_up(&self, message: &Message) -> Result<Answer, Error> {
        let record = self.tasks.get(&message.task_id)?;
        let (context_id, state) = record.read(|task| (task.context_id.clone(), task.state()));
        if !message.context_id.is_empty() && message.context_id != context_id {
            let text = format!("is not the context of task {}", message.task_id);
            return Err(Error::invalid_field("message.contextId", text));
        }
        if let Some(taken) = record.answer(message.clone().with_context(context_id)) {
            let answer = Answer::Continued(record, Arc::new(taken));
            self.tasks.keep(message, &answer);
            return Ok(answer);
        }
        let state = state.as_str_name();
        let text = format!("task {} is {state} and takes no further Messages", message.task_id);
        Err(Error::unsupported(text))
    }

    fn answer(&self, message: &Message) -> Answer {
        let context_id = match message.context_id.as_str() {
            "" => Uuid::new_v4().to_string(),
            context_id => context_id.to_owned(),
        };
        if let Some(parts) = self.agent.direct_answer(message) {
            return Answer::Direct(Message::agent(parts).with_context(context_id));
        }
        let task_id = Uuid::new_v4().to_string();
        let received = message.clone();
        let received = received.with_task(&task_id).with_context(&context_id);
        let record = Arc::new(Record::submitted(task_id, context_id, received));
        self.begin(Work {
            message: message.clone(),
            record: Arc::clone(&record),
            tasks: Arc::clone(&self.tasks),
            pace: self.pace,
        });
        Answer::Task(record)
    }

    /// Answers SendMessage, once the Task is terminal or interrupted unless the caller does not
    /// wait for that.
    pub(crate) async fn respond(
        &self,
        answer: Answer,
        configuration: &SendMessageConfiguration,
    ) -> Result<SendMessageResponse, Error> {
        let record = match answer {
            Answer::Direct(message) => return Ok(message.into()),
            Answer::Task(record) | Answer::Continued(record, _) => record,
        };
        if !configuration.return_immediately {
            let settled = record.settled();
            if self.stop.run_until_cancelled(settled).await.is_none() {
                return Err(Error::unavailable("the agent is shutting down", None));
            }
        }
        let task = listing::with_history(record.task(), configuration.history_length)?;
        Ok(task.into())
    }

    /// Answers SendStreamingMessage.
    pub(crate) fn follow(answer: Answer) -> EventStream {
        match answer {
            Answer::Task(record) => record.from(0),
            Answer::Continued(record, taken) => record.from_answer(&taken),
            Answer::Direct(message) => stream::once(async { Ok(message.into()) }).boxed(),
        }
    }

    /// The card of an agent that streams as its options say and does nothing else that is optional.
    pub(crate) fn plain_card(&self) -> AgentCard {
        (*self.card).clone()
    }

    /// Finds a Task.
    ///
    /// # Errors
    /// `TaskNotFound`.
    pub(crate) fn record(&self, id: &str) -> Result<Arc<Record>, Error> {
        self.tasks.get(id)
    }

    /// Works in a task of its own. A canceled Task was told so by whoever canceled it; when the
    /// agent stops, its Tasks go with it.
    fn begin(&self, work: Work) {
        let agent = Arc::clone(&self.agent);
        let (holds, stop) = (self.holds.clone(), self.stop.clone());
        tokio::spawn(async move {
            let canceled = work.record.canceled.clone();
            let worked = async {
                holds.turn().await;
                agent.work(&work).await
            };
            let ending = tokio::select! {
                ending = worked => Some(ending),
                () = canceled.cancelled() => None,
                () = stop.cancelled() => None,
            };
            if let Some(ending) = ending {
                work.end(ending);
            }
        });
    }
}

#[async_trait]
impl A2aService for Service {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    async fn send_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let configuration = request.configuration.clone().unwrap_or_default();
        let answer = self.receive(request, false)?;
        self.respond(answer, &configuration).await
    }

    async fn send_streaming_message(
        &self,
        _call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        self.receive(request, true).map(Service::follow)
    }

    async fn get_task(&self, _call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        let task = self.tasks.get(&request.id)?.task();
        listing::with_history(task, request.history_length)
    }

    async fn list_tasks(
        &self,
        _call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        self.tasks.page(&request)
    }

    async fn cancel_task(&self, _call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        let record = self.tasks.get(&request.id)?;
        if !record.enter(TaskState::Canceled, None) {
            let state = record.read(Task::state).as_str_name();
            return Err(Error::task_not_cancelable(&request.id, state));
        }
        record.canceled.cancel();
        Ok(record.task())
    }

    async fn subscribe_to_task(
        &self,
        _call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        let record = self.tasks.get(&request.id)?;
        if record.read(record::is_terminal) {
            let text = format!("task {} has ended; read it with GetTask", request.id);
            return Err(Error::unsupported(text));
        }
        Ok(record.from_now())
    }
}

fn card(agent: &dyn Agent, url: &str, options: &Options) -> AgentCard {
    let mut card = unsigned_card(agent, url, options);
    agent.sign(&mut card);
    card
}

fn unsigned_card(agent: &dyn Agent, url: &str, options: &Options) -> AgentCard {
    let profile = agent.profile();
    let others = Binding::ALL.into_iter().filter(|binding| *binding != options.binding);
    let bindings = std::iter::once(options.binding).chain(others);
    let modes = vec!["text/plain".to_owned(), "application/json".to_owned()];
    AgentCard {
        name: profile.name.to_owned(),
        description: profile.description.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: Some(AgentProvider {
            url: url.to_owned(),
            organization: "Convoke examples".to_owned(),
        }),
        supported_interfaces: bindings
            .map(|binding| protocol::server::interface(binding, url))
            .collect(),
        capabilities: Some(AgentCapabilities {
            streaming: Some(options.streaming),
            push_notifications: Some(false),
            ..AgentCapabilities::default()
        }),
        default_input_modes: modes.clone(),
        default_output_modes: modes,
        skills: profile.skills,
        ..AgentCard::default()
    }
}
