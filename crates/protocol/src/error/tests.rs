use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};

use super::{Error, ErrorKind, FieldViolation, json_details, parse_json_details};

#[test]
fn every_row_stands_at_its_own_place_and_is_found_by_reason_and_code() {
    for (index, row) in ErrorKind::table().iter().enumerate() {
        assert_eq!(row.kind as usize, index);
        assert_eq!(row.kind.row().reason, row.reason);
        assert_eq!(ErrorKind::from_reason(row.reason), Some(row.kind));
        assert_eq!(ErrorKind::from_json_rpc(row.json_rpc.into()), Some(row.kind));
    }
    assert_eq!(ErrorKind::from_json_rpc(-1), None);
    assert_eq!(ErrorKind::from_reason("NO_SUCH_REASON"), None);
}

#[test]
fn the_table_reads_as_the_specification_has_it() {
    let mut text = String::new();
    for row in ErrorKind::table() {
        writeln!(text, "{} {:?} {} {}", row.json_rpc, row.grpc, row.http, row.reason)
            .expect("a String takes all");
    }
    insta::assert_snapshot!(text, @r"
    -32001 NotFound 404 TASK_NOT_FOUND
    -32002 FailedPrecondition 400 TASK_NOT_CANCELABLE
    -32003 FailedPrecondition 400 PUSH_NOTIFICATION_NOT_SUPPORTED
    -32004 FailedPrecondition 400 UNSUPPORTED_OPERATION
    -32005 InvalidArgument 400 CONTENT_TYPE_NOT_SUPPORTED
    -32006 Internal 500 INVALID_AGENT_RESPONSE
    -32007 FailedPrecondition 400 EXTENDED_AGENT_CARD_NOT_CONFIGURED
    -32008 FailedPrecondition 400 EXTENSION_SUPPORT_REQUIRED
    -32009 FailedPrecondition 400 VERSION_NOT_SUPPORTED
    -32700 InvalidArgument 400 PARSE_ERROR
    -32600 InvalidArgument 400 INVALID_REQUEST
    -32601 Unimplemented 404 METHOD_NOT_FOUND
    -32602 InvalidArgument 400 INVALID_PARAMS
    -32603 Internal 500 INTERNAL
    -32091 Unauthenticated 401 UNAUTHENTICATED
    -32092 PermissionDenied 403 PERMISSION_DENIED
    -32093 ResourceExhausted 429 RESOURCE_EXHAUSTED
    -32094 Unavailable 503 UNAVAILABLE
    -32095 DeadlineExceeded 504 DEADLINE_EXCEEDED
    ");
}

#[test]
fn details_carry_info_violations_and_delay() {
    let error = Error {
        metadata: [("limit".to_owned(), "runs".to_owned())].into(),
        violations: vec![FieldViolation {
            field: "pageSize".to_owned(),
            description: "1 to 100".to_owned(),
        }],
        ..Error::resource_exhausted("slow down", Some(Duration::from_millis(1500)))
    };
    insta::assert_snapshot!(Value::from(json_details(&error)), @r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"convoke","metadata":{"limit":"runs"},"reason":"RESOURCE_EXHAUSTED"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"description":"1 to 100","field":"pageSize"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]"#);
    assert_eq!(json_details(&Error::new(ErrorKind::MethodNotFound, "no")), Vec::<Value>::new());
    assert_eq!(json_details(&Error::task_not_found("t"))[0]["domain"], "a2a-protocol.org");
}

#[test]
fn what_is_written_is_read_back() {
    let written = Error {
        violations: vec![FieldViolation {
            field: "id".to_owned(),
            description: "is empty".to_owned(),
        }],
        retry_after: Some(Duration::from_secs(3)),
        ..Error::task_not_found("t-1")
    };
    let mut read = Error::new(ErrorKind::Internal, written.message.clone());
    assert!(parse_json_details(&mut read, &Value::from(json_details(&written))));
    assert_eq!(read, written);
}

#[test]
fn details_that_are_an_object_untyped_or_nonsense_are_read_as_far_as_they_go() {
    let kind_after = |details: Value| {
        let mut error = Error::new(ErrorKind::Internal, "x");
        let is_known = parse_json_details(&mut error, &details);
        assert_eq!(is_known, error.kind != ErrorKind::Internal);
        error.kind
    };
    assert_eq!(kind_after(json!({ "reason": "TASK_NOT_FOUND" })), ErrorKind::TaskNotFound);
    assert_eq!(
        kind_after(json!([{ "@type": "google.rpc.ErrorInfo", "reason": "UNSUPPORTED_OPERATION" }])),
        ErrorKind::UnsupportedOperation
    );
    assert_eq!(
        kind_after(json!([{ "@type": "x/google.rpc.Help", "reason": "TASK_NOT_FOUND" }])),
        ErrorKind::Internal
    );
    assert_eq!(
        kind_after(json!([{ "reason": "SOMETHING_ELSE" }, 7, null, "text"])),
        ErrorKind::Internal
    );
    assert_eq!(kind_after(json!("a stack trace")), ErrorKind::Internal);
    assert_eq!(kind_after(Value::Null), ErrorKind::Internal);
}

#[test]
fn a_bare_http_status_is_a_kind_only_where_it_says_enough() {
    let table = [
        (401, ErrorKind::Unauthenticated),
        (403, ErrorKind::PermissionDenied),
        (408, ErrorKind::DeadlineExceeded),
        (415, ErrorKind::ContentTypeNotSupported),
        (429, ErrorKind::ResourceExhausted),
        (500, ErrorKind::Internal),
        (502, ErrorKind::Unavailable),
        (503, ErrorKind::Unavailable),
        (504, ErrorKind::DeadlineExceeded),
        (507, ErrorKind::Internal),
    ];
    for (status, kind) in table {
        assert_eq!(ErrorKind::from_http(status), Some(kind), "{status}");
    }
    for status in [200, 302, 400, 404, 409] {
        assert_eq!(ErrorKind::from_http(status), None, "{status}");
    }
}

#[test]
fn an_error_shows_its_message_and_its_reason() {
    assert_eq!(
        Error::task_not_found("t").to_string(),
        "there is no task \"t\" here (TASK_NOT_FOUND)"
    );
    assert_eq!(Error::invalid_field("id", "is empty").message, "invalid parameters: id: is empty");
    assert_eq!(Error::task_not_cancelable("t", "completed").metadata["taskId"], "t");
}
