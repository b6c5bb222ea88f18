use jiff::Timestamp;
use planner::ErrorClass;
use protocol::v1::{
    Artifact, Message, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use protocol::{card::Binding, client::Interface};

use super::{Defeat, Ending, Follower};
use crate::run::RemoteTask;

fn status(state: TaskState) -> TaskStatus {
    TaskStatus::new(state, Timestamp::UNIX_EPOCH)
}

fn task(id: &str, state: TaskState, texts: &[&str]) -> Task {
    let artifacts = texts
        .iter()
        .map(|text| Artifact::new("answer", "answer", vec![Part::text(*text)]))
        .collect();
    Task { artifacts, ..Task::new(id, "theirs", status(state)) }
}

fn enters(id: &str, state: TaskState) -> StreamResponse {
    TaskStatusUpdateEvent {
        task_id: id.to_owned(),
        context_id: "theirs".to_owned(),
        status: Some(status(state)),
        metadata: None,
    }
    .into()
}

fn chunk(id: &str, artifact_id: &str, text: &str) -> StreamResponse {
    TaskArtifactUpdateEvent {
        task_id: id.to_owned(),
        context_id: "theirs".to_owned(),
        artifact: Some(Artifact::new(artifact_id, "answer", vec![Part::text(text)])),
        append: true,
        last_chunk: false,
        metadata: None,
    }
    .into()
}

fn defeat(ending: Option<Ending>) -> Defeat {
    match ending {
        Some(Ending::Failed(defeat)) => defeat,
        other => panic!("no defeat: {other:?}"),
    }
}

fn text(ending: Option<Ending>) -> String {
    match ending {
        Some(Ending::Completed(finished)) => {
            finished.artifacts.iter().map(Artifact::text).collect::<Vec<_>>().join("|")
        }
        other => panic!("not completed: {other:?}"),
    }
}

#[test]
fn every_state_is_an_end_or_goes_on() {
    let ends = |state| {
        let ended = Follower::default().snapshot(task("t", state, &[]));
        match ended {
            None => "goes on".to_owned(),
            Some(Ending::Completed(_)) => "completed".to_owned(),
            Some(Ending::Answered(_)) => "answered".to_owned(),
            Some(Ending::Paused(question)) => format!("paused for {:?}", question.kind),
            Some(Ending::WentOn) => "went on".to_owned(),
            Some(Ending::Withheld) => "waits for its caller".to_owned(),
            Some(Ending::AnswerRefused(turn, _)) => format!("answer {turn} is refused"),
            Some(Ending::Failed(defeat)) => {
                let is_over = if defeat.remote_ended { "over" } else { "to be canceled" };
                format!("{}, {is_over}: {}", defeat.class.as_str(), defeat.message)
            }
        }
    };
    let lines: Vec<String> = [
        TaskState::Unspecified,
        TaskState::Submitted,
        TaskState::Working,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::InputRequired,
        TaskState::Rejected,
        TaskState::AuthRequired,
    ]
    .map(|state| format!("{}: {}", state.word(), ends(state)))
    .into();
    insta::assert_snapshot!(lines.join("\n"), @r"
    unspecified: goes on
    submitted: goes on
    working: goes on
    completed: completed
    failed: failed, over: the agent's Task failed without saying why
    canceled: failed, over: the agent canceled its Task without saying why
    input required: paused for Input
    rejected: rejected, over: the agent rejected the Message without saying why
    authorization required: paused for Auth
    ");
}

#[test]
fn chunks_are_put_together_and_a_snapshot_replaces_them() {
    let mut follower = Follower::default();
    assert!(follower.absorb(enters("t", TaskState::Working)).is_none());
    assert!(follower.absorb(chunk("t", "answer", "one ")).is_none());
    assert!(follower.absorb(chunk("t", "answer", "two ")).is_none());
    assert!(follower.snapshot(task("t", TaskState::Working, &["one two three "])).is_none());
    assert!(follower.absorb(chunk("t", "answer", "four")).is_none());
    assert_eq!(text(follower.absorb(enters("t", TaskState::Completed))), "one two three four");
}

#[test]
fn the_first_event_names_the_task_whatever_its_kind() {
    let theirs =
        RemoteTask { task_id: "t".to_owned(), context_id: "theirs".to_owned(), interface: None };
    let first: [StreamResponse; 3] = [
        task("t", TaskState::Working, &[]).into(),
        enters("t", TaskState::Working),
        chunk("t", "answer", "x"),
    ];
    for event in first {
        let mut follower = Follower::default();
        assert!(follower.absorb(event).is_none());
        assert_eq!(follower.task(), Some(&theirs));
    }
}

#[test]
fn events_of_another_task_are_not_taken_for_ours() {
    let others: [StreamResponse; 3] = [
        task("other", TaskState::Completed, &["secret"]).into(),
        enters("other", TaskState::Completed),
        chunk("other", "answer", "secret"),
    ];
    for event in others {
        let mut follower = Follower::of(RemoteTask {
            task_id: "t".to_owned(),
            context_id: String::new(),
            interface: None,
        });
        let defeat = defeat(follower.absorb(event));
        assert_eq!(
            defeat.message,
            "the agent answered about Task `other`, but the attempt follows `t`"
        );
        assert!(!defeat.remote_ended, "ours goes on and has to be canceled");
        assert_eq!(defeat.class, ErrorClass::Failed);
    }
}

#[test]
fn a_direct_message_is_an_answer() {
    let message = Message::agent(vec![Part::text("hello")]);
    let ended = Follower::default().absorb(message.into());
    assert!(matches!(ended, Some(Ending::Answered(message)) if message.text() == "hello"));
}

#[test]
fn a_chunk_that_cannot_be_placed_fails_the_attempt_and_not_the_task() {
    let mut follower = Follower::default();
    let defeat = defeat(follower.absorb(chunk("t", "", "x")));
    assert!(defeat.message.contains("names no artifactId"), "{}", defeat.message);
    assert!(!defeat.remote_ended);
    assert_eq!(follower.task().map(|task| task.task_id.as_str()), Some("t"));
}

#[test]
fn the_interface_that_took_the_message_is_told_with_the_task_once() {
    let taken_by = Interface {
        url: "http://b.test/".to_owned(),
        binding: Binding::Grpc,
        tenant: String::new(),
        version: "1.0".to_owned(),
    };
    let mut follower = Follower::default().over(Some(Box::new(taken_by.clone())));
    follower.absorb(enters("t", TaskState::Working));
    follower.absorb(enters("t", TaskState::Working));
    let task = follower.task().expect("it is known").clone();
    assert_eq!(task.interface.as_deref(), Some(&taken_by));
    assert_eq!(Follower::of(task.clone()).task(), Some(&task), "and is kept on the way on");
}
