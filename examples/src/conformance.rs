//! The agent that conformance suites are run against: all of A2A, with behaviours that a Message
//! chooses.
//!
//! It is built on `protocol` alone, so that what a suite finds is a fault of the library or of this
//! folder. Each tenant is an agent of its own: it sees its own Tasks and no other's.

pub(crate) mod access;
mod behaviour;
mod card;
mod media;
mod webhooks;

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use axum::{Router, middleware};
use clap::ValueEnum;
use protocol::{
    error::Error,
    operation::Operation,
    outbound::{Outbound, Policy},
    push::PushSender,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageConfiguration, SendMessageRequest,
        SendMessageResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
};
use tokio_util::sync::CancellationToken;

pub(crate) use self::behaviour::Scripted;
use self::webhooks::Webhooks;
use crate::{
    Options, agents,
    harness::{service::Service, tasks::Answer},
};

/// What the conformance agent declares, and so does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConformanceProfile {
    /// Streaming, push notifications, and an extended card.
    Full,
    /// None of these.
    Min,
    /// As full, and callers must know an extension.
    Ext,
    /// As full, for callers with a bearer token only.
    Auth,
}

/// The conformance agent.
struct Conformance {
    card: Arc<AgentCard>,
    profile: ConformanceProfile,
    sender: PushSender,
    tenants: Mutex<HashMap<String, Arc<Tenant>>>,
    /// What each tenant's agent is made with.
    make: Box<dyn Fn() -> Service + Send + Sync>,
    stop: CancellationToken,
}

/// One of the agents behind the endpoint.
struct Tenant {
    service: Service,
    webhooks: Webhooks,
}

/// The routes of the conformance agent; `make` makes the service of a tenant.
///
/// # Errors
/// When the client for its webhooks cannot be set up.
pub(crate) fn router(
    make: impl Fn() -> Service + Send + Sync + 'static,
    options: &Options,
    stop: &CancellationToken,
) -> io::Result<Router> {
    let policy = if options.loopback_webhooks { Policy::loopback() } else { Policy::default() };
    let outbound = Outbound::new(policy).map_err(io::Error::other)?;
    let service = Conformance {
        card: Arc::new(card::of(options, make().plain_card())),
        profile: options.profile,
        sender: PushSender::new(outbound),
        tenants: Mutex::default(),
        make: Box::new(make),
        stop: stop.clone(),
    };
    let router = agents::serve(Arc::new(service), options);
    Ok(match options.profile {
        ConformanceProfile::Auth => router.layer(middleware::map_response(access::challenge)),
        _ => router,
    })
}

impl Conformance {
    /// The agent that a call is for; made when it is first called.
    fn tenant(&self, call: &Call) -> Arc<Tenant> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let tenant = tenants.entry(call.tenant.clone()).or_insert_with(|| {
            let webhooks = Webhooks::new(self.sender.clone(), self.stop.clone());
            Arc::new(Tenant { service: (self.make)(), webhooks })
        });
        Arc::clone(tenant)
    }

    /// Takes a Message in, with the webhook that came with it.
    fn receive(
        &self,
        call: &Call,
        request: SendMessageRequest,
        streaming: bool,
    ) -> Result<(Arc<Tenant>, Answer), Error> {
        if let Some(message) = &request.message {
            media::check(&self.card, message)?;
        }
        let config = request.configuration.as_ref().and_then(inline);
        if let Some(config) = &config {
            self.check(config, "configuration.taskPushNotificationConfig.")?;
        }
        let tenant = self.tenant(call);
        let answer = tenant.service.receive(request, streaming)?;
        match (&answer, config) {
            (Answer::Task(record), Some(config)) => {
                drop(tenant.webhooks.put(call.version, record, 0, config));
            }
            (Answer::Continued(record, taken), Some(config)) => {
                drop(tenant.webhooks.put(call.version, record, taken.since, config));
            }
            (Answer::Direct(_), _) | (_, None) => {}
        }
        Ok((tenant, answer))
    }

    /// Refuses a webhook that cannot be called. Names are looked up when there is something to send.
    fn check(&self, config: &TaskPushNotificationConfig, place: &str) -> Result<(), Error> {
        let mut violations = self.sender.violations(config);
        for violation in &mut violations {
            violation.field.insert_str(0, place);
        }
        if violations.is_empty() { Ok(()) } else { Err(Error::invalid_fields(violations)) }
    }
}

fn inline(configuration: &SendMessageConfiguration) -> Option<TaskPushNotificationConfig> {
    configuration.task_push_notification_config.clone()
}

#[async_trait]
impl A2aService for Conformance {
    fn card(&self, _call: &Call) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    fn authorize(&self, call: &Call, operation: Operation) -> Result<(), Error> {
        match self.profile {
            ConformanceProfile::Auth => access::check(&call.headers, operation),
            _ => Ok(()),
        }
    }

    async fn send_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<SendMessageResponse, Error> {
        let configuration = request.configuration.clone().unwrap_or_default();
        let (tenant, answer) = self.receive(call, request, false)?;
        tenant.service.respond(answer, &configuration).await
    }

    async fn send_streaming_message(
        &self,
        call: &Call,
        request: SendMessageRequest,
    ) -> Result<EventStream, Error> {
        self.receive(call, request, true).map(|(_, answer)| Service::follow(answer))
    }

    async fn get_task(&self, call: &Call, request: GetTaskRequest) -> Result<Task, Error> {
        self.tenant(call).service.get_task(call, request).await
    }

    async fn list_tasks(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Error> {
        self.tenant(call).service.list_tasks(call, request).await
    }

    async fn cancel_task(&self, call: &Call, request: CancelTaskRequest) -> Result<Task, Error> {
        self.tenant(call).service.cancel_task(call, request).await
    }

    async fn subscribe_to_task(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<EventStream, Error> {
        self.tenant(call).service.subscribe_to_task(call, request).await
    }

    async fn create_task_push_notification_config(
        &self,
        call: &Call,
        request: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, Error> {
        self.check(&request, "")?;
        let tenant = self.tenant(call);
        let record = tenant.service.record(&request.task_id)?;
        let since = record.length();
        Ok(tenant.webhooks.put(call.version, &record, since, request))
    }

    async fn get_task_push_notification_config(
        &self,
        call: &Call,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, Error> {
        let tenant = self.tenant(call);
        tenant.service.record(&request.task_id)?;
        tenant.webhooks.get(&request.task_id, &request.id)
    }

    async fn list_task_push_notification_configs(
        &self,
        call: &Call,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
        let tenant = self.tenant(call);
        tenant.service.record(&request.task_id)?;
        tenant.webhooks.page(&request)
    }

    async fn delete_task_push_notification_config(
        &self,
        call: &Call,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), Error> {
        let tenant = self.tenant(call);
        tenant.service.record(&request.task_id)?;
        tenant.webhooks.remove(&request.task_id, &request.id);
        Ok(())
    }

    async fn get_extended_agent_card(
        &self,
        _call: &Call,
        _request: GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, Error> {
        Ok(card::extended(&self.card))
    }
}
