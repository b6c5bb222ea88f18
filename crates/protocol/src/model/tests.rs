use serde_json::json;

use crate::v1::{
    Artifact, Message, Part, Required as _, SendMessageRequest, SendMessageResponse,
    StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

fn status(state: TaskState) -> TaskStatus {
    let since: jiff::Timestamp = "2025-01-02T03:04:05Z".parse().unwrap();
    TaskStatus::new(state, since)
}

#[test]
fn parts_are_written_as_what_they_hold() {
    let parts = [
        Part::text("a").with_metadata("k", json!([1])),
        Part::data(json!({"n": null})).with_media_type("application/json"),
        Part::raw(b"hei".to_vec()).with_filename("f.txt"),
        Part::url("https://files.example"),
    ];
    assert_eq!(
        serde_json::to_value(parts).unwrap(),
        json!([
            {"text": "a", "metadata": {"k": [1]}},
            {"data": {"n": null}, "mediaType": "application/json"},
            {"raw": "aGVp", "filename": "f.txt"},
            {"url": "https://files.example"},
        ])
    );
}

#[test]
fn parts_give_what_they_hold_and_nothing_else() {
    assert_eq!(Part::text("a").as_text(), Some("a"));
    assert_eq!(Part::data(json!("a")).as_text(), None);
    assert_eq!(Part::data(json!("a")).as_data(), Some(&json!("a")));
    assert_eq!(Part::url("a").as_data(), None);
    assert_eq!(Part::text("a").metadata("k"), None);
    assert_eq!(Part::text("a").with_metadata("k", 1).metadata("k"), Some(&json!(1)));
}

#[test]
fn a_message_says_its_texts_line_by_line() {
    let message = Message::user(vec![Part::text("a"), Part::data(json!(1)), Part::text("b")]);
    assert_eq!(message.text(), "a\nb");
    assert_eq!(Message::agent(vec![Part::data(json!(1))]).text(), "");
}

#[test]
fn a_message_is_complete_and_its_id_its_own() {
    let message = Message::user(vec![Part::text("a")]);
    assert_eq!(message.missing_required(), Vec::<String>::new());
    assert_ne!(message.message_id, Message::user(vec![]).message_id);

    let message = message.with_id("m").with_context("c").with_task("t").with_metadata("k", true);
    assert_eq!(message.metadata("k"), Some(&json!(true)));
    assert_eq!(
        serde_json::to_value(SendMessageRequest::from(message)).unwrap(),
        json!({"message": {
            "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER",
            "parts": [{"text": "a"}], "metadata": {"k": true},
        }})
    );
    let role = serde_json::to_value(Message::agent(vec![])).unwrap()["role"].take();
    assert_eq!(role, "ROLE_AGENT");
}

#[test]
fn an_artifact_runs_its_texts_together() {
    let parts = vec![Part::text("chunk-1 "), Part::data(json!(7)), Part::text("chunk-2")];
    let artifact = Artifact::new("a", "n", parts).with_metadata("k", 1);
    assert_eq!(artifact.text(), "chunk-1 chunk-2");
    assert_eq!(artifact.data(), Some(&json!(7)));
    assert_eq!(artifact.metadata("k"), Some(&json!(1)));
    assert_eq!((artifact.artifact_id.as_str(), artifact.name.as_str()), ("a", "n"));
}

#[test]
fn states_are_terminal_interrupted_or_neither() {
    let table = [
        (TaskState::Unspecified, false, false, "unspecified"),
        (TaskState::Submitted, false, false, "submitted"),
        (TaskState::Working, false, false, "working"),
        (TaskState::Completed, true, false, "completed"),
        (TaskState::Failed, true, false, "failed"),
        (TaskState::Canceled, true, false, "canceled"),
        (TaskState::InputRequired, false, true, "input required"),
        (TaskState::Rejected, true, false, "rejected"),
        (TaskState::AuthRequired, false, true, "authorization required"),
    ];
    for (state, is_terminal, is_interrupted, word) in table {
        assert_eq!((state.is_terminal(), state.is_interrupted()), (is_terminal, is_interrupted));
        assert_eq!(state.word(), word);
    }
}

#[test]
fn a_task_tells_its_state_and_what_is_said_about_it() {
    assert_eq!(Task::default().state(), TaskState::Unspecified);
    assert_eq!(Task::default().status_text(), None);
    let said = status(TaskState::Failed).with_message(Message::agent(vec![Part::text("no")]));
    let task = Task::new("t", "c", said).with_metadata("k", 1);
    assert_eq!(task.state(), TaskState::Failed);
    assert_eq!(task.status_text().as_deref(), Some("no"));
    assert_eq!(task.metadata("k"), Some(&json!(1)));
    assert_eq!((task.id.as_str(), task.context_id.as_str()), ("t", "c"));
    assert_eq!(status(TaskState::Working).with_message(Message::agent(vec![])).text(), None);
}

#[test]
fn events_tell_what_they_are_about() {
    let task = Task::new("t", "c", status(TaskState::Completed));
    let message = Message::agent(vec![]).with_task("t").with_context("c");
    let update = TaskStatusUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        status: Some(status(TaskState::Working)),
        metadata: None,
    };
    let artifact = TaskArtifactUpdateEvent {
        task_id: "t".into(),
        context_id: "c".into(),
        ..Default::default()
    };
    let table: [(StreamResponse, Option<TaskState>, bool); 4] = [
        (task.into(), Some(TaskState::Completed), true),
        (message.into(), None, true),
        (update.into(), Some(TaskState::Working), false),
        (artifact.into(), None, false),
    ];
    for (event, state, ends) in table {
        assert_eq!((event.task_id(), event.context_id()), ("t", "c"));
        assert_eq!((event.state(), event.ends_stream()), (state, ends));
    }
    let nothing = StreamResponse::default();
    assert_eq!((nothing.task_id(), nothing.context_id(), nothing.state()), ("", "", None));
    assert!(!nothing.ends_stream());
}

#[test]
fn an_answer_is_the_one_event_of_a_stream() {
    let task = Task::new("t", "c", status(TaskState::Working));
    let message = Message::agent(vec![]);
    assert_eq!(
        StreamResponse::from(SendMessageResponse::from(task.clone())),
        StreamResponse::from(task)
    );
    assert_eq!(
        StreamResponse::from(SendMessageResponse::from(message.clone())),
        StreamResponse::from(message)
    );
    assert_eq!(StreamResponse::from(SendMessageResponse::default()), StreamResponse::default());
}
