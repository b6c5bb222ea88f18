//! The gRPC binding (A2A §10), on the same port as the others.

mod codec;
mod stubs;

use std::sync::Arc;

use axum::{
    extract::{Request as HttpRequest, State},
    response::{IntoResponse, Response},
};
use futures_util::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::Full;
use tonic::{Code, Status, codegen::Service as _, metadata::MetadataMap};

use super::{
    admission::{self, Admitted},
    endpoint::{Endpoint, media_type},
    exchange::first_event,
    socket::Shutdown,
    validation::{self, Judged},
};
use crate::{
    error::{Error, binary_details},
    operation::Operation,
    service::{A2aService, Call, EventStream},
    v1::{
        AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
        GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
    },
    version::EXTENSIONS_HEADER,
};

use stubs::a2a_service_server::{A2aService as GrpcService, A2aServiceServer};

/// What stands before a message in a body: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// Answers one call. Every A2A request is one message, so it is read whole, under the same limits as
/// on the other bindings, before anything is decoded.
pub(super) async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    if !media_type(&parts.headers).starts_with("application/grpc") {
        let message = "this is a gRPC method; send application/grpc over HTTP/2\n";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, message).into_response();
    }
    let body = match endpoint.read(body).await {
        Ok(body) => body,
        Err(refusal) => return status(&refusal.error).into_http::<axum::body::Body>(),
    };
    let most = endpoint.limits.max_body_bytes.saturating_sub(PREFIX_BYTES);
    let mut server = A2aServiceServer::new(Agent(endpoint)).max_decoding_message_size(most);
    let request = http::Request::from_parts(parts, Full::new(body));
    match server.call(request).await {
        Ok(response) => response.map(axum::body::Body::new),
        Err(never) => match never {},
    }
}

/// Writes an error as a gRPC status with its details (A2A §10.6).
fn status(error: &Error) -> Status {
    let code = Code::from_i32(error.kind.row().grpc as i32);
    Status::with_details(code, &error.message, binary_details(error).into())
}

struct Agent(Arc<Endpoint>);

type Reply<T> = Result<tonic::Response<T>, Status>;
type Events = BoxStream<'static, Result<StreamResponse, Status>>;

impl Agent {
    fn admit<R: Judged>(
        &self,
        operation: Operation,
        request: tonic::Request<R>,
    ) -> Result<(Admitted, R), Error> {
        let (metadata, context, request) = request.into_parts();
        let headers = metadata.into_headers();
        let version = admission::version(&headers, None)?;
        let service = &*self.0.service;
        let admitted = admission::admit(service, operation, version, &request, headers, context)?;
        validation::validate(&request)?;
        Ok((admitted, request))
    }

    /// Answers with one message.
    async fn unary<R: Judged, T>(
        &self,
        operation: Operation,
        request: tonic::Request<R>,
        call: impl for<'c> FnOnce(&'c dyn A2aService, &'c Call, R) -> BoxFuture<'c, Result<T, Error>>,
    ) -> Reply<T> {
        let (admitted, request) = self.admit(operation, request).map_err(|error| status(&error))?;
        let result = call(&*self.0.service, &admitted.call, request).await;
        Ok(reply(result.map_err(|error| status(&error))?, admitted.granted))
    }

    /// Answers with a stream of events, unless an error comes first.
    async fn stream<R: Judged>(
        &self,
        operation: Operation,
        request: tonic::Request<R>,
        call: impl for<'c> FnOnce(
            &'c dyn A2aService,
            &'c Call,
            R,
        ) -> BoxFuture<'c, Result<EventStream, Error>>,
    ) -> Reply<Events> {
        let shutdown = request.extensions().get::<Shutdown>().cloned();
        let opened = async {
            let (admitted, request) = self.admit(operation, request)?;
            let mut events = call(&*self.0.service, &admitted.call, request).await?;
            let first = first_event(&mut events, &self.0).await?;
            Ok((first, events, admitted.granted))
        };
        let (first, events, granted) = opened.await.map_err(|error| status(&error))?;
        let events = stream::iter(first.map(Ok)).chain(events);
        let events = events.map(|event| event.map_err(|error| status(&error)));
        let events = match shutdown {
            Some(Shutdown(token)) => events.take_until(token.cancelled_owned()).boxed(),
            None => events.boxed(),
        };
        Ok(reply(events, granted))
    }
}

fn reply<T>(message: T, granted: Option<HeaderValue>) -> tonic::Response<T> {
    let mut reply = tonic::Response::new(message);
    if let Some(granted) = granted {
        let headers = HeaderMap::from_iter([(EXTENSIONS_HEADER, granted)]);
        *reply.metadata_mut() = MetadataMap::from_headers(headers);
    }
    reply
}

#[tonic::async_trait]
impl GrpcService for Agent {
    type SendStreamingMessageStream = Events;
    type SubscribeToTaskStream = Events;

    async fn send_message(
        &self,
        request: tonic::Request<SendMessageRequest>,
    ) -> Reply<SendMessageResponse> {
        self.unary(Operation::SendMessage, request, |service, call, request| {
            service.send_message(call, request)
        })
        .await
    }

    async fn send_streaming_message(
        &self,
        request: tonic::Request<SendMessageRequest>,
    ) -> Reply<Events> {
        self.stream(Operation::SendStreamingMessage, request, |service, call, request| {
            service.send_streaming_message(call, request)
        })
        .await
    }

    async fn get_task(&self, request: tonic::Request<GetTaskRequest>) -> Reply<Task> {
        self.unary(Operation::GetTask, request, |service, call, request| {
            service.get_task(call, request)
        })
        .await
    }

    async fn list_tasks(
        &self,
        request: tonic::Request<ListTasksRequest>,
    ) -> Reply<ListTasksResponse> {
        self.unary(Operation::ListTasks, request, |service, call, request| {
            service.list_tasks(call, request)
        })
        .await
    }

    async fn cancel_task(&self, request: tonic::Request<CancelTaskRequest>) -> Reply<Task> {
        self.unary(Operation::CancelTask, request, |service, call, request| {
            service.cancel_task(call, request)
        })
        .await
    }

    async fn subscribe_to_task(
        &self,
        request: tonic::Request<SubscribeToTaskRequest>,
    ) -> Reply<Events> {
        self.stream(Operation::SubscribeToTask, request, |service, call, request| {
            service.subscribe_to_task(call, request)
        })
        .await
    }

    async fn create_task_push_notification_config(
        &self,
        request: tonic::Request<TaskPushNotificationConfig>,
    ) -> Reply<TaskPushNotificationConfig> {
        let operation = Operation::CreateTaskPushNotificationConfig;
        self.unary(operation, request, |service, call, request| {
            service.create_task_push_notification_config(call, request)
        })
        .await
    }

    async fn get_task_push_notification_config(
        &self,
        request: tonic::Request<GetTaskPushNotificationConfigRequest>,
    ) -> Reply<TaskPushNotificationConfig> {
        let operation = Operation::GetTaskPushNotificationConfig;
        self.unary(operation, request, |service, call, request| {
            service.get_task_push_notification_config(call, request)
        })
        .await
    }

    async fn list_task_push_notification_configs(
        &self,
        request: tonic::Request<ListTaskPushNotificationConfigsRequest>,
    ) -> Reply<ListTaskPushNotificationConfigsResponse> {
        let operation = Operation::ListTaskPushNotificationConfigs;
        self.unary(operation, request, |service, call, request| {
            service.list_task_push_notification_configs(call, request)
        })
        .await
    }

    async fn delete_task_push_notification_config(
        &self,
        request: tonic::Request<DeleteTaskPushNotificationConfigRequest>,
    ) -> Reply<()> {
        let operation = Operation::DeleteTaskPushNotificationConfig;
        self.unary(operation, request, |service, call, request| {
            service.delete_task_push_notification_config(call, request)
        })
        .await
    }

    async fn get_extended_agent_card(
        &self,
        request: tonic::Request<GetExtendedAgentCardRequest>,
    ) -> Reply<AgentCard> {
        self.unary(Operation::GetExtendedAgentCard, request, |service, call, request| {
            service.get_extended_agent_card(call, request)
        })
        .await
    }
}
