//! One call, whatever the binding: its deadline, and what its failures are called.

use std::{sync::Arc, time::Duration};

use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{ClientError, ClientStream, Inner, checks::StreamCheck, events, grpc};
use crate::{
    card::Binding, operation::Operation, outbound::OutboundError, request::Request,
    v1::StreamResponse,
};

/// One call: an operation and, for JSON-RPC, the id its answer must carry.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) client: Arc<Inner>,
    pub(super) operation: Operation,
    pub(super) id: u64,
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
        T: prost::Message + DeserializeOwned + Default + 'static,
    {
        self.client.put_tenant(request.tenant_mut());
        let answer = async {
            match self.client.interface.binding {
                Binding::Grpc => grpc::unary(self, request).await,
                Binding::JsonRpc | Binding::HttpJson => self.unary_json(request).await,
            }
        };
        tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| Err(self.timeout(timeout)))
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
        let opened = async {
            match self.client.interface.binding {
                Binding::Grpc => grpc::stream(&self, request).await.map(Opened::Events),
                Binding::JsonRpc | Binding::HttpJson => self.stream_json(request).await,
            }
        };
        let started = Instant::now();
        match tokio::time::timeout(timeout, opened).await {
            Err(_) => Err(self.timeout(timeout)),
            Ok(Err(error)) => Err(error),
            Ok(Ok(Opened::Events(source))) => {
                let left = timeout.saturating_sub(started.elapsed());
                // Of a Task that is known, an agent that falls silent can be asked.
                let left = if begins_task { left } else { Duration::ZERO };
                Ok(events::follow(self, source, check, left))
            }
            Ok(Ok(Opened::One(event))) => {
                check.event(&event).map_err(|why| self.invalid(&why))?;
                Ok(ClientStream::of_one(*event))
            }
        }
    }

    pub(super) fn url(&self) -> &str {
        self.client.url.as_str()
    }

    pub(super) fn invalid(&self, why: &str) -> ClientError {
        ClientError::invalid(self.operation, self.url(), why)
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
