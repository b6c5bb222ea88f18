//! A call of one of the JSON bindings, from the decoded operation to the answer.

use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, future::BoxFuture};
use http::{HeaderName, HeaderValue, header, request::Parts};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    admission::{self, Admitted},
    endpoint::Endpoint,
    frames,
    framing::Framing,
    socket::Shutdown,
    validation::{self, Judged},
};
use crate::{
    error::{Error, without_position},
    operation::Operation,
    service::{A2aService, Call, EventStream},
    v1::StreamResponse,
    version::{EXTENSIONS_HEADER, Version},
};

/// Where a request's fields come from.
pub(super) trait Fields {
    /// Decodes the request.
    fn read<R: Judged>(&self) -> Result<R, Error>;
}

/// A call whose operation is known and whose request is not decoded yet.
pub(super) struct Exchange<'a, F> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) operation: Operation,
    pub(super) version: Version,
    pub(super) parts: Parts,
    pub(super) fields: F,
    pub(super) framing: &'a Framing,
}

impl<F: Fields> Exchange<'_, F> {
    /// Calls the service and answers.
    pub(super) async fn answer(self) -> Result<Response, Error> {
        use Operation as O;
        match self.operation {
            O::SendMessage => {
                self.unary(|service, call, request| service.send_message(call, request)).await
            }
            O::SendStreamingMessage => {
                self.stream(|service, call, request| service.send_streaming_message(call, request))
                    .await
            }
            O::GetTask => {
                self.unary(|service, call, request| service.get_task(call, request)).await
            }
            O::ListTasks => {
                self.unary(|service, call, request| service.list_tasks(call, request)).await
            }
            O::CancelTask => {
                self.unary(|service, call, request| service.cancel_task(call, request)).await
            }
            O::SubscribeToTask => {
                self.stream(|service, call, request| service.subscribe_to_task(call, request)).await
            }
            O::CreateTaskPushNotificationConfig => {
                self.unary(|service, call, request| {
                    service.create_task_push_notification_config(call, request)
                })
                .await
            }
            O::GetTaskPushNotificationConfig => {
                self.unary(|service, call, request| {
                    service.get_task_push_notification_config(call, request)
                })
                .await
            }
            O::ListTaskPushNotificationConfigs => {
                self.unary(|service, call, request| {
                    service.list_task_push_notification_configs(call, request)
                })
                .await
            }
            O::DeleteTaskPushNotificationConfig => {
                self.unary(|service, call, request| {
                    let deleted = service.delete_task_push_notification_config(call, request);
                    Box::pin(async move { deleted.await.map(|()| Empty {}) })
                })
                .await
            }
            O::GetExtendedAgentCard => {
                self.unary(|service, call, request| service.get_extended_agent_card(call, request))
                    .await
            }
        }
    }

    fn admit<R: Judged>(self) -> Result<(Admitted, R), Error> {
        let request: R = self.fields.read()?;
        let admitted = admission::admit(
            &*self.endpoint.service,
            self.operation,
            self.version,
            &request,
            self.parts.headers,
            self.parts.extensions,
        )?;
        validation::validate(&request)?;
        Ok((admitted, request))
    }

    /// Answers with one JSON document.
    async fn unary<R: Judged, T: Serialize>(
        self,
        call: impl for<'c> FnOnce(&'c dyn A2aService, &'c Call, R) -> BoxFuture<'c, Result<T, Error>>,
    ) -> Result<Response, Error> {
        let (endpoint, framing) = (self.endpoint, self.framing);
        let (admitted, request) = self.admit::<R>()?;
        let result = call(&*endpoint.service, &admitted.call, request).await?;
        let mut body = Vec::with_capacity(256);
        framing.write_success(&mut body, &result)?;
        let headers = [(header::CONTENT_TYPE, framing.content_type())];
        Ok(with_extensions((headers, body).into_response(), admitted.granted))
    }

    /// Answers with a stream of events, unless an error comes first.
    async fn stream<R: Judged>(
        self,
        call: impl for<'c> FnOnce(
            &'c dyn A2aService,
            &'c Call,
            R,
        ) -> BoxFuture<'c, Result<EventStream, Error>>,
    ) -> Result<Response, Error> {
        let (endpoint, framing) = (self.endpoint, self.framing);
        let shutdown = self.parts.extensions.get::<Shutdown>().cloned();
        let (admitted, request) = self.admit::<R>()?;
        let mut events = call(&*endpoint.service, &admitted.call, request).await?;
        let keep_alive = endpoint.limits.keep_alive;
        let first = first_event(&mut events, endpoint).await?;
        let body = frames::body(framing.clone(), first, events, keep_alive, shutdown);
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            // Asks buffering proxies to pass each event on at once.
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        Ok(with_extensions((headers, body).into_response(), admitted.granted))
    }
}

/// Waits for the first event, because an error before it is answered without a stream. One that is
/// long in coming is not waited for beyond the keep-alive time: the answer begins without it.
pub(super) async fn first_event(
    events: &mut EventStream,
    endpoint: &Endpoint,
) -> Result<Option<StreamResponse>, Error> {
    match tokio::time::timeout(endpoint.limits.keep_alive, events.next()).await {
        Ok(Some(first)) => first.map(Some),
        Ok(None) => Err(Error::internal("the agent ended the stream before its first event")),
        Err(_) => Ok(None),
    }
}

fn with_extensions(mut response: Response, granted: Option<HeaderValue>) -> Response {
    if let Some(granted) = granted {
        response.headers_mut().insert(EXTENSIONS_HEADER, granted);
    }
    response
}

/// Decodes JSON fields. Only when that fails, a second pass finds the field that is wrong; `whole`
/// names what is wrong when no field is.
pub(super) fn decode<R: DeserializeOwned>(json: &[u8], whole: &str) -> Result<R, Error> {
    serde_json::from_slice(json).map_err(|first| {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let Err(error) = serde_path_to_error::deserialize::<_, R>(&mut deserializer) else {
            return Error::invalid_field(whole, without_position(&first));
        };
        wrong_field(&error, whole)
    })
}

/// Names the field that cannot be decoded.
pub(super) fn wrong_field(
    error: &serde_path_to_error::Error<serde_json::Error>,
    whole: &str,
) -> Error {
    let path = error.path().to_string();
    let field = if path == "." { whole.to_owned() } else { path };
    Error::invalid_field(field, without_position(error.inner()))
}

/// What there is to say of a deletion.
#[derive(Serialize)]
struct Empty {}
