//! What agents in the field write beside the specification, and what has no place in a dialect.

use super::*;

fn parts(dialect: Dialect, parts: &Value) -> Value {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": parts});
    let written = write_result(dialect, Operation::SendMessage, json!({"message": message}));
    let read = dialect.read_result(Operation::SendMessage, written, "");
    match dialect {
        Dialect::V0_1 => read["task"]["status"]["message"]["parts"].clone(),
        _ => read["message"]["parts"].clone(),
    }
}

#[test]
fn what_a_part_cannot_say_in_a_dialect_comes_back_all_the_same() {
    let all = json!([
        {"data": [1, {"a": null}]},
        {"data": "text"},
        {"data": 7, "metadata": {"k": 1}, "filename": "n.json"},
        {"data": {"data": {"deep": 1}}},
        {"data": null},
        {"text": "# hi", "mediaType": "text/markdown", "filename": "hi.md"},
    ]);
    for dialect in ALL {
        assert_eq!(parts(dialect, &all), all, "{dialect:?}");
        // The usual media type is not worth a word.
        let usual = json!([{"text": "hi", "mediaType": "text/plain"}]);
        assert_eq!(parts(dialect, &usual), json!([{"text": "hi"}]), "{dialect:?}");
    }
    let written = write_event(
        Dialect::V0_3,
        json!({"message": {"role": "ROLE_USER", "parts": [{"data": 7}]}}),
        true,
        &mut Indices::default(),
    );
    let part =
        json!({"kind": "data", "data": {"value": 7}, "metadata": {"data_part_compat": true}});
    assert_eq!(written[0]["parts"][0], part);
}

#[test]
fn an_event_or_answer_that_says_nothing_is_none_in_any_dialect() {
    for dialect in ALL {
        let written = write_event(dialect, json!({}), false, &mut Indices::default());
        assert!(written.is_empty(), "{dialect:?}: {written:?}");
        let answer = write_result(dialect, Operation::SendMessage, json!({}));
        assert_eq!(answer, Value::Null, "{dialect:?}");
    }
}

#[test]
fn artifacts_of_0_1_are_told_apart_whichever_of_them_have_numbers() {
    let ids = |artifacts: &Value| {
        let task = json!({"id": "t", "status": {"state": "working"}, "artifacts": artifacts});
        let read = Dialect::V0_1.read_result(Operation::GetTask, task, "");
        let artifacts = read["artifacts"].as_array().expect("a list").clone();
        artifacts.into_iter().map(|one| one["artifactId"].clone()).collect::<Value>()
    };
    let expected = json!(["artifact-1", "artifact-2"]);
    assert_eq!(ids(&json!([{"index": 1}, {}])), expected);
    assert_eq!(ids(&json!([{"index": 1}, {"index": 1}])), expected);
    assert_eq!(
        ids(&json!([{}, {"index": 0}, {}])),
        json!(["artifact-0", "artifact-1", "artifact-2"])
    );
}

fn status(status: &Value) -> Value {
    let task = json!({"id": "t", "status": status});
    Dialect::V0_1.read_result(Operation::GetTask, task, "")["status"].clone()
}

#[test]
fn times_without_an_offset_are_taken_for_utc_and_others_left_out() {
    let read =
        |time: &str| status(&json!({"state": "working", "timestamp": time}))["timestamp"].clone();
    assert_eq!(read("2025-04-02T16:59:25.331844"), "2025-04-02T16:59:25.331844Z");
    assert_eq!(read("2025-04-02T16:59:25+02:00"), "2025-04-02T16:59:25+02:00");
    assert_eq!(read("yesterday"), Value::Null);
}

#[test]
fn a_question_of_0_1_has_an_id_that_stays_until_it_is_asked_anew() {
    let id = |text: &str, time: &str| {
        let said = json!({"role": "agent", "parts": [{"type": "text", "text": text}]});
        let status =
            status(&json!({"state": "input-required", "message": said, "timestamp": time}));
        status["message"]["messageId"].as_str().expect("an id").to_owned()
    };
    let first = id("For whom?", "2025-04-02T16:59:25Z");
    assert_eq!(id("For whom?", "2025-04-02T16:59:25Z"), first);
    assert_ne!(id("For whom?", "2025-04-02T17:00:00Z"), first);
    assert_ne!(id("When?", "2025-04-02T16:59:25Z"), first);
}

#[test]
fn artifacts_of_0_1_are_told_apart_by_number_or_place() {
    let ids = |artifacts: Value| {
        let task = json!({"id": "t", "status": {"state": "working"}, "artifacts": artifacts});
        let read = Dialect::V0_1.read_result(Operation::GetTask, task, "");
        read["artifacts"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["artifactId"].clone())
            .collect::<Vec<_>>()
    };
    let numbered = json!([{"index": 3, "parts": []}, {"index": 1, "parts": []}]);
    assert_eq!(ids(numbered), ["artifact-3", "artifact-1"]);
    let unnumbered = json!([{"parts": []}, {"parts": []}]);
    assert_eq!(ids(unnumbered), ["artifact-0", "artifact-1"]);
    let doubled = json!([{"index": 0, "parts": []}, {"index": 0, "parts": []}]);
    assert_eq!(ids(doubled), ["artifact-0", "artifact-1"]);
}

#[test]
fn events_without_a_kind_are_known_by_their_fields() {
    let name = |dialect: Dialect, event: Value| {
        let read = dialect.read_result(Operation::SendStreamingMessage, event, "");
        read.as_object().expect("an object").keys().next().cloned().unwrap_or_default()
    };
    let status = json!({"state": "working"});
    assert_eq!(name(Dialect::V0_3, json!({"id": "t", "status": status})), "task");
    assert_eq!(name(Dialect::V0_1, json!({"id": "t", "status": status})), "statusUpdate");
    let update = json!({"taskId": "t", "status": status});
    assert_eq!(name(Dialect::V0_3, update), "statusUpdate");
    let update = json!({"taskId": "t", "artifact": {"parts": []}});
    assert_eq!(name(Dialect::V0_3, update), "artifactUpdate");
    assert_eq!(name(Dialect::V0_3, json!({"role": "agent", "parts": []})), "message");
    // What means nothing stays, so that the decoder says what it is.
    let nothing = json!({"kind": "surprise"});
    assert_eq!(Dialect::V0_3.read_result(Operation::SendMessage, nothing.clone(), ""), nothing);
}

#[test]
fn a_state_that_is_not_known_is_left_to_be_complained_of() {
    assert_eq!(status(&json!({"state": "paused"}))["state"], "paused");
}

#[test]
fn the_context_asked_for_stands_in_where_none_is_told() {
    let event = json!({"id": "t", "status": {"state": "working"}, "final": false});
    let read =
        |context| Dialect::V0_1.read_result(Operation::SubscribeToTask, event.clone(), context);
    assert_eq!(read("c")["statusUpdate"]["contextId"], "c");
    assert_eq!(read("")["statusUpdate"]["contextId"], Value::Null);
    let told = json!({"id": "t", "sessionId": "s", "status": {"state": "working"}});
    let read = Dialect::V0_1.read_result(Operation::GetTask, told, "c");
    assert_eq!(read["contextId"], "s");
}
