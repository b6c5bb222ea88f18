//! Single fields and values: what is read, what is refused, and how it is written.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::rewritten;
use crate::v1::{
    AgentCard, AuthorizationCodeOAuthFlow, ListTasksRequest, ListTasksResponse, Message, Part,
    Role, SecurityRequirement, SecurityScheme, SendMessageConfiguration, SendMessageRequest,
    StreamResponse, TaskState, TaskStatus,
};

/// One input, and either what is written after reading it or a piece of the error.
type Case = (&'static str, Result<&'static str, &'static str>);

fn check<T: Serialize + DeserializeOwned>(cases: &[Case]) {
    for (input, expected) in cases {
        match (rewritten::<T>(input), expected) {
            (Ok(written), Ok(expected)) => assert_eq!(written, *expected, "of {input}"),
            (Err(error), Err(piece)) => {
                assert!(error.contains(piece), "{input} is refused with {error:?}, not {piece:?}");
            }
            (outcome, expected) => panic!("{input} gives {outcome:?}, not {expected:?}"),
        }
    }
}

#[test]
fn null_is_absence() {
    check::<Message>(&[
        (
            r#"{"messageId":"m","contextId":null,"role":"ROLE_USER","parts":[]}"#,
            Ok(r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#),
        ),
        (
            r#"{"messageId":"m","role":"ROLE_USER","parts":[],"extensions":null}"#,
            Ok(r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#),
        ),
        (
            r#"{"messageId":"m","role":null}"#,
            Ok(r#"{"messageId":"m","role":"ROLE_UNSPECIFIED","parts":[]}"#),
        ),
        (
            r#"{"messageId":"m","role":1,"metadata":null}"#,
            Ok(r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#),
        ),
        (r#"{"messageId":"m","parts":[null]}"#, Err("expected an object (Part)")),
    ]);
    check::<SendMessageConfiguration>(&[(
        r#"{"historyLength":null,"returnImmediately":null}"#,
        Ok("{}"),
    )]);
    check::<AgentCard>(&[(
        r#"{"name":"a","capabilities":{"streaming":null},"securitySchemes":null,"skills":null}"#,
        Ok(concat!(
            r#"{"name":"a","description":"","supportedInterfaces":[],"version":"","#,
            r#""capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"skills":[]}"#
        )),
    )]);
}

#[test]
fn integers_are_read_in_every_spelling() {
    check::<SendMessageConfiguration>(&[
        (r#"{"historyLength":5}"#, Ok(r#"{"historyLength":5}"#)),
        (r#"{"historyLength":"5"}"#, Ok(r#"{"historyLength":5}"#)),
        (r#"{"historyLength":"-5e0"}"#, Ok(r#"{"historyLength":-5}"#)),
        (r#"{"historyLength":1e1}"#, Ok(r#"{"historyLength":10}"#)),
        (r#"{"historyLength":5.0}"#, Ok(r#"{"historyLength":5}"#)),
        (r#"{"historyLength":-2147483648}"#, Ok(r#"{"historyLength":-2147483648}"#)),
        (r#"{"historyLength":5.5}"#, Err("5.5 is not a 32-bit integer")),
        (r#"{"historyLength":"five"}"#, Err("\"five\" is not a 32-bit integer")),
        (r#"{"historyLength":2147483648}"#, Err("out of range")),
        (r#"{"historyLength":-2147483649}"#, Err("out of range")),
        (r#"{"historyLength":3e9}"#, Err("3000000000 is not a 32-bit integer")),
        (r#"{"historyLength":true}"#, Err("expected a 32-bit integer")),
    ]);
}

#[test]
fn an_unset_number_and_zero_differ_where_presence_is_kept() {
    check::<SendMessageConfiguration>(&[
        (r#"{"historyLength":0}"#, Ok(r#"{"historyLength":0}"#)),
        (r#"{}"#, Ok("{}")),
        (r#"{"returnImmediately":false}"#, Ok("{}")),
    ]);
    check::<ListTasksRequest>(&[
        (r#"{"includeArtifacts":false}"#, Ok(r#"{"includeArtifacts":false}"#)),
        (r#"{"pageSize":0,"status":"TASK_STATE_UNSPECIFIED"}"#, Ok(r#"{"pageSize":0}"#)),
        (r#"{"status":"TASK_STATE_FAILED"}"#, Ok(r#"{"status":"TASK_STATE_FAILED"}"#)),
    ]);
}

#[test]
fn both_names_of_a_field_are_read_but_not_together() {
    check::<Message>(&[
        (
            r#"{"message_id":"m","context_id":"c","role":"ROLE_AGENT","reference_task_ids":["t"]}"#,
            Ok(concat!(
                r#"{"messageId":"m","contextId":"c","role":"ROLE_AGENT","parts":[],"#,
                r#""referenceTaskIds":["t"]}"#
            )),
        ),
        (r#"{"messageId":"m","messageId":"n"}"#, Err("given twice")),
        (r#"{"messageId":"m","message_id":"n"}"#, Err("given twice")),
    ]);
}

#[test]
fn unknown_fields_are_ignored() {
    check::<Message>(&[(
        r#"{"messageId":"m","role":"ROLE_USER","zzz":{"a":[1]},"zzz":2}"#,
        Ok(r#"{"messageId":"m","role":"ROLE_USER","parts":[]}"#),
    )]);
}

#[test]
fn enums_are_read_by_name_and_number_and_unknown_numbers_survive() {
    check::<Message>(&[
        (
            r#"{"messageId":"m","role":2}"#,
            Ok(r#"{"messageId":"m","role":"ROLE_AGENT","parts":[]}"#),
        ),
        (r#"{"messageId":"m","role":77}"#, Ok(r#"{"messageId":"m","role":77,"parts":[]}"#)),
        (r#"{"messageId":"m","role":-1}"#, Ok(r#"{"messageId":"m","role":-1,"parts":[]}"#)),
        (r#"{"messageId":"m","role":"ROLE_X"}"#, Err("unknown enum value \"ROLE_X\"")),
        (r#"{"messageId":"m","role":"user"}"#, Err("unknown enum value \"user\"")),
        (r#"{"messageId":"m","role":3000000000}"#, Err("out of range")),
    ]);
    check::<Role>(&[
        (r#""ROLE_USER""#, Ok(r#""ROLE_USER""#)),
        ("2", Ok(r#""ROLE_AGENT""#)),
        ("77", Err("unknown enum number 77")),
    ]);
    check::<TaskState>(&[("8", Ok(r#""TASK_STATE_AUTH_REQUIRED""#))]);
}

#[test]
fn timestamps_are_written_in_utc_with_the_digits_they_need() {
    fn status(time: &str) -> String {
        format!(r#"{{"state":"TASK_STATE_WORKING","timestamp":"{time}"}}"#)
    }
    for (input, written) in [
        ("2023-10-27T10:00:00Z", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00:00.000Z", "2023-10-27T10:00:00Z"),
        ("2023-10-27T10:00:00.123Z", "2023-10-27T10:00:00.123Z"),
        ("2023-10-27T10:00:00.000001Z", "2023-10-27T10:00:00.000001Z"),
        ("2023-10-27T10:00:00.000000001Z", "2023-10-27T10:00:00.000000001Z"),
        ("2023-10-27T12:00:00.5+02:00", "2023-10-27T10:00:00.500Z"),
        ("1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.250Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-30T21:59:59.999Z", "9999-12-30T21:59:59.999Z"),
    ] {
        assert_eq!(rewritten::<TaskStatus>(&status(input)), Ok(status(written)), "of {input}");
    }
    for input in ["yesterday", "2023-10-27T10:00:00", "0000-12-31T23:59:59Z", "2023-10-27"] {
        let error = rewritten::<TaskStatus>(&status(input)).unwrap_err();
        assert!(error.contains("is not an RFC 3339 timestamp"), "{input}: {error}");
    }
    check::<TaskStatus>(&[(r#"{"timestamp":1}"#, Err("expected an RFC 3339 timestamp"))]);
}

#[test]
fn bytes_are_read_in_either_base64_and_written_in_the_standard_one() {
    check::<Part>(&[
        (r#"{"raw":"+/8="}"#, Ok(r#"{"raw":"+/8="}"#)),
        (r#"{"raw":"-_8"}"#, Ok(r#"{"raw":"+/8="}"#)),
        (r#"{"raw":"+/8"}"#, Ok(r#"{"raw":"+/8="}"#)),
        (r#"{"raw":""}"#, Ok(r#"{"raw":""}"#)),
        (r#"{"raw":"+_8="}"#, Err("Invalid symbol")),
        (r#"{"raw":"é"}"#, Err("Invalid symbol")),
    ]);
}

#[test]
fn a_part_holds_exactly_what_is_there() {
    check::<Part>(&[
        (r#"{"text":""}"#, Ok(r#"{"text":""}"#)),
        (r#"{"filename":"f"}"#, Ok(r#"{"filename":"f"}"#)),
        (r#"{"data":null}"#, Ok(r#"{"data":null}"#)),
        (r#"{"text":null,"url":"http://x"}"#, Ok(r#"{"url":"http://x"}"#)),
        (r#"{"url":"http://x","text":null}"#, Ok(r#"{"url":"http://x"}"#)),
        (r#"{"text":"a","url":"b"}"#, Err("only one of the alternatives")),
        (r#"{"data":null,"text":"a"}"#, Err("only one of the alternatives")),
        (r#"{"text":1}"#, Err("expected a string")),
        (
            r#"{"mediaType":"text/plain","filename":"f","metadata":{},"text":"a"}"#,
            Ok(r#"{"text":"a","metadata":{},"filename":"f","mediaType":"text/plain"}"#),
        ),
    ]);
}

#[test]
fn data_keeps_every_value_as_it_was() {
    let data = concat!(
        r#"{"data":{"a":[1,"x",true],"big":9007199254740993,"f":1.5,"huge":18446744073709551615,"#,
        r#""n":-5,"whole":5.0,"z":null}}"#
    );
    check::<Part>(&[(data, Ok(data))]);
}

#[test]
fn fields_that_a2a_requires_are_written_even_when_empty() {
    check::<ListTasksResponse>(&[(
        r#"{}"#,
        Ok(r#"{"tasks":[],"nextPageToken":"","pageSize":0,"totalSize":0}"#),
    )]);
    check::<AuthorizationCodeOAuthFlow>(&[(
        r#"{"scopes":{}}"#,
        Ok(r#"{"authorizationUrl":"","tokenUrl":"","scopes":{}}"#),
    )]);
}

#[test]
fn oneofs_are_written_under_the_name_of_what_they_hold() {
    check::<SecurityRequirement>(&[
        (r#"{"schemes":{"a":{"list":[]}}}"#, Ok(r#"{"schemes":{"a":{}}}"#)),
        (r#"{"schemes":{"b":{"list":["s"]},"a":{}}}"#, {
            Ok(r#"{"schemes":{"a":{},"b":{"list":["s"]}}}"#)
        }),
    ]);
    check::<SecurityScheme>(&[
        (r#"{"mtlsSecurityScheme":{}}"#, Ok(r#"{"mtlsSecurityScheme":{}}"#)),
        (
            r#"{"api_key_security_scheme":{"name":"k","location":"header"}}"#,
            Ok(r#"{"apiKeySecurityScheme":{"location":"header","name":"k"}}"#),
        ),
    ]);
    check::<StreamResponse>(&[(
        r#"{"task":{"id":"t"},"message":{}}"#,
        Err("only one of the alternatives"),
    )]);
}

#[test]
fn a_wrong_kind_is_named_with_what_was_expected() {
    check::<SendMessageRequest>(&[
        (r#"[]"#, Err("expected an object (SendMessageRequest)")),
        (r#"{"message":"hello"}"#, Err("expected an object (Message)")),
        (r#"{"message":{"parts":{}}}"#, Err("expected a sequence")),
        (r#"{"metadata":[]}"#, Err("expected a JSON object")),
        (r#"{"tenant":"#, Err("EOF while parsing")),
    ]);
}

#[test]
fn an_error_carries_the_path_to_its_place() {
    let json = serde_json::json!({"message": {"parts": [{"text": "a"}, {"text": 5}]}});
    let error = serde_path_to_error::deserialize::<_, SendMessageRequest>(json).unwrap_err();
    assert_eq!(error.path().to_string(), "message.parts[1].text");
}
