//! The JSON-RPC binding (A2A §9): one POST route, answers as JSON or as an event stream.

mod envelope;
mod response;

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request as HttpRequest, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    admission::{self, Admitted},
    frames,
    socket::Shutdown,
    validation::{self, Request},
};
use crate::{
    error::{Error, ErrorKind, without_position},
    limits::ServerLimits,
    operation::Operation,
    service::{A2aService, Call, EventStream},
    version::{EXTENSIONS_HEADER, Version},
};

use envelope::Envelope;
use response::{failure, success};

pub(super) use response::{write_failure, write_success};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The JSON-RPC route of a service.
pub(super) struct Endpoint {
    service: Arc<dyn A2aService>,
    limits: ServerLimits,
}

/// Answers one request.
pub(super) async fn answer(
    State(endpoint): State<Arc<Endpoint>>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = match endpoint.read(&parts.headers, body).await {
        Ok(body) => body,
        Err((status, error)) => return (status, failure(RawValue::NULL, &error)).into_response(),
    };
    match Envelope::read(&body) {
        Ok(envelope) => {
            let answered = endpoint.dispatch(parts, &envelope).await;
            answered.unwrap_or_else(|error| failure(envelope.id, &error))
        }
        Err((id, error)) => failure(id, &error),
    }
}

impl Endpoint {
    pub(super) fn new(service: Arc<dyn A2aService>, limits: ServerLimits) -> Endpoint {
        Endpoint { service, limits }
    }

    /// Reads the body, within the limits.
    async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, (StatusCode, Error)> {
        check_content_type(headers)?;
        let limit = self.limits.max_body_bytes;
        let collected =
            tokio::time::timeout(self.limits.body_timeout, Limited::new(body, limit).collect())
                .await;
        match collected {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let message = format!("the request is larger than {limit} bytes (max_body_bytes)");
                Err((StatusCode::PAYLOAD_TOO_LARGE, Error::new(ErrorKind::InvalidRequest, message)))
            }
            Ok(Err(error)) => {
                let message = format!("the request could not be read: {error}");
                Err((StatusCode::BAD_REQUEST, Error::new(ErrorKind::InvalidRequest, message)))
            }
            Err(_) => {
                let message = format!(
                    "the request did not arrive within {:?} (body_timeout)",
                    self.limits.body_timeout
                );
                Err((StatusCode::REQUEST_TIMEOUT, Error::new(ErrorKind::DeadlineExceeded, message)))
            }
        }
    }

    async fn dispatch(&self, parts: Parts, envelope: &Envelope<'_>) -> Result<Response, Error> {
        use Operation as O;
        let version = admission::version(&parts)?;
        let operation = Operation::from_method(&envelope.method)
            .ok_or_else(|| unknown_method(&envelope.method))?;
        let call = Incoming { endpoint: self, operation, version, parts, envelope };
        match operation {
            O::SendMessage => {
                call.unary(|service, call, request| service.send_message(call, request)).await
            }
            O::SendStreamingMessage => {
                call.stream(|service, call, request| service.send_streaming_message(call, request))
                    .await
            }
            O::GetTask => {
                call.unary(|service, call, request| service.get_task(call, request)).await
            }
            O::ListTasks => {
                call.unary(|service, call, request| service.list_tasks(call, request)).await
            }
            O::CancelTask => {
                call.unary(|service, call, request| service.cancel_task(call, request)).await
            }
            O::SubscribeToTask => {
                call.stream(|service, call, request| service.subscribe_to_task(call, request)).await
            }
            O::CreateTaskPushNotificationConfig => {
                call.unary(|service, call, request| {
                    service.create_task_push_notification_config(call, request)
                })
                .await
            }
            O::GetTaskPushNotificationConfig => {
                call.unary(|service, call, request| {
                    service.get_task_push_notification_config(call, request)
                })
                .await
            }
            O::ListTaskPushNotificationConfigs => {
                call.unary(|service, call, request| {
                    service.list_task_push_notification_configs(call, request)
                })
                .await
            }
            O::DeleteTaskPushNotificationConfig => {
                call.unary(|service, call, request| {
                    let deleted = service.delete_task_push_notification_config(call, request);
                    Box::pin(async move { deleted.await.map(|()| Empty {}) })
                })
                .await
            }
            O::GetExtendedAgentCard => {
                call.unary(|service, call, request| service.get_extended_agent_card(call, request))
                    .await
            }
        }
    }
}

/// Refuses bodies that are not declared as JSON: a page of another site can make a browser post
/// anything else to an agent on this machine, but not that.
fn check_content_type(headers: &HeaderMap) -> Result<(), (StatusCode, Error)> {
    let written = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let media_type =
        written.unwrap_or("none").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = media_type == "application/json"
        || media_type.starts_with("application/") && media_type.ends_with("+json");
    if is_json {
        return Ok(());
    }
    let message = format!("the content type is {media_type}; send application/json");
    Err((
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Error::new(ErrorKind::ContentTypeNotSupported, message),
    ))
}

fn unknown_method(method: &str) -> Error {
    let message =
        format!("there is no method {method:?}; A2A 1.0 names them like SendMessage or GetTask");
    Error::new(ErrorKind::MethodNotFound, message)
}

/// A request whose method is known.
struct Incoming<'a> {
    endpoint: &'a Endpoint,
    operation: Operation,
    version: Version,
    parts: Parts,
    envelope: &'a Envelope<'a>,
}

impl Incoming<'_> {
    fn admit<R: Request>(self) -> Result<(Admitted, R), Error> {
        let request: R = decode(self.envelope.params)?;
        let admitted = admission::admit(
            &*self.endpoint.service,
            self.operation,
            self.version,
            &request,
            self.parts,
        )?;
        validation::validate(&request)?;
        Ok((admitted, request))
    }

    /// Answers with one JSON response.
    async fn unary<R: Request, T: Serialize>(
        self,
        call: impl for<'c> FnOnce(&'c dyn A2aService, &'c Call, R) -> BoxFuture<'c, Result<T, Error>>,
    ) -> Result<Response, Error> {
        let (endpoint, id) = (self.endpoint, self.envelope.id);
        let (admitted, request) = self.admit::<R>()?;
        let result = call(&*endpoint.service, &admitted.call, request).await?;
        let body = success(id, &result)?;
        Ok(with_extensions(
            ([(header::CONTENT_TYPE, JSON)], body).into_response(),
            admitted.granted,
        ))
    }

    /// Answers with a stream of events, unless an error comes first. A first event that is long in
    /// coming is not waited for beyond the keep-alive time: the answer begins without it.
    async fn stream<R: Request>(
        self,
        call: impl for<'c> FnOnce(
            &'c dyn A2aService,
            &'c Call,
            R,
        ) -> BoxFuture<'c, Result<EventStream, Error>>,
    ) -> Result<Response, Error> {
        let (endpoint, id) = (self.endpoint, self.envelope.id);
        let shutdown = self.parts.extensions.get::<Shutdown>().cloned();
        let (admitted, request) = self.admit::<R>()?;
        let mut events = call(&*endpoint.service, &admitted.call, request).await?;
        let keep_alive = endpoint.limits.keep_alive;
        let first = match tokio::time::timeout(keep_alive, events.next()).await {
            Ok(Some(first)) => Some(first?),
            Ok(None) => {
                return Err(Error::internal("the agent ended the stream before its first event"));
            }
            Err(_) => None,
        };
        let body = frames::body(id, first, events, keep_alive, shutdown);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            // Asks buffering proxies to pass each event on at once.
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        Ok(with_extensions((headers, body).into_response(), admitted.granted))
    }
}

fn with_extensions(mut response: Response, granted: Option<HeaderValue>) -> Response {
    if let Some(granted) = granted {
        response.headers_mut().insert(EXTENSIONS_HEADER, granted);
    }
    response
}

/// Decodes the parameters. Only when that fails, a second pass finds the field that is wrong.
fn decode<R: Request>(params: &RawValue) -> Result<R, Error> {
    serde_json::from_str(params.get()).map_err(|first| {
        let mut deserializer = serde_json::Deserializer::from_str(params.get());
        let Err(error) = serde_path_to_error::deserialize::<_, R>(&mut deserializer) else {
            return Error::invalid_field("params", without_position(&first));
        };
        let path = error.path().to_string();
        let field = if path == "." { "params".to_owned() } else { path };
        Error::invalid_field(field, without_position(error.inner()))
    })
}

#[derive(Serialize)]
struct Empty {}
