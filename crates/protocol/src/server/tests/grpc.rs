//! gRPC on the wire: what stands in headers and trailers.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt;
use prost::Message as _;

use super::agent;
use crate::{
    echo::{self, Echo, Running, TASK, says},
    limits::ServerLimits,
    outbound::{Outbound, Policy},
    v1::{GetTaskRequest, StreamResponse, Task},
};

/// One message as it stands in a body.
pub(super) fn framed(message: &impl prost::Message) -> Bytes {
    let mut body = BytesMut::new();
    body.put_u8(0);
    body.put_u32(u32::try_from(message.encoded_len()).expect("test messages are small"));
    message.encode(&mut body).expect("a buffer takes all");
    body.freeze()
}

pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) trailers: HeaderMap,
}

impl Answer {
    /// What gRPC says of the end, wherever it stands, with the details byte by byte.
    fn end(&self) -> String {
        let find = |name: &str| self.trailers.get(name).or_else(|| self.headers.get(name));
        let text = |name| find(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
        let details = base64::Engine::decode(
            &base64::engine::general_purpose::STANDARD_NO_PAD,
            find("grpc-status-details-bin").map_or(&b""[..], |value| value.as_bytes()),
        );
        let details = details.expect("details are base64 without padding");
        format!("{} {} {}", text("grpc-status"), text("grpc-message"), details.escape_ascii())
    }
}

pub(super) async fn call(
    agent: &Running,
    method: &str,
    version: Option<&str>,
    body: Bytes,
) -> Answer {
    let mut request = http::Request::post(format!("{}lf.a2a.v1.A2AService/{method}", agent.url))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    if let Some(version) = version {
        request = request.header("a2a-version", version);
    }
    request = request.header("a2a-extensions", "urn:x,urn:y");
    let outbound = Outbound::new(Policy::loopback()).expect("a client can be built");
    let url = agent.url.parse().expect("a URL");
    let request = request.body(body).expect("a request");
    let response = outbound.send_http2(&url, request).await.expect("an answer");
    let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
    assert_eq!(parts.status, 200);
    let collected = body.collect().await.expect("a body");
    let trailers = collected.trailers().cloned().unwrap_or_default();
    Answer { headers: parts.headers, body: collected.to_bytes(), trailers }
}

fn get(id: &str) -> Bytes {
    framed(&GetTaskRequest { id: id.to_owned(), ..GetTaskRequest::default() })
}

#[tokio::test]
async fn a_call_is_answered_with_one_message_and_status_0() {
    let echo = Arc::new(Echo::with_extension("urn:x", false));
    let agent = echo::serve(echo, ServerLimits::default()).await;
    let answer = call(&agent, "GetTask", Some("1.0"), get(TASK)).await;
    assert_eq!(answer.headers["content-type"], "application/grpc");
    assert_eq!(answer.headers["a2a-extensions"], "urn:x");
    assert_eq!(answer.trailers["grpc-status"], "0");
    let task = Task::decode(&answer.body[5..]).expect("a task");
    assert_eq!(task.id, TASK);
}

#[tokio::test]
async fn events_are_messages_and_an_error_ends_them_in_the_trailers() {
    let agent = agent().await;
    let answer =
        call(&agent, "SendStreamingMessage", Some("1.0"), framed(&says("late error"))).await;
    assert!(answer.headers.get("grpc-status").is_none());
    let event = StreamResponse::decode(&answer.body[5..]).expect("one event");
    assert_eq!(event.task_id(), TASK);
    insta::assert_snapshot!(answer.end(), @r"14 gone \x08\x0e\x12\x04gone\x1aB\n(type.googleapis.com/google.rpc.ErrorInfo\x12\x16\n\x0bUNAVAILABLE\x12\x07convoke");
}

#[tokio::test]
async fn errors_are_a_status_with_details() {
    let agent = agent().await;
    let lines = [
        call(&agent, "GetTask", Some("1.0"), get("no")).await.end(),
        call(&agent, "GetTask", Some("1.0"), get("")).await.end(),
        call(&agent, "SendMessage", Some("1.0"), framed(&says("RESOURCE_EXHAUSTED"))).await.end(),
        call(&agent, "SendStreamingMessage", Some("1.0"), framed(&says("early error"))).await.end(),
        call(&agent, "GetTask", None, get(TASK)).await.end(),
        call(&agent, "GetTask", Some("0.3"), get(TASK)).await.end(),
        call(&agent, "GetTask", Some("1.0"), Bytes::from_static(b"\0\0\0\0\x02\x12\x7f"))
            .await
            .end(),
        call(&agent, "CreateTaskPushNotificationConfig", Some("1.0"), get(TASK)).await.end(),
        call(&agent, "NoSuchMethod", Some("1.0"), get(TASK)).await.end(),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    5 there%20is%20no%20task%20%22no%22%20here \x08\x05\x12\x1athere is no task \"no\" here\x1a\\\n(type.googleapis.com/google.rpc.ErrorInfo\x120\n\x0eTASK_NOT_FOUND\x12\x10a2a-protocol.org\x1a\x0c\n\x06taskId\x12\x02no
    3 invalid%20parameters:%20id:%20is%20required \x08\x03\x12#invalid parameters: id: is required\x1aE\n(type.googleapis.com/google.rpc.ErrorInfo\x12\x19\n\x0eINVALID_PARAMS\x12\x07convoke\x1a@\n)type.googleapis.com/google.rpc.BadRequest\x12\x13\n\x11\n\x02id\x12\x0bis required
    8 as%20you%20wish \x08\x08\x12\x0bas you wish\x1a[\n(type.googleapis.com/google.rpc.ErrorInfo\x12/\n\x12RESOURCE_EXHAUSTED\x12\x07convoke\x1a\x10\n\x06taskId\x12\x06task-1\x1a6\n(type.googleapis.com/google.rpc.RetryInfo\x12\n\n\x08\x08\x01\x10\x80\xca\xb5\xee\x01
    5 there%20is%20no%20task%20%22task-1%22%20here \x08\x05\x12\x1ethere is no task \"task-1\" here\x1a`\n(type.googleapis.com/google.rpc.ErrorInfo\x124\n\x0eTASK_NOT_FOUND\x12\x10a2a-protocol.org\x1a\x10\n\x06taskId\x12\x06task-1
    9 a%20request%20without%20the%20A2A-Version%20header%20means%20version%200.3,%20which%20is%20not%20served%20here;%20send%20%22A2A-Version:%201.0%22 \x08\t\x12ma request without the A2A-Version header means version 0.3, which is not served here; send \"A2A-Version: 1.0\"\x1ao\n(type.googleapis.com/google.rpc.ErrorInfo\x12C\n\x15VERSION_NOT_SUPPORTED\x12\x10a2a-protocol.org\x1a\x18\n\x11supportedVersions\x12\x031.0
    9 version%200.3%20is%20not%20served%20here;%20this%20interface%20speaks%201.0 \x08\t\x129version 0.3 is not served here; this interface speaks 1.0\x1ao\n(type.googleapis.com/google.rpc.ErrorInfo\x12C\n\x15VERSION_NOT_SUPPORTED\x12\x10a2a-protocol.org\x1a\x18\n\x11supportedVersions\x12\x031.0
    3 invalid%20parameters:%20request:%20cannot%20be%20decoded:%20failed%20to%20decode%20Protobuf%20message:%20GetTaskRequest.id:%20buffer%20underflow \x08\x03\x12vinvalid parameters: request: cannot be decoded: failed to decode Protobuf message: GetTaskRequest.id: buffer underflow\x1aE\n(type.googleapis.com/google.rpc.ErrorInfo\x12\x19\n\x0eINVALID_PARAMS\x12\x07convoke\x1a\x93\x01\n)type.googleapis.com/google.rpc.BadRequest\x12f\nd\n\x07request\x12Ycannot be decoded: failed to decode Protobuf message: GetTaskRequest.id: buffer underflow
    9 CreateTaskPushNotificationConfig%20is%20not%20supported:%20this%20agent%20sends%20no%20push%20notifications \x08\t\x12YCreateTaskPushNotificationConfig is not supported: this agent sends no push notifications\x1a_\n(type.googleapis.com/google.rpc.ErrorInfo\x123\n\x1fPUSH_NOTIFICATION_NOT_SUPPORTED\x12\x10a2a-protocol.org
    12 -
    "#);
}

#[tokio::test]
async fn what_is_not_grpc_is_told_so() {
    let answer = super::post_with(
        &agent().await,
        "/lf.a2a.v1.A2AService/GetTask",
        "Content-Type: application/json\r\n",
        "{}",
    )
    .await;
    insta::assert_snapshot!(answer, @r"
    HTTP/1.1 415 Unsupported Media Type
    content-type: text/plain; charset=utf-8
    content-length: 57
    connection: close

    this is a gRPC method; send application/grpc over HTTP/2
    ");
}
