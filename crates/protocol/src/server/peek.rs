//! A look into a request that is not answered yet, for layers in front of a router.

use http::Method;
use serde::Deserialize;

use super::{HTTP_JSON_PATH, rest::routes};
use crate::{operation::Operation, v1::SendMessageRequest};

/// What stands before a message in a gRPC body.
const PREFIX_BYTES: usize = 5;

#[derive(Deserialize)]
struct Envelope {
    method: String,
    params: SendMessageRequest,
}

/// Reads the Message of a POST that sends one, whichever binding it is for, and tells which of the
/// two operations it asks for. Nothing for any other request, and for those that cannot be read.
///
/// `path` and `body` are the request's, at the root of a [`super::router`].
#[must_use]
pub fn sent(path: &str, body: &[u8]) -> Option<(Operation, SendMessageRequest)> {
    let (operation, request) = if path == "/" {
        let Envelope { method, params } = serde_json::from_slice(body).ok()?;
        (Operation::from_method(&method)?, params)
    } else if let Some(path) = path.strip_prefix(HTTP_JSON_PATH) {
        let place = routes::find(&Method::POST, path).ok()?;
        (place.operation, serde_json::from_slice(body).ok()?)
    } else {
        let (_, method) = path.rsplit_once('/')?;
        let message = body.get(PREFIX_BYTES..)?;
        (Operation::from_method(method)?, prost::Message::decode(message).ok()?)
    };
    let sends = matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage);
    (sends && request.message.is_some()).then_some((operation, request))
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::echo::says;

    fn json() -> String {
        serde_json::to_string(&says("hi")).expect("requests are JSON")
    }

    #[test]
    fn a_message_is_seen_in_the_requests_of_every_binding() {
        let json = json();
        let rpc = |method: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{json}}}"#)
        };
        let grpc = [&[0; 5][..], &says("hi").encode_to_vec()].concat();
        for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
            let path = operation.row().routes[0].path;
            let seen = [
                sent("/", rpc(operation.method()).as_bytes()),
                sent(&format!("/a2a{path}"), json.as_bytes()),
                sent(&format!("/a2a/acme{path}"), json.as_bytes()),
                sent(&format!("/lf.a2a.v1.A2AService/{operation}"), &grpc),
            ];
            for one in seen {
                assert_eq!(one, Some((operation, says("hi"))));
            }
        }
    }

    #[test]
    fn other_requests_hold_no_message() {
        let rpc = br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;
        assert_eq!(sent("/", rpc), None);
        assert_eq!(sent("/a2a/tasks/t:cancel", json().as_bytes()), None);
        assert_eq!(sent("/a2a/message:send", b"{}"), None);
        assert_eq!(sent("/lf.a2a.v1.A2AService/GetTask", &[0; 5]), None);
        assert_eq!(sent("/lf.a2a.v1.A2AService/SendMessage", b""), None);
        assert_eq!(sent("/a2amessage:send", json().as_bytes()), None);
        assert_eq!(sent("/calls", json().as_bytes()), None);
    }
}
