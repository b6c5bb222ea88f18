//! One call, whatever the binding: its deadline, and what its failures are called.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use super::{ClientError, ClientStream, Inner, checks::StreamCheck, events, grpc};
use crate::{
    auth::Repeated, card::Binding, dialect::Dialect, operation::Operation, outbound::OutboundError,
    request::Request, v1::StreamResponse,
};

/// One call: an operation and, for JSON-RPC, the id its answer must carry.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) client: Arc<Inner>,
    pub(super) operation: Operation,
    pub(super) id: u64,
    /// The context that was asked for, where the answers of a dialect do not tell it.
    pub(super) context: String,
}

/// How an agent answered a call for a stream.
pub(super) enum Opened {
    /// With events.
    Events(events::Source),
    /// With one JSON document.
    One(Box<StreamResponse>),
}

impl Call {
    /// Calls and reads one answer, within the deadline.
    pub(super) async fn unary<R: Request, T>(
        &self,
        mut request: R,
        timeout: Duration,
    ) -> Result<T, ClientError>
    where
        T: prost::Message + Serialize + DeserializeOwned + Default + 'static,
    {
        self.client.put_tenant(request.tenant_mut());
        let call = self.clone().about(&request);
        let answer = async {
            match self.client.interface.binding {
                Binding::Grpc => {
                    let answer = grpc::unary(self, request).await?;
                    self.hidden().message(answer).map_err(|it| self.repeated(&it))
                }
                Binding::JsonRpc | Binding::HttpJson => call.unary_json(request).await,
            }
        };
        let answered = tokio::time::timeout(timeout, answer).await;
        let answered = answered.unwrap_or_else(|_| Err(self.timeout(timeout)));
        answered.map_err(|error| self.advised(error))
    }

    /// Calls and opens the stream of events of a Task that was asked for, or of a new one where the name is
    /// empty; only its beginning is under the deadline.
    pub(super) async fn stream<R: Request>(
        self,
        mut request: R,
        asked: String,
        timeout: Duration,
    ) -> Result<ClientStream, ClientError> {
        self.client.put_tenant(request.tenant_mut());
        let begins_task = asked.is_empty();
        let mut check = StreamCheck::new(asked);
        let call = self.about(&request);
        let opened = async {
            match call.client.interface.binding {
                Binding::Grpc => grpc::stream(&call, request).await.map(Opened::Events),
                Binding::JsonRpc | Binding::HttpJson => call.stream_json(request).await,
            }
        };
        let started = Instant::now();
        match tokio::time::timeout(timeout, opened).await {
            Err(_) => Err(call.timeout(timeout)),
            Ok(Err(error)) => Err(call.advised(error)),
            Ok(Ok(Opened::Events(source))) => {
                let left = timeout.saturating_sub(started.elapsed());
                // Of a Task that is known, an agent that falls silent can be asked.
                let left = if begins_task { left } else { Duration::ZERO };
                Ok(events::follow(call, source, check, left))
            }
            Ok(Ok(Opened::One(event))) => {
                check.event(&event).map_err(|why| call.invalid(&why))?;
                Ok(ClientStream::of_one(*event))
            }
        }
    }

    /// Notes what the answers will be about.
    fn about<R: Request>(self, request: &R) -> Call {
        match self.client.dialect {
            Some(Dialect::V0_1) => Call { context: request.context_id().to_owned(), ..self },
            _ => self,
        }
    }

    pub(super) fn url(&self) -> &str {
        self.client.url.as_str()
    }

    pub(super) fn invalid(&self, why: &str) -> ClientError {
        ClientError::invalid(self.operation, self.url(), why)
    }

    /// An answer in which the agent repeats a secret where it cannot be taken out.
    pub(super) fn repeated(&self, repeated: &Repeated) -> ClientError {
        self.invalid(&match repeated {
            Repeated::Bytes => "it repeats a credential of this call".to_owned(),
            Repeated::Id(id) => format!(
                "it repeats a credential of this call in `{id}`, and what it means by that could neither be kept nor asked for"
            ),
        })
    }

    /// The answer is of another binding than the call.
    pub(super) fn misdirected(&self, found: &str) -> ClientError {
        ClientError::misdirected(self.operation, self.place(), found)
    }

    /// The address that is called, and as what.
    pub(super) fn place(&self) -> (&str, Binding) {
        (self.url(), self.client.interface.binding)
    }

    pub(super) fn transport(&self, error: &OutboundError) -> ClientError {
        ClientError::transport(self.operation, error, false)
    }

    fn timeout(&self, after: Duration) -> ClientError {
        ClientError::timeout(self.operation, self.url(), after)
    }
}
