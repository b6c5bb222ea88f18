//! The gRPC binding as a client (A2A §10): tonic's codec over the guarded HTTP client.

use std::{
    error::Error as StdError,
    task::{Context, Poll},
    time::Duration,
};

use ::http::{StatusCode, Uri, header, uri::PathAndQuery};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use reqwest::Response;
use tonic::{
    Code, Status, Streaming, body::Body, client::Grpc, codegen::Service, metadata::MetadataMap,
};
use tonic_prost::ProstCodec;
use url::Url;

use super::{
    ClientError,
    call::Call,
    events::Source,
    http::{content_type, excerpt, retry_after},
};
use crate::{
    auth::Proof,
    error::{Error, ErrorKind, parse_binary_details},
    outbound::{Outbound, OutboundError, deepest, read_capped},
    request::Request,
    v1::StreamResponse,
    version::{EXTENSIONS_HEADER, VERSION_HEADER},
};

const SERVICE: &str = "lf.a2a.v1.A2AService";

/// How much of an answer that is not gRPC is read, to show its start.
const STRANGE_BYTES: usize = 4096;

/// Returns the URL of a gRPC address: `host:port`, as A2A writes them, means h2c, except on the port
/// of https; a URL stays what it is.
pub(super) fn address(written: &str) -> String {
    match written {
        url if url.contains("://") => url.to_owned(),
        secure if secure.ends_with(":443") => format!("https://{secure}"),
        plain => format!("http://{plain}"),
    }
}

/// Calls and reads one message.
pub(super) async fn unary<R: Request, T>(call: &Call, request: R) -> Result<T, ClientError>
where
    T: prost::Message + Default + 'static,
{
    let mut client = client(call, call.client.limits.max_response_bytes)?;
    let codec = ProstCodec::<R, T>::default();
    let answered = client.unary(outgoing(call, request), path(call), codec).await;
    Ok(answered.map_err(|status| failure(call, &status, false))?.into_inner())
}

/// Calls and opens a stream of events.
pub(super) async fn stream<R: Request>(call: &Call, request: R) -> Result<Source, ClientError> {
    let mut client = client(call, call.client.limits.max_event_bytes)?;
    let codec = ProstCodec::<R, StreamResponse>::default();
    let answered = client.server_streaming(outgoing(call, request), path(call), codec).await;
    let answered = answered.map_err(|status| failure(call, &status, false))?;
    Ok(Source::Grpc(Box::new(answered.into_inner())))
}

/// Waits for the next event.
pub(super) async fn next(
    call: &Call,
    events: &mut Streaming<StreamResponse>,
) -> Result<Option<StreamResponse>, ClientError> {
    events.message().await.map_err(|status| failure(call, &status, true))
}

fn client(call: &Call, max_bytes: usize) -> Result<Grpc<Channel>, ClientError> {
    let (outbound, url) = (call.client.outbound.clone(), call.client.url.clone());
    let origin: Uri =
        call.url().trim_end_matches('/').parse().map_err(|error: ::http::uri::InvalidUri| {
            call.transport(&OutboundError::Url {
                url: call.url().to_owned(),
                why: error.to_string(),
            })
        })?;
    let channel = Channel { call: call.clone(), outbound, url };
    Ok(Grpc::with_origin(channel, origin).max_decoding_message_size(max_bytes))
}

fn path(call: &Call) -> PathAndQuery {
    let path = format!("/{SERVICE}/{}", call.operation.method());
    PathAndQuery::try_from(path).expect("the table's names make a path")
}

fn outgoing<R>(call: &Call, message: R) -> tonic::Request<R> {
    let mut headers = call.client.headers.clone();
    headers.insert(VERSION_HEADER, call.client.version.clone());
    if let Some(extensions) = &call.client.extensions {
        headers.insert(EXTENSIONS_HEADER, extensions.clone());
    }
    if let Some(authorization) = &call.client.authorization {
        headers.insert(header::AUTHORIZATION, authorization.clone());
    }
    let mut request = tonic::Request::new(message);
    *request.metadata_mut() = MetadataMap::from_headers(headers);
    request
}

/// Carries tonic's requests over the guarded client.
struct Channel {
    call: Call,
    outbound: Outbound,
    /// The interface's, which errors name.
    url: Url,
}

/// Why there is no gRPC answer; travels inside tonic's status.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Outbound(#[from] OutboundError),
    #[error("there is no proof for the call")]
    Unproven(Box<ClientError>),
    #[error("the answer is not gRPC")]
    Strange {
        status: StatusCode,
        content_type: String,
        retry_after: Option<Duration>,
        excerpt: String,
    },
}

impl Service<::http::Request<Body>> for Channel {
    type Response = ::http::Response<reqwest::Body>;
    type Error = Box<dyn StdError + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    /// Every A2A request is one message, so it is sent as one piece.
    fn call(&mut self, request: ::http::Request<Body>) -> Self::Future {
        let channel = Channel {
            call: self.call.clone(),
            outbound: self.outbound.clone(),
            url: self.url.clone(),
        };
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body: Bytes = body.collect().await?.to_bytes();
            let response = channel.send(::http::Request::from_parts(parts, body)).await?;
            if content_type(response.headers()).starts_with("application/grpc") {
                return Ok(response.into());
            }
            Err(strange(response, &channel.call).await.into())
        })
    }
}

impl Channel {
    /// As the JSON bindings do: with what the call has to carry, and once more when that is refused.
    async fn send(&self, request: ::http::Request<Bytes>) -> Result<Response, Failure> {
        let unproven = |error| Failure::Unproven(Box::new(error));
        let Some(proof) = self.call.proof().await.map_err(unproven)? else {
            return Ok(self.outbound.send_http2(&self.url, request).await?);
        };
        let response = self.send_with(request.clone(), &proof).await?;
        if !is_refusal(&response) {
            return Ok(response);
        }
        match self.call.other_proof(&proof).await.map_err(unproven)? {
            Some(proof) => self.send_with(request, &proof).await,
            None => Ok(response),
        }
    }

    async fn send_with(
        &self,
        mut request: ::http::Request<Bytes>,
        proof: &Proof,
    ) -> Result<Response, Failure> {
        proof.apply_as_metadata(request.headers_mut());
        Ok(proof.outbound(&self.outbound).send_http2(&self.url, request).await?)
    }
}

/// Tells whether the agent, or something in front of it, wants another proof. An agent that refuses
/// before it does anything says so in the head of its answer.
fn is_refusal(response: &Response) -> bool {
    let status = response.headers().get("grpc-status");
    response.status() == StatusCode::UNAUTHORIZED || status.is_some_and(|status| status == "16")
}

async fn strange(response: Response, call: &Call) -> Failure {
    let (status, url) = (response.status(), response.url().clone());
    let (kind, after) = (content_type(response.headers()), retry_after(response.headers()));
    let body = read_capped(&url, response, STRANGE_BYTES).await.unwrap_or_default();
    let body = call.hidden().body(body);
    Failure::Strange { status, content_type: kind, retry_after: after, excerpt: excerpt(&body) }
}

/// Says what a status means: one of our own making by what is inside or by tonic's words, one of the
/// agent's by the reason in its details, then by its code. An open stream has been answered.
fn failure(call: &Call, status: &Status, is_open: bool) -> ClientError {
    let broken = |why: String| {
        let error = OutboundError::Broken { url: call.url().to_owned(), why };
        ClientError::transport(call.operation, &error, is_open)
    };
    match cause::<Failure>(status) {
        // Our side found that the other does not write HTTP/2.
        Some(Failure::Outbound(OutboundError::Broken { why, .. }))
            if why.starts_with("connection error detected") =>
        {
            return call.misdirected(&format!("it does not speak HTTP/2 ({why})"));
        }
        Some(Failure::Outbound(error)) => return call.transport(error),
        Some(Failure::Unproven(error)) => return (**error).clone(),
        Some(Failure::Strange { status, content_type, retry_after, excerpt }) => {
            return unlike_grpc(call, *status, content_type, *retry_after, excerpt);
        }
        None => {}
    }
    if let Some(error) = cause::<reqwest::Error>(status) {
        return broken(deepest(error));
    }
    match status.message() {
        said if said.starts_with("protocol error: missing grpc-status") => {
            broken("it ended without a status".to_owned())
        }
        said if status.details().is_empty() && OURS.iter().any(|words| said.contains(words)) => {
            call.invalid(said)
        }
        _ => remote(call, status),
    }
}

/// How tonic's words begin for answers that cannot be read.
const OURS: [&str; 3] =
    ["message length too large", "failed to decode Protobuf message: ", "protocol error: "];

fn remote(call: &Call, status: &Status) -> ClientError {
    let code = status.code() as i32;
    let of_code = match status.code() {
        Code::Cancelled => Some(ErrorKind::Unavailable),
        _ => ErrorKind::from_grpc(code, call.operation),
    };
    let mut error = Error::new(of_code.unwrap_or(ErrorKind::Internal), status.message());
    let is_known = parse_binary_details(&mut error, status.details()) || of_code.is_some();
    let error = ClientError::remote(call.operation, call.url(), code.into(), is_known, error);
    // Said by every gRPC server of a service or method that it does not have.
    let is_missing = status.code() == Code::Unimplemented && status.details().is_empty();
    if is_missing { error.untaken() } else { error }
}

/// An answer without gRPC's content type: a proxy's status, or another binding.
fn unlike_grpc(
    call: &Call,
    status: StatusCode,
    content_type: &str,
    retry_after: Option<Duration>,
    excerpt: &str,
) -> ClientError {
    if !matches!(status.as_u16(), 200 | 400 | 404 | 405 | 415) {
        return ClientError::status(call.operation, call.place(), status, retry_after, excerpt);
    }
    let kind = if content_type.is_empty() { "without a content type" } else { content_type };
    call.misdirected(&format!("it answered HTTP {status}, {kind}, and not gRPC"))
}

/// Finds an error of a type among the causes of a status.
fn cause<E: StdError + 'static>(status: &Status) -> Option<&E> {
    let mut next = status.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn addresses_are_plain_unless_they_say_or_mean_https() {
        let table = [
            ("127.0.0.1:9101", "http://127.0.0.1:9101"),
            ("[::1]:9101", "http://[::1]:9101"),
            ("agent.example:443", "https://agent.example:443"),
            ("agent.example:8443", "http://agent.example:8443"),
            ("https://agent.example:8443", "https://agent.example:8443"),
            ("http://agent.example:443", "http://agent.example:443"),
        ];
        for (written, url) in table {
            assert_eq!(address(written), url);
        }
    }
}
