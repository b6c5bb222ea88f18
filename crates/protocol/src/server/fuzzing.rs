//! What the fuzz targets do with requests of the two JSON bindings; see [`crate::fuzzing`].

use std::fmt::Debug;

use http::{Method, Uri};
use serde_json::value::RawValue;
use url::Url;

pub(crate) use super::validation::Judged;
use super::{
    HTTP_JSON_PATH,
    exchange::Fields as _,
    framing::Framing,
    jsonrpc::{Envelope, Params},
    rest::{fields::RestFields, routes},
    validation,
};
use crate::{
    client::written_for_rest,
    fuzzing::{assert_bounded, assert_same_by_json},
    operation::{Operation, Route},
};

/// What is done with a request, whichever its type.
pub(crate) trait WithRequest {
    /// Does it with one of this type.
    fn run<R: Judged + PartialEq + Debug>(self) -> bool;
}

/// Does something with the request of an operation.
pub(crate) fn with_request_of(operation: Operation, it: impl WithRequest) -> bool {
    use crate::v1;
    match operation {
        Operation::SendMessage | Operation::SendStreamingMessage => {
            it.run::<v1::SendMessageRequest>()
        }
        Operation::GetTask => it.run::<v1::GetTaskRequest>(),
        Operation::ListTasks => it.run::<v1::ListTasksRequest>(),
        Operation::CancelTask => it.run::<v1::CancelTaskRequest>(),
        Operation::SubscribeToTask => it.run::<v1::SubscribeToTaskRequest>(),
        Operation::CreateTaskPushNotificationConfig => it.run::<v1::TaskPushNotificationConfig>(),
        Operation::GetTaskPushNotificationConfig => {
            it.run::<v1::GetTaskPushNotificationConfigRequest>()
        }
        Operation::ListTaskPushNotificationConfigs => {
            it.run::<v1::ListTaskPushNotificationConfigsRequest>()
        }
        Operation::DeleteTaskPushNotificationConfig => {
            it.run::<v1::DeleteTaskPushNotificationConfigRequest>()
        }
        Operation::GetExtendedAgentCard => it.run::<v1::GetExtendedAgentCardRequest>(),
    }
}

/// Reads a JSON-RPC request. One that is taken says the same when it is put together again, and its
/// parameters when they were written and are read again; the error of one that is not is a response under
/// the request's id.
pub fn jsonrpc(data: &[u8]) -> bool {
    let envelope = match Envelope::read(data) {
        Ok(envelope) => envelope,
        Err((id, error)) => {
            check_failure(id, &error, data.len());
            return false;
        }
    };
    let (id, method, params) = (envelope.id.get(), &envelope.method, envelope.params.get());
    let name = serde_json::to_string(method).expect("texts are JSON");
    let again = format!(r#"{{"params":{params},"method":{name},"id":{id},"jsonrpc":"2.0"}}"#);
    let again = Envelope::read(again.as_bytes()).map_err(|(_, error)| error);
    let again = again.expect("a request that is put together again is one");
    assert_eq!((again.id.get(), again.params.get()), (id, params));
    assert_eq!(again.method, *method);
    let Some(operation) = Operation::from_method(method) else { return false };
    with_request_of(operation, OfParams { envelope: &envelope, of_bytes: data.len() })
}

struct OfParams<'a> {
    envelope: &'a Envelope<'a>,
    of_bytes: usize,
}

impl WithRequest for OfParams<'_> {
    fn run<R: Judged + PartialEq + Debug>(self) -> bool {
        let read = Params(self.envelope.params).read::<R>();
        let judged = read.and_then(|request| {
            assert_bounded(assert_same_by_json(&request).len(), self.of_bytes);
            validation::validate(&request)
        });
        match judged {
            Ok(()) => true,
            Err(error) => {
                check_failure(self.envelope.id, &error, self.of_bytes);
                false
            }
        }
    }
}

/// An error is answered under the id that came, in proportion to what came.
fn check_failure(id: &RawValue, error: &crate::error::Error, of_bytes: usize) {
    #[derive(serde::Deserialize)]
    struct Failure<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let mut body = Vec::new();
    Framing::JsonRpc(id.to_owned()).write_failure(&mut body, error);
    assert_bounded(body.len(), of_bytes);
    let failure: Failure<'_> = serde_json::from_slice(&body).expect("answers are JSON");
    assert_eq!(failure.id.get(), id.get());
    assert!(failure.error.get().starts_with('{'));
}

/// Reads a request of HTTP+JSON: a line with verb and path, and the body. One that is taken is the same when
/// a client writes it and it is read again.
pub fn rest(data: &[u8]) -> bool {
    let at = data.iter().position(|&byte| byte == b'\n').unwrap_or(data.len());
    let (line, body) = (&data[..at], data.get(at + 1..).unwrap_or_default());
    let Some((verb, target)) = parted(line) else { return false };
    let query = target.query().unwrap_or_default();
    let Some(path) = target.path().strip_prefix(HTTP_JSON_PATH) else { return false };
    let Ok(place) = routes::find(&verb, path) else { return false };
    let fields = RestFields::new(&place, query, body, verb == Method::POST);
    // A tenant of this name cannot be told from the collection.
    let is_plain = place.tenant.as_deref() != Some("tasks");
    let operation = place.operation;
    with_request_of(operation, OfRest { fields, operation, is_plain, of_bytes: data.len() })
}

/// `GET /path?query`
fn parted(line: &[u8]) -> Option<(Method, Uri)> {
    let at = line.iter().position(|&byte| byte == b' ')?;
    Some((Method::from_bytes(&line[..at]).ok()?, Uri::try_from(&line[at + 1..]).ok()?))
}

struct OfRest<'a> {
    fields: RestFields<'a>,
    operation: Operation,
    is_plain: bool,
    of_bytes: usize,
}

impl WithRequest for OfRest<'_> {
    fn run<R: Judged + PartialEq + Debug>(self) -> bool {
        let request: R = match self.fields.read() {
            Ok(request) => request,
            Err(error) => {
                assert_bounded(error.message.len(), self.of_bytes);
                return false;
            }
        };
        assert_bounded(assert_same_by_json(&request).len(), self.of_bytes);
        if validation::validate(&request).is_err() {
            return false;
        }
        for route in self.operation.row().routes.iter().filter(|_| self.is_plain) {
            self.check_again(route, &request);
        }
        true
    }
}

impl OfRest<'_> {
    fn check_again<R: Judged + PartialEq + Debug>(&self, route: &Route, request: &R) {
        let base = Url::parse("http://agent.example").expect("a URL");
        // An id of dots alone: another binding can say it.
        let written = written_for_rest(&base, route, request.clone());
        let Ok((verb, url, body)) = written else { return };
        let place = routes::find(&verb, url.path()).expect("a client writes paths of the table");
        assert_eq!(place.operation, self.operation, "{verb} {url}");
        let query = url.query().unwrap_or_default();
        let body = body.unwrap_or_default();
        let again = RestFields::new(&place, query, &body, verb == Method::POST).read::<R>();
        assert_eq!(again.expect("a client writes what can be read"), *request, "{verb} {url}");
    }
}
