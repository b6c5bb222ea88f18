//! What the world says, put together: every fact is a function of step, attempt and kind.

use std::sync::Arc;

use jiff::Timestamp;
use planner::{ErrorClass, StepError};
use protocol::{card::Binding, client::Interface};

use crate::{
    body::{Body, Json},
    run::{
        Chunk, Failure, Input, Intent, NextRound, Pause, PauseKind, Refusal, RemoteTask, Reuse,
        StepId, StepIndex, Wait, Within,
    },
};

pub(super) fn body(text: &str) -> Body {
    Body::Inline(Json::of(&text).expect("a string is JSON"))
}

pub(super) fn intent(index: StepIndex, attempt: u32, purpose: &str) -> Arc<Intent> {
    Arc::new(Intent {
        message_id: format!("{}-{attempt}-{purpose}", index.0),
        agent: "a".to_owned(),
        interface: Interface {
            url: "http://127.0.0.1:1".to_owned(),
            binding: Binding::JsonRpc,
            tenant: String::new(),
            version: "1.0".to_owned(),
        },
        fallbacks: Vec::new(),
        streaming: true,
        message: body("message"),
        callback: None,
        is_sub_run: false,
    })
}

/// An attempt that is a run of another workflow.
pub(super) fn sub_run(index: StepIndex, attempt: u32) -> Arc<Intent> {
    let intent = intent(index, attempt, "send");
    Arc::new(Intent { is_sub_run: true, ..Intent::clone(&intent) })
}

/// Something in a sub-run waits for somebody.
pub(super) fn paused_inside(step: StepId, attempt: u32, at: Timestamp) -> Input {
    let inner = StepId::new(&format!("{step}/inner"));
    let within =
        Within { pauses: vec![(inner, asked("inside"))], goes_on: attempt.is_multiple_of(2) };
    let pause = Pause { within: Some(Box::new(within)), ..pause(PauseKind::Input) };
    Input::Paused { task: Some(task(&step, attempt)), step, attempt, at, pause }
}

/// The agent has made a Task.
pub(super) fn bound(step: StepId, attempt: u32) -> Input {
    let task = task(&step, attempt);
    Input::Bound { step, attempt, task }
}

pub(super) fn succeeded(step: StepId, attempt: u32, at: Timestamp) -> Input {
    Input::Succeeded { step, attempt, at, task: None, result: body("result") }
}

pub(super) fn round_ended(step: StepId, attempt: u32, at: Timestamp, is_last: bool) -> Input {
    let task = Some(task(&step, attempt));
    let next = match is_last {
        false => NextRound::Again,
        true => NextRound::GiveUp {
            result: body("not good enough"),
            error: error(ErrorClass::NotConverged, attempt),
        },
    };
    Input::RoundEnded { step, attempt, at, task, result: body("round"), next }
}

pub(super) fn chunked(step: StepId, attempt: u32, at: Timestamp) -> Input {
    let artifact = body(&format!("chunk of attempt {attempt} at {at}"));
    let chunk = Chunk { append: true, last_chunk: false, artifact };
    Input::Chunked { step, attempt, chunk }
}

pub(super) fn paused(
    step: StepId,
    attempt: u32,
    at: Timestamp,
    kind: PauseKind,
    turn: u32,
) -> Input {
    Input::Paused { task: Some(task(&step, attempt)), step, attempt, at, pause: asks(kind, turn) }
}

/// The agent asks back by a direct Message.
pub(super) fn asked_back(step: StepId, attempt: u32, at: Timestamp, turn: u32) -> Input {
    let pause = Pause { mismatch: Some("no data".to_owned()), ..asks(PauseKind::Input, turn) };
    Input::Paused { step, attempt, at, task: None, pause }
}

fn asks(kind: PauseKind, turn: u32) -> Pause {
    Pause { question: Some(body(&format!("question {turn}"))), ..pause(kind) }
}

/// What a step asks a person.
pub(super) fn asked(question: &str) -> Pause {
    Pause { question: Some(body(question)), ..pause(PauseKind::Input) }
}

/// A pause that says nothing.
fn pause(kind: PauseKind) -> Pause {
    Pause {
        kind,
        message_id: None,
        question: None,
        mismatch: None,
        why: None,
        within: None,
        awaits_caller: false,
    }
}

/// The connection broke before the agent answered.
pub(super) fn lost(step: StepId, attempt: u32, at: Timestamp) -> Input {
    let mut lost = failed(step, attempt, at, ErrorClass::Unavailable);
    if let Input::Failed { failure, .. } = &mut lost {
        failure.is_untaken = false;
    }
    lost
}

/// The deadline has passed between two attempts.
pub(super) fn overdue(step: StepId, at: Timestamp) -> Input {
    let error = error(ErrorClass::Timeout, 0);
    Input::Overdue { step, at, error, result: body("overdue") }
}

/// The agent cannot be called before the caller has come again.
pub(super) fn withheld(
    step: StepId,
    attempt: u32,
    at: Timestamp,
    task: Option<RemoteTask>,
) -> Input {
    let pause = Pause { awaits_caller: true, ..pause(PauseKind::Auth) };
    Input::Paused { step, attempt, at, task, pause }
}

pub(super) fn failed(step: StepId, attempt: u32, at: Timestamp, class: ErrorClass) -> Input {
    Input::Failed {
        step,
        attempt,
        at,
        failure: Box::new(Failure {
            error: error(class, attempt),
            result: body("error"),
            remote_ended: class == ErrorClass::Rejected,
            is_untaken: true,
            wait: Wait::default(),
            refusal: None,
            is_ours: false,
        }),
    }
}

pub(super) fn task(step: &StepId, attempt: u32) -> RemoteTask {
    RemoteTask {
        task_id: format!("t{step}-{attempt}"),
        context_id: "c".to_owned(),
        interface: None,
    }
}

pub(super) fn reuse() -> Box<Reuse> {
    let run = "0198c0de-7a11-7000-8000-000000000000".parse().expect("a run id");
    let agent = Some("a".to_owned());
    Box::new(Reuse { run, at: Timestamp::UNIX_EPOCH, agent, candidate: 0 })
}

pub(super) fn refusal() -> Box<Refusal> {
    Box::new(Refusal {
        reason: "INVALID_PARAMS".to_owned(),
        message: "as the world wants it".to_owned(),
        metadata: std::collections::BTreeMap::new(),
        violations: Vec::new(),
        retry_after_ms: None,
    })
}

pub(super) fn error(class: ErrorClass, attempt: u32) -> StepError {
    StepError { step: String::new(), class, message: "as the world wants it".to_owned(), attempt }
}
